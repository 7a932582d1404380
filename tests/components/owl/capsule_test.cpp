// Capsules on feeds: what they refuse, their registers, rings and places.
#include <substrata/pages.h>
#include <substrata/substrate.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <substrata/result.hpp>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include "entry_points.hpp"
#include "feeding.hpp"
#include "support/opened_substrate.hpp"
#include "support/temporary_folder.hpp"

namespace substrata::owl::test {
namespace {

TEST(OwlCapsule, TheSameModuleRunsAtEveryProbe) {  // OW-2
  // As the places of a machine would name them: what passes differs, the module does not.
  std::vector<std::unique_ptr<Feed>> feeds;
  std::vector<std::unique_ptr<TestCapsule>> capsules;
  const uint16_t kinds[] = {SUBSTRATA_FILL, SUBSTRATA_READ, SUBSTRATA_PACKET, SUBSTRATA_PAGE_FAULT,
                            SUBSTRATA_SAMPLE};
  const char* const names[] = {"owl.test.l1-l2", "owl.test.bus", "owl.test.lanai.send",
                               "owl.test.page-faults", "owl.test.samples"};
  for (int i = 0; i < 5; ++i) {
    feeds.push_back(std::make_unique<Feed>(names[i]));
    capsules.push_back(std::make_unique<TestCapsule>(names[i], "histogram", "block=4096"));
  }
  for (int i = 0; i < 5; ++i)
    for (int k = 0; k <= i * 100; ++k)
      feeds[static_cast<size_t>(i)]->access(static_cast<uint64_t>(k) * 4096, kinds[i]);
  for (int i = 0; i < 5; ++i) {
    uint64_t sum = 0;
    for (const Packet& packet : capsules[static_cast<size_t>(i)]->drain()) sum += packet.words()[1];
    EXPECT_EQ(sum, static_cast<uint64_t>(i) * 100 + 1) << names[i];
  }
}

TEST(OwlCapsule, ObservesTheLevelsOfTheMemoryMachine) {  // OW-1, OW-8
  Host host;
  SubstrateTable memory;  // asked for, so that the static library brings its machine
  ASSERT_EQ(substrata_entry_memory(&host, &memory), 0);
  TestCapsule accesses("mem.cpu0.accesses", "counter");
  TestCapsule l1("mem.cpu0.l1-l2", "counter", "kind=16");
  TestCapsule l2("mem.cpu0.l2-memory", "counter", "kind=16");
  TestCapsule none("mem.cpu0.l1-l", "counter");
  auto options = client::sized<substrata_run_options>();
  options.processes = 1;
  auto result = client::sized<substrata_run_result>();
  ASSERT_EQ(substrata_run("memory", "radix:keys=8192", &options, &result), 0) << result.message;
  EXPECT_EQ(result.correct, 1u);
  EXPECT_GT(accesses.metric("TRANSACTIONS"), 8192u);
  EXPECT_GT(l1.metric("TRANSACTIONS"), 0u);
  EXPECT_EQ(l1.metric("MISSES"), l2.metric("TRANSACTIONS"));
  EXPECT_EQ(none.metric("TRANSACTIONS"), 0u);
}

TEST(OwlCapsule, RefusesWhatCannotBeWithItsReason) {  // OW-3, OW-5
  substrata_owl_capsule* capsule = nullptr;
  auto options = client::sized<substrata_owl_capsule_options>();
  options.probes = "owl.test.refused*";
  options.module = "nothing";
  EXPECT_EQ(substrata_owl_attach(&options, &capsule), -7);
  EXPECT_NE(std::string(substrata_owl_error()).find("no module 'nothing'"), std::string::npos);
  options.module = "histogram";
  options.registers = "counters=0";
  EXPECT_EQ(substrata_owl_attach(&options, &capsule), -1);
  options.registers = "block=3";
  EXPECT_EQ(substrata_owl_attach(&options, &capsule), -1);
  EXPECT_NE(std::string(substrata_owl_error()).find("power of two"), std::string::npos);
  options.registers = "size=3";
  EXPECT_EQ(substrata_owl_attach(&options, &capsule), -1);
  EXPECT_NE(std::string(substrata_owl_error()).find("it has: counters, block, key"), std::string::npos);
  options.registers = "counters=128";
  options.budget.counters = 100;
  EXPECT_EQ(substrata_owl_attach(&options, &capsule), -8);
  EXPECT_NE(std::string(substrata_owl_error()).find("too large"), std::string::npos);
  options.budget = {0, 100, 0};
  EXPECT_EQ(substrata_owl_attach(&options, &capsule), -8);
  EXPECT_NE(std::string(substrata_owl_error()).find("the capsule has 65536, 100 and 65536"),
            std::string::npos);
  options.budget = {0, 0, 10};
  EXPECT_EQ(substrata_owl_attach(&options, &capsule), -8);
  EXPECT_NE(std::string(substrata_owl_error()).find("the capsule has 65536, 67108864 and 10"),
            std::string::npos);
  options.budget = {};
  options.ring_bytes = 100;
  EXPECT_EQ(substrata_owl_attach(&options, &capsule), -1);
  options.ring_bytes = 0;
  ASSERT_EQ(substrata_owl_attach(&options, &capsule), 0);
  substrata_owl_capsule* second = nullptr;
  EXPECT_EQ(substrata_owl_attach(&options, &second), -8);
  substrata_owl_detach(capsule);
}

TEST(OwlCapsule, LiveRegistersChangeBetweenBatchesAlsoFromAReader) {  // OW-1
  Feed feed("owl.test.registers", 1);
  TestCapsule capsule(feed.name(), "sampler", "period=10");
  substrata_owl_reader* reader = nullptr;
  ASSERT_EQ(substrata_owl_reader_open(substrata_owl_ring_path(capsule.get()), 0, &reader), 0);
  for (int i = 0; i < 100; ++i) feed.access(1);
  EXPECT_EQ(capsule.metric("SAMPLES"), 10u);
  EXPECT_EQ(substrata_owl_reader_write_register(reader, "period", 5), 0);
  for (int i = 0; i < 100; ++i) feed.access(1);
  EXPECT_EQ(capsule.metric("SAMPLES"), 30u);
  EXPECT_EQ(substrata_owl_write_register(capsule.get(), "period", 0), -1);
  EXPECT_EQ(substrata_owl_reader_write_register(reader, "nothing", 1), -7);
  uint64_t value = 0;
  EXPECT_EQ(substrata_owl_read_register(capsule.get(), "period", &value), 0);
  EXPECT_EQ(value, 5u);
  substrata_owl_reader_close(reader);
  TestCapsule fixed(feed.name(), "histogram");
  EXPECT_EQ(substrata_owl_write_register(fixed.get(), "counters", 32), -8);
}

TEST(OwlCapsule, SeveralRegistersChangeAtOnce) {
  Feed feed("owl.test.several-registers", 1);
  TestCapsule capsule(feed.name(), "guard", "low0=0x1000:high0=0x1fff");
  substrata_owl_reader* reader = nullptr;
  ASSERT_EQ(substrata_owl_reader_open(substrata_owl_ring_path(capsule.get()), 0, &reader), 0);
  const auto value_of = [&](const char* name) {
    uint64_t value = 0;
    EXPECT_EQ(substrata_owl_read_register(capsule.get(), name, &value), 0);
    return value;
  };
  ASSERT_EQ(substrata_owl_write_registers(capsule.get(), "low0=0x3000:high0=0x3fff"), 0)
      << substrata_owl_error();
  feed.access(0x1800, SUBSTRATA_WRITE);
  feed.access(0x3800, SUBSTRATA_WRITE);
  EXPECT_EQ(capsule.metric("VIOLATIONS"), 1u);
  ASSERT_EQ(substrata_owl_reader_write_registers(reader, "low0=0x5000:high0=0x5fff:deny0=1"), 0);
  feed.access(0x5800, SUBSTRATA_READ);
  EXPECT_EQ(capsule.metric("VIOLATIONS"), 2u);
  // One wrong one, and none is written.
  EXPECT_EQ(substrata_owl_write_registers(capsule.get(), "low0=1:deny0=8"), -1);
  EXPECT_EQ(substrata_owl_reader_write_registers(reader, "low0=1:nothing=8"), -7);
  EXPECT_EQ(substrata_owl_reader_write_registers(reader, "low0=1:high0"), -1);
  EXPECT_EQ(value_of("low0"), 0x5000u);
  substrata_owl_reader_close(reader);
}

TEST(OwlCapsule, NeverSeesANewRegisterWithAnOldOne) {
  // Each pair of values forbids nothing; the low of one with the high of the other forbids the address between them.
  Feed feed("owl.test.whole-pairs", 1);
  TestCapsule capsule(feed.name(), "guard", "low0=0x1000:high0=0x1fff");
  std::atomic<bool> over{false};
  std::thread writer([&] {
    substrata_owl_reader* reader = nullptr;
    EXPECT_EQ(substrata_owl_reader_open(substrata_owl_ring_path(capsule.get()), 0, &reader), 0);
    for (int i = 0; i < 2000; ++i)
      EXPECT_EQ(substrata_owl_reader_write_registers(
                    reader, i % 2 == 0 ? "low0=0x8000:high0=0x8fff" : "low0=0x1000:high0=0x1fff"),
                0);
    substrata_owl_reader_close(reader);
    over = true;
  });
  while (!over) feed.access(0x4000, SUBSTRATA_WRITE);
  writer.join();
  EXPECT_GT(capsule.metric("CHECKED"), 0u);
  EXPECT_EQ(capsule.metric("VIOLATIONS"), 0u);
}

TEST(OwlCapsule, AWriterThatIsKilledChangesNoRegister) {
  Feed feed("owl.test.killed-writer", 1);
  TestCapsule capsule(feed.name(), "guard", "low0=0x1000:high0=0x1fff");
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      substrata_owl_reader* reader = nullptr;
      if (substrata_owl_reader_open(substrata_owl_ring_path(capsule.get()), SUBSTRATA_OWL_WATCH, &reader) !=
          0)
        _exit(1);
      for (unsigned long k = 0;; ++k)
        substrata_owl_reader_write_registers(
            reader, k % 2 == 0 ? "low0=0x8000:high0=0x8fff" : "low0=0x1000:high0=0x1fff");
    }
    usleep(static_cast<useconds_t>(500 + 137 * i));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    uint64_t low = 0;
    uint64_t high = 0;
    ASSERT_EQ(substrata_owl_read_register(capsule.get(), "low0", &low), 0);
    ASSERT_EQ(substrata_owl_read_register(capsule.get(), "high0", &high), 0);
    EXPECT_EQ(high, low + 0xfff);
    // And the next one may write.
    EXPECT_EQ(substrata_owl_write_registers(capsule.get(), "low0=0x1000:high0=0x1fff"), 0)
        << substrata_owl_error();
  }
}

TEST(OwlCapsule, AnotherProcessReadsTheRingByItsPath) {  // OW-4
  const substrata::tests::TemporaryFolder folder;
  const std::string path = folder.file("ring");
  Feed feed("owl.test.process");
  auto options = client::sized<substrata_owl_capsule_options>();
  options.probes = feed.name();
  options.module = "sampler";
  options.registers = "period=1";
  options.ring_path = path.c_str();
  substrata_owl_capsule* capsule = nullptr;
  ASSERT_EQ(substrata_owl_attach(&options, &capsule), 0) << substrata_owl_error();
  ASSERT_EQ(substrata_owl_start(capsule), 0);
  for (uint64_t i = 0; i < 1000; ++i) feed.access(i);
  substrata_flush();
  const pid_t child = fork();
  if (child == 0) {
    substrata_owl_reader* reader = nullptr;
    if (substrata_owl_reader_open(path.c_str(), 0, &reader) != 0) _exit(2);
    substrata_transaction t{};
    substrata_owl_packet packet{};
    uint64_t sum = 0;
    while (substrata_owl_reader_peek(reader, &packet, &t, sizeof t) == 1) {
      sum += t.address;
      substrata_owl_reader_consume(reader);
    }
    _exit(sum == 999u * 500 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  substrata_owl_detach(capsule);
}

TEST(OwlCapsule, NearFullIsReportedToTheConsumerWhoMakesSpace) {  // OW-4
  Feed feed("owl.test.nearfull");
  TestCapsule capsule(feed.name(), "sampler", "period=1", 1 << 14);
  struct Consumer {
    substrata_owl_reader* reader = nullptr;
    uint64_t packets = 0;
  } consumer;
  ASSERT_EQ(substrata_owl_reader_open(substrata_owl_ring_path(capsule.get()), 0, &consumer.reader), 0);
  substrata_owl_on_near_full(
      capsule.get(),
      [](void* owner, substrata_owl_capsule*) {
        auto& self = *static_cast<Consumer*>(owner);
        substrata_transaction t{};
        substrata_owl_packet packet{};
        while (substrata_owl_reader_peek(self.reader, &packet, &t, sizeof t) == 1) {
          ++self.packets;
          substrata_owl_reader_consume(self.reader);
        }
      },
      &consumer);
  for (uint64_t i = 0; i < 10'000; ++i) feed.access(i);
  const auto statistics = capsule.statistics();
  EXPECT_EQ(statistics.dropped, 0u);
  EXPECT_EQ(statistics.packets_injected, 10'000u);
  EXPECT_GT(statistics.near_full, 10u);
  substrata_owl_on_near_full(capsule.get(), nullptr, nullptr);
  substrata_owl_reader_close(consumer.reader);
  EXPECT_EQ(consumer.packets + capsule.drain().size(), 10'000u);
}

TEST(OwlCapsule, CountsAreExactWithPublishersInFourThreads) {
  TestCapsule capsule("owl.test.thread*", "counter");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      Feed feed("owl.test.thread" + std::to_string(i));
      for (uint64_t k = 0; k < 20'000; ++k) feed.access(k);
    });
  }
  for (int i = 0; i < 20; ++i) static_cast<void>(capsule.statistics());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(capsule.metric("TRANSACTIONS"), 80'000u);
}

TEST(OwlObjects, LaterOnesHideEarlierOnes) {
  substrata_owl_objects_clear();
  ASSERT_EQ(substrata_owl_object_add("whole", 1000, 1000), 0);
  ASSERT_EQ(substrata_owl_object_add("middle", 1400, 100), 0);
  EXPECT_STREQ(substrata_owl_object_at(1000), "whole");
  EXPECT_STREQ(substrata_owl_object_at(1399), "whole");
  EXPECT_STREQ(substrata_owl_object_at(1400), "middle");
  EXPECT_STREQ(substrata_owl_object_at(1500), "whole");
  EXPECT_EQ(substrata_owl_object_at(2000), nullptr);
  ASSERT_EQ(substrata_owl_object_add("over", 900, 2000), 0);
  EXPECT_STREQ(substrata_owl_object_at(1450), "over");
  EXPECT_EQ(substrata_owl_object_add("", 1, 1), -1);
  substrata_owl_objects_clear();
  EXPECT_EQ(substrata_owl_object_at(1000), nullptr);
}

// The module of a shared object at one place: what passes there is counted beside it.
struct Place {
  const char* probes;
  void (*traffic)();
};
void run_machine(const char* machine, const char* workload, uint32_t processes) {
  auto options = client::sized<substrata_run_options>();
  options.processes = processes;
  auto result = client::sized<substrata_run_result>();
  ASSERT_EQ(substrata_run(machine, workload, &options, &result), 0) << result.message;
  EXPECT_EQ(result.correct, 1u);
}
void touch_pages() {
  substrata_page_faults* faults = nullptr;
  if (substrata_page_faults_start(nullptr, &faults) != 0)
    GTEST_SKIP() << "the four other capsules passed; " << substrata_feed_error();
  const size_t bytes = 64 * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  for (size_t i = 0; i < bytes; i += 64) static_cast<volatile char*>(memory)[i] = 1;
  substrata_page_faults_stop(faults);
  munmap(memory, bytes);
}

TEST(OwlCapsule, TheSameModuleBinaryRunsAtFiveDifferentPlaces) {  // OW-2
  const std::string path = std::string(OWL_TEST_MODULES) + "/good.so";
  auto info = client::sized<substrata_owl_module_info>();
  if (substrata_owl_module_find("large", &info) != 0) {
    ASSERT_EQ(substrata_owl_load(path.c_str()), 0) << substrata_owl_error();
    ASSERT_EQ(substrata_owl_module_find("large", &info), 0);
  }
  EXPECT_EQ(info.origin, path);
  // Named, so that the linker takes the machines in.
  for (substrata::EntryPoint* const entry :
       {substrata_entry_memory, substrata_entry_myrinet, substrata_entry_numachine}) {
    Host host;
    SubstrateTable table;
    ASSERT_EQ(entry(&host, &table), 0);
  }
  const Place places[] = {
      {"mem.cpu0.l1-l2", [] { run_machine("memory", "fft:points=1024", 1); }},
      {"mem.cpu0.l2-memory", [] { run_machine("memory", "fft:points=1024", 1); }},
      {"numachine.st0.cpu0.bus", [] { run_machine("numachine", "fft:points=256", 4); }},
      {"myrinet.node0.lanai.send", [] { run_machine("myrinet", "fft:points=256", 2); }},
      {"os.page-faults", touch_pages},
  };
  for (const Place& place : places) {
    SCOPED_TRACE(place.probes);
    struct Large {
      uint64_t all = 0;
      std::vector<uint64_t> addresses;
    } wanted;
    substrata_observer* observer = nullptr;
    ASSERT_EQ(substrata_observer_create(
                  [](void* owner, const substrata_transaction* batch, size_t count) {
                    auto& counted = *static_cast<Large*>(owner);
                    counted.all += count;
                    for (size_t i = 0; i < count; ++i)
                      if (batch[i].size > 16) counted.addresses.push_back(batch[i].address);
                  },
                  &wanted, 0, &observer),
              0);
    // A pattern, as the probe point may not exist yet; it matches this one only.
    std::string pattern = place.probes;
    pattern.back() = '?';
    ASSERT_EQ(substrata_subscribe(observer, pattern.c_str()), 0);
    {
      TestCapsule capsule(place.probes, "large", "limit=16");
      place.traffic();
      if (testing::Test::IsSkipped()) {
        substrata_observer_destroy(observer);
        return;
      }
      substrata_flush();
      EXPECT_GT(wanted.all, 0u);
      EXPECT_GT(wanted.addresses.size(), 0u);
      EXPECT_EQ(capsule.statistics().events_seen, wanted.all);
      EXPECT_EQ(capsule.metric("LARGE"), wanted.addresses.size());
      std::vector<uint64_t> emitted;
      for (const Packet& packet : capsule.drain()) emitted.push_back(packet.words().at(0));
      EXPECT_EQ(emitted, wanted.addresses);
    }
    substrata_observer_destroy(observer);
  }
}

}  // namespace
}  // namespace substrata::owl::test
