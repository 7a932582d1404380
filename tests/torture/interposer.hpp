// What the driver and the library that it puts into other programs have in common: a file that both map.
#pragma once

#include <atomic>
#include <cstdint>

namespace substrata::torture {

// The environment variable with the file's name.
constexpr const char* kFaultsVariable = "TORTURE_FAULTS";
// A call of lseek() on no file, with this offset: from here on the process's system calls count.
constexpr std::int64_t kMark = 0x746f7274757265;

struct Faults {
  char program[64];      // the name of the program in which something fails
  int rank;              // and, of an MPI program's processes, which; -1: any
  char libraries[1024];  // only what files whose path begins so have asked for; "" anything
  bool program_too;      // and the program itself
  std::int64_t place;    // the allocation that fails, counted from 0; -1: none
  bool from_then;        // and every one after it
  std::atomic<std::int64_t> allocations, failed;
  char callers[512];  // of the first that failed: addresses within files
};

}  // namespace substrata::torture
