// Commands that read the statistics of packets: histograms, signatures, the store in host memory and its
// trace.
#include <substrata/myrinet.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "process_recorder.hpp"

using namespace substrata;
using namespace substrata::myrinet;

extern "C" {

int substrata_myrinet_histogram(uint32_t node, uint32_t program, substrata_myrinet_latency latency,
                                substrata_myrinet_axis axis, uint32_t x, uint64_t* counts, uint32_t most) {
  return command([&](Recorder& self) {
    substrata_flush();
    return self.with_memory([&](auto& memory) {
      const Shape& shape = memory->shape();
      std::string wrong = objection(shape, node, program, static_cast<int>(axis));
      const uint32_t rows = axis == SUBSTRATA_MYRINET_BY_SIZE   ? shape.length_bins
                            : axis == SUBSTRATA_MYRINET_BY_TYPE ? kTypes
                                                                : shape.nodes;
      if (wrong.empty() && x >= rows)
        wrong = "x is " + std::to_string(x) + "; this axis has " + std::to_string(rows);
      if (wrong.empty() && static_cast<uint32_t>(latency) >= kLatencies)
        wrong = "there is no latency " + std::to_string(static_cast<uint32_t>(latency));
      if (wrong.empty() && (counts == nullptr || most < shape.latency_bins))
        wrong = "the histogram has " + std::to_string(shape.latency_bins) + " bins, there is space for " +
                std::to_string(counts == nullptr ? 0 : most);
      if (!wrong.empty()) return fail(Code::kInvalid, "%s", wrong.c_str());
      const std::vector<uint64_t> bins =
          histogram(*memory, node, program, static_cast<uint32_t>(latency), axis, x);
      std::copy(bins.begin(), bins.end(), counts);
      return 0;
    });
  });
}

int substrata_myrinet_signature(uint32_t node, uint32_t program, substrata_myrinet_axis axis,
                                substrata_myrinet_point* out, uint32_t most, uint32_t* count) {
  return command([&](Recorder& self) {
    substrata_flush();
    return self.with_memory([&](auto& memory) {
      std::string wrong = objection(memory->shape(), node, program, static_cast<int>(axis));
      if (wrong.empty() && (count == nullptr || (out == nullptr && most != 0)))
        wrong = "there is no place for the points or their count";
      if (!wrong.empty()) return fail(Code::kInvalid, "%s", wrong.c_str());
      const std::vector<substrata_myrinet_point> points = signature(*memory, node, program, axis);
      std::copy_n(points.begin(), std::min<size_t>(points.size(), most), out);
      *count = static_cast<uint32_t>(points.size());
      return 0;
    });
  });
}

int substrata_myrinet_host_counted(uint32_t node, substrata_myrinet_host_counts* out) {
  return command([&](Recorder&) {
    const auto store = host_store();
    if (store == nullptr)
      return fail(Code::kInvalid, "the histograms are on the interfaces, not in host memory");
    if (out == nullptr || out->struct_size < sizeof *out)
      return fail(Code::kInvalid, "counts with struct_size set are needed");
    if (node != SUBSTRATA_MYRINET_ALL && node >= store->nodes())
      return fail(Code::kInvalid, "node %u is asked for; the shape has %u", node, store->nodes());
    store->counts(node, out);
    return 0;
  });
}

int substrata_myrinet_trace(uint32_t node, substrata_myrinet_packet* out, uint32_t most, uint32_t* count) {
  return command([&](Recorder&) {
    const auto store = host_store();
    if (store == nullptr || store->layout().trace_ring == 0)
      return fail(Code::kInvalid, "there is no trace; substrata_myrinet_configure_host makes one");
    if (node >= store->nodes())
      return fail(Code::kInvalid, "node %u is asked for; the shape has %u", node, store->nodes());
    if (count == nullptr || (out == nullptr && most != 0))
      return fail(Code::kInvalid, "there is no place for the records or their count");
    *count = store->read_trace(node, out, most);
    return 0;
  });
}

}  // extern "C"
