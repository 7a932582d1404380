// Reads shapes and layouts, and says what is wrong with them.
#include "myrinet/arguments.hpp"

#include "myrinet/operations.hpp"

namespace substrata::myrinet {

uint64_t bytes_of(const Shape& shape) noexcept {
  return shape.bytes() + OperationMemory::bytes(shape.nodes, shape.programs);
}

uint64_t bytes_of(const Shape& shape, const HostLayout& layout) noexcept {
  return layout.interface_bytes(shape) + OperationMemory::bytes(shape.nodes, shape.programs);
}

bool read_shape(const substrata_myrinet_shape& from, Shape* out, std::string* wrong) {
  if (from.struct_size < sizeof from) {
    *wrong = "struct_size is not set";
    return false;
  }
  copy_shape(from, out);
  *wrong = out->objection();
  return wrong->empty();
}

bool read_host(const substrata_myrinet_shape* shape, const substrata_myrinet_host* host, Shape* out,
               HostLayout* layout, std::string* wrong) {
  if (shape == nullptr || host == nullptr || host->struct_size < sizeof *host) {
    *wrong = "a shape and a store with struct_size set are needed";
    return false;
  }
  if (!read_shape(*shape, out, wrong)) return false;
  constexpr uint32_t kDefaultBuffer = 64;
  if (host->cache_lines != 0) layout->cache_lines = host->cache_lines;
  layout->trace_ring = host->trace_ring;
  if (layout->trace_ring != 0)
    layout->trace_buffer = host->trace_buffer != 0 ? host->trace_buffer : kDefaultBuffer;
  *wrong = layout->objection();
  return wrong->empty();
}

std::string objection(const Shape& shape, uint32_t node, uint32_t program, int axis) {
  if (node != SUBSTRATA_MYRINET_ALL && node >= shape.nodes)
    return "node " + std::to_string(node) + " is asked for; the shape has " + std::to_string(shape.nodes);
  if (program != SUBSTRATA_MYRINET_ALL && program >= shape.programs)
    return "program " + std::to_string(program) + " is asked for; the shape has " +
           std::to_string(shape.programs);
  if (axis < SUBSTRATA_MYRINET_BY_SIZE || axis > SUBSTRATA_MYRINET_BY_TYPE)
    return "there is no axis " + std::to_string(axis);
  return {};
}

std::string objection(const Shape& shape, uint32_t node, uint32_t program, int axis, uint32_t latency,
                      uint32_t x, uint32_t space) {
  if (std::string wrong = objection(shape, node, program, axis); !wrong.empty()) return wrong;
  const uint32_t rows = axis == SUBSTRATA_MYRINET_BY_SIZE   ? shape.length_bins
                        : axis == SUBSTRATA_MYRINET_BY_TYPE ? kTypes
                                                            : shape.nodes;
  if (x >= rows) return "x is " + std::to_string(x) + "; this axis has " + std::to_string(rows);
  if (latency >= kLatencies) return "there is no latency " + std::to_string(latency);
  if (space < shape.latency_bins)
    return "the histogram has " + std::to_string(shape.latency_bins) + " bins, there is space for " +
           std::to_string(space);
  return {};
}

}  // namespace substrata::myrinet
