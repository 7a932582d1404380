// What happens when, for second implementations of a model that are to be plain rather than fast.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace substrata::tests {

class SlowFuture {
 protected:
  // Of one time in the order in which they were asked for.
  void at(uint64_t time, std::function<void()> happens) { future_.emplace(time, std::move(happens)); }
  void run_to_the_end() {
    while (!future_.empty()) {
      const auto next = future_.begin();
      now_ = next->first;
      const std::function<void()> happens = next->second;
      future_.erase(next);
      happens();
    }
  }
  uint64_t now_ = 0;

 private:
  std::multimap<uint64_t, std::function<void()>> future_;
};

}  // namespace substrata::tests
