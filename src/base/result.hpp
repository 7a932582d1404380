// Result<T>: a value or the Status that says why there is none (std::expected's names, for C++20).
#ifndef SUBSTRATA_SUPPORT_RESULT_HPP
#define SUBSTRATA_SUPPORT_RESULT_HPP

#include <substrata/substrate.h>

#include <cassert>
#include <optional>
#include <utility>

#include "base/visibility.hpp"

namespace substrata {

// Holds either a T or a Status that is not ok. Thread-compatible.
template <class T>
class Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit by design, as std::expected
  Result(Status error) : error_(error) { assert(!error.ok()); }  // NOLINT

  bool has_value() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }
  T& value() & noexcept { return *value_; }
  const T& value() const& noexcept { return *value_; }
  T&& value() && noexcept { return std::move(*value_); }
  T& operator*() & noexcept { return *value_; }
  const T& operator*() const& noexcept { return *value_; }
  T* operator->() noexcept { return &*value_; }
  const T* operator->() const noexcept { return &*value_; }
  template <class U>
  T value_or(U&& other) const& {
    return value_ ? *value_ : static_cast<T>(std::forward<U>(other));
  }
  // kSuccess when there is a value.
  Status error() const noexcept { return error_; }
  Status status() const noexcept { return error_; }

 private:
  std::optional<T> value_;
  Status error_{};
};

// A refusal with a sentence of its own: what was asked, what refused, what to do. The sentence lives in a
// buffer of the calling thread and is valid until that thread's next refusal. Thread-safe; allocates at a
// thread's first refusal only.
SUBSTRATA_PRIVATE_API Status refuse(Code code, const char* format, ...) noexcept
    __attribute__((format(printf, 2, 3)));

// As refuse, with the number a system call left in errno.
Status refuse_system(int os_error, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));

// The sentence of the calling thread's last refusal, "" if there was none.
SUBSTRATA_PRIVATE_API const char* last_refusal() noexcept;

// Copies a substrate's note into the calling thread's buffer, so that it outlives the substrate's next call.
Status keep_note(Status status) noexcept;

}  // namespace substrata

#endif
