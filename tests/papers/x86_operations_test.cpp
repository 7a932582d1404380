// What x86-64 instructions become in the Owl paper's perturbation study, from their bytes.
#include "papers/x86_operations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

using namespace substrata::papers;

namespace {

constexpr uint64_t bit(unsigned i) { return uint64_t{1} << i; }
constexpr uint64_t kRax = bit(0), kRcx = bit(1), kRdx = bit(2), kRbx = bit(3), kRsi = bit(6), kRdi = bit(7);
constexpr uint64_t kFlags = bit(kFlagsBit), kLoaded = bit(kLoadedBit);
constexpr uint64_t kXmm0 = bit(kVectorBit), kXmm1 = bit(kVectorBit + 1);

class X86Operations : public testing::Test {
 protected:
  void SetUp() override {
    if (!Decoder::available()) GTEST_SKIP() << "built without capstone";
  }
  static Recipe decode(std::initializer_list<int> bytes) {
    Code code{0x1000, static_cast<uint8_t>(bytes.size()), true, {}};
    std::transform(bytes.begin(), bytes.end(), code.bytes.begin(),
                   [](int b) { return static_cast<uint8_t>(b); });
    Decoder decoder;
    bool understood = false;
    const Recipe recipe = decoder.decode(code, understood);
    EXPECT_TRUE(understood);
    return recipe;
  }
  static std::vector<Operation> operations(const Recipe& recipe, const std::vector<Step>& steps = {}) {
    Expansion expansion;
    expansion.make(recipe, steps.data(), static_cast<unsigned>(steps.size()), recipe.behind);
    return {expansion.begin(), expansion.end()};
  }
};

const Step kRead{64, 0, false};
const Step kWrite{64, 0, true};

}  // namespace

// OW-12
TEST_F(X86Operations, AnAdditionReadsBothAndWritesOneAndTheFlags) {
  const Recipe recipe = decode({0x48, 0x01, 0xd8});  // add rax, rbx
  EXPECT_EQ(recipe.reads, kRax | kRbx);
  EXPECT_EQ(recipe.writes, kRax | kFlags);
  EXPECT_EQ(recipe.work, Work::kInteger);
  EXPECT_EQ(recipe.behind, 0x1003U);
  EXPECT_EQ(operations(recipe).size(), 1U);
}

TEST_F(X86Operations, PartsOfARegisterAreTheRegister) {
  EXPECT_EQ(decode({0x0f, 0xb6, 0xc3}).reads, kRbx);  // movzx eax, bl
  EXPECT_EQ(decode({0x0f, 0xb6, 0xc3}).writes, kRax);
  EXPECT_EQ(decode({0x0f, 0x94, 0xc0}).reads, kFlags);           // sete al
  EXPECT_EQ(decode({0x45, 0x31, 0xc8}).reads, bit(8) | bit(9));  // xor r8d, r9d
}

TEST_F(X86Operations, ZerosDependOnNothing) {
  EXPECT_EQ(decode({0x31, 0xc0}).reads, 0U);              // xor eax, eax
  EXPECT_EQ(decode({0x66, 0x0f, 0xef, 0xc0}).reads, 0U);  // pxor xmm0, xmm0
  EXPECT_NE(decode({0x31, 0xd8}).reads, 0U);              // xor eax, ebx
}

TEST_F(X86Operations, ALoadIsOneOperationAndWithArithmeticTwo) {
  const auto plain = operations(decode({0x48, 0x8b, 0x03}), {kRead});  // mov rax, [rbx]
  ASSERT_EQ(plain.size(), 1U);
  EXPECT_EQ(plain[0].work, Work::kLoad);
  EXPECT_EQ(plain[0].reads, kRbx);
  EXPECT_EQ(plain[0].writes, kRax);
  EXPECT_EQ(plain[0].address, 64U);
  const auto added = operations(decode({0x48, 0x03, 0x04, 0xcb}), {kRead});  // add rax, [rbx + 8 * rcx]
  ASSERT_EQ(added.size(), 2U);
  EXPECT_EQ(added[0].work, Work::kLoad);
  EXPECT_EQ(added[0].reads, kRbx | kRcx);
  EXPECT_EQ(added[0].writes, kLoaded);
  EXPECT_EQ(added[1].work, Work::kInteger);
  EXPECT_EQ(added[1].reads, kRax | kLoaded);
  EXPECT_EQ(added[1].writes, kRax | kFlags);
}

TEST_F(X86Operations, AStoreWaitsForAddressAndDataAndMemoryIsAddedToInThree) {
  const auto plain = operations(decode({0x48, 0x89, 0x03}), {kWrite});  // mov [rbx], rax
  ASSERT_EQ(plain.size(), 1U);
  EXPECT_EQ(plain[0].work, Work::kStore);
  EXPECT_EQ(plain[0].reads, kRax | kRbx);
  const auto added = operations(decode({0x48, 0x01, 0x03}), {kRead, kWrite});  // add [rbx], rax
  ASSERT_EQ(added.size(), 3U);
  EXPECT_EQ(added[0].work, Work::kLoad);
  EXPECT_EQ(added[1].reads, kRax | kLoaded);
  EXPECT_EQ(added[1].writes, kLoaded | kFlags);
  EXPECT_EQ(added[2].work, Work::kStore);
  EXPECT_EQ(added[2].reads, kRbx | kLoaded);
}

TEST_F(X86Operations, TheStackPointerIsNoDependence) {
  const auto push = operations(decode({0x53}), {kWrite});  // push rbx
  ASSERT_EQ(push.size(), 1U);
  EXPECT_EQ(push[0].work, Work::kStore);
  EXPECT_EQ(push[0].reads, kRbx);
  const auto pop = operations(decode({0x5b}), {kRead});  // pop rbx
  ASSERT_EQ(pop.size(), 1U);
  EXPECT_EQ(pop[0].reads, 0U);
  EXPECT_EQ(pop[0].writes, kRbx);
}

TEST_F(X86Operations, TurnsAreReported) {
  const Recipe conditional = decode({0x74, 0x10});  // je
  EXPECT_EQ(conditional.branch, Branch::kConditional);
  EXPECT_EQ(conditional.reads, kFlags);
  EXPECT_EQ(decode({0xeb, 0x10}).branch, Branch::kJump);      // jmp
  EXPECT_EQ(decode({0xff, 0xe0}).branch, Branch::kIndirect);  // jmp rax
  EXPECT_EQ(decode({0xff, 0xe0}).reads, kRax);
  EXPECT_EQ(decode({0xe8, 0x10, 0, 0, 0}).branch, Branch::kCall);  // call
  EXPECT_EQ(decode({0xff, 0x13}).branch, Branch::kIndirectCall);   // call [rbx]
  EXPECT_EQ(decode({0xc3}).branch, Branch::kReturn);               // ret
  EXPECT_EQ(decode({0x48, 0x01, 0xd8}).branch, Branch::kNone);
  const auto call = operations(decode({0xff, 0x13}), {kRead, kWrite});
  ASSERT_EQ(call.size(), 3U);
  EXPECT_EQ(call[0].work, Work::kLoad);
  EXPECT_EQ(call[1].branch, Branch::kIndirectCall);
  EXPECT_EQ(call[1].reads & kLoaded, kLoaded);
  EXPECT_EQ(call[2].work, Work::kStore);
}

TEST_F(X86Operations, UnitsAreReported) {
  EXPECT_EQ(decode({0x48, 0x0f, 0xaf, 0xc3}).work, Work::kMultiply);  // imul rax, rbx
  EXPECT_EQ(decode({0x48, 0xf7, 0xf3}).work, Work::kDivide);          // div rbx
  EXPECT_EQ(decode({0x48, 0xf7, 0xf3}).writes & (kRax | kRdx), kRax | kRdx);
  EXPECT_EQ(decode({0x48, 0x0f, 0x44, 0xc3}).work, Work::kSelect);    // cmove rax, rbx
  EXPECT_EQ(decode({0x0f, 0x1f, 0x00}).work, Work::kNothing);         // nop [rax]
  EXPECT_EQ(decode({0xf3, 0x0f, 0x1e, 0xfa}).work, Work::kNothing);   // endbr64
  EXPECT_EQ(decode({0xf2, 0x0f, 0x58, 0xc1}).work, Work::kFloatAdd);  // addsd xmm0, xmm1
  EXPECT_EQ(decode({0xf2, 0x0f, 0x58, 0xc1}).reads, kXmm0 | kXmm1);
  EXPECT_EQ(decode({0xf2, 0x0f, 0x58, 0xc1}).writes, kXmm0);
  EXPECT_EQ(decode({0xf2, 0x0f, 0x59, 0xc1}).work, Work::kFloatMultiply);      // mulsd
  EXPECT_EQ(decode({0xf2, 0x0f, 0x5e, 0xc1}).work, Work::kFloatDivideDouble);  // divsd
  EXPECT_EQ(decode({0xf3, 0x0f, 0x5e, 0xc1}).work, Work::kFloatDivideSingle);  // divss
  EXPECT_EQ(decode({0xf2, 0x0f, 0x51, 0xc1}).work, Work::kFloatRootDouble);    // sqrtsd
  EXPECT_EQ(decode({0xc5, 0xf3, 0x59, 0xc2}).work, Work::kFloatMultiply);      // vmulsd
  EXPECT_EQ(decode({0xd8, 0xc9}).work, Work::kFloatMultiply);                  // fmul st0, st1
  EXPECT_EQ(decode({0x66, 0x0f, 0xfe, 0xc1}).work, Work::kInteger);            // paddd xmm0, xmm1
  EXPECT_EQ(decode({0x66, 0x0f, 0xd7, 0xc1}).work, Work::kCount);              // pmovmskb eax, xmm1
  EXPECT_EQ(decode({0x66, 0x0f, 0x2f, 0xc1}).writes, kFlags);                  // comisd
}

TEST_F(X86Operations, LoadsOfFloatingPointTakeTheLongerWay) {
  const auto load = operations(decode({0xf2, 0x0f, 0x10, 0x03}), {kRead});  // movsd xmm0, [rbx]
  ASSERT_EQ(load.size(), 1U);
  EXPECT_EQ(load[0].work, Work::kFloatLoad);
  EXPECT_EQ(load[0].reads, kRbx);
  EXPECT_EQ(load[0].writes, kXmm0);
}

TEST_F(X86Operations, AnAddressAloneIsComputed) {
  const auto lea = operations(decode({0x48, 0x8d, 0x04, 0xcb}));  // lea rax, [rbx + 8 * rcx]
  ASSERT_EQ(lea.size(), 1U);
  EXPECT_EQ(lea[0].work, Work::kInteger);
  EXPECT_EQ(lea[0].reads, kRbx | kRcx);
  EXPECT_EQ(lea[0].writes, kRax);
}

TEST_F(X86Operations, AStringInstructionAlsoAdvancesItsPointers) {
  const auto copy = operations(decode({0x48, 0xa5}), {kRead, kWrite});  // movsq
  ASSERT_EQ(copy.size(), 3U);
  EXPECT_EQ(copy[0].work, Work::kLoad);
  EXPECT_EQ(copy[0].writes, kLoaded);
  EXPECT_EQ(copy[1].work, Work::kInteger);
  EXPECT_EQ(copy[1].reads & kLoaded, 0U);
  EXPECT_EQ(copy[1].writes & (kRsi | kRdi), kRsi | kRdi);
  EXPECT_EQ(copy[2].work, Work::kStore);
  EXPECT_EQ(copy[2].reads & kLoaded, kLoaded);
}

TEST_F(X86Operations, WhatIsNoInstructionIsSaidToBeNone) {
  Decoder decoder;
  bool understood = true;
  const Recipe recipe = decoder.decode({0x1000, 1, true, {0x06}}, understood);  // not in 64-bit mode
  EXPECT_FALSE(understood);
  EXPECT_EQ(recipe.branch, Branch::kNone);
  EXPECT_EQ(recipe.behind, 0x1001U);
  understood = true;
  decoder.decode({0x1000, 3, false, {0x48, 0x01, 0xd8}}, understood);  // bytes that could not be read
  EXPECT_FALSE(understood);
}
