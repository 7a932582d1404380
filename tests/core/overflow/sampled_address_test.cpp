// Where overflows and profiles say that something happened: the address that the kernel sampled, not the one at which
// the signal met the program.
#include <gtest/gtest.h>
#include <papi.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "support/kernel_events.hpp"

extern "C" char __start_spinning[], __stop_spinning[];  // the linker's, of the section

namespace {

std::atomic<int> calls{0}, in_spin{0}, in_kernel{0};

void on_overflow(int, void* address, long long, void*) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  ++calls;
  if (at >= reinterpret_cast<uintptr_t>(__start_spinning) &&
      at < reinterpret_cast<uintptr_t>(__stop_spinning))
    ++in_spin;
  if (at >> 63 != 0) ++in_kernel;
}

__attribute__((noinline, section("spinning"))) void spin() {
  for (;;) asm volatile("" ::: "memory");
}

class SampledAddress : public testing::Test {
 protected:
  void SetUp() override {
    SUBSTRATA_NEEDS_KERNEL_EVENTS();
    ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
    calls = in_spin = in_kernel = 0;
    ASSERT_EQ(PAPI_create_eventset(&set_), PAPI_OK);
  }
  void TearDown() override { PAPI_shutdown(); }
  int add(const char* name) {
    int code = 0;
    EXPECT_EQ(PAPI_event_name_to_code(name, &code), PAPI_OK);
    EXPECT_EQ(PAPI_add_event(set_, code), PAPI_OK);
    return code;
  }
  int set_ = PAPI_NULL;
};

TEST_F(SampledAddress, OfAnAttachedProcessIsThatProcesss) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) spin();
  const int clock = add("perf::TASK-CLOCK");
  const int attached = PAPI_attach(set_, static_cast<unsigned long>(child));
  const bool measured = attached == PAPI_OK &&
                        PAPI_overflow(set_, clock, 1'000'000, 0, on_overflow) == PAPI_OK &&
                        PAPI_start(set_) == PAPI_OK;
  for (int i = 0; measured && i < 10'000 && calls < 20; ++i) usleep(1000);
  if (measured) PAPI_stop(set_, nullptr);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(measured) << attached;
  ASSERT_GE(calls, 20);
  EXPECT_GT(in_spin * 2, calls.load()) << in_spin << " of " << calls;
}

// PAPI answers a truth value here: 1 where the set is attached (PAPI_ATTACH), or is not (PAPI_DETACH).
TEST_F(SampledAddress, OptionsSayWhetherTheSetIsAttached) {
  add("perf::TASK-CLOCK");
  PAPI_option_t option = {};
  const auto said = [&](int which) {
    option.attach.eventset = set_;
    return PAPI_get_opt(which, &option);
  };
  EXPECT_EQ(said(PAPI_ATTACH), 0);
  EXPECT_EQ(said(PAPI_DETACH), 1);
  const auto self = static_cast<unsigned long>(getpid());
  ASSERT_EQ(PAPI_attach(set_, self), PAPI_OK);
  EXPECT_EQ(said(PAPI_ATTACH), 1);
  EXPECT_EQ(option.attach.tid, self);
  EXPECT_EQ(said(PAPI_DETACH), 0);
}

TEST_F(SampledAddress, OfTheKernelIsAKernelAddress) {
  PAPI_option_t option = {};
  const int clock = add("perf::TASK-CLOCK");
  option.domain.eventset = set_;
  option.domain.domain = PAPI_DOM_ALL;
  if (PAPI_set_opt(PAPI_DOMAIN, &option) != PAPI_OK) GTEST_SKIP() << "the kernel may not be sampled here";
  ASSERT_EQ(PAPI_overflow(set_, clock, 1'000'000, 0, on_overflow), PAPI_OK);
  ASSERT_EQ(PAPI_start(set_), PAPI_OK);
  std::vector<char> block(1 << 20);
  // The system call itself: a sanitizer marks each byte of what a library's function fills, in user time.
  for (int i = 0; i < 1000 && calls < 20; ++i)
    ASSERT_GT(syscall(SYS_getrandom, block.data(), block.size(), 0), 0);
  ASSERT_EQ(PAPI_stop(set_, nullptr), PAPI_OK);
  ASSERT_GE(calls, 10);
  EXPECT_GT(in_kernel * 2, calls.load()) << in_kernel << " of " << calls;
}

TEST_F(SampledAddress, OfDataFillsTheBucketOfEachPageThatFaulted) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  constexpr size_t kPages = 64;
  const int faults = add("perf::PAGE-FAULTS");
  auto* const array = static_cast<char*>(
      mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(array, MAP_FAILED);
  madvise(array, kPages * page, MADV_NOHUGEPAGE);
  std::vector<uint32_t> buckets(kPages);
  ASSERT_EQ(PAPI_profil(buckets.data(), static_cast<unsigned>(kPages * sizeof(uint32_t)), array,
                        static_cast<unsigned>(0x20000 / page), set_, faults, 1,
                        PAPI_PROFIL_BUCKET_32 | PAPI_PROFIL_DATA_EAR),
            PAPI_OK);
  ASSERT_EQ(PAPI_start(set_), PAPI_OK);
  for (size_t i = 0; i < kPages; i += 2) array[i * page] = 1;
  ASSERT_EQ(PAPI_stop(set_, nullptr), PAPI_OK);
  for (size_t i = 0; i < kPages; ++i) EXPECT_EQ(buckets[i], i % 2 == 0 ? 1u : 0u) << i;
  munmap(array, kPages * page);
}

}  // namespace
