// The border between C and C++: no exception passes it, every refusal leaves as an error number.
#pragma once

#include <papi.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/guard.hpp"
#include "base/result.hpp"
#include "core/eventset/library.hpp"

// Marks a function of the C interface: C linkage; papi.h makes it visible.
#define CAPI extern "C"

namespace substrata::capi {

#ifdef PAPI_GENERATION_7_0
inline constexpr bool kGeneration70 = true;
#else
inline constexpr bool kGeneration70 = false;
#endif

// The interface's numbers are long long, the layer's int64_t: one representation, two types.
static_assert(sizeof(long long) == sizeof(int64_t));
inline int64_t* values_of(long long* values) noexcept { return reinterpret_cast<int64_t*>(values); }

// Keeps the number for PAPI_perror and does what PAPI_set_debug asked for; returns it. Thread-safe.
int refused(int code) noexcept;
// The debug handler of a program that set none: prints the error and what was wrong to standard error.
int print_refusal(int code) noexcept;

// What a C function returns for a status.
inline int answer(const Status& status) noexcept {
  if (status.ok()) [[likely]]
    return PAPI_OK;
  return refused(static_cast<int>(status.code));
}
inline int answer(Code code) noexcept { return refused(static_cast<int>(code)); }

// The value, or the error, of a call whose value is the C function's result.
template <class T>
int answer(const Result<T>& result) noexcept {
  return result ? static_cast<int>(*result) : answer(result.status());
}
// Writes the value to the client's variable.
template <class T, class Out>
int answer_into(const Result<T>& result, Out* out) noexcept {
  if (!result) return answer(result.status());
  *out = static_cast<Out>(*result);
  return PAPI_OK;
}

// Runs the body of a C function; what it throws leaves as an error number. The calling thread is not cancelled
// meanwhile.
template <class Body>
auto answered(Body&& body) noexcept -> decltype(body()) {
  return guarded(std::forward<Body>(body),
                 [](const Status& why) { return static_cast<decltype(body())>(answer(why)); });
}
// The same for what measures, where substrates themselves see to cancellation (base/table_of.hpp), and for what the
// catalogue mostly knows, which sees to it where it does not.
template <class Body>
auto answered_quickly(Body&& body) noexcept -> decltype(body()) {
  return guarded_quickly(std::forward<Body>(body),
                         [](const Status& why) { return static_cast<decltype(body())>(answer(why)); });
}

inline Library& library() noexcept { return Library::instance(); }
extern Face face;  // this libpapi
// Whether this libpapi has the library up; another one may.
inline bool is_up() noexcept { return library().initialised(face); }
inline Status require_up() noexcept {
  if (is_up()) return kSuccess;
  return refuse(Code::kNotInitialised, "the library is not initialised; call PAPI_library_init first");
}

// Copies a text into a field of a structure, cut to fit and always ended.
template <size_t kSize>
void copy_text(char (&field)[kSize], std::string_view text) noexcept {
  const size_t length = text.size() < kSize ? text.size() : kSize - 1;
  for (size_t i = 0; i < length; ++i) field[i] = text[i];
  for (size_t i = length; i < kSize; ++i) field[i] = '\0';
}

}  // namespace substrata::capi
