// Every place where one side of a ring can be interrupted: it runs in a child process, instruction by instruction, is
// held after each number of them, and meanwhile the other side goes past it. Then it goes on, or is killed.
#include <sched.h>
#include <sys/ptrace.h>

#include <csignal>

#include "ring_feeding.hpp"

namespace substrata::owl::test {
namespace {

// Instructions; 1 takes a minute. An instrumented call has some ten thousand.
constexpr int kStride = tests::kSanitized ? 97 : 3;

// Stops the calling child where its parent can step it from. False: the system allows no tracing.
bool stop_to_be_stepped() { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 && raise(SIGSTOP) == 0; }

enum class Held { kAtStep, kEnded, kRefused };

class Stepped {
 public:
  template <typename Work>
  explicit Stepped(const Work& work) : child_(fork()) {
    if (child_ == 0) _exit(work());
    wait();
  }
  ~Stepped() {
    if (!ended_) kill();
  }
  Stepped(const Stepped&) = delete;
  Stepped& operator=(const Stepped&) = delete;
  Held step(int instructions) {
    if (ended_) return Held::kRefused;
    for (int i = 0; i < instructions; ++i) {
      if (ptrace(PTRACE_SINGLESTEP, child_, nullptr, nullptr) != 0) return Held::kRefused;
      wait();
      if (ended_) return Held::kEnded;
    }
    return Held::kAtStep;
  }
  void kill() {
    ::kill(child_, SIGKILL);
    wait();
  }
  // To the child's end, and gives its status.
  int go_on() {
    while (!ended_ && ptrace(PTRACE_CONT, child_, nullptr, nullptr) == 0) wait();
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
  }

 private:
  void wait() { ended_ = child_ < 0 || waitpid(child_, &status_, 0) != child_ || !WIFSTOPPED(status_); }
  pid_t child_;
  int status_ = 0;
  bool ended_ = false;
};

struct Report {
  std::atomic<uint64_t> given;  // packets
  std::atomic<uint64_t> after;  // the last one's number, plus 1
  std::atomic<uint64_t> lost;   // by the producer's count
  std::atomic<uint64_t> sent;
  std::atomic<bool> done;
  char path[128];
};

enum class Then { kGoesOn, kIsKilled };

// Packets that are sent while the other side is held: into the next part only, or over the whole ring more than once.
using Case = std::tuple<uint32_t, Then, uint64_t>;

class OwlRingStepped : public testing::TestWithParam<Case> {};

TEST_P(OwlRingStepped, AConsumerHeldAnywhereLeavesEveryPacketReadOrCountedOnce) {  // OW-4
  const auto [policy, then, packets] = GetParam();
  bool ended = false;
  for (int steps = 1; !ended; steps += kStride) {
    RingProducer ring;
    ASSERT_EQ(ring.create(nullptr, 4096, policy, 100), 0);
    ring.publish();
    uint64_t sent = 0;
    while (sent < 100) sent += put(ring, sent) ? 1 : 0;
    Common<Report> report;
    Stepped consumer([&, path = ring.memory().path()] {
      substrata_owl_reader reader;
      if (reader.open(path.c_str(), 0) != 0 || !stop_to_be_stepped()) return 3;
      uint64_t sequence = 0;
      const uint64_t value = next(reader, &sequence);
      if (value != sequence) return 4;
      report->given = 1;
      report->after = sequence + 1;
      report->done = true;
      return 0;
    });
    const Held held = consumer.step(steps);
    if (held == Held::kRefused) GTEST_SKIP() << "the system lets no process step another";
    ended = held == Held::kEnded || report->done;
    for (uint64_t i = 0; i < packets; ++i) sent += put(ring, sent) ? 1 : 0;
    const RingHeader& header = ring.memory().header();
    uint64_t given = 0, after = 0;
    if (then == Then::kGoesOn) {
      ASSERT_EQ(consumer.go_on(), 0) << steps;
      given = report->given;
      after = report->after;
    } else {
      if (held != Held::kEnded) consumer.kill();
      after = header.consumed;
      given = after == 0 ? 0 : 1;
    }
    substrata_owl_reader reader;
    ASSERT_EQ(reader.open(ring.memory().path().c_str(), 0), 0) << substrata_owl_error();
    uint64_t sequence = 0, read = 0;
    for (uint64_t value = next(reader, &sequence); value != kNone; value = next(reader, &sequence), ++read) {
      ASSERT_EQ(value, sequence);
      ASSERT_GE(sequence, after) << steps;
      after = sequence + 1;
    }
    ASSERT_EQ(after, sent) << steps;
    // What a consumer was looking at when it was killed is not lost: a later one is given it, unless it was
    // overwritten by then.
    const uint64_t in_hand = sent - given - read - ring.lost();
    ASSERT_LE(in_hand, then == Then::kIsKilled && policy == SUBSTRATA_OWL_OVERWRITE_OLD ? 1u : 0u) << steps;
  }
}

TEST_P(OwlRingStepped, AProducerHeldAnywhereLeavesEveryPacketReadOrCountedOnce) {  // OW-4
  const auto [policy, then, packets] = GetParam();
  bool ended = false;
  const uint64_t first = packets == 400 ? 250 : 170;
  for (int steps = 1; !ended; steps += kStride) {
    Common<Report> report;
    Stepped producer([&, overwriting = policy, more = packets] {
      RingProducer ring;
      if (ring.create(nullptr, 4096, overwriting, 100) != 0) return 3;
      ring.publish();
      std::strncpy(report->path, ring.memory().path().c_str(), sizeof report->path - 1);
      // The next one does not find a place without the oldest giving way, for the first time or again.
      uint64_t sent = 0;
      while (sent < first) sent += put(ring, sent) ? 1 : 0;
      report->sent = sent;
      if (!stop_to_be_stepped()) return 4;
      sent += put(ring, sent) ? 1 : 0;
      report->done = true;
      for (uint64_t i = 0; i < more; ++i) sent += put(ring, sent) ? 1 : 0;
      report->sent = sent;
      report->lost = ring.lost();
      return 0;
    });
    substrata_owl_reader reader;
    if (report->path[0] == 0 || reader.open(report->path, 0) != 0)
      GTEST_SKIP() << "the system lets no process step another";
    const Held held = producer.step(steps);
    if (held == Held::kRefused) GTEST_SKIP() << "the system lets no process step another";
    ended = held == Held::kEnded || report->done;
    uint64_t read = 0, after = 0, sequence = 0;
    const auto take = [&] {
      const uint64_t value = next(reader, &sequence);
      if (value == kNone) return false;
      EXPECT_EQ(value, sequence) << steps;
      EXPECT_GE(sequence, after) << steps;
      after = sequence + 1;
      ++read;
      return true;
    };
    for (int i = 0; i < 3; ++i) take();
    if (then == Then::kGoesOn) {
      ASSERT_EQ(producer.go_on(), 0) << steps;
    } else {
      producer.kill();
    }
    while (take()) {
    }
    ASSERT_EQ(reader.lost() + read, after) << steps;
    if (then == Then::kGoesOn) {
      ASSERT_EQ(after, report->sent) << steps;
      ASSERT_EQ(report->lost + read, report->sent) << steps;
    } else {
      ASSERT_GE(after, first) << steps;
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, OwlRingStepped,
                         testing::Values(Case{SUBSTRATA_OWL_DROP_NEW, Then::kGoesOn, 80},
                                         Case{SUBSTRATA_OWL_DROP_NEW, Then::kIsKilled, 80},
                                         Case{SUBSTRATA_OWL_OVERWRITE_OLD, Then::kGoesOn, 80},
                                         Case{SUBSTRATA_OWL_OVERWRITE_OLD, Then::kGoesOn, 400},
                                         Case{SUBSTRATA_OWL_OVERWRITE_OLD, Then::kIsKilled, 80},
                                         Case{SUBSTRATA_OWL_OVERWRITE_OLD, Then::kIsKilled, 400}));

}  // namespace
}  // namespace substrata::owl::test
