// Reads the counters one by one and appends lines with O_APPEND.
#include "papi/sde/totals.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "base/environment.hpp"
#include "base/guard.hpp"
#include "base/json.hpp"
#include "papi/sde/counter.hpp"
#include "papi/sde/registry.hpp"

namespace substrata::sde {
namespace {

// The process that loaded the library: not a child that it forked.
const pid_t kLoadedIn = getpid();

enum class When { kPublished, kAtEnd };

// At the end the memory of a variable may be gone.
bool is_readable(const void* address) {
  char byte = 0;
  const iovec to{&byte, 1};
  const iovec from{const_cast<void*>(address), 1};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
}

bool is_number(Counter& counter, When when) {
  const Counter::Pin source(counter);
  if (!source) return false;
  switch (source->event_class) {
    case SUBSTRATA_SDE_CREATED:
      return true;
    case SUBSTRATA_SDE_VARIABLE:
      return when == When::kPublished || is_readable(source->variable);
    case SUBSTRATA_SDE_CALLBACK:
      return when == When::kPublished;
    default:
      return false;
  }
}

const char* wanted_file() {
  const char* path = environment("SUBSTRATA_SDE_TOTALS");
  return path == nullptr || path[0] == '\0' || getpid() != kLoadedIn ? nullptr : path;
}

std::string line_of(Counter& counter, When when) {
  long long value = 0;
  substrata_sde_nature nature{};
  if (!is_number(counter, when) || counter.read(&value, &nature, {}) != SDE_OK) return {};
  double real = 0;
  std::memcpy(&real, &value, sizeof real);
  const bool floating = nature.type == PAPI_SDE_double || nature.type == PAPI_SDE_float;
  return counter.name() + ('\t' + (floating ? number_text(real, 17) : std::to_string(value))) + '\n';
}

void append(const char* path, const std::string& lines) {
  // Made by the tool; a stale name makes no file.
  const int file = lines.empty() ? -1 : open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = write(file, lines.data(), lines.size());
  close(file);
}

// Of one library, or of all.
void append_all(const Library* library, When when) {
  const char* path = wanted_file();
  if (path == nullptr) return;
  std::string lines;
  const Registry& registry = Registry::instance();
  for (std::uint32_t id = 0; id < registry.count(); ++id)
    if (Counter* counter = registry.at(id);
        counter != nullptr && (library == nullptr || counter->library() == library))
      lines += line_of(*counter, when);
  append(path, lines);
}

[[gnu::destructor]] void write_what_is_left() {
  guarded([] {
    append_all(nullptr, When::kAtEnd);
    return 0;
  });
}

}  // namespace

void write_totals(const Library& library) { append_all(&library, When::kPublished); }

void write_totals(Counter& counter) {
  if (const char* path = wanted_file(); path != nullptr) append(path, line_of(counter, When::kPublished));
}

}  // namespace substrata::sde
