// Whole programs for the Owl paper's claims: those of owl_program_list.hpp that this machine has, followed by
// valgrind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace substrata::papers {

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

// One run from the end of its start-up to its last instruction, or to its first twelve million accesses:
// every load and store of the program and of the libraries it calls, stack and scalars included, with the
// instructions that were executed between them. The start-up is as many instructions as the program executes
// when it is given nothing to do.
struct WholeProgram {
  std::string name;
  std::string paper;  // its row in the paper's table 1, or "": SPLASH-2's
  std::string input;
  std::vector<Step> steps;
  // Where instructions are asked for: each that was executed, as its place in `code` times 256 and how many
  // of the next steps are its accesses.
  std::vector<Code> code;
  std::vector<uint32_t> executed;
};

struct WholePrograms {
  std::vector<WholeProgram> programs;
  std::string which;     // what each is, and which were not followed to their end
  std::string left_out;  // programs of the list that are not here, and why; never empty
};

// Runs the programs of owl_program_list.hpp under `valgrind --tool=lackey --trace-mem=yes`, two at a time, each to its
// end or until it has made so many accesses after its start-up; twelve million take minutes. A program that is not
// installed is left out with the reason. With `most_instructions` the instructions are recorded too, and a run ends
// after so many of them behind its start-up. Throws std::runtime_error when no temporary folder can be made.
WholePrograms follow_whole_programs(size_t most_accesses, size_t most_instructions = 0);

// What is timed of this program is one thread's asking whether the other has found a move, and valgrind runs them
// alternately: it is shown and does not decide.
inline constexpr const char* kWaits = "gnuchess";

}  // namespace substrata::papers
