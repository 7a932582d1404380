// Writes debug lines where PAPI_DEBUG asked for them.
#include "base/log.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <string_view>

#include "base/environment.hpp"
#include "base/uncancelled.hpp"

namespace substrata {
namespace {

constinit std::atomic<uint32_t> wanted{0};

struct Name {
  const char* name;
  uint32_t topic;
};
constexpr Name kNames[] = {{"SUBSTRATE", kLogSubstrate}, {"API", kLogApi},
                           {"INTERNAL", kLogInternal},   {"THREADS", kLogThreads},
                           {"MULTIPLEX", kLogMultiplex}, {"OVERFLOW", kLogOverflow},
                           {"PROFILE", kLogProfile},     {"ALL", kLogAll}};

}  // namespace

void configure_log() noexcept {
  const char* setting = environment("PAPI_DEBUG");
  if (setting == nullptr) return;
  uint32_t topics = 0;
  std::string_view rest = setting;
  while (!rest.empty()) {
    const size_t end = rest.find_first_of(",: ");
    const std::string_view word = rest.substr(0, end);
    for (const Name& known : kNames) {
      if (word == known.name) topics |= known.topic;
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  wanted.store(topics, std::memory_order_relaxed);
}

bool log_wanted(uint32_t topic) noexcept { return (wanted.load(std::memory_order_relaxed) & topic) != 0; }

void log_line(uint32_t topic, const char* format, ...) noexcept {
  if (!log_wanted(topic)) return;
  const Uncancelled here;
  // One write, so that lines of several threads do not mix.
  char line[1024];
  int length = std::snprintf(line, sizeof line, "substrata[%d]: ", static_cast<int>(getpid()));
  va_list arguments;
  va_start(arguments, format);
  const int added =
      std::vsnprintf(line + length, sizeof line - static_cast<size_t>(length) - 1, format, arguments);
  va_end(arguments);
  if (added > 0) length += added;
  if (length > static_cast<int>(sizeof line) - 2) length = static_cast<int>(sizeof line) - 2;
  line[length] = '\n';
  if (write(STDERR_FILENO, line, static_cast<size_t>(length) + 1) < 0)
    return;  // and there is no other place to report it
}

}  // namespace substrata
