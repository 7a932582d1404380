// The events of one cluster by time; equal times in the order they came.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "myrinet/cluster_parameters.hpp"
#include "myrinet/ring.hpp"

namespace substrata::myrinet {

// A calendar (Brown, "Calendar queues", CACM 1988) whose days are found by their bits: a ring of short
// stretches of time, each with the chain of its events in their order, and a bit for each that has any. The
// ring is two seasons long. Events of later seasons wait in chains in the order they came, one a season, and
// are sorted into the ring when the season before theirs begins, so before anything else may be pushed there
// for the same time; events of seasons still further ahead wait in a heap until there is a chain for theirs.
// What is pushed for the present itself waits in a queue of its own, after all that came before.
// Thread-compatible.
class EventQueue {
 public:
  static constexpr std::uint32_t kMostPackets = 1u << 24;
  static constexpr std::uint32_t kMostKinds = 1u << 4;
  struct Event {
    Time at;
    std::uint32_t packet;
    std::uint32_t kind;
  };
  EventQueue() : links_(1, Link{kNever, 0, 0}) {}
  bool empty() const noexcept { return next() == kNever; }
  Time next() const noexcept { return std::min(later(), present_.empty() ? kNever : now_); }
  // Packet and kind are below the most; `at` is before kNever. What lies before the last event popped comes
  // next, by time.
  void push(Time at, std::uint32_t kind, std::uint32_t packet) {
    const std::uint32_t what = packet << kPacketShift | kind;
    if (at == now_) {
      present_.push_back(what);
    } else if (at - now_ >= horizon_ - now_) {  // further ahead, or in the past
      push_far(at, what);
    } else {
      sort(spare_link(at, what));
    }
  }
  // The next one; there is one.
  Event pop() noexcept {
    if (!present_.empty() && now_ < later()) {
      const std::uint32_t what = present_.front();
      present_.pop_front();
      return event(now_, what);
    }
    if (far_ < near_) {
      if (far_ < now_) return pop_past();
      enter(far_ >> kSeasonShift);
    } else if (near_ >= turn_) {
      enter(near_ >> kSeasonShift);
    }
    now_ = near_;
    const auto place = static_cast<std::uint32_t>((near_ >> kDayShift) % kDays);
    const std::uint32_t taken = first_[place];
    const Link link = links_[taken];
    links_[taken].after = spare_;
    spare_ = taken;
    first_[place] = link.after;
    if (link.after != 0) {
      near_ = links_[link.after].at;
    } else {
      days_[place / 64] &= ~(std::uint64_t{1} << place % 64);
      if (days_[place / 64] == 0) words_ &= ~(std::uint64_t{1} << place / 64);
      near_ = words_ == 0 ? kNever : links_[first_[following(place)]].at;
    }
    return event(link.at, link.what);
  }

 private:
  Time later() const noexcept { return std::min(near_, far_); }
  static constexpr unsigned kPacketShift = 4;
  static constexpr unsigned kDayShift = 18;     // 0.26 us: hardly two events a day in a busy cluster
  static constexpr std::uint64_t kDays = 1024;  // 0.27 ms: longer than most that is ahead
  static constexpr unsigned kSeasonShift = kDayShift + 9;
  static constexpr Time kSeason = Time{1} << kSeasonShift;  // 0.13 ms
  static_assert(kSeason == (kDays << kDayShift) / 2, "the ring holds two");
  static constexpr std::uint64_t kSeasons = 256;  // 34 ms: the DMA of the packets of long messages
  struct Link {
    Time at;
    std::uint32_t what;
    std::uint32_t after;
  };
  // From the top 64 bits of time and the order of coming.
  __extension__ using Order = unsigned __int128;
  struct Far {
    Order order;
    std::uint32_t link;
    bool operator<(const Far& other) const noexcept { return order > other.order; }  // least on top
  };
  // The events of one, in the order they came.
  struct Season {
    Time least = kNever;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };
  static Event event(Time at, std::uint32_t what) noexcept {
    return {at, what >> kPacketShift, what & (kMostKinds - 1)};
  }

  // The first day with events from `place` on, around the ring; there is one.
  std::uint32_t following(std::uint32_t place) const noexcept {
    const std::uint32_t word = place / 64;
    const std::uint64_t left = days_[word] >> place % 64 << place % 64;
    if (left != 0) return word * 64 + static_cast<std::uint32_t>(std::countr_zero(left));
    // Words after this one, and last this one again with the days before `place`.
    const auto ahead =
        static_cast<std::uint32_t>(std::countr_zero(std::rotr(words_, static_cast<int>((word + 1) % 64))));
    const std::uint32_t found = (word + 1 + ahead) % 64;
    return found * 64 + static_cast<std::uint32_t>(std::countr_zero(days_[found]));
  }

  std::uint32_t spare_link(Time at, std::uint32_t what) {
    if (spare_ == 0) make_spare();
    const std::uint32_t made = spare_;
    spare_ = links_[made].after;
    links_[made] = {at, what, 0};
    return made;
  }
  [[gnu::noinline]] void make_spare() {
    spare_ = static_cast<std::uint32_t>(links_.size());
    links_.push_back({kNever, 0, 0});
  }
  // Into its day.
  void sort(std::uint32_t made) noexcept {
    const Time at = links_[made].at;
    const auto place = static_cast<std::uint32_t>((at >> kDayShift) % kDays);
    // Link 0 ends every chain: its time is never reached.
    std::uint32_t* before = &first_[place];
    while (links_[*before].at <= at) before = &links_[*before].after;
    links_[made].after = *before;
    *before = made;
    days_[place / 64] |= std::uint64_t{1} << place % 64;
    words_ |= std::uint64_t{1} << place / 64;
    near_ = std::min(near_, at);
  }
  // Behind the others of its season.
  void append(std::uint32_t made) noexcept {
    const Time at = links_[made].at;
    const auto place = static_cast<std::uint32_t>((at >> kSeasonShift) % kSeasons);
    Season& season = seasons_[place];
    if (season.last == 0) {
      season.first = made;
      seasons_with_[place / 64] |= std::uint64_t{1} << place % 64;
    } else {
      links_[season.last].after = made;
    }
    season.last = made;
    season.least = std::min(season.least, at);
  }
  [[gnu::noinline]] void push_far(Time at, std::uint32_t what) {
    if (at < now_ || at >> kSeasonShift > season_ + kSeasons) {
      beyond_.push_back({static_cast<Order>(at) << 64 | pushed_++, spare_link(at, what)});
      std::push_heap(beyond_.begin(), beyond_.end());
    } else {
      append(spare_link(at, what));
    }
    far_ = std::min(far_, at);
  }
  // The link of the first in the heap.
  std::uint32_t pop_beyond() noexcept {
    std::pop_heap(beyond_.begin(), beyond_.end());
    const std::uint32_t taken = beyond_.back().link;
    beyond_.pop_back();
    return taken;
  }
  [[gnu::cold, gnu::noinline]] Event pop_past() noexcept {
    const std::uint32_t taken = pop_beyond();
    const Link link = links_[taken];
    links_[taken].after = spare_;
    spare_ = taken;
    far_ = first_far();
    return event(link.at, link.what);
  }
  // That season begins: nothing is before it.
  [[gnu::noinline]] void enter(std::uint64_t season) noexcept {
    season_ = season;
    turn_ = (season + 1) << kSeasonShift;
    horizon_ = (season + 2) << kSeasonShift;
    open(season % kSeasons);
    open((season + 1) % kSeasons);
    while (!beyond_.empty() && links_[beyond_.front().link].at >> kSeasonShift <= season + kSeasons) {
      const std::uint32_t taken = pop_beyond();
      links_[taken].after = 0;
      if (links_[taken].at < horizon_) {
        sort(taken);
      } else {
        append(taken);
      }
    }
    far_ = first_far();
  }
  // Its events into the ring.
  void open(std::uint64_t place) noexcept {
    for (std::uint32_t link = seasons_[place].first; link != 0;) {
      const std::uint32_t after = links_[link].after;
      sort(link);
      link = after;
    }
    seasons_[place] = {};
    seasons_with_[place / 64] &= ~(std::uint64_t{1} << place % 64);
  }
  // The first time beyond the ring or in the past.
  Time first_far() const noexcept {
    const Time beyond = beyond_.empty() ? kNever : links_[beyond_.front().link].at;
    if (beyond < now_) return beyond;
    // Around from the season after the ring's; its word comes once more with the seasons before.
    const std::uint64_t begin = (season_ + 2) % kSeasons;
    std::uint64_t word = begin / 64;
    std::uint64_t left = seasons_with_[word] >> begin % 64 << begin % 64;
    for (std::size_t i = 0; left == 0 && i < seasons_with_.size(); ++i) {
      word = (word + 1) % seasons_with_.size();
      left = seasons_with_[word];
    }
    if (left == 0) return beyond;
    return seasons_[word * 64 + static_cast<std::uint64_t>(std::countr_zero(left))].least;
  }

  Time now_ = 0;                 // of the last popped
  Ring<std::uint32_t> present_;  // what came for that time since
  Time near_ = kNever;           // the first in the ring
  Time far_ = kNever;            // the first of all else
  Time turn_ = kSeason;          // the present season's end
  Time horizon_ = 2 * kSeason;   // the ring's
  std::uint64_t words_ = 0;      // which of days_ are not 0
  std::uint32_t spare_ = 0;      // links of no chain
  std::vector<Link> links_;
  std::array<std::uint64_t, kDays / 64> days_{};
  std::array<std::uint32_t, kDays> first_{};
  std::uint64_t season_ = 0;  // the present one
  std::array<std::uint64_t, kSeasons / 64> seasons_with_{};
  std::array<Season, kSeasons> seasons_{};  // up to season_ + kSeasons
  std::vector<Far> beyond_;
  std::uint64_t pushed_ = 0;
};

}  // namespace substrata::myrinet
