// Settings from the environment.
#include "base/environment.hpp"

#include <cstdlib>

namespace substrata {

const char* environment(const char* name) noexcept { return secure_getenv(name); }

}  // namespace substrata
