// The kernels for x86-64 and arm64, and the table of what they prove.
#include "tools/substrata/commands/preset_kernels.hpp"

#include <papi.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string_view>

namespace substrata::tool {
namespace {

// A ring of pointers in random order, each in a cache line of its own and on a page of its own: every step misses the
// first-level cache and the first-level TLB, and no prefetcher foresees it.
class Chain {
 public:
  static void* begin() {
    static const Chain chain;
    return chain.nodes_;
  }

 private:
  static constexpr std::size_t kNodes = 8192;
  static constexpr std::size_t kStride = 4096 + 64;  // the next page, the next line of it
  Chain() {
    void* const memory =
        mmap(nullptr, kNodes * kStride, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      nodes_ = &nodes_;  // a ring of one: the checks fail and say so
      return;
    }
    madvise(memory, kNodes * kStride, MADV_NOHUGEPAGE);
    nodes_ = memory;
    std::vector<std::size_t> order(kNodes - 1);
    std::iota(order.begin(), order.end(), 1);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
    char* at = static_cast<char*>(memory);
    for (const std::size_t next : order) {
      char* const to = static_cast<char*>(memory) + next * kStride;
      std::memcpy(at, &to, sizeof to);
      at = to;
    }
    std::memcpy(at, &memory, sizeof memory);
  }
  void* nodes_ = nullptr;
};

bool always() { return true; }

#if defined(__x86_64__)

constexpr bool kWritten = true;
bool has_fused() { return __builtin_cpu_supports("fma") != 0; }

#define LOOP "dec %0\n jnz 1b\n"
void loop(std::uint64_t rounds) { __asm__ volatile("1: " LOOP : "+r"(rounds)::"cc"); }
void jump(std::uint64_t rounds) { __asm__ volatile("1: jmp 2f\n 2: " LOOP : "+r"(rounds)::"cc"); }
void not_taken(std::uint64_t rounds) {
  __asm__ volatile("1: test %0, %0\n js 2f\n " LOOP "2:\n" : "+r"(rounds)::"cc");
}
// Marsaglia's xorshift; whether the branch is taken, to the instruction behind it, is random.
void random_branch(std::uint64_t rounds) {
  std::uint64_t x = 88172645463325252, t = 0;
  __asm__ volatile(
      "1: mov %1, %2\n shl $13, %2\n xor %2, %1\n mov %1, %2\n shr $7, %2\n xor %2, %1\n"
      "mov %1, %2\n shl $17, %2\n xor %2, %1\n test $1, %1\n jz 2f\n 2: " LOOP
      : "+r"(rounds), "+r"(x), "+r"(t)::"cc");
}
void load(std::uint64_t rounds) {
  std::uint64_t cell = 0, value = 0;
  __asm__ volatile("1: mov (%2), %1\n " LOOP : "+r"(rounds), "=&r"(value) : "r"(&cell) : "cc", "memory");
}
void store(std::uint64_t rounds) {
  std::uint64_t cell = 0;
  __asm__ volatile("1: mov %0, (%1)\n " LOOP : "+r"(rounds) : "r"(&cell) : "cc", "memory");
}
void copy(std::uint64_t rounds) {
  std::uint64_t from = 0, to = 0, value = 0;
  __asm__ volatile("1: mov (%2), %1\n mov %1, (%3)\n " LOOP
                   : "+r"(rounds), "=&r"(value)
                   : "r"(&from), "r"(&to)
                   : "cc", "memory");
}
void chase(std::uint64_t rounds) {
  void* at = Chain::begin();
  __asm__ volatile("1: mov (%1), %1\n " LOOP : "+r"(rounds), "+r"(at)::"cc", "memory");
}
#define FLOATING(name, instruction)                                                 \
  void name(std::uint64_t rounds) {                                                 \
    double one = 1;                                                                 \
    __asm__ volatile("1: " instruction "\n " LOOP : "+r"(rounds), "+x"(one)::"cc"); \
  }
FLOATING(add, "addsd %1, %1")
FLOATING(multiply, "mulsd %1, %1")
FLOATING(divide, "divsd %1, %1")
FLOATING(root, "sqrtsd %1, %1")
FLOATING(fuse, "vfmadd231sd %1, %1, %1")
FLOATING(add_single, "addss %1, %1")
FLOATING(add_pair, "addpd %1, %1")
FLOATING(add_singles, "addps %1, %1")
constexpr int kRandomInstructions = 13;

#elif defined(__aarch64__)

constexpr bool kWritten = true;
bool has_fused() { return true; }

#define LOOP "subs %0, %0, #1\n b.ne 1b\n"
void loop(std::uint64_t rounds) { __asm__ volatile("1: " LOOP : "+r"(rounds)::"cc"); }
void jump(std::uint64_t rounds) { __asm__ volatile("1: b 2f\n 2: " LOOP : "+r"(rounds)::"cc"); }
void not_taken(std::uint64_t rounds) {
  __asm__ volatile("1: cmp %0, #0\n b.mi 2f\n " LOOP "2:\n" : "+r"(rounds)::"cc");
}
void random_branch(std::uint64_t rounds) {
  std::uint64_t x = 88172645463325252;
  __asm__ volatile(
      "1: eor %1, %1, %1, lsl #13\n eor %1, %1, %1, lsr #7\n eor %1, %1, %1, lsl #17\n"
      "tbz %1, #0, 2f\n 2: " LOOP
      : "+r"(rounds), "+r"(x)::"cc");
}
void load(std::uint64_t rounds) {
  std::uint64_t cell = 0, value = 0;
  __asm__ volatile("1: ldr %1, [%2]\n " LOOP : "+r"(rounds), "=&r"(value) : "r"(&cell) : "cc", "memory");
}
void store(std::uint64_t rounds) {
  std::uint64_t cell = 0;
  __asm__ volatile("1: str %0, [%1]\n " LOOP : "+r"(rounds) : "r"(&cell) : "cc", "memory");
}
void copy(std::uint64_t rounds) {
  std::uint64_t from = 0, to = 0, value = 0;
  __asm__ volatile("1: ldr %1, [%2]\n str %1, [%3]\n " LOOP
                   : "+r"(rounds), "=&r"(value)
                   : "r"(&from), "r"(&to)
                   : "cc", "memory");
}
void chase(std::uint64_t rounds) {
  void* at = Chain::begin();
  __asm__ volatile("1: ldr %1, [%1]\n " LOOP : "+r"(rounds), "+r"(at)::"cc", "memory");
}
#define FLOATING(name, instruction)                                                 \
  void name(std::uint64_t rounds) {                                                 \
    double one = 1;                                                                 \
    __asm__ volatile("1: " instruction "\n " LOOP : "+r"(rounds), "+w"(one)::"cc"); \
  }
FLOATING(add, "fadd %d1, %d1, %d1")
FLOATING(multiply, "fmul %d1, %d1, %d1")
FLOATING(divide, "fdiv %d1, %d1, %d1")
FLOATING(root, "fsqrt %d1, %d1")
FLOATING(fuse, "fmadd %d1, %d1, %d1, %d1")
FLOATING(add_single, "fadd %s1, %s1, %s1")
FLOATING(add_pair, "fadd %1.2d, %1.2d, %1.2d")
FLOATING(add_singles, "fadd %1.4s, %1.4s, %1.4s")
constexpr int kRandomInstructions = 6;

#else

constexpr bool kWritten = false;
bool has_fused() { return false; }
constexpr auto loop = [](std::uint64_t) {};
constexpr auto jump = loop, not_taken = loop, random_branch = loop, load = loop, store = loop, copy = loop,
               chase = loop, add = loop, multiply = loop, divide = loop, root = loop, fuse = loop,
               add_single = loop, add_pair = loop, add_singles = loop;
constexpr int kRandomInstructions = 0;

#endif

struct Line {
  int preset;
  std::string_view kernel;
  double least, most;
};
constexpr Line exactly(int preset, std::string_view kernel, double count) {
  return {preset, kernel, count, count};
}

const Line kLines[] = {
    exactly(PAPI_TOT_INS, "loop", 2),
    exactly(PAPI_TOT_INS, "copy", 4),
    {PAPI_TOT_IIS, "loop", 2, 4},
    {PAPI_TOT_CYC, "multiply", 2.5, 20},  // latencies of three to seven cycles, one after the other
    {PAPI_TOT_CYC, "loop", 0.4, 10},
    {PAPI_REF_CYC, "multiply", 0.3, 100},
    {PAPI_HW_INT, "loop", 0, 0},
    exactly(PAPI_BR_INS, "loop", 1),
    exactly(PAPI_BR_INS, "jump", 2),
    exactly(PAPI_BR_INS, "not_taken", 2),
    exactly(PAPI_BR_CN, "loop", 1),
    exactly(PAPI_BR_CN, "jump", 1),
    exactly(PAPI_BR_CN, "not_taken", 2),
    exactly(PAPI_BR_UCN, "loop", 0),
    exactly(PAPI_BR_UCN, "jump", 1),
    exactly(PAPI_BR_TKN, "loop", 1),
    exactly(PAPI_BR_TKN, "jump", 1),
    exactly(PAPI_BR_TKN, "not_taken", 1),
    exactly(PAPI_BR_NTK, "loop", 0),
    exactly(PAPI_BR_NTK, "jump", 0),
    exactly(PAPI_BR_NTK, "not_taken", 1),
    exactly(PAPI_BR_MSP, "loop", 0),
    {PAPI_BR_MSP, "random_branch", 0.2, 0.8},
    exactly(PAPI_BR_PRC, "loop", 1),
    {PAPI_BR_PRC, "random_branch", 1.2, 1.8},
    exactly(PAPI_LD_INS, "load", 1),
    exactly(PAPI_LD_INS, "store", 0),
    exactly(PAPI_SR_INS, "store", 1),
    exactly(PAPI_SR_INS, "load", 0),
    exactly(PAPI_LST_INS, "copy", 2),
    exactly(PAPI_LST_INS, "loop", 0),
    exactly(PAPI_L1_DCA, "copy", 2),
    exactly(PAPI_L1_DCR, "load", 1),
    exactly(PAPI_L1_DCW, "store", 1),
    exactly(PAPI_L1_DCH, "load", 1),
    // What stays in the first-level cache goes no further.
    exactly(PAPI_L1_DCM, "load", 0),
    exactly(PAPI_L1_LDM, "load", 0),
    exactly(PAPI_L1_STM, "store", 0),
    exactly(PAPI_L1_TCM, "load", 0),
    exactly(PAPI_L1_ICM, "loop", 0),
    exactly(PAPI_L2_DCA, "load", 0),
    exactly(PAPI_L2_DCH, "load", 0),
    exactly(PAPI_L2_DCM, "load", 0),
    exactly(PAPI_L2_DCR, "load", 0),
    exactly(PAPI_L2_DCW, "store", 0),
    exactly(PAPI_L2_LDM, "load", 0),
    exactly(PAPI_L2_STM, "store", 0),
    exactly(PAPI_L2_TCA, "copy", 0),
    exactly(PAPI_L2_TCH, "copy", 0),
    exactly(PAPI_L2_TCM, "copy", 0),
    exactly(PAPI_L2_TCR, "load", 0),
    exactly(PAPI_L2_TCW, "store", 0),
    exactly(PAPI_L2_ICA, "loop", 0),
    exactly(PAPI_L2_ICH, "loop", 0),
    exactly(PAPI_L2_ICM, "loop", 0),
    exactly(PAPI_L2_ICR, "loop", 0),
    exactly(PAPI_L3_DCA, "load", 0),
    exactly(PAPI_L3_DCH, "load", 0),
    exactly(PAPI_L3_DCM, "load", 0),
    exactly(PAPI_L3_DCR, "load", 0),
    exactly(PAPI_L3_DCW, "store", 0),
    exactly(PAPI_L3_LDM, "load", 0),
    exactly(PAPI_L3_STM, "store", 0),
    exactly(PAPI_L3_TCA, "copy", 0),
    exactly(PAPI_L3_TCH, "copy", 0),
    exactly(PAPI_L3_TCM, "copy", 0),
    exactly(PAPI_L3_TCR, "load", 0),
    exactly(PAPI_L3_TCW, "store", 0),
    exactly(PAPI_L3_ICA, "loop", 0),
    exactly(PAPI_L3_ICH, "loop", 0),
    exactly(PAPI_L3_ICM, "loop", 0),
    exactly(PAPI_L3_ICR, "loop", 0),
    exactly(PAPI_CA_SNP, "load", 0),
    exactly(PAPI_CA_SHR, "load", 0),
    exactly(PAPI_CA_CLN, "load", 0),
    exactly(PAPI_CA_INV, "load", 0),
    exactly(PAPI_CA_ITV, "load", 0),
    exactly(PAPI_PRF_DM, "load", 0),
    exactly(PAPI_TLB_DM, "load", 0),
    exactly(PAPI_TLB_IM, "loop", 0),
    exactly(PAPI_TLB_TL, "load", 0),
    // Every step misses once; prefetchers and walks of the page table may add to that.
    {PAPI_L1_DCM, "chase", 0.8, 4},
    {PAPI_L1_LDM, "chase", 0.8, 4},
    {PAPI_L1_TCM, "chase", 0.8, 4},
    {PAPI_L2_DCA, "chase", 0.8, 8},
    {PAPI_L2_DCR, "chase", 0.8, 8},
    {PAPI_L2_TCA, "chase", 0.8, 8},
    {PAPI_L2_TCR, "chase", 0.8, 8},
    {PAPI_TLB_DM, "chase", 0.5, 3},
    {PAPI_TLB_TL, "chase", 0.5, 3},
    exactly(PAPI_FP_INS, "add", 1),
    exactly(PAPI_FP_INS, "loop", 0),
    exactly(PAPI_FP_OPS, "add", 1),
    exactly(PAPI_FP_OPS, "loop", 0),
    exactly(PAPI_DP_OPS, "add", 1),
    exactly(PAPI_DP_OPS, "add_pair", 2),
    exactly(PAPI_DP_OPS, "fuse", 2),
    exactly(PAPI_DP_OPS, "add_single", 0),
    exactly(PAPI_SP_OPS, "add_single", 1),
    exactly(PAPI_SP_OPS, "add_singles", 4),
    exactly(PAPI_SP_OPS, "add", 0),
    exactly(PAPI_FAD_INS, "add", 1),
    exactly(PAPI_FAD_INS, "multiply", 0),
    exactly(PAPI_FML_INS, "multiply", 1),
    exactly(PAPI_FML_INS, "add", 0),
    exactly(PAPI_FDV_INS, "divide", 1),
    exactly(PAPI_FDV_INS, "add", 0),
    exactly(PAPI_FSQ_INS, "root", 1),
    exactly(PAPI_FSQ_INS, "add", 0),
    exactly(PAPI_FMA_INS, "fuse", 1),
    exactly(PAPI_FMA_INS, "add", 0),
    exactly(PAPI_VEC_DP, "add_pair", 1),
    exactly(PAPI_VEC_DP, "add_singles", 0),
    exactly(PAPI_VEC_SP, "add_singles", 1),
    exactly(PAPI_VEC_SP, "add_pair", 0),
    exactly(PAPI_VEC_INS, "add_pair", 1),
    exactly(PAPI_VEC_INS, "loop", 0),
};

}  // namespace

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> all =
      kWritten ? std::vector<Kernel>{{"loop", loop, 2, always},
                                     {"jump", jump, 3, always},
                                     {"not_taken", not_taken, 4, always},
                                     {"random_branch", random_branch, kRandomInstructions, always},
                                     {"load", load, 3, always},
                                     {"store", store, 3, always},
                                     {"copy", copy, 4, always},
                                     {"chase", chase, 3, always},
                                     {"add", add, 3, always},
                                     {"multiply", multiply, 3, always},
                                     {"divide", divide, 3, always},
                                     {"root", root, 3, always},
                                     {"fuse", fuse, 3, has_fused},
                                     {"add_single", add_single, 3, always},
                                     {"add_pair", add_pair, 3, always},
                                     {"add_singles", add_singles, 3, always}}
               : std::vector<Kernel>{};
  return all;
}

std::vector<PresetCheck> checks_of(int preset) {
  std::vector<PresetCheck> checks;
  for (const Line& line : kLines) {
    if (line.preset != preset) continue;
    for (const Kernel& kernel : kernels())
      if (line.kernel == kernel.name && kernel.here()) checks.push_back({&kernel, line.least, line.most});
  }
  return checks;
}

}  // namespace substrata::tool
