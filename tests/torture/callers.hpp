// Who makes a system call of another process.
#pragma once

#include <linux/seccomp.h>

#include <cstdint>
#include <map>
#include <vector>

#include <sys/types.h>

namespace substrata::torture {

// The first return address on the caller's stack that lies in a file that is neither the C nor the C++ library's says
// whose the call is. For one process.
class Callers {
 public:
  // Whether a file of this project makes it; the program itself is one if `program_too`.
  bool ours(const seccomp_notif& call, bool program_too);

 private:
  struct Mapping {
    std::uint64_t begin, end;
    bool ours, program;
  };
  void read_mappings(pid_t process);
  const Mapping* find(std::uint64_t address) const;

  std::vector<Mapping> mappings_;
};

// The calls of the process that marks itself (kMark), from then on.
class Marked {
 public:
  bool shows(const seccomp_notif& call);

 private:
  int process_ = -1;
  std::map<std::uint32_t, int> known_;  // of threads the process
};

}  // namespace substrata::torture
