// Pages that go to a new home, when all processes are at a barrier.
#include <algorithm>
#include <utility>

#include "models/shared_virtual_memory/svm_machine.hpp"

namespace substrata::svm {

void SvmMachine::move_home(std::uint64_t page, ProcessId to) {
  if (page >= page_count_ || to >= nodes_.size() || homes_[page] == kNoHome) return;
  for (auto& move : wanted_moves_) {
    if (move.first == page) {
      move.second = to;
      return;
    }
  }
  wanted_moves_.emplace_back(page, to);
}

// All processes stand at a barrier, so every interval is closed; but changes may still be on their way to a
// page's home. A page moves only when none are, else the request waits for the next barrier.
void SvmMachine::start_moves(Time now) {
  std::vector<std::pair<std::uint64_t, ProcessId>> later;
  std::vector<Packet> moves;
  for (const auto& move : wanted_moves_) {
    const std::uint64_t page = move.first;
    if (homes_[page] == move.second) continue;
    std::vector<Version> all;
    for (ProcessId writer = 0; writer < nodes_.size(); ++writer) {
      const auto& log = intervals_[writer];
      for (std::size_t i = log.size(); i-- > 0;) {
        if (std::find(log[i].begin(), log[i].end(), page) == log[i].end()) continue;
        all.push_back({writer, static_cast<std::uint32_t>(i + 1)});
        break;
      }
    }
    if (!contains(page, all)) {
      later.push_back(move);
      continue;
    }
    moves.push_back(page_packet(PacketKind::kPageMove, page, move.second));
  }
  wanted_moves_ = std::move(later);
  moves_under_way_ = moves.size();
  counts_.moves += moves.size();
  for (Packet& made : moves) {
    // The old home's own copy stays as valid as it is; it counts as fetched now.
    now = std::max(now, send(std::move(made), now));
  }
  if (moves_under_way_ == 0) release_barrier(now);
}

// The old home keeps its copy as any other process's; what it contained the new one now contains.
void SvmMachine::page_moved_in(const Packet& packet, Time now) {
  place_page(packet);
  homes_[page_of(packet.address)] = packet.to;
  if (--moves_under_way_ == 0) release_barrier(now + parameters_.costs.page_place);
}

}  // namespace substrata::svm
