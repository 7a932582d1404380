// substrata check-presets: holds every preset that opens here against a kernel whose count is known.
#include <cmath>
#include <cstdio>
#include <string>

#include "arguments/arguments.hpp"
#include "sampler/measuring.hpp"
#include "substrata_tool/commands.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

// Each kernel runs `rounds` rounds of its body; what a round counts is in kChecks. They are written in
// assembly so that no compiler changes the counts.
#if defined(__x86_64__)
constexpr bool kKernels = true;
void loop(std::uint64_t rounds) {  // two instructions, one of them a taken branch
  __asm__ volatile("1: dec %0\n jnz 1b\n" : "+r"(rounds)::"cc");
}
void load(std::uint64_t rounds) {
  std::uint64_t cell = 0;
  std::uint64_t value = 0;
  __asm__ volatile("1: mov (%2), %1\n dec %0\n jnz 1b\n"
                   : "+r"(rounds), "=&r"(value)
                   : "r"(&cell)
                   : "cc", "memory");
}
void store(std::uint64_t rounds) {
  std::uint64_t cell = 0;
  __asm__ volatile("1: mov %0, (%1)\n dec %0\n jnz 1b\n" : "+r"(rounds) : "r"(&cell) : "cc", "memory");
}
void add(std::uint64_t rounds) {
  double sum = 0;
  __asm__ volatile("1: addsd %1, %1\n dec %0\n jnz 1b\n" : "+r"(rounds), "+x"(sum)::"cc");
}
void multiply(std::uint64_t rounds) {
  double product = 1;
  __asm__ volatile("1: mulsd %1, %1\n dec %0\n jnz 1b\n" : "+r"(rounds), "+x"(product)::"cc");
}
#elif defined(__aarch64__)
constexpr bool kKernels = true;
void loop(std::uint64_t rounds) { __asm__ volatile("1: subs %0, %0, #1\n b.ne 1b\n" : "+r"(rounds)::"cc"); }
void load(std::uint64_t rounds) {
  std::uint64_t cell = 0;
  std::uint64_t value = 0;
  __asm__ volatile("1: ldr %1, [%2]\n subs %0, %0, #1\n b.ne 1b\n"
                   : "+r"(rounds), "=&r"(value)
                   : "r"(&cell)
                   : "cc", "memory");
}
void store(std::uint64_t rounds) {
  std::uint64_t cell = 0;
  __asm__ volatile("1: str %0, [%1]\n subs %0, %0, #1\n b.ne 1b\n"
                   : "+r"(rounds)
                   : "r"(&cell)
                   : "cc", "memory");
}
void add(std::uint64_t rounds) {
  double sum = 0;
  __asm__ volatile("1: fadd %d1, %d1, %d1\n subs %0, %0, #1\n b.ne 1b\n" : "+r"(rounds), "+w"(sum)::"cc");
}
void multiply(std::uint64_t rounds) {
  double product = 1;
  __asm__ volatile("1: fmul %d1, %d1, %d1\n subs %0, %0, #1\n b.ne 1b\n" : "+r"(rounds), "+w"(product)::"cc");
}
#else
constexpr bool kKernels = false;
void loop(std::uint64_t) {}
void load(std::uint64_t) {}
void store(std::uint64_t) {}
void add(std::uint64_t) {}
void multiply(std::uint64_t) {}
#endif

struct Check {
  int preset;
  void (*kernel)(std::uint64_t rounds);
  double per_round;
};
constexpr Check kChecks[] = {
    {PAPI_TOT_INS, loop, 2}, {PAPI_BR_INS, loop, 1}, {PAPI_BR_CN, loop, 1},   {PAPI_BR_TKN, loop, 1},
    {PAPI_BR_MSP, loop, 0},  {PAPI_LD_INS, load, 1}, {PAPI_SR_INS, store, 1}, {PAPI_L1_DCM, load, 0},
    {PAPI_L1_LDM, load, 0},  {PAPI_L2_TCM, load, 0}, {PAPI_TLB_DM, load, 0},  {PAPI_FP_INS, add, 1},
    {PAPI_FP_OPS, add, 1},   {PAPI_DP_OPS, add, 1},  {PAPI_FAD_INS, add, 1},  {PAPI_FML_INS, multiply, 1},
    {PAPI_SP_OPS, add, 0},
};
constexpr std::uint64_t kRounds = 10'000'000;
// Interrupts and their handlers' returns count on some processors even in user mode.
constexpr double kTolerance = 0.01;

// What the kernel counts in `rounds` rounds; empty reason on success.
std::string count(int preset, void (*kernel)(std::uint64_t), std::uint64_t rounds, long long& value) {
  int set = PAPI_NULL;
  int status = PAPI_create_eventset(&set);
  if (status == PAPI_OK) status = PAPI_add_event(set, preset);
  if (status == PAPI_OK) status = PAPI_start(set);
  if (status == PAPI_OK) {
    kernel(rounds);
    status = PAPI_stop(set, &value);
  }
  const std::string why = status == PAPI_OK ? "" : refusal(status);
  PAPI_cleanup_eventset(set);
  PAPI_destroy_eventset(&set);
  return why;
}

}  // namespace

int check_presets(int argc, char** argv) {
  Arguments arguments(
      "substrata check-presets",
      "Checks the preset events against kernels with known counts, by differences of two lengths. "
      "Exit status 0: all checked events are right; 1: at least one is not; 77: none can be checked.");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  start_library();

  unsigned available = 0, checked = 0, wrong = 0;
  std::string reason;
  for (const int preset : presets()) {
    const substrata_event event = describe(preset);
    if (event.available == 0) {
      // Of the presets without a recipe the reason is only that; of this one it is what the machine lacks.
      if (preset == PAPI_TOT_INS) reason = event.why;
      continue;
    }
    ++available;
    const std::string name = event_name(preset);
    const Check* check = nullptr;
    for (const Check& candidate : kChecks)
      if (candidate.preset == preset) check = &candidate;
    if (check == nullptr || !kKernels) {
      std::printf("%-14s not checked: there is no kernel of known count for it\n", name.c_str());
      continue;
    }
    ++checked;
    long long few = 0, many = 0;
    std::string why = count(preset, check->kernel, kRounds, few);
    if (why.empty()) why = count(preset, check->kernel, 3 * kRounds, many);
    if (!why.empty()) {
      ++wrong;
      std::printf("%-14s WRONG: listed as available, but %s\n", name.c_str(), why.c_str());
      continue;
    }
    const double expected = check->per_round * 2 * kRounds;
    const auto found = static_cast<double>(many - few);
    const bool right = std::abs(found - expected) <= kTolerance * 2 * kRounds;
    wrong += right ? 0 : 1;
    std::printf("%-14s %s: %.0f expected, %.0f found\n", name.c_str(), right ? "right" : "WRONG", expected,
                found);
  }
  if (checked == 0) {
    std::printf("No preset can be checked here: %u are available.%s%s\n", available,
                reason.empty() ? "" : " ", reason.c_str());
    return 77;
  }
  std::printf("\n%u presets available, %u checked, %u wrong\n", available, checked, wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace substrata::tool
