// The sentence of a thread's last failed call, as the C interface gives it.
#ifndef SUBSTRATA_OWL_FAILURE_HPP
#define SUBSTRATA_OWL_FAILURE_HPP

#include <new>
#include <utility>

namespace substrata::owl {

// PAPI's numbers.
inline constexpr int kInvalid = -1;
inline constexpr int kNoMemory = -2;
inline constexpr int kSystem = -3;
inline constexpr int kNoName = -7;
inline constexpr int kConflict = -8;
inline constexpr int kTooSmall = -20;

// Keeps the sentence for this thread and gives `code` back. Allocates at a thread's first failure.
__attribute__((format(printf, 2, 3))) int fail(int code, const char* format, ...) noexcept;
const char* last_failure() noexcept;

// Runs a body that may throw behind the C boundary.
template <typename Body>
int guarded(Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    return fail(kNoMemory, "no memory is left for what was asked");
  } catch (...) {
    return fail(kNoMemory, "the call ended with an unexpected exception");
  }
}

}  // namespace substrata::owl

#endif
