// Keeps a message for each thread that had an error, made by its first.
#include "errors.hpp"

#include <substrata/myrinet.h>

#include <cstdarg>
#include <cstdio>
#include <new>

namespace substrata::myrinet {
namespace {

thread_local char* message = nullptr;  // of kMessage bytes, made by the first failure
constexpr size_t kMessage = 256;

// Frees the message when its thread ends.
struct MessageOwner {
  ~MessageOwner() {
    delete[] message;
    message = nullptr;
  }
};

}  // namespace

int fail(int code, const char* format, ...) noexcept {
  static thread_local MessageOwner owner;
  static_cast<void>(owner);
  if (message == nullptr) message = new (std::nothrow) char[kMessage];
  if (message == nullptr) return code;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, kMessage, format, arguments);
  va_end(arguments);
  return code;
}

}  // namespace substrata::myrinet

extern "C" const char* substrata_myrinet_error(void) {
  using substrata::myrinet::message;
  return message != nullptr ? message : "";
}
