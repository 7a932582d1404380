// The machines by name, as substrata_run finds them, and what is seen at their probe points.
#include <gtest/gtest.h>
#include <substrata/feed.h>
#include <substrata/result.hpp>

#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sources/workloads/catalogue.hpp"

namespace {

struct Seen {
  std::vector<substrata_transaction> all;
  static void take(void* owner, const substrata_transaction* batch, std::size_t count) {
    auto& self = *static_cast<Seen*>(owner);
    self.all.insert(self.all.end(), batch, batch + count);
  }
};

struct Finished {
  int code = 0;
  substrata_run_result result{};
  std::vector<substrata_transaction> seen;
};

Finished run(const char* machine, const char* workload, std::uint64_t seed, std::uint32_t processes,
             const char* parameters = nullptr) {
  Finished out;
  Seen seen;
  substrata_observer* observer = nullptr;
  EXPECT_EQ(substrata_observer_create(Seen::take, &seen, 0, &observer), 0);
  EXPECT_EQ(substrata_subscribe(observer, "svm.*"), 0);
  auto options = substrata::client::sized<substrata_run_options>();
  options.processes = processes;
  options.seed = seed;
  options.parameters = parameters;
  out.result.struct_size = sizeof(out.result);
  out.code = substrata_run(machine, workload, &options, &out.result);
  substrata_flush();
  substrata_observer_destroy(observer);
  out.seen = std::move(seen.all);
  return out;
}

TEST(Announced, WorkloadsAndMachinesAreListed) {
  std::set<std::string> workloads;
  for (std::uint32_t i = 0; substrata_workload_at(i) != nullptr; ++i)
    workloads.insert(substrata_workload_at(i)->name);
  for (const auto* workload : substrata::workloads::workloads()) {
    EXPECT_TRUE(workloads.contains(std::string(workload->name))) << workload->name;
  }
  std::set<std::string> machines;
  for (std::uint32_t i = 0; substrata_machine_at(i) != nullptr; ++i)
    machines.insert(substrata_machine_at(i)->name);
  EXPECT_TRUE(machines.contains("trivial"));
  EXPECT_TRUE(machines.contains("svm"));
}

// As a static object of a client does, before main.
int run_early(const char*, const substrata_run_options*, substrata_run_result*) { return 0; }
substrata_machine machine_named(const char* name) {
  auto made = substrata::client::sized<substrata_machine>();
  made.name = name;
  made.run = run_early;
  return made;
}
substrata_machine early = machine_named("early");
const int added_early = substrata_machine_add(&early);

TEST(Announced, AMachineAddedBeforeMainStandsBesideTheBuiltInOnes) {
  EXPECT_EQ(added_early, 0);
  std::vector<std::string> machines;
  for (std::uint32_t i = 0; substrata_machine_at(i) != nullptr; ++i)
    machines.push_back(substrata_machine_at(i)->name);
  EXPECT_EQ(machines, (std::vector<std::string>{"early", "svm", "trivial"}));
}

TEST(Announced, ABuiltInNameIsTaken) {
  static substrata_machine twin = machine_named("svm");
  EXPECT_EQ(substrata_machine_add(&twin), -8);
}

TEST(Announced, TrivialRunsAndReportsItsTime) {
  const Finished ran = run("trivial", "stream:elements=100:rounds=1", 1, 1, "jitter=0");
  EXPECT_EQ(ran.code, 0) << ran.result.message;
  EXPECT_EQ(ran.result.correct, 1U) << ran.result.message;
  EXPECT_EQ(ran.result.operations, 100U * 11 + 1);
  EXPECT_EQ(ran.result.ticks_per_second, 1'000'000'000'000U);
  EXPECT_EQ(ran.result.simulated_ticks, (100U * 11 + 2) * 1000);  // two barriers, the last at the end
}

TEST(Announced, BadParametersAndSpecsAreReportedInTheMessage) {
  const Finished bad = run("svm", "fft", 1, 4, "mode=none");
  EXPECT_LT(bad.code, 0);
  EXPECT_NE(std::string(bad.result.message).find("diffs|automatic"), std::string::npos) << bad.result.message;
  const Finished worse = run("trivial", "fft:points=77", 1, 1);
  EXPECT_LT(worse.code, 0);
  EXPECT_NE(std::string(worse.result.message).find("power of two"), std::string::npos)
      << worse.result.message;
}

// FE-11: the same transactions, byte for byte; FE-2: at named probe points.
TEST(Announced, SvmPublishesTheSameTransactionsForTheSameSeed) {
  for (const char* mode : {"mode=diffs:jitter=5000", "mode=automatic:jitter=5000"}) {
    const Finished one = run("svm", "water-spatial:molecules=64:steps=1", 4, 4, mode);
    const Finished two = run("svm", "water-spatial:molecules=64:steps=1", 4, 4, mode);
    ASSERT_EQ(one.result.correct, 1U) << one.result.message;
    ASSERT_GT(one.seen.size(), 50U);
    EXPECT_EQ(one.result.transactions, one.seen.size());
    EXPECT_EQ(one.result.simulated_ticks, two.result.simulated_ticks);
    // Batches of different probe points reach an observer as their rings are run: compare point by point.
    std::map<std::uint16_t, std::vector<substrata_transaction>> points[2];
    for (const auto& transaction : one.seen) points[0][transaction.probe].push_back(transaction);
    for (const auto& transaction : two.seen) points[1][transaction.probe].push_back(transaction);
    ASSERT_EQ(points[0].size(), 4U);
    for (const auto& [probe, list] : points[0]) {
      const auto& other = points[1][probe];
      ASSERT_EQ(list.size(), other.size());
      std::uint64_t last = 0;
      for (std::size_t i = 0; i < list.size(); ++i) {
        EXPECT_EQ(std::memcmp(&list[i], &other[i], sizeof(list[i])), 0) << i;
        EXPECT_GE(list[i].time, last);
        EXPECT_GT(list[i].time, list[i].start);
        last = list[i].time;
      }
    }
  }
}

TEST(Announced, PacketsCarryThePhaseOfTheirSender) {
  const Finished ran = run("svm", "gauss:n=12", 1, 3);
  ASSERT_EQ(ran.result.correct, 1U) << ran.result.message;
  std::map<std::string, std::uint64_t> messages;
  for (const auto& transaction : ran.seen) {
    if (transaction.kind != SUBSTRATA_RECEIVE) continue;
    const char* name = substrata_region_name(transaction.phase);
    ++messages[name == nullptr ? "" : name];
  }
  EXPECT_EQ(messages["gauss.broadcast"], 12U * 2);
  EXPECT_EQ(messages["gauss.substitute"], 8U);
  EXPECT_EQ(messages.size(), 2U);
}

}  // namespace
