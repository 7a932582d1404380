// The engine: order, waits, deadlocks and wrong programs, each reported in a message.
#include "sources/workloads/engine.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "sources/workloads/trivial_machine.hpp"

namespace substrata::workloads {
namespace {

// A program given as a function.
class Given final : public Program {
 public:
  explicit Given(std::function<void(Process&, const View<std::uint64_t>&)> body) : body_(std::move(body)) {}
  void lay_out(Memory& memory, ProcessId) override {
    words = memory.array<std::uint64_t>("words", 100000);
    region = memory.region("region");
  }
  void run(Process& process) override { body_(process, process.view(words)); }
  std::string check(const Memory&) override { return {}; }
  SharedArray<std::uint64_t> words;
  RegionId region = 0;

 private:
  std::function<void(Process&, const View<std::uint64_t>&)> body_;
};
using Words = View<std::uint64_t>;

Outcome run(ProcessId processes, std::function<void(Process&, const Words&)> body,
            const EngineSettings& wanted = {}, Machine* machine = nullptr) {
  Given program(std::move(body));
  TrivialMachine trivial({});
  Memory memory;
  program.lay_out(memory, processes);
  memory.commit();
  EngineSettings settings = wanted;
  settings.processes = processes;
  Engine engine(program, machine != nullptr ? *machine : trivial, memory, settings);
  return engine.run();
}

TEST(Engine, ChargesOneCycleAnOperationOnTheTrivialMachine) {
  const Outcome outcome = run(1, [](Process& process, const Words& words) {
    words[3] = 4;             // 1 cycle
    words[3] += 1;            // 2
    process.compute(100);     // 100
    EXPECT_EQ(words[3], 5U);  // 1
  });
  EXPECT_TRUE(outcome.completed) << outcome.error;
  EXPECT_EQ(outcome.time, (104U + 1) * 1000);  // and the barrier at the end
  EXPECT_EQ(outcome.reads, 2U);
  EXPECT_EQ(outcome.writes, 2U);
  EXPECT_EQ(outcome.compute_cycles, 100U);
}

TEST(Engine, GivesALockToOneProcessAtATimeInTheOrderOfAsking) {
  std::vector<ProcessId> order;
  bool inside = false;
  const Outcome outcome = run(4, [&](Process& process, const Words&) {
    process.compute(100 - 10 * process.id());
    process.lock(7);
    EXPECT_FALSE(inside);
    inside = true;
    process.compute(500);
    order.push_back(process.id());
    inside = false;
    process.unlock(7);
  });
  EXPECT_TRUE(outcome.completed) << outcome.error;
  EXPECT_EQ(order, (std::vector<ProcessId>{3, 2, 1, 0}));
}

TEST(Engine, LetsNobodyPassABarrierBeforeTheLast) {
  int arrived = 0;
  const Outcome outcome = run(5, [&](Process& process, const Words&) {
    for (int round = 1; round <= 3; ++round) {
      process.compute(100 * process.id() * static_cast<unsigned>(round));
      ++arrived;
      process.barrier();
      EXPECT_EQ(arrived, 5 * round);
      process.barrier(1);
    }
  });
  EXPECT_TRUE(outcome.completed) << outcome.error;
  EXPECT_EQ(outcome.barriers, 30U);
}

TEST(Engine, KeepsMessagesOfAPairInOrderAndMatchesTags) {
  const Outcome outcome = run(3, [&](Process& process, const Words&) {
    const auto send = [&](std::uint32_t tag, std::uint64_t value) {
      process.send_values<std::uint64_t>(0, tag, std::span(&value, 1));
    };
    if (process.id() != 0) {
      send(5, process.id() * 10);
      send(6, process.id() * 10 + 1);
      send(5, process.id() * 10 + 2);
      return;
    }
    std::uint64_t value = 0;
    for (const ProcessId from : {2U, 1U}) {
      process.receive_values<std::uint64_t>(from, 6, std::span(&value, 1));
      EXPECT_EQ(value, from * 10 + 1);
      process.receive_values<std::uint64_t>(from, 5, std::span(&value, 1));
      EXPECT_EQ(value, from * 10);
    }
    const ProcessId first = process.receive(kAnyProcess, 5).from;
    const ProcessId second = process.receive(kAnyProcess, 5).from;
    EXPECT_EQ(first + second, 3U);
  });
  EXPECT_TRUE(outcome.completed) << outcome.error;
  EXPECT_EQ(outcome.messages, 6U);
  EXPECT_EQ(outcome.message_bytes, 48U);
}

// FE-11
TEST(Engine, ReportsADeadlockOfTwoLocksWithWhoHoldsWhat) {
  const Outcome outcome = run(2, [](Process& process, const Words&) {
    const std::string owned(1000, 'x');  // freed although the process never ends
    process.lock(process.id());
    process.compute(10);
    process.lock(1 - process.id());
  });
  EXPECT_FALSE(outcome.completed);
  EXPECT_EQ(outcome.error,
            "deadlock: process 0 waits for lock 1, held by process 1; process 1 waits for lock 0, held by "
            "process 0");
}

TEST(Engine, ReportsADeadlockAtABarrierAndOfAMessageThatNobodySends) {
  const Outcome outcome = run(3, [](Process& process, const Words&) {
    if (process.id() == 0) process.barrier(4);
    if (process.id() == 1) process.receive(2, 9);
  });
  EXPECT_EQ(outcome.error,
            "deadlock: process 0 waits at barrier 4 (1 of 3 are there); process 1 waits for a message from "
            "process 2 "
            "with tag 9; process 2 waits at the end of the program (1 of 3 are there)");
}

TEST(Engine, ShortensTheReportOfADeadlockOfMany) {
  const Outcome outcome = run(64, [](Process& process, const Words&) {
    if (process.id() != 0) process.barrier();
  });
  EXPECT_NE(outcome.error.find("; and 56 more"), std::string::npos) << outcome.error;
}

TEST(Engine, RefusesWrongUseOfLocksAndMessages) {
  EXPECT_EQ(run(2, [](Process& process, const Words&) { process.unlock(3); }).error,
            "process 0 gives back lock 3, which it does not hold");
  EXPECT_EQ(run(1,
                [](Process& process, const Words&) {
                  process.lock(3);
                  process.lock(3);
                })
                .error,
            "process 0 asks for lock 3, which it holds already");
  EXPECT_EQ(run(2, [](Process& process, const Words&) { process.send(2, 0, {}); }).error,
            "process 0 sends to process 2, but there are only 2");
  EXPECT_EQ(run(1,
                [](Process& process, const Words&) {
                  process.send(0, 1, {});
                  std::uint64_t value;
                  process.receive_values<std::uint64_t>(0, 1, std::span(&value, 1));
                })
                .error,
            "process 0 expected a message of 8 bytes from process 0 with tag 1 and got 0 bytes");
}

TEST(Engine, ReportsAnExceptionOfTheProgram) {
  const Outcome outcome = run(2, [](Process& process, const Words& words) {
    words[process.id()] = 1;
    if (process.id() == 1) throw std::runtime_error("no such luck");
    process.barrier();
  });
  EXPECT_EQ(outcome.error, "process 1 ended with an error: no such luck");
}

TEST(Engine, EndsAProcessThatIsLeftInTheMiddleOfAMark) {
  // The marks of the unwinding stack go nowhere, however full the record is.
  for (std::size_t run_ahead = 1; run_ahead < 8; ++run_ahead) {
    RegionId region = 1;
    const Outcome outcome = run(2,
                                [&](Process& process, const Words&) {
                                  const Procedure outer(process, region);
                                  const Procedure inner(process, region);
                                  if (process.id() == 0) process.unlock(1);
                                  process.barrier();
                                },
                                {.run_ahead = run_ahead});
    EXPECT_FALSE(outcome.completed);
  }
}

// A machine that answers wrongly.
class Broken final : public SharedMemoryMachine {
 public:
  explicit Broken(int how) : SharedMemoryMachine({}), how_(how) {}
  std::string_view name() const override { return "broken"; }
  std::size_t advance(ProcessId, std::span<const Operation> operations, Time& now, Time) override {
    now += 1;
    return how_ == 0 ? 0 : operations.size();
  }
  void on_barrier(ProcessId process, std::uint32_t barrier, Time now) override {
    if (how_ == 1) return;
    if (how_ == 2) engine().resume(process, now);
    SharedMemoryMachine::on_barrier(process, barrier, now);
  }

 private:
  int how_;
};

TEST(Engine, ReportsAMachineThatAnswersWrongly) {
  const char* const messages[] = {"broken charged 0 of 1 operations",
                                  "deadlock: process 0 waits at barrier 0 (1 of 1 are there)",
                                  "the machine resumed process 0, which was not waiting"};
  for (int how = 0; how < 3; ++how) {
    Broken machine(how);
    const Outcome outcome = run(
        1,
        [](Process& process, const Words& words) {
          words[0] = 1;
          process.barrier();
        },
        {}, &machine);
    EXPECT_EQ(outcome.error, messages[how]);
  }
}

// Asks to be called at times out of order.
class Clocked final : public SharedMemoryMachine, public EventSink {
 public:
  Clocked() : SharedMemoryMachine({}) {}
  std::string_view name() const override { return "clocked"; }
  void begin(Engine& engine_of_run) override {
    SharedMemoryMachine::begin(engine_of_run);
    for (const Time at : {50U, 10U, 30U, 10U}) engine().schedule(at, *this, calls++);
  }
  void on_event(Time now, std::uint64_t argument) override { seen.push_back(now * 10 + argument); }
  std::size_t advance(ProcessId, std::span<const Operation> operations, Time& now, Time horizon) override {
    std::size_t done = 0;
    do {
      now += 7;
      ++done;
    } while (done < operations.size() && now < horizon);
    late += now > horizon + 7 ? 1 : 0;
    return done;
  }
  std::uint64_t calls = 0;
  std::vector<std::uint64_t> seen;
  int late = 0;
};

TEST(Engine, CallsEventsInTheOrderOfTimeThenOfScheduling) {
  Clocked machine;
  const Outcome outcome = run(
      2,
      [](Process&, const Words& words) {
        for (int i = 0; i < 20; ++i) words[0] = 1;
      },
      {}, &machine);
  EXPECT_TRUE(outcome.completed) << outcome.error;
  EXPECT_EQ(machine.seen, (std::vector<std::uint64_t>{101, 103, 302, 500}));
  EXPECT_EQ(machine.late, 0);
}

TEST(Memory, KeepsArraysApartAndNamesTheirBytes) {
  Memory memory;
  const auto a = memory.array<std::uint8_t>("a", 3);
  const auto b = memory.array<double>("b", 2);
  const auto c = memory.array<double>("c", 2, 8);
  EXPECT_EQ(a.address, 4096U);
  EXPECT_EQ(b.address, 8192U);
  EXPECT_EQ(c.address, 8192U + 16);
  EXPECT_EQ(memory.bytes(), 3U * 4096);
  EXPECT_EQ(memory.object_at(b.address_of(1) + 7)->name, "b");
  EXPECT_EQ(memory.object_at(a.address + 3), nullptr);
  EXPECT_EQ(memory.region("x"), memory.region("x"));
  EXPECT_NE(memory.region("x"), memory.region("y"));
}

}  // namespace
}  // namespace substrata::workloads
