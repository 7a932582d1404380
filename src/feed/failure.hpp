// How functions of the feed refuse: a negative number for the caller, a sentence for the person.
#ifndef SUBSTRATA_FEED_FAILURE_HPP
#define SUBSTRATA_FEED_FAILURE_HPP

#include <new>

namespace substrata::feed {

// PAPI's error numbers, as feed.h announces them.
inline constexpr int kInvalid = -1;
inline constexpr int kNoMemory = -2;
inline constexpr int kSystem = -3;
inline constexpr int kNoName = -7;
inline constexpr int kTaken = -8;
inline constexpr int kNotSupported = -18;

// Keeps the sentence for substrata_feed_error of this thread and returns the code. Thread-safe.
__attribute__((format(printf, 2, 3))) int fail(int code, const char* format, ...) noexcept;

// Runs the body of a C function: what it throws becomes a code.
template <typename Body>
int guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(kNoMemory, "the feed asked for memory and the system has none");
  } catch (...) {
    return fail(kInvalid, "the feed met an unexpected failure");
  }
}

}  // namespace substrata::feed

#endif
