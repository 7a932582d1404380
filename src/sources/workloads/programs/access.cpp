// Programs with one pattern of accesses each: stream, conflict, false sharing, hot-spot and pointer-chase.
#include <utility>

#include "sources/workloads/programs/programs.hpp"
#include "sources/workloads/random.hpp"

namespace substrata::workloads {
namespace {

using Word = std::uint64_t;

// ------------------------------------------------------------------------------------------------- stream

constexpr Parameter kStreamParameters[] = {
    {"elements", "numbers in each of the three arrays", 65536, 1, 1U << 28},
    {"rounds", "times copy, scale, add and triad are done", 2, 1, 1U << 20},
};

// The four kernels of McCalpin's STREAM.
class Stream final : public Program {
 public:
  explicit Stream(const Values& values) : elements_(values["elements"]), rounds_(values["rounds"]) {}
  void lay_out(Memory& memory, ProcessId) override {
    a_ = memory.array<double>("stream.a", elements_);
    b_ = memory.array<double>("stream.b", elements_);
    c_ = memory.array<double>("stream.c", elements_);
  }
  void run(Process& process) override {
    const auto a = process.view(a_);
    const auto b = process.view(b_);
    const auto c = process.view(c_);
    const auto [begin, end] = process.share(elements_);
    for (std::uint64_t i = begin; i < end; ++i) a[i] = static_cast<double>(i % 1000);
    for (std::uint64_t round = 0; round < rounds_; ++round) {
      process.barrier();
      for (std::uint64_t i = begin; i < end; ++i) c[i] = a[i];
      for (std::uint64_t i = begin; i < end; ++i) b[i] = kFactor * c[i];
      for (std::uint64_t i = begin; i < end; ++i) c[i] = a[i] + b[i];
      for (std::uint64_t i = begin; i < end; ++i) a[i] = b[i] + kFactor * c[i];
    }
  }
  std::string check(const Memory& memory) override {
    for (std::uint64_t i = 0; i < elements_; ++i) {
      double wanted = static_cast<double>(i % 1000);
      for (std::uint64_t round = 0; round < rounds_; ++round) {
        wanted = kFactor * wanted + kFactor * (wanted + kFactor * wanted);
      }
      if (memory.peek(a_, i) != wanted) return differs("element", i, memory.peek(a_, i), wanted);
    }
    return {};
  }

 private:
  static constexpr double kFactor = 0.375;
  std::uint64_t elements_;
  std::uint64_t rounds_;
  SharedArray<double> a_, b_, c_;
};

// ------------------------------------------------------------------------------ conflict and false sharing

constexpr Parameter kConflictParameters[] = {
    {"ways", "words that fall into one set", 8, 1, 4096},
    power_of_two("stride", "bytes between them, a power of two (a cache way's size)", 32768, 8, 1U << 24),
    {"rounds", "times each word is incremented", 1000, 1, 1U << 28},
};

// Each process increments words of its own.
class OwnWords : public Program {
 public:
  OwnWords(const Values& values, std::uint64_t ways)
      : ways_(ways), step_(values["stride"] / sizeof(Word)), rounds_(values["rounds"]) {}
  void run(Process& process) override {
    const auto words = process.view(words_);
    for (std::uint64_t round = 0; round < rounds_; ++round) {
      for (std::uint64_t way = 0; way < ways_; ++way) words[(process.id() * ways_ + way) * step_] += 1;
    }
  }
  std::string check(const Memory& memory) override {
    for (std::uint64_t i = 0; i < processes_ * ways_; ++i) {
      const Word is = memory.peek(words_, i * step_);
      if (is != rounds_) return differs("word", i, is, rounds_);
    }
    return {};
  }

 protected:
  void place(Memory& memory, ProcessId processes, std::string_view name, std::uint64_t alignment) {
    processes_ = processes;
    words_ = memory.array<Word>(name, processes * ways_ * step_, alignment);
  }
  std::uint64_t way_bytes() const noexcept { return step_ * sizeof(Word); }

 private:
  std::uint64_t ways_;
  std::uint64_t step_;
  std::uint64_t rounds_;
  ProcessId processes_ = 1;
  SharedArray<Word> words_;
};

class Conflict final : public OwnWords {
 public:
  explicit Conflict(const Values& values) : OwnWords(values, values["ways"]) {}
  void lay_out(Memory& memory, ProcessId processes) override {
    place(memory, processes, "conflict.words", way_bytes());
  }
};

constexpr Parameter kFalseSharingParameters[] = {
    {"rounds", "increments by each process", 1000, 1, 1U << 28},
    power_of_two("stride", "bytes between the words of two processes, a power of two", 8, 8, 1U << 20),
};

class FalseSharing final : public OwnWords {
 public:
  explicit FalseSharing(const Values& values) : OwnWords(values, 1) {}
  void lay_out(Memory& memory, ProcessId processes) override {
    place(memory, processes, "false_sharing.words", Memory::kPageBytes);
  }
};

// ----------------------------------------------------------------------------------------------- hot-spot

constexpr Parameter kHotSpotParameters[] = {
    {"words", "words of the place that all read", 512, 1, 1U << 24},
    {"rounds", "times process 0 rewrites it and all read it", 4, 1, 1U << 20},
    {"reads", "random reads of each process in a round", 1000, 1, 1U << 28},
    kSeedParameter,
};

class HotSpot final : public Program {
 public:
  explicit HotSpot(const Values& values)
      : words_(values["words"]), rounds_(values["rounds"]), reads_(values["reads"]), seed_(values["seed"]) {}
  void lay_out(Memory& memory, ProcessId processes) override {
    processes_ = processes;
    spot_ = memory.array<Word>("hot_spot.spot", words_);
    sums_ = memory.array<Word>("hot_spot.sums", processes);
  }
  void run(Process& process) override {
    const auto spot = process.view(spot_);
    Word sum = 0;
    for (std::uint64_t round = 0; round < rounds_; ++round) {
      if (process.id() == 0) {
        for (std::uint64_t i = 0; i < words_; ++i) spot[i] = content(round, i);
      }
      process.barrier();
      for (std::uint64_t i = 0; i < reads_; ++i) sum += spot[place(process.id(), round, i)];
      process.barrier();
    }
    process.view(sums_)[process.id()] = sum;
  }
  std::string check(const Memory& memory) override {
    for (ProcessId p = 0; p < processes_; ++p) {
      Word wanted = 0;
      for (std::uint64_t round = 0; round < rounds_; ++round) {
        for (std::uint64_t i = 0; i < reads_; ++i) wanted += content(round, place(p, round, i));
      }
      if (memory.peek(sums_, p) != wanted) return differs("sum", p, memory.peek(sums_, p), wanted);
    }
    return {};
  }

 private:
  Word content(std::uint64_t round, std::uint64_t i) const noexcept {
    return scatter(seed_ ^ (round * words_ + i));
  }
  std::uint64_t place(ProcessId p, std::uint64_t round, std::uint64_t i) const noexcept {
    return random_at(seed_ + p, round * reads_ + i) % words_;
  }
  std::uint64_t words_;
  std::uint64_t rounds_;
  std::uint64_t reads_;
  std::uint64_t seed_;
  ProcessId processes_ = 1;
  SharedArray<Word> spot_, sums_;
};

// ------------------------------------------------------------------------------------------ pointer-chase

constexpr Parameter kPointerChaseParameters[] = {
    {"nodes", "nodes of the ring", 16384, 1, 1U << 26},
    power_of_two("stride", "bytes of a node, a power of two", 64, 8, 65536),
    {"steps", "steps each process goes", 10000, 0, 1U << 30},
    kSeedParameter,
};

class PointerChase final : public Program {
 public:
  explicit PointerChase(const Values& values)
      : nodes_(values["nodes"]),
        step_(values["stride"] / sizeof(Word)),
        steps_(values["steps"]),
        next_(nodes_) {
    // One ring through all nodes in random order (Sattolo's shuffle).
    for (std::uint64_t i = 0; i < nodes_; ++i) next_[i] = i;
    for (std::uint64_t i = nodes_; i-- > 1;) std::swap(next_[i], next_[random_at(values["seed"], i) % i]);
  }
  void lay_out(Memory& memory, ProcessId processes) override {
    processes_ = processes;
    ring_ = memory.array<Word>("pointer_chase.ring", nodes_ * step_);
    ends_ = memory.array<Word>("pointer_chase.ends", processes);
  }
  void run(Process& process) override {
    const auto ring = process.view(ring_);
    const auto [begin, end] = process.share(nodes_);
    for (std::uint64_t i = begin; i < end; ++i) ring[i * step_] = next_[i];
    process.barrier();
    std::uint64_t at = first(process.id());
    for (std::uint64_t i = 0; i < steps_; ++i) at = ring[at * step_];
    process.view(ends_)[process.id()] = at;
  }
  std::string check(const Memory& memory) override {
    for (ProcessId p = 0; p < processes_; ++p) {
      std::uint64_t at = first(p);
      for (std::uint64_t i = 0; i < steps_; ++i) at = next_[at];
      if (memory.peek(ends_, p) != at) return differs("end", p, memory.peek(ends_, p), at);
    }
    return {};
  }

 private:
  std::uint64_t first(ProcessId p) const noexcept { return nodes_ * p / processes_; }
  std::uint64_t nodes_;
  std::uint64_t step_;
  std::uint64_t steps_;
  std::vector<std::uint64_t> next_;
  ProcessId processes_ = 1;
  SharedArray<Word> ring_, ends_;
};

}  // namespace

const Workload kStream = workload<Stream>(
    "stream", "copy, scale, add and triad over long arrays; every element is checked", kStreamParameters);
const Workload kConflict = workload<Conflict>(
    "conflict", "each process increments words of its own that fall into one cache set", kConflictParameters);
const Workload kFalseSharing = workload<FalseSharing>(
    "false-sharing", "each process increments a word of its own in a line or page of others' words",
    kFalseSharingParameters);
const Workload kHotSpot = workload<HotSpot>(
    "hot-spot", "all processes read one place that one of them rewrites; the sums are checked",
    kHotSpotParameters);
const Workload kPointerChase = workload<PointerChase>(
    "pointer-chase", "each process follows a random ring; where it ends is checked", kPointerChaseParameters);

}  // namespace substrata::workloads
