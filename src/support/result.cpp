// The calling thread's last refusal, kept as a sentence.
#include "support/result.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace substrata {
namespace {

constexpr size_t kSentence = 1024;
constinit thread_local char sentence[kSentence] = "";

}  // namespace

Status refuse(Code code, const char* format, ...) noexcept {
  // Formatted aside first: an argument may be the previous sentence.
  char fresh[kSentence];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(fresh, sizeof fresh, format, arguments);
  va_end(arguments);
  std::memcpy(sentence, fresh, sizeof fresh);
  return Status{code, 0, sentence};
}

Status refuse_system(int os_error, const char* format, ...) noexcept {
  char fresh[kSentence];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(fresh, sizeof fresh, format, arguments);
  va_end(arguments);
  std::memcpy(sentence, fresh, sizeof fresh);
  return Status{Code::kSystem, os_error, sentence};
}

const char* last_refusal() noexcept { return sentence; }

Status keep_note(Status status) noexcept {
  if (status.ok() || status.note == nullptr || status.note == sentence) return status;
  std::snprintf(sentence, sizeof sentence, "%s", status.note);
  status.note = sentence;
  return status;
}

}  // namespace substrata
