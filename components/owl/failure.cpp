// Keeps failures' sentences, one for each thread.
#include "failure.hpp"

#include <cstdarg>
#include <cstdio>
#include <memory>

namespace substrata::owl {
namespace {

// On the heap: large thread-local objects keep the library from being loaded at run time.
constexpr size_t kSentence = 768;
constinit thread_local std::unique_ptr<char[]> sentence;

}  // namespace

int fail(int code, const char* format, ...) noexcept {
  // Printed first, as an argument may be the last sentence itself.
  std::unique_ptr<char[]> fresh(new (std::nothrow) char[kSentence]());
  va_list arguments;
  va_start(arguments, format);
  if (fresh) std::vsnprintf(fresh.get(), kSentence, format, arguments);
  va_end(arguments);
  if (fresh) sentence = std::move(fresh);
  return code;
}

const char* last_failure() noexcept { return sentence ? sentence.get() : ""; }

}  // namespace substrata::owl
