// Sampled loads and stores: which event of a machine has them, what the kernel's records become, and that an Owl
// capsule sees them. The records are in the kernel's form; where this kernel fills one itself its place is compared.
#include "sources/samples/memory_samples.hpp"

#include <gtest/gtest.h>
#include <substrata/samples.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <substrata/result.hpp>
#include <vector>

#include "histogram_packets.hpp"
#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using pages::Sample;
using samples::fill_memory_sample;

class MemoryEvents : public ::testing::Test {
 protected:
  void unit(const std::string& name, int type,
            const std::vector<std::pair<std::string, std::string>>& files) {
    const std::string folder = "/sys/bus/event_source/devices/" + name + "/";
    tree_.write(folder + "type", std::to_string(type) + "\n");
    for (const auto& [file, text] : files) tree_.write(folder + file, text + "\n");
  }
  void intel(const std::string& name) {
    unit(name, 4,
         {{"format/event", "config:0-7"},
          {"format/umask", "config:8-15"},
          {"format/ldlat", "config1:0-15"},
          {"events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"}});
  }
  bool find() {
    return samples::find_memory_event(perf::read_pmus(tree_.root()), false, 1000, &found_, &why_);
  }
  substrata::testing::RecordedTree tree_;
  samples::MemoryEvent found_;
  std::string why_;
};

TEST_F(MemoryEvents, OfIntelAreItsPreciseLoads) {
  intel("cpu");
  ASSERT_TRUE(find()) << why_;
  const perf_event_attr& event = found_.wanted.event;
  EXPECT_EQ(found_.by, SUBSTRATA_SAMPLES_LOADS);
  EXPECT_EQ(event.type, 4u);
  EXPECT_EQ(event.config, 0x1cdu);
  EXPECT_EQ(event.config1, 3u);
  EXPECT_EQ(event.precise_ip, 2u);
  EXPECT_NE(event.sample_type & PERF_SAMPLE_DATA_SRC, 0u);
  EXPECT_NE(event.sample_type & PERF_SAMPLE_ADDR, 0u);
  EXPECT_FALSE(found_.wanted.leader);
}

TEST_F(MemoryEvents, OfSapphireRapidsCountBehindAnEventOfTheirOwn) {
  intel("cpu");
  tree_.write("/sys/bus/event_source/devices/cpu/events/mem-loads-aux", "event=0x03,umask=0x82\n");
  ASSERT_TRUE(find()) << why_;
  ASSERT_TRUE(found_.wanted.leader);
  EXPECT_EQ(found_.wanted.leader->config, 0x8203u);
  EXPECT_EQ(found_.wanted.leader->disabled, 1u);
  EXPECT_EQ(found_.wanted.event.disabled, 0u) << "it counts as its leader does";
}

TEST_F(MemoryEvents, OfAHybridAreThoseOfTheCoresThatHaveThem) {
  intel("cpu_core");
  tree_.write("/sys/bus/event_source/devices/cpu_core/cpus", "0-3\n");
  ASSERT_TRUE(find()) << why_;
  EXPECT_EQ(found_.wanted.processors, (std::vector<int>{0, 1, 2, 3}));
}

TEST_F(MemoryEvents, OfAmdAreOperationsThatLeaveNothingOut) {
  unit("ibs_op", 11, {{"format/cnt_ctl", "config:19"}});
  ASSERT_TRUE(find()) << why_;
  EXPECT_EQ(found_.by, SUBSTRATA_SAMPLES_OPERATIONS);
  EXPECT_EQ(found_.wanted.event.type, 11u);
  EXPECT_EQ(found_.wanted.event.config, 1u << 19);
  EXPECT_EQ(found_.wanted.event.exclude_hv, 0u);
  EXPECT_FALSE(found_.wanted.takes_exclusions);
}

TEST_F(MemoryEvents, ThatAMachineLacksAreRefusedWithWhatElseThereIs) {
  unit("armv8_pmuv3_0", 7, {{"events/cpu_cycles", "event=0x11"}});
  EXPECT_FALSE(find());
  EXPECT_NE(why_.find("substrata-cc"), std::string::npos) << why_;
}

perf_mem_data_src source(unsigned op, unsigned level_number, unsigned level_bits = PERF_MEM_LVL_NA) {
  perf_mem_data_src of{};
  of.mem_op = op;
  of.mem_lvl_num = level_number;
  of.mem_lvl = level_bits;
  return of;
}

Sample at(uint64_t address, const perf_mem_data_src& of) {
  Sample sample{};
  sample.header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(Sample)};
  sample.instruction = 0x400000;
  sample.process = 70;
  sample.thread = 71;
  sample.address = address;
  sample.processor = 5;
  sample.data_source = of.val;
  return sample;
}

struct Meaning {
  const char* what;
  perf_mem_data_src of;
  int kind, state, from;
};

TEST(MemorySamples, AreDecodedAsTheKernelDefinesThem) {
  perf_mem_data_src locked = source(PERF_MEM_OP_LOAD, PERF_MEM_LVLNUM_L1);
  locked.mem_lock = PERF_MEM_LOCK_LOCKED;
  perf_mem_data_src modified = source(PERF_MEM_OP_LOAD, PERF_MEM_LVLNUM_L3);
  modified.mem_snoop = PERF_MEM_SNOOP_HITM;
  perf_mem_data_src remote = source(PERF_MEM_OP_LOAD, PERF_MEM_LVLNUM_RAM);
  remote.mem_remote = 1;
  perf_mem_data_src neighbour = source(PERF_MEM_OP_LOAD, PERF_MEM_LVLNUM_L2);
  neighbour.mem_remote = 1;
  neighbour.mem_hops = 1;
  const Meaning meanings[] = {
      {"first level", source(PERF_MEM_OP_LOAD, PERF_MEM_LVLNUM_L1), SUBSTRATA_READ, SUBSTRATA_HIT,
       SUBSTRATA_SAMPLES_FROM_L1},
      {"fill buffer", source(PERF_MEM_OP_LOAD, PERF_MEM_LVLNUM_LFB), SUBSTRATA_READ, SUBSTRATA_MISS,
       SUBSTRATA_SAMPLES_FROM_FILL_BUFFER},
      {"memory", source(PERF_MEM_OP_LOAD, PERF_MEM_LVLNUM_RAM), SUBSTRATA_READ, SUBSTRATA_MISS,
       SUBSTRATA_SAMPLES_FROM_MEMORY},
      {"remote memory", remote, SUBSTRATA_READ, SUBSTRATA_MISS, SUBSTRATA_SAMPLES_FROM_REMOTE_MEMORY},
      {"neighbour's cache", neighbour, SUBSTRATA_READ, SUBSTRATA_MISS, SUBSTRATA_SAMPLES_FROM_L2},
      {"store", source(PERF_MEM_OP_STORE, PERF_MEM_LVLNUM_L2), SUBSTRATA_WRITE, SUBSTRATA_MISS,
       SUBSTRATA_SAMPLES_FROM_L2},
      {"locked", locked, SUBSTRATA_ATOMIC, SUBSTRATA_HIT, SUBSTRATA_SAMPLES_FROM_L1},
      {"modified elsewhere", modified, SUBSTRATA_READ, SUBSTRATA_MODIFIED, SUBSTRATA_SAMPLES_FROM_L3},
      {"older bits, second level",
       source(PERF_MEM_OP_LOAD, PERF_MEM_LVLNUM_NA, PERF_MEM_LVL_HIT | PERF_MEM_LVL_L2), SUBSTRATA_READ,
       SUBSTRATA_MISS, SUBSTRATA_SAMPLES_FROM_L2},
      {"older bits, a store that missed",
       source(PERF_MEM_OP_STORE, PERF_MEM_LVLNUM_NA, PERF_MEM_LVL_MISS | PERF_MEM_LVL_L1), SUBSTRATA_WRITE,
       SUBSTRATA_MISS, SUBSTRATA_SAMPLES_FROM_UNKNOWN},
      {"level not known", source(PERF_MEM_OP_LOAD, PERF_MEM_LVLNUM_NA), SUBSTRATA_READ, SUBSTRATA_STATE_NONE,
       SUBSTRATA_SAMPLES_FROM_UNKNOWN},
  };
  for (const Meaning& meaning : meanings) {
    substrata_transaction access{};
    ASSERT_TRUE(fill_memory_sample(at(0x1000, meaning.of), access)) << meaning.what;
    EXPECT_EQ(access.kind, meaning.kind) << meaning.what;
    EXPECT_EQ(access.state, meaning.state) << meaning.what;
    EXPECT_EQ(access.detail, static_cast<uint64_t>(meaning.from)) << meaning.what;
    EXPECT_EQ(access.address, 0x1000u) << meaning.what;
  }
}

TEST(MemorySamples, WithoutAnAddressOrAnAccessAreLeftOut) {
  substrata_transaction access{};
  EXPECT_FALSE(fill_memory_sample(at(0, source(PERF_MEM_OP_LOAD, PERF_MEM_LVLNUM_L1)), access));
  EXPECT_FALSE(fill_memory_sample(at(0x1000, source(PERF_MEM_OP_NA, PERF_MEM_LVLNUM_NA)), access));
}

// The kernel's buffer of a processor, with these samples in it.
struct FilledRing {
  explicit FilledRing(const std::vector<Sample>& samples)
      : data(reinterpret_cast<const unsigned char*>(samples.data()),
             reinterpret_cast<const unsigned char*>(samples.data() + samples.size())) {
    page.data_size = data.size();
    page.data_head = data.size();
  }
  perf_event_mmap_page page{};
  std::vector<unsigned char> data;
};

TEST(MemorySamples, ReachAnOwlCapsuleAsLoadsByAddress) {
  const perf_mem_data_src load = source(PERF_MEM_OP_LOAD, PERF_MEM_LVLNUM_RAM);
  FilledRing ring({at(0x1000, load), at(0x2000, load), at(0x1008, load),
                   at(0, source(PERF_MEM_OP_NA, PERF_MEM_LVLNUM_NA))});
  std::vector<Sample> taken;
  uint64_t lost = 0;
  pages::Buffer::take_records({&ring.page, ring.data.data()}, taken, lost);
  ASSERT_EQ(taken.size(), 4u);

  pages::Observation observation;
  ASSERT_EQ(observation.open_probe(samples::kMemoryProbe, samples::kMemoryProbeText), 0);
  owl_monitor::Capsule by_page(samples::kMemoryProbe, "histogram", "key=0:block=4096");
  observation.publish(taken, fill_memory_sample);
  EXPECT_EQ(tests::counts_by_key(by_page),
            (std::vector<std::pair<uint64_t, uint64_t>>{{0x1000, 2}, {0x2000, 1}}));
}

std::vector<Sample>& captured() {
  static std::vector<Sample> all;
  return all;
}

// Of a page fault this kernel knows no source, and says so where its source would stand.
TEST(MemorySamples, HaveTheirSourceWhereThisKernelPutsIt) {
  pages::Wanted wanted{
      pages::sampled_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, /*from_exec=*/false)};
  wanted.event.sample_period = 1;
  wanted.event.sample_type |= PERF_SAMPLE_DATA_SRC;
  pages::Observation observation;
  ASSERT_EQ(observation.open_probe(samples::kMemoryProbe, samples::kMemoryProbeText), 0);
  if (const int error = observation.open(wanted, {::gettid()}, 0); error != 0)
    GTEST_SKIP() << "perf events are refused here: " << std::strerror(error);
  substrata_observer* observer = nullptr;
  ASSERT_EQ(
      substrata_observer_create([](void*, const substrata_transaction*, size_t) {}, nullptr, 0, &observer),
      0);
  ASSERT_EQ(substrata_subscribe(observer, samples::kMemoryProbe), 0);
  observation.enable();
  void* const memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  *static_cast<volatile char*>(memory) = 1;
  observation.disable();
  captured().clear();
  observation.collect([](const Sample& sample, substrata_transaction&) {
    captured().push_back(sample);
    return false;
  });
  substrata_observer_destroy(observer);
  const auto touched = std::find_if(captured().begin(), captured().end(), [&](const Sample& sample) {
    return sample.address == reinterpret_cast<uintptr_t>(memory);
  });
  ASSERT_NE(touched, captured().end());
  EXPECT_EQ(touched->header.size, sizeof(Sample));
  perf_mem_data_src of{};
  of.val = touched->data_source;
  EXPECT_EQ(of.mem_op, static_cast<unsigned>(PERF_MEM_OP_NA));
  ::munmap(memory, 4096);
}

}  // namespace
