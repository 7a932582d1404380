// Commands: a logged program run on the cluster, and what came of it.
#include <substrata/myrinet.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "myrinet/arguments.hpp"
#include "myrinet/machine.hpp"
#include "myrinet/offline_replay.hpp"
#include "myrinet/operations.hpp"
#include "myrinet/process_recorder.hpp"

using namespace substrata;
using namespace substrata::myrinet;

namespace {

// What is wrong with the operations of a node; empty: nothing.
std::string objection(const substrata_myrinet_operation* operations, size_t count, uint32_t node,
                      uint32_t nodes, uint32_t phases) {
  for (size_t i = 0; i < count; ++i) {
    const substrata_myrinet_operation& one = operations[i];
    std::string wrong;
    if (one.peer >= nodes || one.peer == node)
      wrong = "has node " + std::to_string(one.peer) + " at its other end; another one of " +
              std::to_string(nodes) + " is needed";
    else if (one.phase >= phases)
      wrong = "is of phase " + std::to_string(one.phase) + "; there are " + std::to_string(phases);
    else if (one.type >= kTypes)
      wrong = "is of type " + std::to_string(one.type) + "; there is space for " + std::to_string(kTypes);
    if (!wrong.empty())
      return "operation " + std::to_string(i) + " of node " + std::to_string(node) + " " + wrong;
  }
  return {};
}

}  // namespace

struct substrata_myrinet_carried {
  substrata_myrinet_carried(const ClusterParameters& parameters, uint32_t phases)
      : replay(parameters, phases) {}
  OfflineReplay replay;
};

extern "C" {

int substrata_myrinet_carry(const substrata_myrinet_operation* const* operations, const size_t* counts,
                            const substrata_myrinet_carry_options* options, substrata_myrinet_carried** out) {
  return command([&](Recorder&) {
    if (options == nullptr || options->struct_size < sizeof *options || out == nullptr ||
        operations == nullptr || counts == nullptr)
      return fail(Code::kInvalid,
                  "operations, options with struct_size set and a place for the result are needed");
    const uint32_t phases = options->phases != 0 ? options->phases : 1;
    if (options->nodes < 2 || options->nodes > kMostNodes || phases > kMostPrograms)
      return fail(Code::kInvalid, "%u nodes and %u phases are asked for, 2 to %u and 1 to %u are possible",
                  options->nodes, phases, kMostNodes, kMostPrograms);
    std::vector<OfflineReplay::Operations> programs;
    for (uint32_t node = 0; node < options->nodes; ++node) {
      if (operations[node] == nullptr && counts[node] != 0)
        return fail(Code::kInvalid, "node %u has operations, and no place where they are", node);
      const std::string wrong = objection(operations[node], counts[node], node, options->nodes, phases);
      if (!wrong.empty()) return fail(Code::kInvalid, "%s", wrong.c_str());
      programs.emplace_back(operations[node], counts[node]);
    }
    const std::string given = options->parameters != nullptr ? options->parameters : "";
    const std::string text = "nodes=" + std::to_string(options->nodes) + (given.empty() ? "" : ":") + given;
    MachineParameters parameters;
    std::string wrong;
    if (!parse_machine_parameters(text, options->seed, &parameters, wrong))
      return fail(Code::kInvalid, "%s", wrong.c_str());
    const uint64_t bytes = (OfflineReplay::shape_of(options->nodes, phases).bytes() +
                            OperationMemory::bytes(options->nodes, phases)) *
                           options->nodes;
    if (bytes > kMostModelBytes)
      return fail(Code::kNoMemory,
                  "the statistics of %u nodes and %u phases would take %llu MiB, 1024 are possible; ask for "
                  "fewer phases",
                  options->nodes, phases, static_cast<unsigned long long>(bytes >> 20));
    auto made = std::make_unique<substrata_myrinet_carried>(parameters.cluster, phases);
    made->replay.run(std::move(programs));
    *out = made.release();
    return 0;
  });
}

int substrata_myrinet_carried_outcome(const substrata_myrinet_carried* carried,
                                      struct substrata_myrinet_outcome* out) {
  if (carried == nullptr || out == nullptr || out->struct_size < sizeof *out)
    return fail(Code::kInvalid,
                "a result of substrata_myrinet_carry and a summary with struct_size set are needed");
  const uint32_t size = out->struct_size;
  *out = carried->replay.outcome();
  out->struct_size = size;
  return 0;
}

int substrata_myrinet_carried_counts(const substrata_myrinet_carried* carried, uint32_t node, uint32_t phase,
                                     substrata_myrinet_counts* out) {
  if (carried == nullptr || out == nullptr || out->struct_size < sizeof *out)
    return fail(Code::kInvalid,
                "a result of substrata_myrinet_carry and counts with struct_size set are needed");
  const OfflineReplay& replay = carried->replay;
  if (const std::string wrong = objection(replay.memory().shape(), node, phase, 0); !wrong.empty())
    return fail(Code::kInvalid, "%s", wrong.c_str());
  const uint32_t size = out->struct_size;
  *out = replay.counts(node, phase);
  out->struct_size = size;
  return 0;
}

int substrata_myrinet_carried_signature(const substrata_myrinet_carried* carried, uint32_t node,
                                        uint32_t phase, substrata_myrinet_axis axis,
                                        substrata_myrinet_point* out, uint32_t most, uint32_t* count) {
  return command([&](Recorder&) {
    if (carried == nullptr || count == nullptr || (out == nullptr && most != 0))
      return fail(Code::kInvalid,
                  "a result of substrata_myrinet_carry and places for points and count are needed");
    const MonitorMemory& memory = carried->replay.memory();
    if (const std::string wrong = objection(memory.shape(), node, phase, static_cast<int>(axis));
        !wrong.empty())
      return fail(Code::kInvalid, "%s", wrong.c_str());
    const std::vector<substrata_myrinet_point> points = signature(memory, node, phase, axis);
    std::copy_n(points.begin(), std::min<size_t>(points.size(), most), out);
    *count = static_cast<uint32_t>(points.size());
    return 0;
  });
}

int substrata_myrinet_carried_histogram(const substrata_myrinet_carried* carried, uint32_t node,
                                        uint32_t phase, substrata_myrinet_latency latency,
                                        substrata_myrinet_axis axis, uint32_t x, uint64_t* counts,
                                        uint32_t most) {
  return command([&](Recorder&) {
    if (carried == nullptr) return fail(Code::kInvalid, "a result of substrata_myrinet_carry is needed");
    const MonitorMemory& memory = carried->replay.memory();
    if (const std::string wrong = objection(memory.shape(), node, phase, static_cast<int>(axis), latency, x,
                                            counts != nullptr ? most : 0);
        !wrong.empty())
      return fail(Code::kInvalid, "%s", wrong.c_str());
    std::ranges::copy(histogram(memory, node, phase, latency, axis, x), counts);
    return 0;
  });
}

int substrata_myrinet_carried_operations(const substrata_myrinet_carried* carried, uint32_t node,
                                         uint32_t phase, substrata_myrinet_operation_point* out,
                                         uint32_t most, uint32_t* count) {
  return command([&](Recorder&) {
    if (carried == nullptr || count == nullptr || (out == nullptr && most != 0))
      return fail(Code::kInvalid,
                  "a result of substrata_myrinet_carry and places for operations and count are needed");
    const OfflineReplay& replay = carried->replay;
    if (const std::string wrong = objection(replay.memory().shape(), node, phase, 0); !wrong.empty())
      return fail(Code::kInvalid, "%s", wrong.c_str());
    const auto points = operation_points(replay.operations(), node, phase);
    std::copy_n(points.begin(), std::min<size_t>(points.size(), most), out);
    *count = static_cast<uint32_t>(points.size());
    return 0;
  });
}

void substrata_myrinet_carried_free(substrata_myrinet_carried* carried) { delete carried; }

}  // extern "C"
