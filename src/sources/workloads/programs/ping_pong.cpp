// Messages to and fro between pairs of processes, the microbenchmark of every network.
#include "sources/workloads/programs/programs.hpp"
#include "sources/workloads/random.hpp"

namespace substrata::workloads {
namespace {

constexpr Parameter kParameters[] = {
    {"bytes", "bytes of a message", 1024, 0, 1U << 24},
    {"rounds", "messages in each direction", 100, 1, 1U << 24},
    choice("mode",
           "answer each message, only the last (a stream), send both ways at once, or every pair in turn",
           "answer|stream|both|pairs"),
    {"pause", "processor cycles between two rounds", 0, 0, std::uint64_t{1} << 40},
    kSeedParameter,
};

class PingPong final : public Program {
 public:
  explicit PingPong(const Values& values)
      : bytes_(values["bytes"]),
        rounds_(values["rounds"]),
        mode_(static_cast<Mode>(values["mode"])),
        pause_(values["pause"]),
        seed_(values["seed"]) {}

  void lay_out(Memory& memory, ProcessId processes) override {
    processes_ = processes;
    received_ = memory.array<std::uint64_t>("ping_pong.received", processes);
  }

  // Even processes begin, their odd neighbours answer; one left over talks to itself.
  void run(Process& process) override {
    const ProcessId self = process.id();
    const ProcessId other = partner(self);
    const bool begins = self % 2 == 0;
    std::vector<std::byte> data(bytes_);
    std::uint64_t good = 0;
    if (mode_ == Mode::kBoth || mode_ == Mode::kPairs) {
      process.view(received_)[self] =
          mode_ == Mode::kBoth ? both_ways(process, data) : every_pair(process, data);
      return;
    }
    for (std::uint64_t round = 0; round < rounds_; ++round) {
      if (round != 0 && pause_ != 0) process.compute(pause_);
      if (begins) {
        fill(data, self, round);
        process.send(other, kPing, data);
      }
      if (!begins || other == self) good += holds(process.receive(other, kPing), other, round);
      if (mode_ == Mode::kStream && round + 1 < rounds_) continue;
      if (!begins || other == self) {
        fill(data, self, round);
        process.send(other, kPong, data);
      }
      if (begins) good += holds(process.receive(other, kPong), other, round);
    }
    process.view(received_)[self] = good;
  }

  std::string check(const Memory& memory) override {
    for (ProcessId p = 0; p < processes_; ++p) {
      const std::uint64_t pongs = mode_ == Mode::kStream ? 1 : rounds_;
      std::uint64_t wanted = partner(p) == p ? rounds_ + pongs : (p % 2 == 0 ? pongs : rounds_);
      if (mode_ == Mode::kBoth) wanted = rounds_;
      if (mode_ == Mode::kPairs) wanted = rounds_ * (processes_ - 1);
      if (memory.peek(received_, p) != wanted) {
        return "process " + std::to_string(p) + " got " + std::to_string(memory.peek(received_, p)) + " of " +
               std::to_string(wanted) + " messages right";
      }
    }
    return {};
  }

 private:
  enum class Mode { kAnswer, kStream, kBoth, kPairs };

  // Each sends all its messages before it looks at what came.
  std::uint64_t both_ways(Process& process, std::vector<std::byte>& data) const {
    const ProcessId self = process.id();
    const ProcessId other = partner(self);
    for (std::uint64_t round = 0; round < rounds_; ++round) {
      if (round != 0 && pause_ != 0) process.compute(pause_);
      fill(data, self, round);
      process.send(other, kPing, data);
    }
    std::uint64_t good = 0;
    for (std::uint64_t round = 0; round < rounds_; ++round)
      good += holds(process.receive(other, kPing), other, round);
    return good;
  }
  // To and fro between each two in turn, so that nothing else is under way.
  std::uint64_t every_pair(Process& process, std::vector<std::byte>& data) const {
    constexpr std::uint32_t kNext = 0;  // the barrier after each pair
    const ProcessId self = process.id();
    std::uint64_t good = 0;
    for (std::uint64_t round = 0; round < rounds_; ++round) {
      if (round != 0 && pause_ != 0) process.compute(pause_);
      for (ProcessId a = 0; a < processes_; ++a) {
        for (ProcessId b = a + 1; b < processes_; ++b) {
          if (self == a || self == b) {
            const ProcessId other = self == a ? b : a;
            fill(data, self, round);
            if (self == a) process.send(other, kPing, data);
            good += holds(process.receive(other, self == a ? kPong : kPing), other, round);
            if (self == b) process.send(other, kPong, data);
          }
          process.barrier(kNext);
        }
      }
    }
    return good;
  }

  static constexpr std::uint32_t kPing = 1;
  static constexpr std::uint32_t kPong = 2;

  ProcessId partner(ProcessId self) const noexcept { return (self ^ 1U) < processes_ ? self ^ 1U : self; }
  std::byte content(ProcessId from, std::uint64_t round, std::uint64_t i) const noexcept {
    return static_cast<std::byte>(scatter(seed_ + from) + round * 31 + i * 7);
  }
  void fill(std::vector<std::byte>& data, ProcessId from, std::uint64_t round) const {
    for (std::uint64_t i = 0; i < bytes_; ++i) data[i] = content(from, round, i);
  }
  bool holds(const Message& message, ProcessId from, std::uint64_t round) const {
    if (message.payload.size() != bytes_ || message.from != from) return false;
    for (std::uint64_t i = 0; i < bytes_; ++i) {
      if (message.payload[i] != content(from, round, i)) return false;
    }
    return true;
  }

  std::uint64_t bytes_;
  std::uint64_t rounds_;
  Mode mode_;
  std::uint64_t pause_;
  std::uint64_t seed_;
  ProcessId processes_ = 1;
  SharedArray<std::uint64_t> received_;
};

}  // namespace

const Workload kPingPong = workload<PingPong>(
    "ping-pong", "messages to and fro between pairs of processes; every byte is checked", kParameters);

}  // namespace substrata::workloads
