// Result<T>: a value or the Status that says why there is none (std::expected's names, for C++20).
#pragma once

#include <cassert>
#include <optional>
#include <utility>

#include "base/error.hpp"

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

}  // namespace substrata
