// System information and timers against independent sources.
#include "system/system_info.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "system/timers.hpp"

namespace {

using namespace substrata;

TEST(HardwareInfo, AgreesWithTheSystem) {
  const HardwareInfo* info = hardware_info();
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info, hardware_info()) << "loaded once";
  EXPECT_LE(info->total_cpus, sysconf(_SC_NPROCESSORS_CONF));
  EXPECT_GE(info->total_cpus, 1);
  EXPECT_EQ(info->numa_nodes, std::max<int>(1, static_cast<int>(info->nodes.size())));
  uint64_t memory = 0;
  for (const NumaNode& node : info->nodes) memory += node.memory_bytes;
  EXPECT_GT(memory, 0u) << "memory per NUMA node is told (PA-38)";
  const long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE);
  if (l1 <= 0 || info->levels.empty()) GTEST_SKIP() << "the C library does not know the level 1 cache here";
  int64_t found = 0;
  for (const CacheInfo& cache : info->levels[0].caches) {
    if (cache.type == kMemoryData) found = cache.size_bytes;
  }
  EXPECT_EQ(found, l1);
}

TEST(MemoryMap, ThisProgramIsFoundInIt) {
  const Result<AddressMap> program = executable_info();
  ASSERT_TRUE(program.has_value());
  const auto address = reinterpret_cast<uint64_t>(reinterpret_cast<void*>(&real_ns));
  EXPECT_GE(address, program->text_start);
  EXPECT_LT(address, program->text_end);
}

TEST(MemoryMap, PartsOfAnObjectAreToldApart) {
  const Result<std::vector<AddressMap>> objects = parse_maps(
      "1000-2000 r--p 00000000 08:01 7 /bin/x y\n"
      "2000-5000 r-xp 00001000 08:01 7 /bin/x y\n"
      "5000-6000 rw-p 00004000 08:01 7 /bin/x y\n"
      "6000-9000 rw-p 00000000 00:00 0 \n"
      "a000-b000 r--p 00000000 08:01 9 /usr/share/data\n"
      "c000-d000 rw-p 00000000 00:00 0 [stack]\n");
  ASSERT_TRUE(objects.has_value());
  ASSERT_EQ(objects->size(), 1u);
  const AddressMap& map = (*objects)[0];
  EXPECT_EQ(map.name, "/bin/x y");
  EXPECT_EQ(map.text_start, 0x2000u);
  EXPECT_EQ(map.text_end, 0x5000u);
  EXPECT_EQ(map.data_start, 0x5000u);
  EXPECT_EQ(map.bss_start, 0x6000u);
  EXPECT_EQ(map.bss_end, 0x9000u);
  EXPECT_EQ(parse_maps("nonsense\n").error().code, Code::kInvalid);
}

TEST(MemoryStatus, IsReadByName) {
  const Result<MemoryInfo> info =
      parse_status("Name:\tx\nVmPeak:\t  20 kB\nVmSize:\t  10 kB\nVmPTE:\t 3 kB\n");
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->peak_kib, 20);
  EXPECT_EQ(info->size_kib, 10);
  EXPECT_EQ(info->page_table_kib, 3);
  EXPECT_EQ(info->resident_kib, -1) << "not told, and not called 0";
  EXPECT_EQ(parse_status("Name:\tx\n").error().code, Code::kInvalid);
  EXPECT_TRUE(memory_info().has_value());
}

TEST(Timers, RealTimeIsTheRawMonotonicClock) {
  timespec before{}, after{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &before);
  const int64_t now = real_ns();
  clock_gettime(CLOCK_MONOTONIC_RAW, &after);
  EXPECT_GE(now, before.tv_sec * 1'000'000'000ll + before.tv_nsec);
  EXPECT_LE(now, after.tv_sec * 1'000'000'000ll + after.tv_nsec);
  EXPECT_GT(cycle_hz(), 0);
  const int64_t used = virtual_ns();
  EXPECT_LE(used, virtual_ns());
}

}  // namespace
