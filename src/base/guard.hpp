// The border between C and C++: no exception passes it, and no thread is cancelled behind it.
#pragma once

#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "base/uncancelled.hpp"

namespace substrata {

// Inside a handler: the refusal that the exception in flight stands for. kNoMemory for std::bad_alloc and for
// a container asked to be larger than one can be, else kBug with the exception's own text.
SUBSTRATA_PRIVATE_API Status caught() noexcept;

// Runs the body of a function that C calls. What the body throws becomes `refused(status)`. For bodies that reach no
// cancellation point of the C library.
template <typename Body, typename Refused>
auto guarded_quickly(Body&& body, Refused&& refused) noexcept -> decltype(body()) {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    return refused(caught());
  }
}

// The same for any body: the calling thread is not cancelled meanwhile.
template <typename Body, typename Refused>
auto guarded(Body&& body, Refused&& refused) noexcept -> decltype(body()) {
  const Uncancelled here;
  return guarded_quickly(std::forward<Body>(body), std::forward<Refused>(refused));
}

// What functions of the usual results answer: the status, its code, or a value-initialised result (a null
// pointer).
template <typename Body>
auto guarded(Body&& body) noexcept -> decltype(body()) {
  using Answer = decltype(body());
  return guarded(std::forward<Body>(body), [](const Status& why) -> Answer {
    if constexpr (std::is_same_v<Answer, Status>)
      return why;
    else if constexpr (std::is_same_v<Answer, int>)
      return static_cast<int>(why.code);
    else
      return Answer();
  });
}

}  // namespace substrata
