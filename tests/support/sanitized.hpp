// Whether this is built with a sanitizer that makes programs several times slower, and whether it is the thread
// sanitizer, which delays and merges signals and follows neither a fork with threads nor a thread that ends by a system
// call.
#pragma once

namespace substrata::tests {

#if defined(__has_feature)
inline constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || kThreadSanitizer;
#elif defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
inline constexpr bool kSanitized = true;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr bool kThreadSanitizer = false;
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kThreadSanitizer = false;
inline constexpr bool kSanitized = false;
#endif

}  // namespace substrata::tests
