// The calling thread's last refusal, kept as a sentence.
#include "base/result.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

namespace substrata {
namespace {

constexpr size_t kSentence = 1024;
// On the heap, not in the thread-local block: that block must stay small for the library to be loadable at
// run time (dlopen), because the one word every read looks up is of the initial-exec kind and the whole block
// goes with it.
constinit thread_local std::unique_ptr<char[]> kept;

// The calling thread's buffer, null when there is no memory for it.
char* sentence() noexcept {
  if (!kept) kept.reset(new (std::nothrow) char[kSentence]());
  return kept.get();
}

// Formatted aside first: an argument may be the previous sentence.
const char* keep(const char* format, va_list arguments) noexcept {
  char fresh[kSentence];
  std::vsnprintf(fresh, sizeof fresh, format, arguments);
  char* const text = sentence();
  if (text == nullptr) return "no memory is left for the reason";
  std::memcpy(text, fresh, sizeof fresh);
  return text;
}

}  // namespace

Status refuse(Code code, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  const char* const text = keep(format, arguments);
  va_end(arguments);
  return Status{code, 0, text};
}

Status refuse_system(int os_error, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  const char* const text = keep(format, arguments);
  va_end(arguments);
  return Status{Code::kSystem, os_error, text};
}

const char* last_refusal() noexcept { return kept ? kept.get() : ""; }

Status keep_note(Status status) noexcept {
  if (status.ok() || status.note == nullptr || status.note == kept.get()) return status;
  char* const text = sentence();
  if (text != nullptr) std::snprintf(text, kSentence, "%s", status.note);
  if (text != nullptr) status.note = text;
  return status;
}

}  // namespace substrata
