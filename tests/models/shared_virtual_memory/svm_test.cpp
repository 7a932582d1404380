// Shared virtual memory: every program is right on it, in both modes, under random networks, and what the
// protocol sends is what the accesses call for.
#include "models/shared_virtual_memory/svm_machine.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "models/shared_virtual_memory/plain_network.hpp"
#include "models/shared_virtual_memory/plain_svm.hpp"
#include "sources/workloads/run.hpp"
#include "sources/workloads/small_specs.hpp"

namespace substrata::svm {
namespace {

using workloads::EngineSettings;
using workloads::Memory;
using workloads::Outcome;
using workloads::Process;
using workloads::Program;
using workloads::Report;
using workloads::run_workload;

std::unique_ptr<SvmMachine> machine_of(const std::string& parameters, std::uint64_t seed = 1) {
  std::string error;
  auto machine = make_plain_svm(parameters, seed, error);
  EXPECT_NE(machine, nullptr) << error;
  return machine;
}

class EveryWorkloadOnSvm : public testing::TestWithParam<const char*> {};

// FE-10
TEST_P(EveryWorkloadOnSvm, GivesTheRightResultOnAnyNumberOfProcessesInBothModes) {
  for (const char* mode : {"diffs", "automatic"}) {
    for (const ProcessId processes : {1U, 2U, 3U, 8U, 64U}) {
      const auto machine = machine_of(std::string("verify=yes:page=512:mode=") + mode);
      const Report report = run_workload(GetParam(), 5, *machine, {.processes = processes});
      EXPECT_TRUE(report.ran && report.correct) << mode << ": " << report.message;
    }
  }
}

// FE-10
TEST_P(EveryWorkloadOnSvm, GivesTheRightResultUnderRandomSchedules) {
  const char* const variants[] = {"mode=diffs:homes=first-touch:page=4096",
                                  "mode=automatic:homes=first-touch:burst=8",
                                  "mode=diffs:homes=round-robin:managers=spread:page=64",
                                  "mode=automatic:homes=round-robin:managers=spread:page=256"};
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const std::string text = std::string(variants[seed % 4]) +
                             ":verify=yes:latency=" + std::to_string(1 + seed * 3000) +
                             ":jitter=" + std::to_string(1 + seed * seed * 5000);
    const auto machine = machine_of(text, seed);
    const EngineSettings settings{.processes = static_cast<ProcessId>(2 + seed),
                                  .run_ahead = 1 + seed * 11 % 37};
    const Report report = run_workload(GetParam(), seed, *machine, settings);
    EXPECT_TRUE(report.ran && report.correct) << text << ": " << report.message;
  }
}

// FE-11
TEST_P(EveryWorkloadOnSvm, GivesTheSameStreamForTheSameSeed) {
  for (const char* mode : {"mode=diffs:jitter=9000", "mode=automatic:jitter=9000"}) {
    std::set<std::pair<std::uint64_t, Time>> seen;
    for (int repeat = 0; repeat < 2; ++repeat) {
      const auto machine = machine_of(mode, 3);
      const Report report = run_workload(GetParam(), 7, *machine, {.processes = 5, .digest = true});
      ASSERT_TRUE(report.correct) << report.message;
      seen.emplace(report.outcome.digest, report.outcome.time);
    }
    EXPECT_EQ(seen.size(), 1U);
  }
}

INSTANTIATE_TEST_SUITE_P(Small, EveryWorkloadOnSvm, testing::ValuesIn(workloads::kSmallSpecs),
                         workloads::spec_name);

// ------------------------------------------------------------------------------ what the protocol does,
// counted

using Words = workloads::View<std::uint32_t>;

// A program given as a function over one page of words for each process and more.
class Given final : public Program {
 public:
  explicit Given(std::function<void(Process&, const Words&)> body) : body_(std::move(body)) {}
  void lay_out(Memory& memory, ProcessId) override { words = memory.array<std::uint32_t>("words", 8 * 1024); }
  void run(Process& process) override { body_(process, process.view(words)); }
  std::string check(const Memory&) override { return {}; }
  workloads::SharedArray<std::uint32_t> words;

 private:
  std::function<void(Process&, const Words&)> body_;
};

constexpr std::uint64_t kPage = 1024;  // words of a page of 4096 bytes

struct Ran {
  Outcome outcome;
  SvmCounts counts;
};
Ran run(SvmMachine& machine, ProcessId processes, std::function<void(Process&, const Words&)> body,
        std::vector<std::uint32_t>* result = nullptr) {
  Given program(std::move(body));
  Memory memory;
  program.lay_out(memory, processes);
  memory.commit();
  workloads::Engine engine(program, machine, memory, {.processes = processes});
  Ran ran{engine.run(), machine.counts()};
  if (result != nullptr) {
    for (std::uint64_t i = 0; i < 8 * kPage; ++i) result->push_back(memory.peek(program.words, i));
  }
  return ran;
}
// Page 0 is never used, the words begin on page 1: round-robin with 2 processes gives process 1 the first.
std::uint64_t packets(const SvmCounts& counts, PacketKind kind) {
  return counts.packets[static_cast<std::size_t>(kind)];
}

TEST(Diffs, CarryTheChangedWordsOnly) {
  const auto machine = machine_of("homes=round-robin");
  std::vector<std::uint32_t> result;
  const Ran ran = run(
      *machine, 2,
      [](Process& process, const Words& words) {
        if (process.id() != 0) return;
        words[5] = 1;    // a run of two words
        words[6] = 2;    //
        words[100] = 3;  // and one of one
        words[200] = 0;  // no change
      },
      &result);
  EXPECT_TRUE(ran.outcome.completed) << ran.outcome.error;
  EXPECT_EQ(ran.counts.twins, 1U);
  EXPECT_EQ(ran.counts.diffs, 1U);
  EXPECT_EQ(ran.counts.diff_bytes, 2U * 4 + 3 * 4);
  EXPECT_EQ(ran.counts.page_fetches, 1U);
  EXPECT_EQ(result[5] + result[6] + result[100], 6U);
}

TEST(Diffs, OfOnePageByManyWritersAreMergedAtItsHome) {
  const auto machine = machine_of("homes=block:verify=yes");
  std::vector<std::uint32_t> result;
  const Ran ran = run(
      *machine, 8,
      [](Process& process, const Words& words) {
        for (std::uint64_t i = process.id(); i < kPage; i += process.count()) words[i] = 100U + process.id();
        process.barrier();
        for (std::uint64_t i = 0; i < kPage; ++i) EXPECT_EQ(words[i], 100 + i % 8);
      },
      &result);
  EXPECT_TRUE(ran.outcome.completed) << ran.outcome.error;
  for (std::uint64_t i = 0; i < kPage; ++i) ASSERT_EQ(result[i], 100 + i % 8);
}

TEST(Diffs, OfAPageWrittenWithWhatWasThereAreNotSent) {
  const auto machine = machine_of("homes=round-robin");
  const Ran ran = run(*machine, 2, [](Process& process, const Words& words) {
    if (process.id() == 0) words[5] = 0;
  });
  EXPECT_EQ(ran.counts.twins, 1U);
  EXPECT_EQ(ran.counts.diffs, 0U);
  EXPECT_EQ(ran.counts.intervals, 0U);
}

TEST(AutomaticUpdate, SendsEachStoreOnceAndCombinesContiguousOnes) {
  const auto machine = machine_of("homes=round-robin:mode=automatic:burst=64");
  std::vector<std::uint32_t> result;
  const Ran ran = run(
      *machine, 2,
      [](Process& process, const Words& words) {
        if (process.id() != 0) return;
        for (std::uint32_t i = 0; i < 32; ++i) words[i] = i + 1;     // 128 bytes: two packets of 64
        words[100] = 7;                                              // one more
        for (std::uint64_t i = 0; i < 4; ++i) words[kPage + i] = 1;  // at home: none
      },
      &result);
  EXPECT_TRUE(ran.outcome.completed) << ran.outcome.error;
  EXPECT_EQ(ran.counts.updates, 33U);
  EXPECT_EQ(packets(ran.counts, PacketKind::kUpdate), 3U);
  EXPECT_EQ(packets(ran.counts, PacketKind::kUpdateMark), 1U);
  EXPECT_EQ(ran.counts.twins + ran.counts.diffs, 0U);
  EXPECT_EQ(result[31], 32U);
  EXPECT_EQ(result[100], 7U);
}

TEST(Homes, ByFirstTouchAreWhereAPageIsUsedFirst) {
  const auto machine = machine_of("homes=first-touch");
  const Ran ran = run(*machine, 4, [](Process& process, const Words& words) {
    for (std::uint64_t i = 0; i < kPage; i += 64) words[kPage * process.id() + i] = 1;
    process.barrier();
    EXPECT_EQ(words[kPage * ((process.id() + 1) % 4)], 1U);
  });
  EXPECT_TRUE(ran.outcome.completed) << ran.outcome.error;
  for (ProcessId p = 0; p < 4; ++p) EXPECT_EQ(machine->home(1 + p), p);
  EXPECT_EQ(machine->home(8), SvmMachine::kNoHome);
  EXPECT_EQ(ran.counts.diffs, 0U);
  EXPECT_EQ(ran.counts.page_fetches, 4U);
}

TEST(Homes, KnownByWriteNoticesAreNotAskedFor) {
  std::uint64_t asked[2] = {};
  for (const bool named : {false, true}) {
    SvmParameters parameters;
    parameters.homes = HomePolicy::kFirstTouch;
    parameters.notices_name_homes = named;
    parameters.verify = true;
    SvmMachine machine("svm", parameters, std::make_unique<PlainNetwork>(PlainNetworkParameters{}));
    const Ran ran = run(machine, 4, [](Process& process, const Words& words) {
      for (std::uint64_t i = 0; i < kPage; i += 64) words[kPage * process.id() + i] = 1;
      process.barrier();
      for (ProcessId p = 0; p < 4; ++p) EXPECT_EQ(words[kPage * p], 1U);
    });
    EXPECT_TRUE(ran.outcome.completed) << ran.outcome.error;
    EXPECT_EQ(ran.counts.page_fetches, 12U);
    asked[named ? 1 : 0] = packets(ran.counts, PacketKind::kHomeRequest);
  }
  // Node 0 asks itself, without a packet. Of each other: its own page, then the pages of the three others.
  EXPECT_EQ(asked[0], 3U * 4);
  EXPECT_EQ(asked[1], 3U);
}

TEST(Homes, MoveAtABarrierWithTheirPage) {
  const auto machine = machine_of("homes=round-robin:verify=yes");
  std::vector<std::uint32_t> result;
  const Ran ran = run(
      *machine, 3,
      [&](Process& process, const Words& words) {
        for (std::uint32_t round = 0; round < 6; ++round) {
          if (process.id() == 2) {
            for (std::uint64_t i = 0; i < 10; ++i) words[i] += round;
          }
          if (process.id() == 0) words[20] += 1;
          process.barrier();
          EXPECT_EQ(words[20], round + 1);
          if (process.id() == 0 && round == 2) machine->move_home(1, 2);
          process.barrier();
        }
      },
      &result);
  EXPECT_TRUE(ran.outcome.completed) << ran.outcome.error;
  EXPECT_EQ(machine->home(1), 2U);
  EXPECT_EQ(ran.counts.moves, 1U);
  EXPECT_EQ(packets(ran.counts, PacketKind::kPageMove), 1U);
  EXPECT_EQ(result[0], 15U);
  EXPECT_EQ(result[20], 6U);
}

TEST(Acquire, InvalidatesWhatTheLastHolderWroteAndNothingElse) {
  const auto machine = machine_of("homes=block");
  const Ran ran = run(*machine, 3, [](Process& process, const Words& words) {
    // All pages 1 to 3 come to process 1 first.
    if (process.id() == 1) {
      for (std::uint64_t page = 5; page < 8; ++page) EXPECT_EQ(words[page * kPage], 0U);
    }
    process.barrier();
    if (process.id() == 0) {
      process.lock(1);
      words[6 * kPage] = 42;
      process.unlock(1);
    }
    if (process.id() == 1) {
      process.compute(100'000'000);
      process.lock(1);
      EXPECT_EQ(words[6 * kPage], 42U);
      EXPECT_EQ(words[5 * kPage] + words[7 * kPage], 0U);
      process.unlock(1);
    }
  });
  EXPECT_TRUE(ran.outcome.completed) << ran.outcome.error;
  // Process 1 fetches three pages and then one again, process 0 fetches the one it writes.
  EXPECT_EQ(ran.counts.page_fetches, 5U);
  EXPECT_EQ(ran.counts.invalidations, 1U);
}

TEST(Managers, AllMessagesOfLocksAndBarriersPassNodeZero) {
  const auto machine = machine_of("");
  const Ran ran = run(*machine, 4, [](Process& process, const Words&) {
    process.lock(3);
    process.unlock(3);
    process.barrier(2);
  });
  // Three of the four processes are elsewhere; the end of the program is a barrier too.
  EXPECT_EQ(packets(ran.counts, PacketKind::kLockRequest), 3U);
  EXPECT_EQ(packets(ran.counts, PacketKind::kLockGrant), 3U);
  EXPECT_EQ(packets(ran.counts, PacketKind::kLockRelease), 3U);
  EXPECT_EQ(packets(ran.counts, PacketKind::kBarrierArrive), 6U);
  EXPECT_EQ(packets(ran.counts, PacketKind::kBarrierRelease), 6U);
}

// The check itself: a program whose processes are not synchronised is caught, since no notice brings the
// write.
TEST(Verify, FindsAReadThatTheProtocolOwesNothing) {
  const auto machine = machine_of("homes=round-robin:verify=yes");
  const Ran ran = run(*machine, 2, [](Process& process, const Words& words) {
    if (process.id() == 0) {
      EXPECT_EQ(words[0], 0U);
      process.send(1, 1, {});
      process.receive(1, 1);  // orders time, but not the memory
      static_cast<void>(static_cast<std::uint32_t>(words[0]));
    } else {
      process.receive(0, 1);
      words[0] = 1;
      process.send(0, 1, {});
    }
    process.barrier();
  });
  EXPECT_FALSE(ran.outcome.completed);
  EXPECT_EQ(
      ran.outcome.error,
      "process 0 read a stale value at byte 0 of words: its copy differs from what was last written there");
}

TEST(Parameters, ThatAreWrongAreReportedBeforeAnythingRuns) {
  std::string error;
  EXPECT_EQ(make_plain_svm("mode=magic", 1, error), nullptr);
  EXPECT_NE(error.find("diffs|automatic"), std::string::npos) << error;
  EXPECT_EQ(make_plain_svm("page=100", 1, error), nullptr);
  SvmMachine machine("svm", {.page_bytes = 100}, std::make_unique<PlainNetwork>(PlainNetworkParameters{}));
  EXPECT_NE(run_workload("radix", 1, machine, {}).message.find("64 to 65536"), std::string::npos);
}

}  // namespace
}  // namespace substrata::svm
