// In which phase or procedure of its program each node is, by the number of the region in the feed.
#pragma once

#include <substrata/feed.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/shared_virtual_memory/network.hpp"

namespace substrata::svm {

// For the time of one run. Thread-compatible.
class Phases {
 public:
  Phases() = default;
  explicit Phases(Engine& engine) : stacks_(engine.processes(), {0}) {
    for (const std::string& region : engine.memory().regions())
      regions_.push_back(regions_.empty() ? std::uint16_t{0} : substrata_region(region.c_str()));
  }
  // A mark of the program at a node.
  void mark(ProcessId node, Operation operation) {
    std::vector<std::uint16_t>& stack = stacks_[node];
    const std::uint64_t region = operation.argument();
    const std::uint16_t number = region < regions_.size() ? regions_[region] : std::uint16_t{0};
    if (operation.kind() == workloads::OperationKind::kPhase) stack.front() = number;
    if (operation.kind() == workloads::OperationKind::kEnter) stack.push_back(number);
    if (operation.kind() == workloads::OperationKind::kLeave && stack.size() > 1) stack.pop_back();
  }
  std::uint16_t operator[](ProcessId node) const noexcept { return stacks_[node].back(); }

 private:
  std::vector<std::uint16_t> regions_;              // numbers in the feed of the run's regions
  std::vector<std::vector<std::uint16_t>> stacks_;  // of each node: its phase, then the procedures it is in
};

}  // namespace substrata::svm
