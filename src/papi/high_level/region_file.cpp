// Appends lines of text with O_APPEND.
#include "papi/high_level/region_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/clock.hpp"
#include "base/environment.hpp"
#include "papi/high_level/report.hpp"

namespace substrata::high_level {
namespace {

constexpr uint32_t kMostLines = 100'000;
constexpr size_t kLongestName = 400;

// The file, opened once; -1 without one. It stays open until the process ends, also across fork.
int file() noexcept {
  static const int kFile = [] {
    const char* path = environment("SUBSTRATA_REGIONS");
    if (path == nullptr || path[0] == '\0') return -1;
    // Made by the recorder; a stale name makes no file.
    return open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  }();
  return kFile;
}

void write_line(const char* verb, std::string_view region) noexcept {
  const int to = file();
  if (to < 0) return;
  static std::atomic<uint32_t> lines{0};
  const uint32_t line = lines.fetch_add(1, std::memory_order_relaxed);
  if (line > kMostLines) {
    lines.store(kMostLines + 1, std::memory_order_relaxed);
    return;
  }
  static const long kRank = rank_of_process();
  char text[kLongestName + 100];
  const int head = std::snprintf(text, 90, "%lld %ld %ld %s", static_cast<long long>(clock_now_ns()), kRank,
                                 static_cast<long>(gettid()), line == kMostLines ? "full" : verb);
  size_t length = static_cast<size_t>(head);
  if (line != kMostLines) {
    text[length++] = ' ';
    for (const char c : region.substr(0, kLongestName)) text[length++] = c == '\n' || c == '\0' ? ' ' : c;
  }
  text[length++] = '\n';
  // Where the file may not grow any more the kernel would send a signal that ends the program.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    struct stat file_now {};
    if (fstat(to, &file_now) != 0 || static_cast<rlim_t>(file_now.st_size) + length > limit.rlim_cur) return;
  }
  [[maybe_unused]] const ssize_t written = write(to, text, length);
}

}  // namespace

void write_region_begin(std::string_view region) noexcept { write_line("begin", region); }
void write_region_end(std::string_view region) noexcept { write_line("end", region); }

}  // namespace substrata::high_level
