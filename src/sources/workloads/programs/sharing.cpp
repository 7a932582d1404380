// Programs with one pattern of sharing each: true sharing, migratory data, producer and consumers.
#include "sources/workloads/programs/programs.hpp"
#include "sources/workloads/random.hpp"

namespace substrata::workloads {
namespace {

using Word = std::uint64_t;

// Programs on one array of words that all processes share.
class OnWords : public Program {
 public:
  explicit OnWords(const Values& values) : rounds_(values["rounds"]), words_count_(values["words"]) {}

 protected:
  void place(Memory& memory, ProcessId processes, std::string_view name) {
    processes_ = processes;
    words_ = memory.array<Word>(name, words_count_);
  }
  std::string compare(const Memory& memory, std::uint64_t word, Word wanted) const {
    const Word is = memory.peek(words_, word);
    return is == wanted ? std::string() : differs("word", word, is, wanted);
  }
  std::uint64_t rounds_;
  std::uint64_t words_count_;
  ProcessId processes_ = 1;
  SharedArray<Word> words_;
};

// ------------------------------------------------------------------------------- true sharing and migratory

constexpr Parameter kTrueSharingParameters[] = {
    {"rounds", "increments by each process", 100, 1, 1U << 24},
    {"words", "counters, each with a lock of its own, taken at random", 4, 1, 65536},
    kSeedParameter,
};

class TrueSharing final : public OnWords {
 public:
  explicit TrueSharing(const Values& values) : OnWords(values), seed_(values["seed"]) {}
  void lay_out(Memory& memory, ProcessId processes) override {
    place(memory, processes, "true_sharing.words");
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
      if (std::string wrong = compare(memory, w, wanted[w]); !wrong.empty()) return wrong;
    }
    return {};
  }

 private:
  std::uint64_t choice(ProcessId p, std::uint64_t i) const noexcept {
    return random_at(seed_ + p, i) % words_count_;
  }
  std::uint64_t seed_;
};

constexpr Parameter kMigratoryParameters[] = {
    {"rounds", "visits by each process", 50, 1, 1U << 24},
    {"words", "words of the record that each visit reads and writes", 16, 1, 1U << 20},
};

class Migratory final : public OnWords {
 public:
  using OnWords::OnWords;
  void lay_out(Memory& memory, ProcessId processes) override { place(memory, processes, "migratory.words"); }
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
      if (std::string wrong = compare(memory, w, processes_ * rounds_ * (w + 1)); !wrong.empty())
        return wrong;
    }
    return {};
  }
};

// -------------------------------------------------------------------------------------- producer, consumers

constexpr Parameter kProducerConsumerParameters[] = {
    {"words", "words of the buffer", 1024, 1, 1U << 24},
    {"rounds", "times the buffer is filled and read", 8, 1, 1U << 20},
};

// The producer changes each round, so that the data changes its owner too.
class ProducerConsumer final : public OnWords {
 public:
  using OnWords::OnWords;
  void lay_out(Memory& memory, ProcessId processes) override {
    place(memory, processes, "producer_consumer.words");
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
      if (memory.peek(sums_, p) != wanted) return differs("word", p, memory.peek(sums_, p), wanted);
    }
    return {};
  }

 private:
  SharedArray<Word> sums_;
};

}  // namespace

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
