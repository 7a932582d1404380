// System information and timers against independent sources.
#include "core/system/system_info.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "core/system/amd_tlbs.hpp"
#include "core/system/timers.hpp"

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
  EXPECT_GT(memory, 0u) << "memory per NUMA node is reported (PA-38)";
  const long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE);
  if (l1 <= 0 || info->levels.empty()) GTEST_SKIP() << "the C library does not know the level 1 cache here";
  int64_t found = 0;
  for (const CacheInfo& cache : info->levels[0].caches) {
    if (cache.type == kMemoryData) found = cache.size_bytes;
  }
  EXPECT_EQ(found, l1);
}

// An EPYC 9004's registers. Leaf 0x18, which Intel's processors fill, is empty there, and no buffer was shown.
TEST(AmdTlbs, BothLevelsOfAZenAreShown) {
  HardwareInfo info;
  info.levels.resize(3);
  add_amd_tlbs({0xff48ff40, 0xff48ff40}, {0x5c002200, 0x6c004200}, {0xf048f040, 0xf0400000}, &info);
  const auto lines = [&](int level) {
    std::string text;
    for (const TlbInfo& tlb : info.levels[static_cast<size_t>(level)].tlbs)
      text += std::string(tlb.type == kMemoryData ? "data " : "code ") + std::to_string(tlb.entries) +
              " of " + std::to_string(tlb.page_bytes >> 10) + " K, " + std::to_string(tlb.ways) + " ways\n";
    return text;
  };
  EXPECT_EQ(lines(0),
            "code 32 of 4096 K, -1 ways\ndata 36 of 4096 K, -1 ways\n"
            "code 64 of 2048 K, -1 ways\ndata 72 of 2048 K, -1 ways\n"
            "code 64 of 4 K, -1 ways\ndata 72 of 4 K, -1 ways\n"
            "code 64 of 1048576 K, -1 ways\ndata 72 of 1048576 K, -1 ways\n");
  EXPECT_EQ(lines(1),
            "code 256 of 4096 K, 2 ways\ndata 1536 of 4096 K, 6 ways\n"
            "code 512 of 2048 K, 2 ways\ndata 3072 of 2048 K, 6 ways\n"
            "code 512 of 4 K, 4 ways\ndata 3072 of 4 K, 8 ways\n"
            "data 64 of 1048576 K, -1 ways\n");
  EXPECT_EQ(lines(2), "");
}

TEST(AmdTlbs, ALevelThatIsNotThereGetsNone) {
  HardwareInfo info;
  info.levels.resize(1);
  add_amd_tlbs({0xff48ff40, 0}, {0x5c002200, 0}, {}, &info);
  EXPECT_EQ(info.levels[0].tlbs.size(), 4u);
}

TEST(MemoryMap, ThisProgramIsFoundInIt) {
  const Result<AddressMap> program = executable_info();
  ASSERT_TRUE(program.has_value());
  const auto address = reinterpret_cast<uint64_t>(reinterpret_cast<void*>(&real_ns));
  EXPECT_GE(address, program->text_start);
  EXPECT_LT(address, program->text_end);
}

TEST(MemoryMap, PartsOfAnObjectAreDistinguished) {
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
  EXPECT_EQ(info->resident_kib, -1) << "not reported, and not called 0";
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
