// Which sanitizer this is compiled with: SUBSTRATA_ASAN or SUBSTRATA_TSAN is defined for the address or the thread
// sanitizer, by GCC and by clang.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define SUBSTRATA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SUBSTRATA_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define SUBSTRATA_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SUBSTRATA_TSAN 1
#endif
#endif
