// Counts what passes, and keeps releases in their order.
#include "numachine/synchronisation.hpp"

#include <algorithm>

namespace substrata::numachine {

void LockOrder::release(std::uint64_t number, bool exclusive, Time now) {
  all_at_ = std::max(all_at_, now);
  if (exclusive) exclusive_at_ = std::max(exclusive_at_, now);
  if (number > passed_ + 1) {
    early_.insert(number);
    return;
  }
  passed_ = std::max(passed_, number);
  while (!early_.empty() && *early_.begin() <= passed_ + 1) {
    passed_ = std::max(passed_, *early_.begin());
    early_.erase(early_.begin());
  }
}

Waits& WaitTallies::of(std::uint64_t address) {
  Waits& waits = waits_[address];
  waits.address = address;
  return waits;
}

void WaitTallies::pass(std::uint64_t address, WaitKind kind, std::uint32_t cpu, Time wait) {
  Waits& waits = of(address);
  waits.kind = kind;
  ++waits.uses;
  waits.waited += wait != 0 ? 1 : 0;
  waits.wait += wait;
  waits.longest = std::max(waits.longest, wait);
  waits.processors |= std::uint64_t{1} << cpu % 64;
  (kind == WaitKind::kBarrier ? lost_[cpu].barriers : lost_[cpu].locks) += wait;
}

std::vector<Waits> WaitTallies::all() const {
  std::vector<Waits> all;
  for (const auto& [address, waits] : waits_) all.push_back(waits);
  std::sort(all.begin(), all.end(), [](const Waits& a, const Waits& b) {
    return a.wait != b.wait ? a.wait > b.wait : a.address < b.address;
  });
  return all;
}

}  // namespace substrata::numachine
