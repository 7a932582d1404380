// The instructions of a basic block, read from its code.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "numachine/code_blocks.hpp"

namespace substrata::numachine::test {
namespace {

using namespace std::string_view_literals;

// Encodings by the manual's formats: prefixes, REX, immediates of each size, ModRM with SIB and displacements, the maps
// behind 0f, VEX and EVEX.
TEST(CodeBlocks, KnowWhereEveryInstructionEnds) {
  for (const std::string_view code : {
           "\x90"sv,                                      // nop
           "\xc3"sv,                                      // ret
           "\x55"sv,                                      // push %rbp
           "\x41\x57"sv,                                  // push %r15
           "\x48\x89\xe5"sv,                              // mov %rsp,%rbp
           "\x89\x45\xfc"sv,                              // mov %eax,-4(%rbp)
           "\x8b\x04\x25\x10\x20\x30\x40"sv,              // mov 0x40302010,%eax
           "\x48\x8b\x04\xc5\x00\x00\x00\x00"sv,          // mov 0(,%rax,8),%rax
           "\x49\x8b\x44\xed\x00"sv,                      // mov 0(%r13,%rbp,8),%rax
           "\x48\x8b\x84\x24\x00\x01\x00\x00"sv,          // mov 256(%rsp),%rax
           "\x48\x8d\x15\x33\x00\x00\x00"sv,              // lea 0x33(%rip),%rdx
           "\x64\x48\x8b\x04\x25\xf0\xfb\xff\xff"sv,      // mov %fs:-1040,%rax
           "\x48\x83\xc3\x01"sv,                          // add $1,%rbx
           "\x48\x81\xc3\x00\x01\x00\x00"sv,              // add $256,%rbx
           "\x66\x81\xc3\x00\x01"sv,                      // add $256,%bx
           "\x69\xc3\xcd\xcc\xcc\xcc"sv,                  // imul $0xcccccccd,%ebx,%eax
           "\x6b\xc3\x07"sv,                              // imul $7,%ebx,%eax
           "\x3d\x33\x33\x33\x33"sv,                      // cmp $0x33333333,%eax
           "\x66\x3d\x33\x33"sv,                          // cmp $0x3333,%ax
           "\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"sv,  // movabs $N,%rax
           "\xb8\x01\x02\x03\x04"sv,                      // mov $N,%eax
           "\x66\xb8\x01\x02"sv,                          // mov $N,%ax
           "\x48\xc7\xc0\x01\x00\x00\x00"sv,              // mov $1,%rax
           "\xc6\x00\x01"sv,                              // movb $1,(%rax)
           "\xf6\xc1\x08"sv,                              // test $8,%cl
           "\xf6\xd1"sv,                                  // not %cl
           "\xf7\xc1\x08\x00\x00\x00"sv,                  // test $8,%ecx
           "\x48\xf7\xf1"sv,                              // div %rcx
           "\x74\x10"sv,                                  // je
           "\x0f\x84\x10\x00\x00\x00"sv,                  // je
           "\xeb\x10"sv,                                  // jmp
           "\xe9\x10\x00\x00\x00"sv,                      // jmp
           "\xe8\x10\x00\x00\x00"sv,                      // call
           "\x67\xe8\x10\x00\x00\x00"sv,                  // call, as linkers fill up
           "\xff\x15\x10\x00\x00\x00"sv,                  // call *N(%rip)
           "\xff\xe0"sv,                                  // jmp *%rax
           "\xf3\x0f\x1e\xfa"sv,                          // endbr64
           "\x0f\x1f\x84\x00\x00\x00\x00\x00"sv,          // nopl 0(%rax,%rax,1)
           "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"sv,  // nopw %cs:0(%rax,%rax,1)
           "\x0f\xb6\xc0"sv,                              // movzbl %al,%eax
           "\x0f\xa2"sv,                                  // cpuid
           "\xf0\x48\x0f\xb1\x0a"sv,                      // lock cmpxchg %rcx,(%rdx)
           "\xf2\x0f\x58\x05\x10\x00\x00\x00"sv,          // addsd N(%rip),%xmm0
           "\x66\x0f\x70\xc0\x1b"sv,                      // pshufd $0x1b,%xmm0,%xmm0
           "\x66\x0f\x38\x00\xc1"sv,                      // pshufb %xmm1,%xmm0
           "\x66\x0f\x3a\x0f\xc1\x08"sv,                  // palignr $8,%xmm1,%xmm0
           "\xc5\xf8\x77"sv,                              // vzeroupper
           "\xc5\xfd\x6f\x04\x07"sv,                      // vmovdqa (%rdi,%rax),%ymm0
           "\xc5\xf9\x70\xc0\x1b"sv,                      // vpshufd $0x1b,%xmm0,%xmm0
           "\xc4\xe2\xf1\xb9\x02"sv,                      // vfmadd231sd (%rdx),%xmm1,%xmm0
           "\xc4\xe3\x7d\x39\xc1\x01"sv,                  // vextracti128 $1,%ymm0,%xmm1
           "\x62\xf1\xfd\x48\x6f\x00"sv,                  // vmovdqa64 (%rax),%zmm0
           "\x62\xf3\xfd\x48\x3b\xc1\x01"sv,              // vextracti64x4 $1,%zmm0,%ymm1
           "\xd9\x45\x08"sv,                              // flds 8(%rbp)
           "\xc8\x10\x00\x00"sv,                          // enter
           "\x48\xa1\x01\x02\x03\x04\x05\x06\x07\x08"sv,  // movabs N,%rax
       }) {
    std::string padded(code);
    padded.append(16, '\x90');
    EXPECT_EQ(instruction_bytes(reinterpret_cast<const std::uint8_t*>(padded.data())), code.size())
        << testing::PrintToString(std::vector<int>(code.begin(), code.end()));
  }
  EXPECT_EQ(instruction_bytes(reinterpret_cast<const std::uint8_t*>("\x06")), 0u) << "not in 64-bit code";
}

// Code whose hooks are at fixed places of it.
class Code {
 public:
  static constexpr int kBlock = 1000, kAccess = 1010, kEntry = 1020, kExit = 1030, kOther = 1040;
  Code() {
    text_.fill(0x90);
    here_ = text_.data();
    call(kBlock);
    begin_ = at_;
  }
  Code& add(std::string_view code) {
    std::memcpy(text_.data() + at_, code.data(), code.size());
    at_ += static_cast<int>(code.size());
    return *this;
  }
  Code& call(int target) { return lead("\xe8"sv, target); }
  Code& lead(std::string_view opcode, int target) {
    add(opcode);
    const std::int32_t distance = target - (at_ + 4);
    std::memcpy(text_.data() + at_, &distance, sizeof distance);
    at_ += 4;
    return *this;
  }
  Code& go_to(int place) {
    at_ = place;
    return *this;
  }
  BlockCode block() const {
    return code_of_block(reinterpret_cast<std::uintptr_t>(text_.data()) + static_cast<unsigned>(begin_),
                         text_, callee);
  }

 private:
  static Callee callee(std::uintptr_t address) {
    switch (static_cast<int>(address - reinterpret_cast<std::uintptr_t>(here_))) {
      case kBlock:
        return Callee::kBlock;
      case kAccess:
        return Callee::kAccess;
      case kEntry:
        return Callee::kEntry;
      case kExit:
        return Callee::kExit;
      default:
        return Callee::kOther;
    }
  }
  static inline const std::uint8_t* here_ = nullptr;
  std::array<std::uint8_t, 1100> text_{};
  int at_ = 0;
  int begin_ = 0;
};

constexpr std::string_view kAdd = "\x48\x83\xc3\x01", kAddress = "\x4c\x89\xf7",
                           kLoad = "\x49\x8b\x44\xed\x00"sv, kPadding = "\x0f\x1f\x40\x00"sv,
                           kReturn = "\xc3";

TEST(CodeBlocks, EndAtTheNextBlocksHook) {
  Code code;
  code.add(kAdd)
      .add(kAdd)
      .add(kPadding)
      .call(Code::kOther)
      .lead("\x0f\x85"sv, 500)
      .call(Code::kBlock)
      .add(kAdd);
  EXPECT_EQ(code.block().instructions, 4u) << "two additions, a call and a branch";
  EXPECT_EQ(code.block().accesses, 0u);
}

TEST(CodeBlocks, AreWithoutTheHooksOfTheirAccesses) {
  Code code;
  // A call; and the hook in the code, which ends where its lea says.
  code.add(kAdd).add(kAddress).call(Code::kAccess).add(kLoad).add(kAddress);
  code.add("\x64\x48\x8b\x04\x25\xf0\xfb\xff\xff"sv).add("\x48\x8d\x15\x10\x00\x00\x00"sv);
  code.add("0123456789abcdef").add(kLoad).add(kReturn);
  EXPECT_EQ(code.block().instructions, 4u) << "an addition, two loads, the return";
  EXPECT_EQ(code.block().accesses, 2u);
}

// They were counted as the program's own.
TEST(CodeBlocks, AreWithoutHooksThatMayRest) {
  constexpr std::string_view kSalt = "\x48\x8b\x15\x00\x01\x00\x00"sv,
                             kIdle = "\x64\x48\x39\x14\x25\xf8\xff\xff\xff"sv,
                             kTable = "\x64\x48\x8b\x04\x25\xf0\xfb\xff\xff"sv;
  Code code;
  code.add(kAddress).add(kSalt).add(kIdle).add("\x0f\x84\x20\x00\x00\x00"sv).add(kTable);
  code.add("\x48\x8d\x3d\x04\x00\x00\x00"sv).add("0123").add(kAdd);
  code.add(kAddress).add(kSalt).add(kIdle).add("\x74\x20"sv).add(kTable);
  code.add("\x48\x8d\x0d\x10\x00\x00\x00"sv).add("0123456789abcdef").add(kLoad).add(kReturn);
  EXPECT_EQ(code.block().instructions, 3u) << "an addition, a load, the return";
  EXPECT_EQ(code.block().accesses, 1u);
}

TEST(CodeBlocks, AreWithoutTheHooksOfTheirFunction) {
  Code code;
  code.add(kAddress)
      .add("\x64\x48\x8b\x04\x25\xf0\xfb\xff\xff"sv)
      .add("\x48\x8d\x3d\x04\x00\x00\x00"sv)
      .add("0123");
  code.add(kAdd).add("\x83\x3d\x00\x01\x00\x00\x00"sv).lead("\x0f\x85"sv, 600).add(kReturn);
  code.go_to(600).call(Code::kExit);
  EXPECT_EQ(code.block().instructions, 2u);
  EXPECT_EQ(code.block().accesses, 0u);
}

TEST(CodeBlocks, GoOnWhereAJumpLeads) {
  Code code;
  code.add(kAdd)
      .lead("\xe9"sv, 300)
      .go_to(300)
      .add(kAdd)
      .add("\xeb\x20"sv)
      .go_to(306 + 32)
      .add(kAdd)
      .call(Code::kBlock);
  EXPECT_EQ(code.block().instructions, 5u);
  Code last;
  last.add(kAdd).lead("\xe9"sv, Code::kExit);
  EXPECT_EQ(last.block().instructions, 2u) << "the hook returns for it";
  Code loop;
  loop.go_to(300).lead("\xe9"sv, 300).go_to(5).lead("\xe9"sv, 300);
  EXPECT_GT(loop.block().instructions, 0u) << "it ends";
}

// What follows is executed once, not each time.
TEST(CodeBlocks, EndAtABranchBack) {
  Code near;
  near.add(kAdd).add("\x75\xf0"sv).add(kAdd).add(kReturn);
  EXPECT_EQ(near.block().instructions, 2u);
  Code far;
  far.add(kAdd).lead("\x0f\x85"sv, 5).add(kAdd).add(kReturn);
  EXPECT_EQ(far.block().instructions, 2u);
}

TEST(CodeBlocks, EndWithTheCodeThatCanBeRead) {
  Code code;
  code.add(kAdd).lead("\xe9"sv, 100000);
  EXPECT_EQ(code.block().instructions, 2u);
  // Never a hook or a return: nothing behind the text is looked at.
  Code endless;
  endless.add(kAdd);
  EXPECT_GT(endless.block().instructions, 900u);
}

TEST(CodeBlocks, AreNothingBehindOtherCalls) {
  Code code;
  code.go_to(0).call(Code::kOther).add(kAdd).call(Code::kBlock);
  EXPECT_EQ(code.block().instructions, 0u);
}

TEST(CodeBlocks, OfNoProgramHaveNoInstructions) {
  CodeBlocks blocks;
  EXPECT_EQ(blocks.computed_at(0x1234), 0u);
  EXPECT_EQ(blocks.computed_at(reinterpret_cast<std::uintptr_t>(&std::memcpy)), 0u);
}

}  // namespace
}  // namespace substrata::numachine::test
