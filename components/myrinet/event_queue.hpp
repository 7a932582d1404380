// The events of one cluster by time; equal times in the order they came.
#ifndef SUBSTRATA_MYRINET_EVENT_QUEUE_HPP
#define SUBSTRATA_MYRINET_EVENT_QUEUE_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cluster_parameters.hpp"
#include "ring.hpp"

namespace substrata::myrinet {

// A calendar (Brown, "Calendar queues", CACM 1988) whose days are found by their bits: a ring of short
// stretches of time, each with the chain of its events in their order, and a bit for each that has any. What
// lies beyond the ring waits in a heap; it was pushed before whatever the ring may hold for the same time, so
// it goes first. What is pushed for the present itself waits in a queue of its own, after all that came
// before. Thread-compatible.
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
  Time next() const noexcept { return present_.empty() ? later() : now_; }
  // Packet and kind are below the most; `at` is before kNever, and before the last event popped only where
  // order does not matter.
  void push(Time at, std::uint32_t kind, std::uint32_t packet) {
    const std::uint64_t day = at >> kDayShift;
    const std::uint32_t what = packet << kPacketShift | kind;
    if (at == now_) {
      present_.push_back(what);
      return;
    }
    if (day - today_ >= kDays) {
      push_far(at, what);
      return;
    }
    if (spare_ == 0) make_spare();
    const std::uint32_t made = spare_;
    spare_ = links_[made].after;
    const auto place = static_cast<std::uint32_t>(day % kDays);
    // Link 0 ends every chain: its time is never reached.
    std::uint32_t* before = &first_[place];
    while (links_[*before].at <= at) before = &links_[*before].after;
    links_[made] = {at, what, *before};
    *before = made;
    days_[place / 64] |= std::uint64_t{1} << place % 64;
    words_ |= std::uint64_t{1} << place / 64;
    near_ = std::min(near_, at);
  }
  // The next one; there is one.
  Event pop() noexcept {
    if (!present_.empty() && now_ < later()) {
      const std::uint32_t what = present_.front();
      present_.pop_front();
      return event(now_, what);
    }
    if (far_ <= near_) return pop_far();
    now_ = near_;
    const std::uint64_t day = near_ >> kDayShift;
    today_ = day;
    const auto place = static_cast<std::uint32_t>(day % kDays);
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
  static constexpr unsigned kDayShift = 18;        // 0.26 us: hardly two events a day in a busy cluster
  static constexpr std::uint64_t kDays = 64 * 64;  // 1.1 ms: longer than all that is usual ahead
  struct Link {
    Time at;
    std::uint32_t what;
    std::uint32_t after;
  };
  // From the top 64 bits of time and the order of coming.
  __extension__ using Order = unsigned __int128;
  struct Far {
    Order order;
    std::uint32_t what;
    bool operator<(const Far& other) const noexcept { return order > other.order; }  // least on top
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

  [[gnu::noinline]] void make_spare() {
    spare_ = static_cast<std::uint32_t>(links_.size());
    links_.push_back({kNever, 0, 0});
  }
  [[gnu::noinline]] void push_far(Time at, std::uint32_t what) {
    beyond_.push_back({static_cast<Order>(at) << 64 | pushed_++, what});
    std::push_heap(beyond_.begin(), beyond_.end());
    far_ = static_cast<Time>(beyond_.front().order >> 64);
  }
  [[gnu::noinline]] Event pop_far() noexcept {
    std::pop_heap(beyond_.begin(), beyond_.end());
    const Event taken = event(static_cast<Time>(beyond_.back().order >> 64), beyond_.back().what);
    beyond_.pop_back();
    now_ = taken.at;
    far_ = beyond_.empty() ? kNever : static_cast<Time>(beyond_.front().order >> 64);
    today_ = std::max(today_, taken.at >> kDayShift);
    return taken;
  }

  Time now_ = 0;                 // of the last popped
  Ring<std::uint32_t> present_;  // what came for that time since
  Time near_ = kNever;           // the first in the ring
  Time far_ = kNever;            // the first beyond it
  std::uint64_t today_ = 0;      // no event in the ring is before this day
  std::uint64_t words_ = 0;      // which of days_ are not 0
  std::uint32_t spare_ = 0;      // links of no chain
  std::vector<Link> links_;
  std::array<std::uint64_t, kDays / 64> days_{};
  std::array<std::uint32_t, kDays> first_{};
  std::vector<Far> beyond_;
  std::uint64_t pushed_ = 0;
};

}  // namespace substrata::myrinet

#endif
