// What the C++ interfaces share: how they refuse, and how they fill in structures of the C interfaces. A
// Result holds a value or an Error, and throws only where its value is asked for and there is none.
// Header-only; part of substrata.hpp and feed.hpp.
//
// Result and Error are Thread-compatible: one object, one thread at a time.
#ifndef SUBSTRATA_RESULT_HPP
#define SUBSTRATA_RESULT_HPP

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace substrata::client {

// Why something was refused: PAPI's error number (PAPI_EISRUN, ...) and a message that says what was asked,
// what refused and what to do.
struct Error {
  int code = -14;  // PAPI_EMISC
  std::string sentence;
};

// An Error as an exception, thrown by Result::value() only.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const Error& error) : std::runtime_error(error.sentence), code_(error.code) {}
  int code() const noexcept { return code_; }

 private:
  int code_;
};

// A value or an Error, with the names of std::expected. `*` and `->` want a value to be there.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const noexcept { return held_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }
  const Error& error() const& { return std::get<1>(held_); }

  T& operator*() & noexcept { return *std::get_if<0>(&held_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&held_); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&held_)); }
  T* operator->() noexcept { return std::get_if<0>(&held_); }
  const T* operator->() const noexcept { return std::get_if<0>(&held_); }

  // The value; throws Failure where there is none.
  T& value() & {
    check();
    return **this;
  }
  const T& value() const& {
    check();
    return **this;
  }
  T value() && {
    check();
    return std::move(**this);
  }

 private:
  void check() const {
    if (!has_value()) throw Failure(error());
  }
  std::variant<T, Error> held_;
};

// Success, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  bool has_value() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return has_value(); }
  const Error& error() const& { return error_.value(); }
  void value() const {
    if (error_) throw Failure(*error_);
  }

 private:
  std::optional<Error> error_;
};

// A structure of a C interface with struct_size set and everything else 0.
template <class Info>
constexpr Info sized() noexcept {
  Info info{};
  info.struct_size = sizeof(Info);
  return info;
}

}  // namespace substrata::client

#endif
