// What a rank's calls of BLAS compute: floating-point operations, from the sizes that the program passes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace substrata::mpi {

enum class BlasFunction : uint8_t { kSgemm, kDgemm, kCgemm, kZgemm, kDgemv, kDtrsm };
inline constexpr size_t kBlasFunctions = 6;
inline constexpr const char* kBlasNames[kBlasFunctions] = {"sgemm", "dgemm", "cgemm",
                                                           "zgemm", "dgemv", "dtrsm"};

struct BlasTotals {
  uint64_t calls = 0;
  double operations =
      0;  // 2mnk of a real product, 8mnk of a complex one, 2mn of one with a vector, n m^2 of a solve
  int64_t ns = 0;  // wall time in the calls
};

// Of one process. Threads may call BLAS at once, whatever they may do with MPI. Thread-safe.
class BlasCounts {
 public:
  // May be without memory, and then throws; the call is lost to the account.
  void add(uint16_t region, uint32_t section, BlasFunction function, double operations, int64_t ns) {
    const std::lock_guard guard(mutex_);
    BlasTotals& totals = phases_[{region, section}][static_cast<size_t>(function)];
    ++totals.calls;
    totals.operations += operations;
    totals.ns += ns;
  }
  // A list of JSON objects. `name`: of a region and section, as text within quotation marks.
  template <typename Name>
  std::string as_json(const Name& name) const {
    const std::lock_guard guard(mutex_);
    std::string out = "[";
    for (const auto& [phase, functions] : phases_)
      for (size_t i = 0; i < kBlasFunctions; ++i) {
        const BlasTotals& one = functions[i];
        if (one.calls == 0) continue;
        out += (out.size() > 1 ? "," : "") + std::string("{\"phase\":") + name(phase.first, phase.second) +
               ",\"function\":\"" + kBlasNames[i] + "\",\"calls\":" + std::to_string(one.calls) +
               ",\"operations\":" + std::to_string(static_cast<uint64_t>(one.operations)) +
               ",\"ns\":" + std::to_string(one.ns) + "}";
      }
    return out + "]";
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<uint16_t, uint32_t>, std::array<BlasTotals, kBlasFunctions>> phases_;
};

}  // namespace substrata::mpi
