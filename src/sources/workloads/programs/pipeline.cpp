// Bytes through all processes one after the other, each of which changes every byte: streams with credits.
#include <algorithm>

#include "sources/workloads/programs/programs.hpp"
#include "sources/workloads/random.hpp"
#include "sources/workloads/stream.hpp"

namespace substrata::workloads {
namespace {

constexpr Parameter kParameters[] = {
    {"bytes", "bytes through the pipeline", 1U << 18, 0, 1U << 28},
    {"window", "bytes of a reader's buffer, for which it gives credits", 16384, 1, 1U << 24},
    {"segment", "most bytes of a message of a stream", 4096, 1, 1U << 24},
    {"call", "most bytes a process reads or writes at once; how many is random", 3000, 1, 1U << 24},
    {"cycles", "processor cycles that a process spends on a byte", 1, 0, 1000},
    kSeedParameter,
};

class Pipeline final : public Program {
 public:
  explicit Pipeline(const Values& values)
      : bytes_(values["bytes"]),
        call_(values["call"]),
        cycles_(values["cycles"]),
        seed_(values["seed"]),
        settings_{static_cast<std::uint32_t>(values["window"]),
                  static_cast<std::uint32_t>(values["segment"])} {}

  void lay_out(Memory& memory, ProcessId processes) override {
    processes_ = processes;
    good_ = memory.array<std::uint64_t>("pipeline.good", processes);
  }

  // The first makes the bytes, the last keeps none; one alone does both.
  void run(Process& process) override {
    const ProcessId self = process.id();
    std::uint64_t good = 0;
    // Connections are made from the first to the last, so that no circular wait arises.
    std::vector<Stream> before;
    std::vector<Stream> after;
    if (self > 0) before.push_back(Stream::accept(process, self - 1, 0, settings_));
    if (self + 1 < processes_) after.push_back(Stream::connect(process, self + 1, 0, settings_));
    std::vector<std::byte> data(call_);
    std::uint64_t calls = 0;
    for (std::uint64_t at = 0;;) {
      const std::uint64_t drawn = random_at(seed_ + self, calls++) % call_ + 1;
      std::size_t count = static_cast<std::size_t>(std::min(drawn, bytes_ - std::min(at, bytes_)));
      if (before.empty()) {
        for (std::size_t i = 0; i < count; ++i) data[i] = content(0, at + i);
      } else {
        count = before.front().read(std::span(data).first(static_cast<std::size_t>(drawn)));
        for (std::size_t i = 0; i < count; ++i) {
          good += data[i] == content(self - 1, at + i) ? 1 : 0;
          data[i] = static_cast<std::byte>(std::to_integer<unsigned>(data[i]) + key(self, at + i));
        }
      }
      if (count == 0) break;
      process.compute(cycles_ * count);
      if (!after.empty()) after.front().write(std::span<const std::byte>(data).first(count));
      at += count;
      if (before.empty()) good = at;
    }
    if (!after.empty()) after.front().close();
    process.view(good_)[self] = good;
  }

  std::string check(const Memory& memory) override {
    for (ProcessId p = 0; p < processes_; ++p) {
      if (memory.peek(good_, p) != bytes_) {
        return "process " + std::to_string(p) + " got " + std::to_string(memory.peek(good_, p)) + " of " +
               std::to_string(bytes_) + " bytes right and in their place";
      }
    }
    return {};
  }

 private:
  // What a process adds to the byte at that place, and what the byte is behind the process.
  std::uint8_t key(ProcessId process, std::uint64_t at) const noexcept {
    return static_cast<std::uint8_t>(scatter(seed_ + process) + at * 29 + at / 251);
  }
  std::byte content(ProcessId process, std::uint64_t at) const noexcept {
    unsigned sum = 0;
    for (ProcessId p = 0; p <= process; ++p) sum += key(p, at);
    return static_cast<std::byte>(sum);
  }

  std::uint64_t bytes_;
  std::uint64_t call_;
  std::uint64_t cycles_;
  std::uint64_t seed_;
  StreamSettings settings_;
  ProcessId processes_ = 1;
  SharedArray<std::uint64_t> good_;
};

}  // namespace

const Workload kPipeline = workload<Pipeline>(
    "pipeline",
    "a stream of bytes through all processes, with credits; every byte is checked at every process",
    kParameters);

}  // namespace substrata::workloads
