// The instructions of a live program's basic blocks, read from its code when a block is met first.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

namespace substrata::numachine {

// What a call in a program's code leads to: the tracer's hook for a block, for an access, for the begin or the end of a
// function, or anything else.
enum class Callee : std::uint8_t { kOther, kBlock, kAccess, kEntry, kExit };
using CalleeAt = Callee (*)(std::uintptr_t address);

struct BlockCode {
  std::uint32_t instructions = 0;  // without what the tracer added
  std::uint32_t accesses = 0;      // that are traced
};

// The block whose hook returns to `block`: straight on, and along jumps that are always taken, to the next block's
// hook, a branch back or where the path leaves the readable `code`. Nothing of what no block's hook returns to.
BlockCode code_of_block(std::uintptr_t block, std::span<const std::uint8_t> code, CalleeAt callee) noexcept;

// Bytes of the x86-64 instruction there; 0: none that is known.
unsigned instruction_bytes(const std::uint8_t* code) noexcept;

// Of this process's code. Thread-compatible.
class CodeBlocks {
 public:
  // Instructions of the block that are neither its accesses nor its branch; 0 where its code is not here.
  std::uint32_t computed_at(std::uint64_t block);

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> known_;
};

}  // namespace substrata::numachine
