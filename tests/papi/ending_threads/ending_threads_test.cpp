// Threads that pthread_cancel() ends while they are inside the library, where they read files and wait: the process
// lives, no lock stays held, and another thread counts afterwards. And a first thread that ends before the process.
#include <gtest/gtest.h>
#include <papi.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>

#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"

namespace {

constexpr int kThreads = 60;

// Called again and again by each thread, from its beginning to its end.
using Call = void (*)();

void* call_for_ever(void* call) {
  PAPI_register_thread();
  for (;;) {
    reinterpret_cast<Call>(call)();
    pthread_testcancel();
  }
}

void count_once(const char* event) {
  std::array<long long, 4> values{};
  int set = PAPI_NULL;
  if (PAPI_create_eventset(&set) != PAPI_OK) return;
  if (PAPI_add_named_event(set, event) == PAPI_OK && PAPI_start(set) == PAPI_OK) {
    for (int i = 0; i < 20; ++i) PAPI_read(set, values.data());
    PAPI_stop(set, values.data());
  }
  PAPI_cleanup_eventset(set);
  PAPI_destroy_eventset(&set);
}

class CancelledThread : public testing::Test {
 protected:
  void SetUp() override {
    setenv("PAPI_OUTPUT_DIRECTORY", folder_.path().c_str(), 1);
    ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
    ASSERT_EQ(PAPI_thread_init(reinterpret_cast<unsigned long (*)()>(pthread_self)), PAPI_OK);
  }
  void TearDown() override {
    PAPI_shutdown();
    unsetenv("PAPI_OUTPUT_DIRECTORY");
  }
  // Cancels threads at moments of their first 2 ms inside the call; then the call is made here, and something counts.
  void does_not_end_the_process_inside(Call call) {
    alarm(120);  // ends a process in which a lock stayed held
    for (int i = 0; i < kThreads; ++i) {
      pthread_t thread;
      ASSERT_EQ(pthread_create(&thread, nullptr, call_for_ever, reinterpret_cast<void*>(call)), 0);
      const timespec pause{0, i % 20 * 100'000};
      nanosleep(&pause, nullptr);
      pthread_cancel(thread);
      void* ended = nullptr;
      ASSERT_EQ(pthread_join(thread, &ended), 0);
      EXPECT_EQ(ended, PTHREAD_CANCELED);
    }
    call();
    int set = PAPI_NULL;
    ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
    ASSERT_EQ(PAPI_add_named_event(set, "example:::constant"), PAPI_OK);
    EXPECT_EQ(PAPI_start(set), PAPI_OK);
    long long value = 0;
    EXPECT_EQ(PAPI_stop(set, &value), PAPI_OK);
    EXPECT_EQ(PAPI_cleanup_eventset(set), PAPI_OK);
    EXPECT_EQ(PAPI_destroy_eventset(&set), PAPI_OK);
    alarm(0);
  }
  substrata::tests::TemporaryFolder folder_;
};

TEST_F(CancelledThread, ThatCountsEventsOfTheKernelDoesNotEndTheProcess) {
  does_not_end_the_process_inside([] { count_once("perf::TASK-CLOCK"); });
}

TEST_F(CancelledThread, ThatReadsFilesOfTheKernelDoesNotEndTheProcess) {
  does_not_end_the_process_inside([] { count_once("net:::lo:rx-bytes"); });
  does_not_end_the_process_inside([] { count_once("process:::fds"); });
}

TEST_F(CancelledThread, ThatLooksNamesUpDoesNotEndTheProcess) {
  does_not_end_the_process_inside([] {
    int code = 0;
    PAPI_event_name_to_code("perf::no-such-event", &code);
    PAPI_query_event(PAPI_TOT_CYC);
  });
}

TEST_F(CancelledThread, ThatAsksForTheMachineDoesNotEndTheProcess) {
  does_not_end_the_process_inside([] {
    PAPI_dmem_info_t memory;
    PAPI_get_dmem_info(&memory);
    PAPI_get_hardware_info();
    PAPI_get_executable_info();
    PAPI_get_shared_lib_info();
  });
}

TEST_F(CancelledThread, ThatMeasuresRegionsDoesNotEndTheProcess) {
  does_not_end_the_process_inside([] {
    PAPI_hl_region_begin("cancelled");
    PAPI_hl_region_end("cancelled");
  });
}

TEST_F(CancelledThread, ThatArmsOverflowsDoesNotEndTheProcess) {
  does_not_end_the_process_inside([] {
    int set = PAPI_NULL, code = 0;
    const auto handler = [](int, void*, long long, void*) {};
    PAPI_create_eventset(&set);
    PAPI_event_name_to_code("perf::TASK-CLOCK", &code);
    PAPI_add_event(set, code);
    PAPI_overflow(set, code, 1'000'000, 0, handler);
    if (PAPI_start(set) == PAPI_OK) PAPI_stop(set, nullptr);
    PAPI_cleanup_eventset(set);
    PAPI_destroy_eventset(&set);
  });
}

// 0, or the number of the first wrong answer.
int ask_for_the_process() {
  PAPI_dmem_info_t memory;
  if (PAPI_get_dmem_info(&memory) != PAPI_OK) return 1;
  if (memory.size <= 0 || memory.resident <= 0) return 2;
  const PAPI_exe_info_t* const program = PAPI_get_executable_info();
  if (program == nullptr || program->address_info.text_start == nullptr) return 3;
  const PAPI_shlib_info_t* const libraries = PAPI_get_shared_lib_info();
  return libraries != nullptr && libraries->count > 0 ? 0 : 4;
}

// Where a process's first thread has ended, the kernel shows nothing of its memory in /proc/self.
TEST(FirstThread, ThatHasEndedTakesNothingFromWhatIsKnownOfTheProcess) {
  if (substrata::tests::kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer sees no end of such a thread";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) _exit(9);
    pthread_t thread;
    const auto ask = [](void* first) -> void* {
      pthread_join(*static_cast<pthread_t*>(first), nullptr);
      _exit(ask_for_the_process());
    };
    static pthread_t first = pthread_self();
    if (pthread_create(&thread, nullptr, ask, &first) != 0) _exit(8);
    syscall(SYS_exit, 0);  // pthread_exit() would unwind through the test's own catching
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
