// From the stack and the mappings of the process, as the kernel shows them.
#include "callers.hpp"

#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "interposer.hpp"

namespace substrata::torture {
namespace {

namespace fs = std::filesystem;

int process_of(std::uint32_t thread) {
  std::ifstream status("/proc/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Tgid:")) return std::atoi(line.c_str() + 5);
  return -1;
}

bool follows_call(std::uint32_t thread, std::uint64_t address) {
  unsigned char before[7] = {};
  const iovec here{before, sizeof before};
  const iovec there{reinterpret_cast<void*>(address - sizeof before), sizeof before};  // NOLINT: as above
  if (process_vm_readv(static_cast<pid_t>(thread), &here, 1, &there, 1, 0) != sizeof before) return false;
  if (before[2] == 0xe8) return true;
  for (const int at : {0, 1, 3, 4, 5})
    if (before[at] == 0xff && (before[at + 1] & 0x38) == 0x10) return true;
  return false;
}

}  // namespace

bool Callers::ours(const seccomp_notif& call, bool program_too) {
  long number = 0;
  unsigned long long ignored[6], stack = 0, at = 0;
  FILE* const file = std::fopen(("/proc/" + std::to_string(call.pid) + "/syscall").c_str(), "re");
  if (file == nullptr) return false;
  const int got = std::fscanf(file, "%ld %llx %llx %llx %llx %llx %llx %llx %llx", &number, &ignored[0],
                              &ignored[1], &ignored[2], &ignored[3], &ignored[4], &ignored[5], &stack, &at);
  std::fclose(file);
  if (got != 9) return false;
  std::vector<std::uint64_t> words(1024);
  const iovec here{words.data(), words.size() * sizeof(std::uint64_t)};
  const iovec there{reinterpret_cast<void*>(stack), here.iov_len};  // NOLINT: another process's
  const ssize_t bytes = process_vm_readv(static_cast<pid_t>(call.pid), &here, 1, &there, 1, 0);
  if (bytes <= 0) return false;
  words.resize(static_cast<std::size_t>(bytes) / sizeof(std::uint64_t));
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (attempt > 0 || mappings_.empty()) read_mappings(static_cast<pid_t>(call.pid));
    for (const std::uint64_t word : words)
      if (const Mapping* const mapping = find(word); mapping != nullptr && follows_call(call.pid, word))
        return mapping->program ? program_too : mapping->ours;
  }
  return false;
}
void Callers::read_mappings(pid_t process) {
  mappings_.clear();
  std::error_code none;
  const std::string program = fs::read_symlink("/proc/" + std::to_string(process) + "/exe", none);
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    char access[5] = "";
    const std::size_t slash = line.find('/');
    if (slash == std::string::npos || std::sscanf(line.c_str(), "%llx-%llx %4s", &begin, &end, access) != 3 ||
        access[2] != 'x')
      continue;
    const std::string path = line.substr(slash), name = path.substr(path.rfind('/') + 1);
    if (name.starts_with("libc.so") || name.starts_with("libstdc++.so") || name.starts_with("libgcc_s.so") ||
        name.starts_with("libtorture_faults.so") || name.starts_with("ld-linux"))
      continue;
    mappings_.push_back({begin, end, path.starts_with(TORTURE_BUILD), path == program});
  }
}
const Callers::Mapping* Callers::find(std::uint64_t address) const {
  for (const Mapping& one : mappings_)
    if (address >= one.begin && address < one.end) return &one;
  return nullptr;
}

bool Marked::shows(const seccomp_notif& call) {
  if (call.data.nr == SYS_lseek && static_cast<std::int64_t>(call.data.args[1]) == kMark) {
    process_ = process_of(call.pid);
    return false;
  }
  if (process_ < 0) return false;
  const auto [found, added] = known_.try_emplace(call.pid, 0);
  if (added) found->second = process_of(call.pid);
  return found->second == process_;
}

}  // namespace substrata::torture
