// The handler of `new`, and a last look at standard output.
#include "tools/arguments/failing.hpp"

#include <errno.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>

namespace {

// Needs no memory.
[[noreturn]] void fail(const char* why) {
  for (const char* part : {static_cast<const char*>(program_invocation_short_name), ": ", why, "\n"})
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  _exit(1);
}

// A standard output that was closed from the beginning was not meant to be written.
void look_at_output() {
  const bool failed = std::ferror(stdout) != 0;
  if ((std::fflush(stdout) != 0 || failed) && errno != EBADF && errno != EPIPE)
    fail("standard output cannot be written");
}

}  // namespace

void substrata::fail_loudly() noexcept {
  static const bool once = [] {
    std::set_new_handler([] { fail("out of memory"); });
    return std::atexit(look_at_output) == 0;
  }();
  static_cast<void>(once);
}

namespace {

// Already over the constructors of static objects.
__attribute__((constructor(101))) void begin() { substrata::fail_loudly(); }

}  // namespace
