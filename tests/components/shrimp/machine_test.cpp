// The machine shrimp: programs on it are right, runs repeat, traces replay, live messages become packets.
#include <gtest/gtest.h>
#include <papi.h>
#include <substrata/shrimp.h>
#include <sys/wait.h>
#include <unistd.h>
#include <substrata/feed.hpp>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sources/workloads/small_specs.hpp"
#include "support/temporary_folder.hpp"
#include "support/transactions.hpp"

namespace {

constexpr uint32_t kAll = SUBSTRATA_SHRIMP_EVERY_NODE;

struct Ran {
  int status = 0;
  substrata_run_result result{};
};
Ran run(const std::string& workload, uint32_t nodes, const std::string& parameters,
        const std::string& record = {}) {
  auto options = substrata::client::sized<substrata_run_options>();
  options.processes = nodes;
  options.seed = 3;
  options.parameters = parameters.c_str();
  if (!record.empty()) options.record = record.c_str();
  Ran made;
  made.result.struct_size = sizeof made.result;
  made.status = substrata_run("shrimp", workload.c_str(), &options, &made.result);
  return made;
}

// A set that runs for as long as this lives, unless it is stopped.
class Counting {
 public:
  explicit Counting(const std::vector<std::string>& events) {
    EXPECT_EQ(PAPI_create_eventset(&set_), PAPI_OK);
    for (const std::string& event : events)
      EXPECT_EQ(PAPI_add_named_event(set_, ("shrimp:::" + event).c_str()), PAPI_OK) << event;
    EXPECT_EQ(PAPI_start(set_), PAPI_OK);
  }
  ~Counting() {
    PAPI_stop(set_, nullptr);
    PAPI_cleanup_eventset(set_);
    PAPI_destroy_eventset(&set_);
  }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;
  int id() const { return set_; }
  std::vector<long long> stop() {
    std::vector<long long> values(static_cast<size_t>(PAPI_num_events(set_)));
    EXPECT_EQ(PAPI_stop(set_, values.data()), PAPI_OK);
    return values;
  }

 private:
  int set_ = PAPI_NULL;
};

// Counts packets by receiver, sender and size without any monitor.
class Onlooker {
 public:
  Onlooker() {
    EXPECT_EQ(observer_.try_create<&Onlooker::take>(*this), 0);
    EXPECT_EQ(observer_.try_subscribe("shrimp.node*.receive"), 0);
  }
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> by_sender_and_size;
  std::map<uint32_t, uint64_t> latest;  // arrival at each node
  uint64_t packets = 0;
  uint64_t commands = 0;
  uint64_t too_close = 0;
  uint64_t backwards = 0;

 private:
  void take(const substrata_transaction* batch, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const substrata_transaction& t = batch[i];
      if (t.kind == SUBSTRATA_COMMAND) {
        ++commands;
        continue;
      }
      ++packets;
      ++by_sender_and_size[{t.initiator, t.size}];
      if (t.start > t.time) ++backwards;
      uint64_t& before = latest[t.target];
      if (before != 0 && t.time < before + 625'000) ++too_close;
      before = t.time;
    }
  }
  substrata::client::feed::Observer observer_;
};

class Machine : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
    substrata_shrimp_power_on();
  }
  void TearDown() override { substrata_shrimp_power_on(); }
};

TEST_F(Machine, EveryWorkloadIsRightOnEverySetting) {  // SH-20, SH-21, FE-10
  const char* settings[] = {"verify=yes", "verify=yes:mode=diffs", "verify=yes:homes=block:burst=64",
                            "verify=yes:homes=round-robin:migrate=2:categories=eisa"};
  uint32_t nodes = 2;
  for (const char* workload : substrata::workloads::kSmallSpecs) {
    for (const char* parameters : settings) {
      const Ran done = run(workload, nodes, parameters);
      EXPECT_EQ(done.status, 0) << workload << " " << parameters << ": " << done.result.message;
      EXPECT_EQ(done.result.correct, 1u) << workload << " " << parameters << ": " << done.result.message;
      nodes = nodes == 9 ? 2 : nodes + 1;
    }
  }
}

TEST_F(Machine, RunsOnTwoHundredAndFiftySixNodes) {  // SH-20
  const Ran done = run("true-sharing:rounds=2:words=3", 256, "");
  EXPECT_EQ(done.status, 0) << done.result.message;
  EXPECT_EQ(done.result.correct, 1u);
  EXPECT_NE(run("true-sharing", 257, "").status, 0);
}

TEST_F(Machine, TheHistogramHoldsWhatAnOnlookerCounts) {  // SH-1, SH-5
  Counting set({"PACKETS"});
  Onlooker onlooker;
  ASSERT_EQ(run("fft:points=1024", 8, "").result.correct, 1u);
  const long long packets = set.stop()[0];
  EXPECT_EQ(static_cast<uint64_t>(packets), onlooker.packets);
  EXPECT_GT(packets, 1000);
  EXPECT_EQ(onlooker.backwards, 0u);
  EXPECT_EQ(onlooker.too_close, 0u) << "packets arrive 625 ns apart at least";
  std::vector<uint64_t> words(SUBSTRATA_SHRIMP_WORDS);
  ASSERT_EQ(substrata_shrimp_read_sum(0, SUBSTRATA_SHRIMP_WORDS, words.data()), 0);
  for (const auto& [what, count] : onlooker.by_sender_and_size) {
    EXPECT_EQ(words[what.first << 12 | what.second], count);
    EXPECT_LE(what.second, 224u) << "the bus is given back after 224 bytes";
  }
}

TEST_F(Machine, ASeedDecidesARun) {
  std::vector<long long> first;
  uint64_t ticks = 0;
  for (int i = 0; i < 2; ++i) {
    Counting set({"PACKETS", "BYTES", "LATENCY_SUM"});
    const Ran done = run("radix:keys=3000", 5, "homes=round-robin:migrate=4");
    ASSERT_EQ(done.result.correct, 1u);
    const std::vector<long long> values = set.stop();
    if (i == 0) {
      first = values;
      ticks = done.result.simulated_ticks;
    } else {
      EXPECT_EQ(values, first);
      EXPECT_EQ(done.result.simulated_ticks, ticks);
    }
  }
}

TEST_F(Machine, ObservingChangesNothing) {  // SH-1
  const uint64_t unobserved = run("ocean:n=34", 4, "").result.simulated_ticks;
  Counting set({"PACKETS"});
  EXPECT_EQ(run("ocean:n=34", 4, "").result.simulated_ticks, unobserved);
}

TEST_F(Machine, ACommandCostsFifteenCyclesByEisaAndOneByXpress) {  // SH-9
  // One process: nothing to wait for, so that the difference is the commands'.
  const char* workload = "radix:keys=1000:procedures=fine";
  const uint64_t bare = run(workload, 1, "").result.simulated_ticks;
  Counting set({"COMMANDS"});
  const uint64_t eisa = run(workload, 1, "categories=eisa").result.simulated_ticks;
  const auto commands = static_cast<uint64_t>(set.stop()[0]);
  const uint64_t xpress = run(workload, 1, "categories=xpress").result.simulated_ticks;
  EXPECT_GE(commands, 8000u);
  EXPECT_EQ(eisa - bare, commands * 15 * 16'667);
  EXPECT_EQ(xpress - bare, commands * 16'667);
}

TEST_F(Machine, CommandsAtBeginsAloneAreHalfAsMany) {  // SH-9
  const char* workload = "radix:keys=1000:procedures=fine";
  Counting set({"COMMANDS"});
  ASSERT_EQ(run(workload, 1, "categories=eisa").result.correct, 1u);
  long long both = 0;
  PAPI_read(set.id(), &both);
  ASSERT_EQ(run(workload, 1, "categories=eisa:categories_at=begin").result.correct, 1u);
  EXPECT_EQ(set.stop()[0], both + both / 2);
}

TEST_F(Machine, AProtectedWriteOfATagCostsTheProcedureThatBegins) {  // SH-10
  const char* workload = "radix:keys=1000:procedures=fine";
  Counting set({"COMMANDS"});
  const uint64_t bare = run(workload, 1, "").result.simulated_ticks;
  ASSERT_EQ(run(workload, 1, "categories=eisa:categories_at=begin").result.correct, 1u);
  const auto begins = static_cast<uint64_t>(set.stop()[0]);
  EXPECT_EQ(run(workload, 1, "tag_changes=yes").result.simulated_ticks - bare, begins * 600 * 16'667);
  EXPECT_EQ(run(workload, 1, "tag_changes=yes:tag=15").result.simulated_ticks - bare, begins * 15 * 16'667);
}

// A remote command took effect at once, cost nothing and sent nothing.
TEST_F(Machine, ACommandToAnotherNodeIsAPacketThatTakesItsTime) {  // SH-9
  Counting set({"PACKETS", "PACKETS:sender=2", "COMMANDS", "COMMANDS:node=0"});
  const uint64_t own = run("radix:keys=1000", 4, "").result.simulated_ticks;
  std::vector<long long> before(4);
  PAPI_read(set.id(), before.data());
  EXPECT_EQ(before[2], 0);
  const uint64_t remote = run("radix:keys=1000", 4, "categories=eisa:chosen_sender=2").result.simulated_ticks;
  const std::vector<long long> after = set.stop();
  const long long commands = after[2];
  EXPECT_GT(commands, 0);
  EXPECT_EQ(after[3], commands / 4) << "every node's register is written as often as the sender's own";
  EXPECT_GE(after[1] - 2 * before[1], commands / 4 * 3) << "to each other node a packet";
  EXPECT_NE(remote, own);
}

// What left a node and what arrived there used the bus at the same time.
TEST_F(Machine, TheEisaBusOfANodeServesOneAfterTheOther) {  // SH-20
  Counting set({"EISA_USES", "EISA_BYTES", "EISA_BUSY", "EISA_WAIT", "EISA_BUSY:node=1", "BYTES"});
  const Ran done = run("fft:points=1024", 4, "");
  ASSERT_EQ(done.result.correct, 1u);
  const std::vector<long long> values = set.stop();
  EXPECT_GT(values[0], 0);
  EXPECT_GE(values[1], values[5]) << "what arrives is moved by the bus, and most of it by the sender's, too";
  EXPECT_GT(values[3], 0);
  EXPECT_LE(static_cast<uint64_t>(values[4]), done.result.simulated_ticks);
  EXPECT_EQ(values[2], values[0] * 500'000 + values[1] * 30'303);
}

TEST_F(Machine, TheMonitorsHistogramOfTheBusHoldsEachUse) {  // SH-12
  ASSERT_EQ(substrata_shrimp_command(0, SUBSTRATA_SHRIMP_EVERY_NODE, SUBSTRATA_SHRIMP_SOURCE, 1), 0);
  Counting set({"EISA_USES", "BIN", "PACKETS"});
  ASSERT_EQ(run("fft:points=1024", 4, "").result.correct, 1u);
  const std::vector<long long> values = set.stop();
  EXPECT_EQ(values[0], values[1]);
  EXPECT_EQ(values[2], 0);
}

TEST_F(Machine, ProceduresSplitTheHistogramByCategory) {
  Counting set(
      {"PACKETS", "PACKETS:category=0", "PACKETS:category=2", "PACKETS:category=3", "PACKETS:category=4"});
  ASSERT_EQ(run("radix:keys=3000", 4, "categories=eisa").result.correct, 1u);
  const std::vector<long long> values = set.stop();
  EXPECT_EQ(values[0], values[1] + values[2] + values[3] + values[4]);
  for (size_t i = 2; i < 5; ++i) EXPECT_GT(values[i], 0) << i;  // count, prefix, permute
}

TEST_F(Machine, ATraceReplaysToTheCountsOfTheRun) {  // SH-21, FE-8
  const substrata::tests::TemporaryFolder folder;
  const std::string file = folder.path() + "/run.trace";
  const std::vector<std::string> events = {"PACKETS", "BYTES", "LATENCY_SUM", "COMMANDS",
                                           "PACKETS:category=2"};
  std::vector<long long> live;
  {
    Counting set(events);
    ASSERT_EQ(run("radix:keys=3000", 4, "categories=eisa", file).result.correct, 1u);
    live = set.stop();
  }
  std::vector<uint64_t> words(SUBSTRATA_SHRIMP_WORDS);
  ASSERT_EQ(substrata_shrimp_read_sum(0, SUBSTRATA_SHRIMP_WORDS, words.data()), 0);
  substrata_shrimp_power_on();
  {
    Counting set(events);
    ASSERT_EQ(substrata_replay(file.c_str(), nullptr, nullptr), 0) << substrata_feed_error();
    EXPECT_EQ(set.stop(), live);
  }
  std::vector<uint64_t> again(SUBSTRATA_SHRIMP_WORDS);
  ASSERT_EQ(substrata_shrimp_read_sum(0, SUBSTRATA_SHRIMP_WORDS, again.data()), 0);
  EXPECT_TRUE(words == again);

  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 40);
  substrata_shrimp_power_on();
  Counting set(events);
  EXPECT_EQ(substrata_replay(file.c_str(), nullptr, nullptr), -1);
  EXPECT_NE(std::string(substrata_feed_error()).find("offset"), std::string::npos) << substrata_feed_error();
  EXPECT_LE(set.stop()[0], live[0]);
}

TEST_F(Machine, MigrationMovesPagesToTheirWriters) {  // SH-33
  long long packets[2] = {};
  for (int i = 0; i < 2; ++i) {
    Counting set({"PACKETS"});
    const Ran done = run("lu:n=96:block=16", 8,
                         i == 0 ? "homes=round-robin:verify=yes" : "homes=round-robin:verify=yes:migrate=8");
    ASSERT_EQ(done.result.correct, 1u) << done.result.message;
    packets[i] = set.stop()[0];
  }
  EXPECT_LT(packets[1], packets[0]);
}

TEST_F(Machine, BadParametersAreRefusedWithAMessage) {
  const std::pair<const char*, const char*> wrong[] = {
      {"homes=elsewhere", "homes"}, {"burst=8", "burst"}, {"colour=red", "colour"}, {"migrate=8", "homes="}};
  for (const auto& [parameters, part] : wrong) {
    const Ran done = run("fft:points=256", 2, parameters);
    EXPECT_LT(done.status, 0) << parameters;
    EXPECT_NE(std::string(done.result.message).find(part), std::string::npos) << done.result.message;
  }
}

// Messages as the MPI shim publishes them.
class Messages {
 public:
  void send(uint64_t time_ns, uint32_t to, uint32_t bytes, uint16_t phase = 0) {
    substrata_transaction t = substrata::tests::message(SUBSTRATA_SEND, 2, to, bytes, time_ns);
    t.phase = phase;
    publisher_.publish(t);
  }

 private:
  substrata::client::feed::Publisher publisher_ =
      substrata::client::feed::Source{"mpi", "messages of a test", SUBSTRATA_SOURCE_TEST,
                                      SUBSTRATA_TIME_VIRTUAL}
          .publisher("mpi.rank2.send", "messages")
          .value();
};

TEST_F(Machine, FollowsTheMessagesOfMpiPrograms) {  // SH-21
  Messages messages;
  substrata_following* following = nullptr;
  ASSERT_EQ(substrata_follow("shrimp", nullptr, &following), 0) << substrata_feed_error();
  {
    Counting set({"PACKETS", "BYTES", "PACKETS:node=1:sender=2", "PACKETS:node=3", "PACKETS:category=7"});
    messages.send(1000, 1, 1000);  // 4 bursts of 224 and one of 104
    messages.send(2000, 3, 8, 7);
    messages.send(3000, 2, 500);         // to itself
    messages.send(4000, 0xffffffff, 5);  // to another job
    EXPECT_EQ(set.stop(), (std::vector<long long>{6, 1008, 5, 1, 1}));
  }
  std::vector<uint64_t> words(4096);
  ASSERT_EQ(substrata_shrimp_read(1, 2 << 12, 4096, words.data()), 0);
  EXPECT_EQ(words[224], 4u);
  EXPECT_EQ(words[104], 1u);
  substrata_unfollow(following);
  Counting set({"PACKETS"});
  messages.send(5000, 1, 100);
  EXPECT_EQ(set.stop()[0], 0) << "nobody follows";
}

// PA-44. In a process of its own: the high-level interface reads its settings once.
TEST_F(Machine, ARegionOfTheHighLevelInterfaceIsTheCategory) {
  const substrata::tests::TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    setenv("PAPI_EVENTS", "shrimp:::PACKETS", 1);
    setenv("PAPI_OUTPUT_DIRECTORY", folder.path().c_str(), 1);
    Messages messages;
    substrata_following* following = nullptr;
    if (substrata_follow("shrimp", nullptr, &following) != 0) _exit(2);
    if (substrata_shrimp_command(0, kAll, SUBSTRATA_SHRIMP_MULTIPLEXER,
                                 SUBSTRATA_SHRIMP_CATEGORY | SUBSTRATA_SHRIMP_SENDER |
                                     SUBSTRATA_SHRIMP_SIZE(0) | SUBSTRATA_SHRIMP_SIZE(1)) != 0)
      _exit(3);
    const auto send = [&](uint32_t bytes) { messages.send(1000, 1, bytes, substrata_phase()); };
    if (PAPI_hl_region_begin("outer") != PAPI_OK) _exit(4);
    send(1);
    if (PAPI_hl_region_begin("inner") != PAPI_OK) _exit(5);
    send(2);
    if (PAPI_hl_region_end("inner") != PAPI_OK) _exit(6);
    send(3);
    substrata_flush();
    if (PAPI_hl_region_end("outer") != PAPI_OK) _exit(7);
    if (substrata_phase() != 0) _exit(8);
    const uint32_t outer = substrata_region("outer") % 16;
    const uint32_t inner = substrata_region("inner") % 16;
    const std::pair<uint32_t, uint32_t> wanted[] = {{outer, 1}, {inner, 2}, {outer, 3}};
    for (const auto& [category, size] : wanted) {
      uint64_t count = 0;
      if (substrata_shrimp_read(1, category << 16 | 2 << 8 | size, 1, &count) != 0 || count != 1) _exit(9);
    }
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
