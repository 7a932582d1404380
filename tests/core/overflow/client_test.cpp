// Overflow and profiles through PAPI's interface on perf::TASK-CLOCK (PA-22); answers as observed on PAPI.
#include <gtest/gtest.h>
#include <papi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <substrata/extensions.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "support/sanitized.hpp"

namespace {

std::atomic<int> calls{0};
std::atomic<int> last_set{-1};
std::atomic<long long> last_vector{0};
std::atomic<void*> last_address{nullptr};

void on_overflow(int set, void* address, long long vector, void*) {
  last_set.store(set);
  last_vector.store(vector);
  last_address.store(address);
  calls.fetch_add(1);
}

// Burns processor time until `done`; bounded by turns, not by time. Allocation gives a sanitizer the chance
// to deliver a signal it held back.
template <class Done>
void burn_until(Done&& done) {
  volatile double x = 1;
  for (int64_t i = 0; i < 2000000000 && !done(); ++i) {
    x = x * 1.0000001;
    if (i % 4096 == 0) {
      void* volatile block = std::malloc(16);
      std::free(block);
    }
  }
}

std::vector<void (*)(int)> handlers() {
  std::vector<void (*)(int)> all;
  for (int number = 1; number <= SIGRTMAX; ++number) {
    struct sigaction now = {};
    sigaction(number, nullptr, &now);
    all.push_back(now.sa_handler);
  }
  return all;
}

class OverflowOfTaskClock : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
    calls = 0;
    ASSERT_EQ(PAPI_create_eventset(&set_), PAPI_OK);
    if (PAPI_event_name_to_code("perf::TASK-CLOCK", &clock_) != PAPI_OK ||
        PAPI_add_event(set_, clock_) != PAPI_OK || PAPI_start(set_) != PAPI_OK ||
        PAPI_stop(set_, nullptr) != PAPI_OK)
      GTEST_SKIP() << "perf::TASK-CLOCK does not count here";
  }
  void TearDown() override { PAPI_shutdown(); }
  int state() const {
    int bits = 0;
    PAPI_state(set_, &bits);
    return bits;
  }
  void overflows_with(int flags) {
    const auto before = handlers();
    ASSERT_EQ(PAPI_overflow(set_, clock_, 1000000, flags, on_overflow), PAPI_OK);
    EXPECT_EQ(state(), PAPI_STOPPED | PAPI_OVERFLOWING);
    ASSERT_EQ(PAPI_start(set_), PAPI_OK);
    EXPECT_EQ(PAPI_overflow(set_, clock_, 0, flags, on_overflow), PAPI_EISRUN);
    burn_until([] { return calls.load() >= 2; });
    long long value = 0;
    ASSERT_EQ(PAPI_stop(set_, &value), PAPI_OK);
    EXPECT_GE(calls.load(), 2);
    EXPECT_GE(value, 2000000);
    EXPECT_EQ(last_set.load(), set_);
    EXPECT_NE(last_address.load(), nullptr);
    int positions[4] = {}, number = 4;
    ASSERT_EQ(PAPI_get_overflow_event_index(set_, last_vector.load(), positions, &number), PAPI_OK);
    EXPECT_EQ(number, 1);
    EXPECT_EQ(positions[0], 0);
    ASSERT_EQ(PAPI_overflow(set_, clock_, 0, flags, on_overflow), PAPI_OK);
    EXPECT_EQ(state(), PAPI_STOPPED);
    EXPECT_EQ(handlers(), before);
  }
  int set_ = PAPI_NULL;
  int clock_ = 0;
};

TEST_F(OverflowOfTaskClock, IsReportedByTheKernel) { overflows_with(0); }
TEST_F(OverflowOfTaskClock, IsFoundByTheTimerOnRequest) { overflows_with(PAPI_OVERFLOW_FORCE_SW); }

// The calls of the handler while the thread lets the kernel work for 200 ms of its processor time.
int calls_in_kernel_time(int set) {
  calls = 0;
  EXPECT_EQ(PAPI_start(set), PAPI_OK);
  std::vector<char> block(1 << 20);
  const long long begin = PAPI_get_virt_nsec();
  while (PAPI_get_virt_nsec() - begin < 200'000'000)
    if (getrandom(block.data(), block.size(), 0) <= 0) break;
  EXPECT_EQ(PAPI_stop(set, nullptr), PAPI_OK);
  return calls;
}

TEST_F(OverflowOfTaskClock, ByTheVirtualTimerIsFoundInUserTimeOnly) {
  PAPI_option_t option = {};
  option.itimer = {ITIMER_PROF, SIGPROF, 1'000'000, 0};
  ASSERT_EQ(PAPI_set_opt(PAPI_DEF_ITIMER, &option), PAPI_OK);
  ASSERT_EQ(PAPI_overflow(set_, clock_, 1'000'000, PAPI_OVERFLOW_FORCE_SW, on_overflow), PAPI_OK);
  const int by_all_time = calls_in_kernel_time(set_);
  option.itimer = {ITIMER_VIRTUAL, SIGVTALRM, 1'000'000, 0};
  ASSERT_EQ(PAPI_set_opt(PAPI_DEF_ITIMER, &option), PAPI_OK);
  const int by_user_time = calls_in_kernel_time(set_);
  EXPECT_GE(by_all_time, 4);
  EXPECT_LT(by_user_time * 2, by_all_time);
}

// The numbers of the signals that have a handler now and had none then.
std::vector<int> handled_since(const std::vector<void (*)(int)>& then) {
  const auto now = handlers();
  std::vector<int> numbers;
  for (size_t i = 0; i < now.size(); ++i) {
    if (now[i] != then[i]) numbers.push_back(static_cast<int>(i) + 1);
  }
  return numbers;
}

void of_the_program(int) {}

// With PAPI's flags: the program takes the library's signals for itself while a set runs, and keeps them.
void program_keeps_its_handler(int set, int event, int flags) {
  const auto before = handlers();
  ASSERT_EQ(PAPI_overflow(set, event, 1000000000, flags, on_overflow), PAPI_OK);
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  const std::vector<int> taken = handled_since(before);
  EXPECT_FALSE(taken.empty());
  for (const int number : taken) signal(number, of_the_program);
  EXPECT_EQ(PAPI_stop(set, nullptr), PAPI_OK);
  EXPECT_EQ(PAPI_overflow(set, event, 0, flags, on_overflow), PAPI_OK);
  for (const int number : taken) {
    struct sigaction now = {};
    sigaction(number, nullptr, &now);
    EXPECT_EQ(now.sa_handler, of_the_program) << "signal " << number;
    signal(number, SIG_DFL);
  }
}

TEST_F(OverflowOfTaskClock, HandlerThatTheProgramInstalledMeanwhileStaysAfterTheKernelsOverflows) {
  program_keeps_its_handler(set_, clock_, 0);
}

TEST_F(OverflowOfTaskClock, HandlerThatTheProgramInstalledMeanwhileStaysAfterTheTimersOverflows) {
  program_keeps_its_handler(set_, clock_, PAPI_OVERFLOW_FORCE_SW);
}

// In a process of its own: overflows by the kernel while none can be queued. Its exit status is 0 where the
// process lives and the value says that it misses overflows.
void overflow_without_a_queue(int set, int event) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_SIGPENDING, &none);
  if (PAPI_overflow(set, event, 100000, 0, on_overflow) != PAPI_OK) _exit(1);
  if (PAPI_start(set) != PAPI_OK) _exit(2);
  long long now = 0;
  burn_until([&] { return PAPI_read(set, &now) != PAPI_OK || now > 20000000; });
  substrata_value value = {};
  if (substrata_read_values(set, &value, 1) != PAPI_OK) _exit(3);
  _exit((value.flags & SUBSTRATA_VALUE_INCOMPLETE) != 0 ? 0 : 4);
}

TEST_F(OverflowOfTaskClock, FullQueueOfSignalsLosesOverflowsAndSaysSo) {
  EXPECT_EXIT(overflow_without_a_queue(set_, clock_), testing::ExitedWithCode(0), "");
}

TEST_F(OverflowOfTaskClock, FullQueueOfSignalsLeavesTheProgramsHandlerOfSigioInPlace) {
  EXPECT_EXIT(
      {
        signal(SIGIO, of_the_program);
        const auto before = handlers();
        if (PAPI_overflow(set_, clock_, 1000000, 0, on_overflow) != PAPI_OK) _exit(1);
        for (const int number : handled_since(before))
          if (number == SIGIO) _exit(2);
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(OverflowOfTaskClock, FullQueueOfSignalsIsAnsweredWhileOverflowsAreArmedOnly) {
  const auto before = handlers();
  ASSERT_EQ(PAPI_overflow(set_, clock_, 1000000000, 0, on_overflow), PAPI_OK);
  const std::vector<int> taken = handled_since(before);
  EXPECT_NE(std::find(taken.begin(), taken.end(), SIGIO), taken.end());
  ASSERT_EQ(PAPI_overflow(set_, clock_, 0, 0, on_overflow), PAPI_OK);
  EXPECT_EQ(handlers(), before);
}

sigjmp_buf back;
// No allocation, whose lock a jump would leave held; a sanitizer delivers signals in the call.
void wait_for_a_jump() {
  for (int64_t i = 0; i < 2000000000; ++i) time(nullptr);
}
void jump_out(int, void*, long long, void*) { siglongjmp(back, 1); }

TEST_F(OverflowOfTaskClock, HandlersThatAreLeftByAJumpDoNotUseOverflowsUp) {
  static int jumps;  // static: a jump may bring back what a register held
  for (jumps = 0; jumps < 150; ++jumps) {
    ASSERT_EQ(PAPI_overflow(set_, clock_, 1000000, 0, jump_out), PAPI_OK) << "after " << jumps << " jumps";
    ASSERT_EQ(PAPI_start(set_), PAPI_OK);
    if (sigsetjmp(back, 1) == 0) wait_for_a_jump();
    ASSERT_EQ(PAPI_stop(set_, nullptr), PAPI_OK);
    ASSERT_EQ(PAPI_overflow(set_, clock_, 0, 0, jump_out), PAPI_OK);
  }
}

TEST_F(OverflowOfTaskClock, HandlerThatWasLeftByAJumpDoesNotKeepAnotherThreadThatDestroysTheSet) {
  ASSERT_EQ(PAPI_thread_init(reinterpret_cast<unsigned long (*)()>(pthread_self)), PAPI_OK);
  int set = PAPI_NULL;
  std::thread([&] {
    ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
    ASSERT_EQ(PAPI_add_event(set, clock_), PAPI_OK);
    ASSERT_EQ(PAPI_overflow(set, clock_, 1000000, 0, jump_out), PAPI_OK);
    ASSERT_EQ(PAPI_start(set), PAPI_OK);
    if (sigsetjmp(back, 1) == 0) wait_for_a_jump();
    ASSERT_EQ(PAPI_stop(set, nullptr), PAPI_OK);
  }).join();
  alarm(60);  // ends a test that waits for ever
  EXPECT_EQ(PAPI_cleanup_eventset(set), PAPI_OK);
  EXPECT_EQ(PAPI_destroy_eventset(&set), PAPI_OK);
  alarm(0);
}

std::atomic<int> children{0};
// Only the child's own way back through the handler is looked at: it ends behind the loop that was interrupted.
pid_t forked_there = -1;
void fork_in_handler(int, void*, long long, void*) {
  if (children.fetch_add(1) != 0) return;
  forked_there = fork();
}

TEST_F(OverflowOfTaskClock, ChildThatIsForkedInAHandlerReturnsFromIt) {
  if (substrata::tests::kThreadSanitizer)
    GTEST_SKIP() << "the thread sanitizer starts a thread in a forked child";
  ASSERT_EQ(PAPI_overflow(set_, clock_, 1000000, 0, fork_in_handler), PAPI_OK);
  ASSERT_EQ(PAPI_start(set_), PAPI_OK);
  burn_until([] { return children.load() != 0; });
  if (forked_there == 0) _exit(0);
  EXPECT_EQ(PAPI_stop(set_, nullptr), PAPI_OK);
  ASSERT_GT(forked_there, 0);
  int status = -1;
  ASSERT_EQ(waitpid(forked_there, &status, 0), forked_there);
  EXPECT_EQ(status, 0) << "signal " << WTERMSIG(status);
}

TEST_F(OverflowOfTaskClock, RefusalsAreThoseOfPapi) {  // PA-35
  int faults = 0;
  ASSERT_EQ(PAPI_event_name_to_code("perf::PAGE-FAULTS", &faults), PAPI_OK);
  EXPECT_EQ(PAPI_overflow(set_, faults, 1000, 0, on_overflow), PAPI_ENOEVNT);
  EXPECT_EQ(PAPI_overflow(999, clock_, 1000, 0, on_overflow), PAPI_ENOEVST);
  EXPECT_EQ(PAPI_overflow(set_, clock_, 1000, 0, nullptr), PAPI_EINVAL);
  EXPECT_EQ(PAPI_overflow(set_, clock_, -1, 0, on_overflow), PAPI_EINVAL);
  EXPECT_EQ(PAPI_overflow(set_, clock_, 0, 0, on_overflow), PAPI_EINVAL);
  ASSERT_EQ(PAPI_overflow(set_, clock_, 1000000, 0, on_overflow), PAPI_OK);
  EXPECT_EQ(PAPI_overflow(set_, clock_, 2000000, 0, on_overflow), PAPI_OK) << "a second time";
  EXPECT_EQ(PAPI_overflow(set_, clock_, 2000000, PAPI_OVERFLOW_FORCE_SW, on_overflow), PAPI_ECNFLCT);
  EXPECT_EQ(PAPI_add_event(set_, faults), PAPI_OK);
  EXPECT_EQ(PAPI_remove_event(set_, clock_), PAPI_OK);
  EXPECT_EQ(PAPI_start(set_), PAPI_OK);
  EXPECT_EQ(PAPI_stop(set_, nullptr), PAPI_OK);
  EXPECT_EQ(PAPI_cleanup_eventset(set_), PAPI_OK);
}

TEST_F(OverflowOfTaskClock, ProfileCountsInTheOverflowBucket) {
  for (const int force : {0, PAPI_PROFIL_FORCE_SW}) {
    std::atomic<unsigned> all{0};
    static_assert(sizeof all == sizeof(unsigned));
    ASSERT_EQ(PAPI_profil(&all, sizeof all, nullptr, 2, set_, clock_, 1000000, PAPI_PROFIL_BUCKET_32 | force),
              PAPI_OK);
    EXPECT_EQ(state(), PAPI_STOPPED | PAPI_OVERFLOWING | PAPI_PROFILING);
    ASSERT_EQ(PAPI_start(set_), PAPI_OK);
    burn_until([&] { return all.load() != 0; });
    ASSERT_EQ(PAPI_stop(set_, nullptr), PAPI_OK);
    EXPECT_GE(all.load(), 1u);
    EXPECT_EQ(PAPI_profil(&all, sizeof all, nullptr, 2, set_, clock_, 0, 0), PAPI_OK);
    EXPECT_EQ(state(), PAPI_STOPPED);
  }
}

TEST_F(OverflowOfTaskClock, ProfileRefusalsAreThoseOfPapiWhereItLives) {  // PA-35
  unsigned short buffer[64] = {};
  int faults = 0;
  ASSERT_EQ(PAPI_event_name_to_code("perf::PAGE-FAULTS", &faults), PAPI_OK);
  const auto profil = [&](int set, int event, unsigned scale, int threshold, int flags) {
    return PAPI_profil(buffer, sizeof buffer, nullptr, scale, set, event, threshold, flags);
  };
  EXPECT_EQ(profil(set_, faults, 0x10000, 10000, PAPI_PROFIL_POSIX), PAPI_ENOEVNT);
  EXPECT_EQ(profil(999, clock_, 0x10000, 10000, PAPI_PROFIL_POSIX), PAPI_ENOEVST);
  EXPECT_EQ(profil(set_, clock_, 0x10000, 1000000, 0x70000), PAPI_EINVAL);
  EXPECT_EQ(profil(set_, clock_, 0x10000, 1000000, PAPI_PROFIL_BUCKETS), PAPI_EINVAL);
  EXPECT_EQ(profil(set_, clock_, 0, 1000000, 0), PAPI_EINVAL);
  EXPECT_EQ(profil(set_, clock_, 0x10000, 0, 0), PAPI_EINVAL) << "never set; PAPI aborts";
  EXPECT_EQ(profil(set_, clock_, 0x10000, 1000000, PAPI_PROFIL_DATA_EAR), PAPI_ENOSUPP);
  EXPECT_EQ(PAPI_sprofil(nullptr, 1, set_, clock_, 1000000, 0), PAPI_OK);
  PAPI_sprofil_t none = {};
  EXPECT_EQ(PAPI_sprofil(&none, 0, set_, clock_, 1000000, 0), PAPI_OK);
}

}  // namespace
