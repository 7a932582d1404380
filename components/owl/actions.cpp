// Signals and marks.
#include "owl/actions.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>

#include "base/environment.hpp"

namespace substrata::owl {

void send_signal(int number, bool to_thread) noexcept {
  if (to_thread)
    ::pthread_kill(::pthread_self(), number);
  else
    ::kill(::getpid(), number);
}

void write_mark(std::string_view text) noexcept {
  // A recording shows some hundred; each costs a system call.
  constexpr unsigned kMost = 10'000;
  static std::atomic<unsigned> written{0};
  if (written.load(std::memory_order_relaxed) >= kMost ||
      written.fetch_add(1, std::memory_order_relaxed) >= kMost)
    return;
  static const int file = [] {
    const char* const path = environment("SUBSTRATA_MARKS");
    return path != nullptr && *path != '\0' ? ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
  }();
  if (file < 0) return;
  char line[256];
  const int length = std::snprintf(line, sizeof line, "mark %.*s\n",
                                   static_cast<int>(text.size() < 200 ? text.size() : 200), text.data());
  // One write is one line, whoever else writes there.
  if (::write(file, line, static_cast<size_t>(length)) < 0) return;
}

}  // namespace substrata::owl
