// One thread is in the library without a pause while another one forks: the child finds no lock held for ever,
// and counts by itself.
#include <gtest/gtest.h>
#include <papi.h>
#include <sde_lib.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace {

constexpr int kForks = 40;
constexpr int kDeadlineSeconds = 20;  // a child that still runs then is stuck
constexpr const char* kClock = "perf::TASK-CLOCK";

enum Ended { kWell, kBadly, kStuck };

Ended wait_for(pid_t child) {
  const timespec pause{0, 1'000'000};
  for (int i = 0; i < kDeadlineSeconds * 1000; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? kWell : kBadly;
    nanosleep(&pause, nullptr);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return kStuck;
}

// 0, or which step failed.
int count_anew() {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return 1;
  int set = PAPI_NULL;
  if (PAPI_create_eventset(&set) != PAPI_OK) return 2;
  if (PAPI_add_named_event(set, "example:::EXAMPLE_ZERO") != PAPI_OK &&
      PAPI_add_named_event(set, kClock) != PAPI_OK)
    return 3;
  if (PAPI_start(set) != PAPI_OK) return 4;
  if (PAPI_stop(set, nullptr) != PAPI_OK) return 5;
  if (PAPI_cleanup_eventset(set) != PAPI_OK) return 6;
  return PAPI_destroy_eventset(&set) == PAPI_OK ? 0 : 7;
}

class ForkedBeside : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT); }
  void TearDown() override { PAPI_shutdown(); }
  // Forks while two other threads make the call again and again; each child makes it, too, then measures.
  void children_of(const std::function<void()>& call) {
    call();
    std::atomic<bool> done{false};
    const auto loop = [&] {
      while (!done) call();
    };
    std::thread first(loop), second(loop);
    int ended[3] = {};
    for (int i = 0; i < kForks && ended[kStuck] == 0; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        call();
        _exit(count_anew());
      }
      ++ended[wait_for(child)];
    }
    done = true;
    first.join();
    second.join();
    EXPECT_EQ(ended[kStuck], 0);
    EXPECT_EQ(ended[kBadly], 0);
  }
};

TEST_F(ForkedBeside, ThreadsThatLookNamesUpIsNotStuck) {
  children_of([] {
    int code = 0;
    PAPI_event_name_to_code(kClock, &code);
    PAPI_event_name_to_code("perf::no-such-event", &code);
  });
}

TEST_F(ForkedBeside, ThreadsThatDescribeEventsIsNotStuck) {
  int code = 0;
  ASSERT_EQ(PAPI_event_name_to_code(kClock, &code), PAPI_OK);
  children_of([code] {
    PAPI_event_info_t info;
    PAPI_get_event_info(code, &info);
    char name[PAPI_MAX_STR_LEN];
    PAPI_event_code_to_name(code, name);
  });
}

TEST_F(ForkedBeside, ThreadsThatAskForPresetsIsNotStuck) {
  children_of([] { PAPI_query_event(PAPI_TOT_CYC); });
}

TEST_F(ForkedBeside, ThreadsThatMakeStartAndDestroySetsIsNotStuck) {
  children_of([] {
    int set = PAPI_NULL;
    PAPI_create_eventset(&set);
    PAPI_add_named_event(set, kClock);
    PAPI_start(set);
    PAPI_stop(set, nullptr);
    PAPI_cleanup_eventset(set);
    PAPI_destroy_eventset(&set);
  });
}

void ignore(int, void*, long long, void*) {}

TEST_F(ForkedBeside, ThreadsThatArmOverflowsIsNotStuck) {
  children_of([] {
    int set = PAPI_NULL, code = 0;
    PAPI_create_eventset(&set);
    PAPI_event_name_to_code(kClock, &code);
    if (PAPI_add_event(set, code) == PAPI_OK) {
      PAPI_overflow(set, code, 1'000'000'000, 0, ignore);
      PAPI_overflow(set, code, 0, 0, ignore);
    }
    PAPI_cleanup_eventset(set);
    PAPI_destroy_eventset(&set);
  });
}

TEST_F(ForkedBeside, ThreadsThatReadSharedSetsIsNotStuck) {
  int set = PAPI_NULL;
  ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
  if (PAPI_add_named_event(set, kClock) != PAPI_OK) GTEST_SKIP() << kClock << " does not count here";
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  children_of([set] {
    long long value = 0;
    PAPI_read(set, &value);
  });
}

TEST_F(ForkedBeside, ThreadsThatPublishEventsIsNotStuck) {
  static long long value = 0;
  const papi_handle_t library = papi_sde_init("forked");
  children_of([library] {
    papi_sde_register_counter(library, "event", PAPI_SDE_RO, PAPI_SDE_long_long, &value);
    papi_sde_unregister_counter(library, "event");
  });
}

TEST_F(ForkedBeside, ThreadsThatRecordValuesIsNotStuck) {
  const papi_handle_t library = papi_sde_init("recording");
  void* recorder = nullptr;
  papi_sde_create_recorder(library, "values", sizeof(int), nullptr, &recorder);
  children_of([recorder] {
    int value = 1;
    papi_sde_record(recorder, sizeof value, &value);
  });
}

TEST_F(ForkedBeside, ThreadsThatFillCountingSetsIsNotStuck) {
  const papi_handle_t library = papi_sde_init("counting");
  void* set = nullptr;
  papi_sde_create_counting_set(library, "elements", &set);
  children_of([set] {
    int element = 1;
    papi_sde_counting_set_insert(set, sizeof element, sizeof element, &element, 1);
    papi_sde_counting_set_remove(set, sizeof element, &element, 1);
  });
}

}  // namespace
