// Commands that read the statistics of packets: histograms, signatures, the store in host memory and its
// trace.
#include <substrata/myrinet.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "myrinet/arguments.hpp"
#include "myrinet/process_recorder.hpp"

using namespace substrata;
using namespace substrata::myrinet;

namespace {

// How long packets were in an interface, in all.
double load(const std::vector<substrata_myrinet_point>& points) {
  double ns = 0;
  for (const substrata_myrinet_point& one : points) {
    ns += static_cast<double>(one.sent) *
          (one.average_ns[SUBSTRATA_MYRINET_SOURCE] + one.average_ns[SUBSTRATA_MYRINET_LANAI]);
    ns += static_cast<double>(one.received) * one.average_ns[SUBSTRATA_MYRINET_DEST];
  }
  return ns;
}

// By which the second program's loads are to be shifted along the nodes so that they meet the first's least: the
// least sum of products, the smallest shift of several.
uint32_t best_shift(const std::vector<double>& first, const std::vector<double>& second) {
  const auto nodes = static_cast<uint32_t>(first.size());
  uint32_t best = 0;
  double least = 0;
  for (uint32_t shift = 0; shift < nodes; ++shift) {
    double met = 0;
    for (uint32_t process = 0; process < nodes; ++process)
      met += first[(process + shift) % nodes] * second[process];
    if (shift != 0 && met >= least) continue;
    best = shift;
    least = met;
  }
  return best;
}

}  // namespace

extern "C" {

int substrata_myrinet_histogram(uint32_t node, uint32_t program, substrata_myrinet_latency latency,
                                substrata_myrinet_axis axis, uint32_t x, uint64_t* counts, uint32_t most) {
  return command([&](Recorder& self) {
    substrata_flush();
    return self.with_memory([&](auto& memory) {
      const Shape& shape = memory->shape();
      const std::string wrong =
          objection(shape, node, program, static_cast<int>(axis), latency, x, counts != nullptr ? most : 0);
      if (!wrong.empty()) return fail(Code::kInvalid, "%s", wrong.c_str());
      const std::vector<uint64_t> bins = histogram(*memory, node, program, latency, axis, x);
      std::copy(bins.begin(), bins.end(), counts);
      return 0;
    });
  });
}

int substrata_myrinet_placement(uint32_t nodes, uint32_t* shift) {
  return command([&](Recorder& self) {
    substrata_flush();
    return self.with_memory([&](auto& memory) {
      const Shape& shape = memory->shape();
      if (shift == nullptr || nodes < 2 || nodes > shape.nodes || shape.programs < 2)
        return fail(Code::kInvalid,
                    "a place for the result, 2 to %u nodes and statistics of two programs are needed",
                    shape.nodes);
      std::vector<double> of_first(nodes);
      std::vector<double> of_second(nodes);
      for (uint32_t node = 0; node < nodes; ++node) {
        of_first[node] = load(signature(*memory, node, 0, SUBSTRATA_MYRINET_BY_SIZE));
        of_second[node] = load(signature(*memory, node, 1, SUBSTRATA_MYRINET_BY_SIZE));
      }
      *shift = best_shift(of_first, of_second);
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
