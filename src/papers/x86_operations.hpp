// What an x86-64 instruction is to a processor that loads, computes and stores in separate operations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "papers/out_of_order.hpp"
#include "papers/owl_programs.hpp"

namespace substrata::papers {

// Bits of Operation::reads and writes: 0 to 15 the general registers in their encoding's order (4, rsp, is
// never one: it is pushed and popped too often for a processor to wait, and on an Alpha it changes once a
// function), then the flags, xmm0 to 15, st0 to 7, and one for what an instruction loads before it computes.
constexpr unsigned kFlagsBit = 16;
constexpr unsigned kVectorBit = 17;
constexpr unsigned kStackBit = 33;
constexpr unsigned kLoadedBit = 41;

struct Recipe {
  uint64_t address = 0;  // of the instruction
  uint64_t behind = 0;
  uint64_t pointers = 0;  // registers that its memory operands' addresses are made of
  uint64_t reads = 0;     // the others
  uint64_t writes = 0;
  Work work = Work::kInteger;
  Branch branch = Branch::kNone;
  bool moves = false;        // what it loads or stores is not computed with
  bool steps = false;        // a string instruction, which also advances its pointers
  bool float_value = false;  // what it loads goes to a floating-point register
};

// Decodes with capstone.
class Decoder {
 public:
  Decoder();  // throws std::runtime_error when capstone gives no decoder
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  // Whether the program was built with capstone; without it the constructor throws.
  static bool available();
  // An instruction that is not known computes for one cycle from no register, and `understood` is false then.
  Recipe decode(const Code& code, bool& understood);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The operations of one execution: its loads, what computes or branches, its stores; at most 255 accesses.
class Expansion {
 public:
  // `steps`: its `accesses` accesses. `next`: the address of the instruction executed after it.
  void make(const Recipe& recipe, const Step* steps, unsigned accesses, uint64_t next);
  const Operation* begin() const { return operations_.data(); }
  const Operation* end() const { return operations_.data() + count_; }

 private:
  Operation& add(Work work, uint64_t reads, uint64_t writes);
  std::array<Operation, 257> operations_{};
  size_t count_ = 0;
  uint64_t place_ = 0;
};

}  // namespace substrata::papers
