// Counters for every choice that was asked for, found while others count.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "models/counting/counting.hpp"

namespace substrata::myrinet {

// `Choice` says which of what is seen counts; `Counters` for each, at most `Most` choices, which stay.
template <class Choice, class Counters, std::size_t Most>
class ChosenCounters {
 public:
  struct Counting {
    explicit Counting(const Choice& of) : choice(of) {}
    const Choice choice;
    Counters counters;
  };
  static constexpr std::size_t kMost = Most;

  ChosenCounters() = default;
  ChosenCounters(const ChosenCounters&) = delete;
  ChosenCounters& operator=(const ChosenCounters&) = delete;
  ~ChosenCounters() {
    for_each([](Counting& counting) { delete &counting; });
  }

  // The counter of that choice, made if it is new; null: too many. May throw std::bad_alloc. One caller at a
  // time.
  const counting::Counter* counter(const Choice& choice, std::size_t count) {
    const std::size_t used = used_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < used; ++i) {
      Counting& known = *choices_[i].load(std::memory_order_relaxed);
      if (known.choice == choice) return &known.counters[count];
    }
    if (used == Most) return nullptr;
    auto* const made = new Counting(choice);
    choices_[used].store(made, std::memory_order_relaxed);
    used_.store(used + 1, std::memory_order_release);
    return &made->counters[count];
  }

  // Beside counter().
  template <class Visit>
  void for_each(const Visit& visit) {
    const std::size_t used = used_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < used; ++i) visit(*choices_[i].load(std::memory_order_relaxed));
  }

 private:
  std::array<std::atomic<Counting*>, Most> choices_{};
  std::atomic<std::size_t> used_{0};
};

// What observes for them; the derived one ends the observation before it goes.
template <class Choice, class Counters, std::size_t Most>
class ChoosingInstrument : public counting::ObservingInstrument {
 public:
  using Choices = ChosenCounters<Choice, Counters, Most>;
  const counting::Counter* counter(const Choice& choice, std::size_t count) {
    return choices_.counter(choice, count);
  }

 protected:
  using ObservingInstrument::ObservingInstrument;

  Choices choices_;
};

}  // namespace substrata::myrinet
