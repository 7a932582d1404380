// The codes of refused calls; the text is the calling thread's last refusal.
#ifndef SUBSTRATA_MYRINET_ERRORS_HPP
#define SUBSTRATA_MYRINET_ERRORS_HPP

#include "base/error.hpp"

namespace substrata::myrinet {

inline constexpr int kInvalid = -1;
inline constexpr int kNoMemory = -2;
inline constexpr int kRunning = -10;

}  // namespace substrata::myrinet

#endif
