// What a read of a substrate costs that takes its numbers from the kernel's files, beside a bare pread of such a file:
// system calls, and instructions of the process around them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "core/registry/built_in.hpp"
#include "support/instructions.hpp"
#include "support/recorded_trees/recorded_tree.hpp"
#include "support/sanitized.hpp"
#include "support/system_calls.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;
using tests::mark;
using tests::mark_instructions;

// A substrate and a recorded machine that has it. `numbers`: how many its file holds besides the one that is read.
struct Reading {
  const char* substrate;
  const char* machine;
  bool many = false;
};
constexpr Reading kReadings[] = {
    {"amd_smi", "four_mi300a"},
    {"coretemp", "epyc_9654"},
    {"cpufreq", "epyc_9654"},
    {"cray_pm", "cray_ex"},
    {"cxi", "cray_ex"},
    {"infiniband", "xeon_two_sockets"},
    {"intel_gpu", "intel_arc_b580"},
    {"io", "virtual_machine", true},
    {"lustre", "lustre_client", true},
    {"net", "xeon_two_sockets", true},
    {"powercap", "xeon_two_sockets"},
    {"powercap_ppc", "power9"},
    {"rapl", "xeon_two_sockets"},
    {"rocm_smi", "four_mi300a"},
    {"stealtime", "virtual_machine", true},
};

class ReadCost : public ::testing::TestWithParam<Reading> {
 protected:
  void SetUp() override {
    for (const BuiltIn* item = built_in_substrates(); item->name != nullptr; ++item)
      if (GetParam().substrate == std::string(item->name)) entry_ = item->entry;
    ASSERT_NE(entry_, nullptr);
  }
  // Runs `reads` of the first event that is there, between marks.
  template <class Marked>
  bool read(int reads, Marked marked) const {
    FakeHost host(std::string(MACHINES) + "/" + GetParam().machine);
    Substrate substrate(entry_, host);
    if (!substrate.open().ok()) return false;
    for (const Event& event : substrate.events()) {
      if ((event.flags & kEventUnavailable) != 0) continue;
      EventSet set(substrate, {event.name});
      int64_t value = 0;
      if (!set.start().ok() || !substrate.table.read(set.handle(), &value).ok()) return false;
      marked();
      for (int i = 0; i < reads; ++i) substrate.table.read(set.handle(), &value);
      marked();
      return true;
    }
    return false;
  }
  EntryPoint* entry_ = nullptr;
};

#define SKIP_UNTRACED(condition) \
  if (condition) GTEST_SKIP() << "a child cannot be traced here (ptrace)"

TEST_P(ReadCost, IsOnePread) {
  const tests::SystemCalls seen = tests::system_calls_of([&] { return read(10, mark); });
  SKIP_UNTRACED(!seen.traced);
  EXPECT_TRUE(seen.good);
  // A second one where the end of a file of many numbers has to be seen.
  EXPECT_GE(seen.count(SYS_pread64), 10) << seen.numbers();
  EXPECT_LE(seen.calls.size(), GetParam().many ? 30u : 10u) << seen.numbers();
}

// A bare pread and its number, as a program would write it.
long bare() {
  const auto preads = [](int number) {
    return tests::instructions_of([number] {
      const int file = open(MACHINES "/xeon_two_sockets/proc/sys/kernel/perf_event_paranoid", O_RDONLY);
      char text[32] = {};
      long long sum = 0;
      mark_instructions();
      for (int i = 0; i < number; ++i) {
        if (pread(file, text, sizeof text - 1, 0) < 1) return false;
        sum += std::strtoll(text, nullptr, 10);
      }
      mark_instructions();
      return file >= 0 && sum != -1;
    });
  };
  const long few = preads(10), more = preads(20);
  return few < 0 || more < 0 ? -1 : (more - few) / 10;
}

// A pread of sysfs is some thousand instructions of the kernel: 400 around it are far below a fifth of a read's time.
// clang makes up to 450 of what GCC makes 400.
TEST_P(ReadCost, IsFewInstructionsAroundThePread) {
#if !defined(__OPTIMIZE__) && !defined(NDEBUG)
  GTEST_SKIP() << "the library is not optimised";
#endif
  if (tests::kSanitized) GTEST_SKIP() << "the sanitizer's own instructions would be counted";
  if (GetParam().many) GTEST_SKIP() << "its file holds many numbers, through which the read looks";
  const long few = tests::instructions_of([&] { return read(10, mark_instructions); });
  const long more = tests::instructions_of([&] { return read(20, mark_instructions); });
  const long alone = bare();
  SKIP_UNTRACED(few < 0 || more < 0 || alone < 0);
  RecordProperty("instructions", static_cast<int>((more - few) / 10));
  RecordProperty("bare", static_cast<int>(alone));
#ifdef __clang__
  constexpr long kMost = 500;
#else
  constexpr long kMost = 400;
#endif
  EXPECT_LT((more - few) / 10 - alone, kMost);
}

INSTANTIATE_TEST_SUITE_P(Files, ReadCost, ::testing::ValuesIn(kReadings),
                         [](const auto& tested) { return std::string(tested.param.substrate); });

}  // namespace
