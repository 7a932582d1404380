// Programs with one pattern of sharing each: false and true sharing, migratory data, producer and consumers.
#include "workloads/programs/programs.hpp"
#include "workloads/random.hpp"

namespace substrata::workloads {
namespace {

using Word = std::uint64_t;

std::string differs(std::uint64_t index, std::uint64_t is, std::uint64_t should) {
  return "word " + std::to_string(index) + " is " + std::to_string(is) + " and should be " +
         std::to_string(should);
}

// ------------------------------------------------------------------------------------------ false sharing

constexpr Parameter kFalseSharingParameters[] = {
    {"rounds", "increments by each process", 1000, 1, 1U << 28},
    power_of_two("stride", "bytes between the words of two processes, a power of two", 8, 8, 1U << 20),
};

class FalseSharing final : public Program {
 public:
  explicit FalseSharing(const Values& values)
      : rounds_(values["rounds"]), step_(values["stride"] / sizeof(Word)) {}
  void lay_out(Memory& memory, ProcessId processes) override {
    processes_ = processes;
    words_ = memory.array<Word>("false_sharing.words", processes * step_);
  }
  void run(Process& process) override {
    const auto words = process.view(words_);
    for (std::uint64_t i = 0; i < rounds_; ++i) words[process.id() * step_] += 1;
  }
  std::string check(const Memory& memory) override {
    for (ProcessId p = 0; p < processes_; ++p) {
      const Word is = memory.peek(words_, p * step_);
      if (is != rounds_) return differs(p, is, rounds_);
    }
    return {};
  }

 private:
  std::uint64_t rounds_;
  std::uint64_t step_;
  ProcessId processes_ = 1;
  SharedArray<Word> words_;
};

// ------------------------------------------------------------------------------- true sharing and migratory

constexpr Parameter kTrueSharingParameters[] = {
    {"rounds", "increments by each process", 100, 1, 1U << 24},
    {"words", "counters, each with a lock of its own, taken at random", 4, 1, 65536},
    kSeedParameter,
};

class TrueSharing final : public Program {
 public:
  explicit TrueSharing(const Values& values)
      : rounds_(values["rounds"]), words_count_(values["words"]), seed_(values["seed"]) {}
  void lay_out(Memory& memory, ProcessId processes) override {
    processes_ = processes;
    words_ = memory.array<Word>("true_sharing.words", words_count_);
  }
  void run(Process& process) override {
    const auto words = process.view(words_);
    for (std::uint64_t i = 0; i < rounds_; ++i) {
      const std::uint64_t word = choice(process.id(), i);
      process.lock(static_cast<std::uint32_t>(word));
      words[word] += 1;
      process.unlock(static_cast<std::uint32_t>(word));
    }
  }
  std::string check(const Memory& memory) override {
    std::vector<Word> wanted(words_count_);
    for (ProcessId p = 0; p < processes_; ++p) {
      for (std::uint64_t i = 0; i < rounds_; ++i) ++wanted[choice(p, i)];
    }
    for (std::uint64_t w = 0; w < words_count_; ++w) {
      if (memory.peek(words_, w) != wanted[w]) return differs(w, memory.peek(words_, w), wanted[w]);
    }
    return {};
  }

 private:
  std::uint64_t choice(ProcessId p, std::uint64_t i) const noexcept {
    return random_at(seed_ + p, i) % words_count_;
  }
  std::uint64_t rounds_;
  std::uint64_t words_count_;
  std::uint64_t seed_;
  ProcessId processes_ = 1;
  SharedArray<Word> words_;
};

constexpr Parameter kMigratoryParameters[] = {
    {"rounds", "visits by each process", 50, 1, 1U << 24},
    {"words", "words of the record that each visit reads and writes", 16, 1, 1U << 20},
};

class Migratory final : public Program {
 public:
  explicit Migratory(const Values& values) : rounds_(values["rounds"]), words_count_(values["words"]) {}
  void lay_out(Memory& memory, ProcessId processes) override {
    processes_ = processes;
    words_ = memory.array<Word>("migratory.words", words_count_);
  }
  void run(Process& process) override {
    const auto words = process.view(words_);
    for (std::uint64_t i = 0; i < rounds_; ++i) {
      process.lock(0);
      for (std::uint64_t w = 0; w < words_count_; ++w) words[w] = words[w] + w + 1;
      process.unlock(0);
      process.compute(100);
    }
  }
  std::string check(const Memory& memory) override {
    for (std::uint64_t w = 0; w < words_count_; ++w) {
      const Word wanted = processes_ * rounds_ * (w + 1);
      if (memory.peek(words_, w) != wanted) return differs(w, memory.peek(words_, w), wanted);
    }
    return {};
  }

 private:
  std::uint64_t rounds_;
  std::uint64_t words_count_;
  ProcessId processes_ = 1;
  SharedArray<Word> words_;
};

// -------------------------------------------------------------------------------------- producer, consumers

constexpr Parameter kProducerConsumerParameters[] = {
    {"words", "words of the buffer", 1024, 1, 1U << 24},
    {"rounds", "times the buffer is filled and read", 8, 1, 1U << 20},
};

// The producer changes each round, so that the data changes its owner too.
class ProducerConsumer final : public Program {
 public:
  explicit ProducerConsumer(const Values& values)
      : words_count_(values["words"]), rounds_(values["rounds"]) {}
  void lay_out(Memory& memory, ProcessId processes) override {
    processes_ = processes;
    words_ = memory.array<Word>("producer_consumer.words", words_count_);
    sums_ = memory.array<Word>("producer_consumer.sums", processes);
  }
  void run(Process& process) override {
    const auto words = process.view(words_);
    Word sum = 0;
    for (std::uint64_t round = 0; round < rounds_; ++round) {
      if (round % process.count() == process.id()) {
        for (std::uint64_t w = 0; w < words_count_; ++w) words[w] = scatter(round * words_count_ + w);
      }
      process.barrier();
      for (std::uint64_t w = 0; w < words_count_; ++w) sum += words[w];
      process.barrier();
    }
    process.view(sums_)[process.id()] = sum;
  }
  std::string check(const Memory& memory) override {
    Word wanted = 0;
    for (std::uint64_t i = 0; i < rounds_ * words_count_; ++i) wanted += scatter(i);
    for (ProcessId p = 0; p < processes_; ++p) {
      if (memory.peek(sums_, p) != wanted) return differs(p, memory.peek(sums_, p), wanted);
    }
    return {};
  }

 private:
  std::uint64_t words_count_;
  std::uint64_t rounds_;
  ProcessId processes_ = 1;
  SharedArray<Word> words_, sums_;
};

}  // namespace

const Workload kFalseSharing = workload<FalseSharing>(
    "false-sharing", "each process increments a word of its own in a line or page of others' words",
    kFalseSharingParameters);
const Workload kTrueSharing = workload<TrueSharing>(
    "true-sharing", "all processes increment common counters under locks; the counts are checked",
    kTrueSharingParameters);
const Workload kMigratory = workload<Migratory>(
    "migratory", "a record is read and written by one process after the other under one lock",
    kMigratoryParameters);
const Workload kProducerConsumer = workload<ProducerConsumer>(
    "producer-consumer", "one process fills a buffer, all read it; the sums are checked",
    kProducerConsumerParameters);

}  // namespace substrata::workloads
