// The GPUs of the machine's description: eight of NVIDIA's from stand-ins for their driver's libraries, AMD's from a
// tree made from the kernel's documentation.
#include "core/system/accelerators.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

class AcceleratorsTest : public ::testing::Test {
 protected:
  RecordedTree tree;
  FakeHost host{tree.root()};
};

TEST_F(AcceleratorsTest, MachineWithoutDriversHasNone) {
  const Accelerators found = find_accelerators(*host.get());
  EXPECT_TRUE(found.nvidia.empty());
  EXPECT_TRUE(found.amd.empty());
}

TEST_F(AcceleratorsTest, EveryGpuOfNvidiaHasItsNameItsHashedUuidAndWhatCudaSaysOfIt) {
  void* const cuda_library = ::dlopen(FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);  // found then by its own name
  ASSERT_NE(cuda_library, nullptr) << ::dlerror();
  host.set("PAPI_NVML_MAIN", FAKE_NVML);
  const Accelerators found = find_accelerators(*host.get());
  ASSERT_EQ(found.nvidia.size(), 8u);
  const Accelerator& fourth = found.nvidia[3];
  EXPECT_EQ(fourth.name, "NVIDIA H200");
  uint64_t hash = 5381;
  for (const char c : std::string("GPU-00000000-0000-0000-0000-000000000003"))
    hash = hash * 33 + static_cast<uint64_t>(c);
  EXPECT_EQ(fourth.uid, hash);
  EXPECT_EQ(fourth.attributes[cuda::kWarpSize], 103u);  // CU_DEVICE_ATTRIBUTE_WARP_SIZE is 10
  EXPECT_EQ(fourth.attributes[cuda::kMultiprocessors], 163u);
  EXPECT_EQ(fourth.attributes[cuda::kBlocksPerMultiprocessor], 1063u);
  EXPECT_EQ(fourth.attributes[cuda::kCapabilityMajor], 9u) << "as NVML says";
  EXPECT_EQ(fourth.attributes[cuda::kCapabilityMinor], 0u);
  ::dlclose(cuda_library);
}

TEST_F(AcceleratorsTest, GpusOfAmdAreDescribedByTheKernelsTopology) {
  const std::string nodes = "/sys/class/kfd/kfd/topology/nodes/";
  tree.write(nodes + "0/properties", "cpu_cores_count 64\nsimd_count 0\nsimd_per_cu 0\n");
  tree.write(nodes + "1/name", "ip discovery\n");
  tree.write(
      nodes + "1/properties",
      "cpu_cores_count 0\nsimd_count 1216\nmax_waves_per_simd 8\nlds_size_in_kb 64\nwave_front_size 64\n"
      "simd_per_cu 4\ngfx_target_version 90402\nlocation_id 49664\ndomain 1\nunique_id 5\n");
  tree.write("/sys/devices/pci0001:00/0001:c2:00.0/vendor", "0x1002\n");
  tree.write("/sys/devices/pci0001:00/0001:c2:00.0/product_name", "AMD Instinct MI300X\n");
  tree.link("/sys/class/drm/card1/device", "/sys/devices/pci0001:00/0001:c2:00.0");
  const Accelerators found = find_accelerators(*host.get());
  ASSERT_EQ(found.amd.size(), 1u);
  const Accelerator& gpu = found.amd[0];
  EXPECT_EQ(gpu.name, "AMD Instinct MI300X");
  EXPECT_EQ(gpu.uid, uint64_t{1} << 32 | 0xc200u);
  EXPECT_EQ(gpu.attributes[rocm::kUnits], 304u);
  EXPECT_EQ(gpu.attributes[rocm::kSimdsPerUnit], 4u);
  EXPECT_EQ(gpu.attributes[rocm::kWavesPerUnit], 32u);
  EXPECT_EQ(gpu.attributes[rocm::kWavefrontSize], 64u);
  EXPECT_EQ(gpu.attributes[rocm::kMemoryPerWorkgroup], 65536u);
  EXPECT_EQ(gpu.attributes[rocm::kCapabilityMajor], 9u);
  EXPECT_EQ(gpu.attributes[rocm::kCapabilityMinor], 4u);
  EXPECT_EQ(gpu.attributes[rocm::kGridX], kUnknownAttribute);
}

TEST_F(AcceleratorsTest, GpuThatTheKernelCallsIpDiscoveryHasTheNameOfItsArchitecture) {
  const std::string nodes = "/sys/class/kfd/kfd/topology/nodes/";
  for (const auto& [node, target] : {std::pair{"1", "90402"}, {"2", "90010"}, {"3", "110000"}}) {
    tree.write(nodes + node + "/name", "ip discovery\n");
    tree.write(nodes + node + "/properties",
               std::string("simd_count 8\nsimd_per_cu 4\ngfx_target_version ") + target + "\n");
  }
  const Accelerators found = find_accelerators(*host.get());
  ASSERT_EQ(found.amd.size(), 3u);
  EXPECT_EQ(found.amd[0].name, "gfx942");
  EXPECT_EQ(found.amd[1].name, "gfx90a");
  EXPECT_EQ(found.amd[2].name, "gfx1100");
}

}  // namespace
