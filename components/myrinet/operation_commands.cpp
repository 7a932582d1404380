// Commands that read the statistics of operations.
#include <substrata/myrinet.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "myrinet/arguments.hpp"
#include "myrinet/process_recorder.hpp"

using namespace substrata;
using namespace substrata::myrinet;

extern "C" {

int substrata_myrinet_operations(uint32_t node, uint32_t program, substrata_myrinet_operation_point* out,
                                 uint32_t most, uint32_t* count) {
  return command([&](Recorder& self) {
    substrata_flush();
    const std::lock_guard lock(self.commands);  // the shape stays
    const Shape shape = self.with_memory([](auto& memory) { return memory->shape(); });
    std::string wrong = objection(shape, node, program, SUBSTRATA_MYRINET_BY_TYPE);
    if (wrong.empty() && (count == nullptr || (out == nullptr && most != 0)))
      wrong = "there is no place for the operations or their count";
    if (!wrong.empty()) return fail(Code::kInvalid, "%s", wrong.c_str());
    return self.operations.with_memory([&](auto& memory) {
      const auto points = operation_points(*memory, node, program);
      std::copy_n(points.begin(), std::min<size_t>(points.size(), most), out);
      *count = static_cast<uint32_t>(points.size());
      return 0;
    });
  });
}

int substrata_myrinet_operation_histogram(uint32_t node, uint32_t program, uint32_t kind, uint64_t* counts,
                                          uint32_t most) {
  return command([&](Recorder& self) {
    substrata_flush();
    const std::lock_guard lock(self.commands);
    const Shape shape = self.with_memory([](auto& memory) { return memory->shape(); });
    std::string wrong = objection(shape, node, program, SUBSTRATA_MYRINET_BY_TYPE);
    if (wrong.empty() && kind >= kOperationKinds)
      wrong = "there is no kind of operation " + std::to_string(kind);
    if (wrong.empty() && (counts == nullptr || most < kOperationBins))
      wrong = "the histogram has " + std::to_string(kOperationBins) + " bins, there is space for " +
              std::to_string(counts == nullptr ? 0 : most);
    if (!wrong.empty()) return fail(Code::kInvalid, "%s", wrong.c_str());
    return self.operations.with_memory([&](auto& memory) {
      const OperationSums sums = memory->sums(node, program, kind);
      std::copy(sums.bins.begin(), sums.bins.end(), counts);
      return 0;
    });
  });
}

const char* substrata_myrinet_operation_name(uint32_t kind) {
  return kind < kOperationKinds ? kOperationNames[kind] : nullptr;
}

uint64_t substrata_myrinet_operation_bin_ns(uint32_t bin) {
  return bin < kOperationBins ? operation_bin_begin(bin) : 0;
}

}  // extern "C"
