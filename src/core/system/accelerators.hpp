// The GPUs of the machine and what programs ask of them: NVIDIA's from the libraries of their driver, AMD's from the
// kernel's files. Asked at first use, never at start.
#pragma once

#include <substrata/substrate.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/visibility.hpp"

namespace substrata {

inline constexpr unsigned kUnknownAttribute = UINT32_MAX;  // -1, as PAPI shows it

// PAPI's attributes of a kind of device that are numbers, in PAPI's order.
namespace cuda {
enum Attribute : uint32_t {
  kWarpSize,
  kMemoryPerBlock,
  kMemoryPerMultiprocessor,
  kBlockX,
  kBlockY,
  kBlockZ,
  kGridX,
  kGridY,
  kGridZ,
  kThreadsPerBlock,
  kMultiprocessors,
  kSeveralKernels,
  kMapsHostMemory,
  kOverlapsCopies,
  kUnifiedAddresses,
  kManagedMemory,
  kCapabilityMajor,
  kCapabilityMinor,
  kBlocksPerMultiprocessor,
  kAttributes
};
}  // namespace cuda
namespace rocm {
enum Attribute : uint32_t {
  kWavefrontSize,
  kWorkgroupSize,
  kWavesPerUnit,
  kMemoryPerWorkgroup,
  kWorkgroupX,
  kWorkgroupY,
  kWorkgroupZ,
  kGridX,
  kGridY,
  kGridZ,
  kUnits,
  kSimdsPerUnit,
  kCapabilityMajor,
  kCapabilityMinor,
  kAttributes
};
}  // namespace rocm

struct Accelerator {
  std::string name;
  uint64_t uid = 0;  // NVIDIA: a hash of its UUID; AMD: its place on the bus, as ROCm numbers it
  std::array<unsigned, cuda::kAttributes> attributes;
  Accelerator() { attributes.fill(kUnknownAttribute); }
};
static_assert(static_cast<uint32_t>(rocm::kAttributes) <= static_cast<uint32_t>(cuda::kAttributes));

struct Accelerators {
  std::vector<Accelerator> nvidia;
  std::vector<Accelerator> amd;
};

// What the machine below host.root has; PAPI_NVML_MAIN names another NVML. Allocates.
Accelerators find_accelerators(const Host& host);

// Those of this machine, looked for once, at the first call. The object lives as long as the process. Thread-safe.
SUBSTRATA_PRIVATE_API const Accelerators* accelerators();

}  // namespace substrata
