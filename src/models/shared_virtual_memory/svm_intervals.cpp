// The end of an interval: its changes go to the homes, its notices to whoever acquires next.
#include "models/shared_virtual_memory/svm_machine.hpp"

#include <utility>

#include "models/shared_virtual_memory/diff.hpp"

namespace substrata::svm {

using workloads::kPageReadable;

// Ends the open interval of a process: its changes go to the homes and the pages are protected again.
Time SvmMachine::close_interval(ProcessId process, Time now) {
  Node& node = nodes_[process];
  network_->flush(process, now);
  if (node.dirty.empty()) return now;
  const std::uint32_t interval = node.clock[process] + 1;
  std::vector<std::uint64_t> written;
  std::vector<std::vector<std::uint64_t>> marks(parameters_.mode == UpdateMode::kAutomatic ? nodes_.size()
                                                                                           : std::size_t{0});
  for (const std::uint64_t page : node.dirty) {
    node.pages[page] = kPageReadable;
    now += parameters_.costs.notice;
    const ProcessId home_node = homes_[page];
    if (home_node == process) {
      written.push_back(page);
      continue;
    }
    if (parameters_.mode == UpdateMode::kAutomatic) {
      written.push_back(page);
      marks[home_node].push_back(page);
      continue;
    }
    const auto twin = node.twins.find(page);
    std::vector<std::byte> diff =
        make_diff(twin->second.data(), page_data(process, page), parameters_.page_bytes);
    node.twins.erase(twin);
    const Time compared = now;
    now += parameters_.costs.diff_page + parameters_.costs.diff_byte * diff.size();
    network_->memory_busy(process, compared, now);
    if (diff.empty()) continue;  // written with what was there: no notice is needed
    written.push_back(page);
    ++counts_.diffs;
    counts_.diff_bytes += diff.size();
    Packet made = packet(PacketKind::kDiff, process, home_node, static_cast<std::uint32_t>(diff.size()));
    made.address = page << page_shift_;
    made.number = interval;
    made.data = std::move(diff);
    now = send(std::move(made), now);
  }
  node.dirty.clear();
  if (written.empty()) return now;
  for (ProcessId home_node = 0; home_node < marks.size(); ++home_node) {
    if (marks[home_node].empty()) continue;
    Packet made = packet(PacketKind::kUpdateMark, process, home_node,
                         static_cast<std::uint32_t>(marks[home_node].size()) * kNoticeBytes);
    made.number = interval;
    made.pages = std::move(marks[home_node]);
    now = send(std::move(made), now);
  }
  ++counts_.intervals;
  node.clock[process] = interval;
  for (const std::uint64_t page : written) {
    if (homes_[page] == process) applied(page, {process, interval}, now);
  }
  intervals_[process].push_back(std::move(written));
  return now;
}

std::uint64_t SvmMachine::notices_between(const std::vector<std::uint32_t>& older,
                                          const std::vector<std::uint32_t>& newer,
                                          std::uint64_t& intervals) const {
  std::uint64_t notices = 0;
  intervals = 0;
  for (std::size_t q = 0; q < newer.size(); ++q) {
    for (std::uint32_t i = older[q]; i < newer[q]; ++i) {
      ++intervals;
      notices += intervals_[q][i].size();
    }
  }
  return notices;
}

std::uint32_t SvmMachine::notice_bytes(const std::vector<std::uint32_t>& older,
                                       const std::vector<std::uint32_t>& newer) const {
  std::uint64_t intervals = 0;
  const std::uint64_t notices = notices_between(older, newer, intervals);
  return static_cast<std::uint32_t>(newer.size() * kClockBytes + intervals * kVersionBytes +
                                    notices * kNoticeBytes);
}

}  // namespace substrata::svm
