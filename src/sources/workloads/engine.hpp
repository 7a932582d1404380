// Runs the processes of a program on a machine model: functional first, timing after, by simulated time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sources/workloads/machine.hpp"
#include "sources/workloads/memory.hpp"
#include "sources/workloads/operation.hpp"
#include "sources/workloads/process.hpp"
#include "sources/workloads/stack.hpp"

namespace substrata::workloads {

inline constexpr ProcessId kMostProcesses = 1024;

struct EngineSettings {
  ProcessId processes = 1;
  // How many operations a process may run ahead of its charged time before it is charged.
  std::size_t run_ahead = 4096;
  std::size_t stack_bytes = std::size_t{256} << 10;
  // Compute Outcome::digest; costs a pass over every operation.
  bool digest = false;
};

// What was run, and how it ended.
struct Outcome {
  bool completed = false;  // every process reached its end
  std::string error;       // a message if not
  Time time = 0;           // when the last process ended, picoseconds
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t compute_cycles = 0;
  std::uint64_t marks = 0;  // enter, leave, phase
  std::uint64_t locks = 0;
  std::uint64_t barriers = 0;  // arrivals
  std::uint64_t messages = 0;
  std::uint64_t message_bytes = 0;
  std::uint64_t faults = 0;
  std::uint64_t digest = 0;  // of every operation, wait and event with its process and time, in order
  std::vector<Time> process_times;
  std::uint64_t operations() const noexcept { return reads + writes + marks + locks + barriers + messages; }
};

// One run. Everything is decided by the program, the machine and the settings: two runs give the same calls
// to the machine, in the same order, with the same times. Thread-bound: lives and dies on one thread; engines
// on different threads are independent.
class Engine {
 public:
  // The program must be laid out in `memory`, and the memory committed.
  Engine(Program& program, Machine& machine, Memory& memory, const EngineSettings& settings);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  // Runs to the end, once. A machine's std::runtime_error, a deadlock, and a wrong use of locks and messages
  // end the run and are reported in the outcome.
  Outcome run();

  // For machines.
  ProcessId processes() const noexcept { return settings_.processes; }
  Memory& memory() noexcept { return memory_; }
  // Ends the wait of a process: it runs on from `at`.
  void resume(ProcessId process, Time at);
  // Calls the sink at `at`, before any process of that time; equal times in the order of scheduling.
  void schedule(Time at, EventSink& sink, std::uint64_t argument);
  // The message is at its receiver from `at` on, which may be later than now.
  void deliver(MessageNumber message, Time at);
  const Message& message(MessageNumber number) const { return messages_.at(number); }
  // Ends the run with an error; the first one counts.
  void fail(std::string message);

 private:
  friend class Process;
  struct Actor;
  struct Event {
    Time at;
    std::uint64_t sequence;
    EventSink* sink;  // null: delivery of message `argument`
    std::uint64_t argument;
  };
  struct Ready {
    Time at;
    ProcessId process;
  };

  static void start(void* actor);
  void refill(Actor& actor);
  void dispatch(Actor& actor);
  void charge(Actor& actor, Time horizon);
  void make_ready(ProcessId process);
  void hand_over(MessageNumber number, Time now);
  bool match(Actor& actor, Time now);
  void count(const Operation* begin, const Operation* end);
  void mix(std::uint64_t value) noexcept;
  std::string describe_deadlock() const;
  std::string describe_wait(const Actor& actor) const;

  Program& program_;
  Machine& machine_;
  Memory& memory_;
  EngineSettings settings_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<Ready> ready_;   // heap
  std::vector<Event> events_;  // heap
  std::uint64_t next_sequence_ = 0;
  std::unordered_map<MessageNumber, Message> messages_;  // sent, not yet received
  MessageNumber next_message_ = 0;
  std::unordered_map<std::uint32_t, ProcessId> lock_holders_;
  std::string error_;
  Outcome outcome_;
};

}  // namespace substrata::workloads
