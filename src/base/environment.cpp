// Settings from the environment.
#include "base/environment.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace substrata {

const char* machine_root() noexcept {
  const char* const folder = environment("SUBSTRATA_ROOT");
  return folder == nullptr ? "" : folder;
}

bool environment_misleads(const char* prefix) noexcept {
  if (getauxval(AT_SECURE) == 0 || environ == nullptr) return false;
  const size_t length = std::strlen(prefix);
  for (char** each = environ; *each != nullptr; ++each)
    if (std::strncmp(*each, prefix, length) == 0) return true;
  return false;
}

}  // namespace substrata
