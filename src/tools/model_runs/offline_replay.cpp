// Hands the log of all ranks to the Myrinet cluster, and asks for what came of it.
#include "tools/model_runs/offline_replay.hpp"

#include <substrata/result.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace substrata::model_runs {
namespace {

constexpr int kNoSpace = -2;

void check(int result) {
  if (result != 0) throw std::runtime_error(substrata_myrinet_error());
}

}  // namespace

OfflineReplay::OfflineReplay(MessageLog log) : log_(std::move(log)), phases_(log_.header.phases) {
  const std::vector<std::size_t>& ranks = log_.header.operations;
  nodes_ = static_cast<std::uint32_t>(std::max<std::size_t>(2, ranks.size()));
  auto options = client::sized<substrata_myrinet_carry_options>();
  options.nodes = nodes_;
  options.phases = static_cast<std::uint32_t>(std::max<std::size_t>(1, phases_.size()));
  options.parameters = log_.header.parameters.c_str();
  std::vector<const substrata_myrinet_operation*> begins(nodes_);
  std::vector<std::size_t> counts(nodes_);
  std::size_t before = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    begins[rank] = log_.operations.data() + before;
    counts[rank] = ranks[rank];
    before += ranks[rank];
  }
  const auto begin = std::chrono::steady_clock::now();
  substrata_myrinet_carried* raw = nullptr;
  int result = substrata_myrinet_carry(begins.data(), counts.data(), &options, &raw);
  if (result == kNoSpace && options.phases > 1) {
    for (substrata_myrinet_operation& one : log_.operations) one.phase = 0;
    phases_.clear();
    options.phases = 1;
    result = substrata_myrinet_carry(begins.data(), counts.data(), &options, &raw);
  }
  check(result);
  carried_.reset(raw);
  run_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

substrata_myrinet_outcome OfflineReplay::outcome() const {
  struct substrata_myrinet_outcome out {};
  out.struct_size = sizeof out;
  check(substrata_myrinet_carried_outcome(carried_.get(), &out));
  return out;
}

substrata_myrinet_counts OfflineReplay::counts(std::uint32_t node, std::uint32_t phase) const {
  auto out = client::sized<substrata_myrinet_counts>();
  check(substrata_myrinet_carried_counts(carried_.get(), node, phase, &out));
  return out;
}

std::vector<substrata_myrinet_point> OfflineReplay::signature(std::uint32_t node, std::uint32_t phase,
                                                              substrata_myrinet_axis axis) const {
  std::uint32_t count = 0;
  check(substrata_myrinet_carried_signature(carried_.get(), node, phase, axis, nullptr, 0, &count));
  std::vector<substrata_myrinet_point> points(count);
  check(substrata_myrinet_carried_signature(carried_.get(), node, phase, axis, points.data(), count, &count));
  return points;
}

std::vector<std::vector<std::uint64_t>> OfflineReplay::lengths_by(substrata_myrinet_latency latency) const {
  auto shape = client::sized<substrata_myrinet_shape>();
  check(substrata_myrinet_default_shape(&shape));
  std::vector<std::vector<std::uint64_t>> rows(shape.length_bins);
  for (std::uint32_t length = 0; length < shape.length_bins; ++length) {
    rows[length].resize(shape.latency_bins);
    check(substrata_myrinet_carried_histogram(carried_.get(), SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_ALL,
                                              latency, SUBSTRATA_MYRINET_BY_SIZE, length, rows[length].data(),
                                              shape.latency_bins));
  }
  return rows;
}

std::vector<substrata_myrinet_operation_point> OfflineReplay::operations(std::uint32_t node,
                                                                         std::uint32_t phase) const {
  std::vector<substrata_myrinet_operation_point> points(SUBSTRATA_MYRINET_OPERATION_KINDS);
  std::uint32_t count = 0;
  check(substrata_myrinet_carried_operations(carried_.get(), node, phase, points.data(),
                                             SUBSTRATA_MYRINET_OPERATION_KINDS, &count));
  points.resize(count);
  return points;
}

OfflineReplay replay_folder(const std::string& folder, const std::string& parameters) {
  const std::string path = folder + "/" + mpi::kMessageLogName;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error("there is no " + path +
                             ", which an MPI program's ranks leave there when it ends (substrata mpirun "
                             "--cluster myrinet --out FOLDER)");
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  try {
    MessageLog log = parse_message_log(bytes);
    if (!parameters.empty()) log.header.parameters = parameters;
    return OfflineReplay(std::move(log));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("the messages in " + path + " are not carried: " + error.what());
  }
}

}  // namespace substrata::model_runs
