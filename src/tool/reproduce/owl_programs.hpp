// Whole programs for the Owl paper's claims: those of its table 1 that this machine has, followed by
// valgrind.
#ifndef SUBSTRATA_TOOL_REPRODUCE_OWL_PROGRAMS_HPP
#define SUBSTRATA_TOOL_REPRODUCE_OWL_PROGRAMS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace substrata::tool {

// One access with the instructions that precede it.
struct Step {
  uint64_t address;
  uint32_t instructions;
  bool write;
};

// An instruction that was executed, each address once.
struct Code {
  uint64_t address;
  uint8_t size;  // bytes
  bool known;    // its bytes could be read
  std::array<uint8_t, 16> bytes;
};

// One run from its first instruction to its last, or to the first twelve million accesses: every load and
// store of the program and of the libraries it calls, stack and scalars included, with the instructions that
// were executed between them.
struct WholeProgram {
  std::string name;
  std::string input;
  std::vector<Step> steps;
  // Where instructions are asked for: each that was executed, as its place in `code` times 256 and how many
  // of the next steps are its accesses.
  std::vector<Code> code;
  std::vector<uint32_t> executed;
};

struct WholePrograms {
  std::vector<WholeProgram> programs;
  std::string left_out;  // programs of the paper's table that are not here, and why; never empty
};

// Runs gzip, bzip2 and the C compiler proper (164.gzip, 256.bzip2 and 176.gcc of the paper's table 1) under
// `valgrind --tool=lackey --trace-mem=yes`, each to its end or until it has made twelve million accesses, on
// small inputs made here; SPEC's own are not free. Takes minutes. A program that is not installed is
// left out with the reason. With `most_instructions` the instructions are recorded too; such a run begins at
// the program's entry point, behind the dynamic loader, and ends after so many of them. Throws
// std::runtime_error when no temporary folder can be made.
WholePrograms follow_whole_programs(size_t most_instructions = 0);

}  // namespace substrata::tool

#endif
