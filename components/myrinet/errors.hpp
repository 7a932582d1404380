// The calling thread's last error.
#ifndef SUBSTRATA_MYRINET_ERRORS_HPP
#define SUBSTRATA_MYRINET_ERRORS_HPP

namespace substrata::myrinet {

inline constexpr int kInvalid = -1;
inline constexpr int kNoMemory = -2;
inline constexpr int kRunning = -10;

// Keeps the message, and gives the code.
__attribute__((format(printf, 2, 3))) int fail(int code, const char* format, ...) noexcept;

}  // namespace substrata::myrinet

#endif
