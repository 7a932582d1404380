// Any text as a sensor's file: what is taken as a number is that number, and nothing else is taken.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sysfs/sysfs.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  int64_t value = 0x5eed;
  const bool taken = substrata::sysfs::parse_integer(text, &value);
  if (!taken) {
    if (value != 0x5eed) std::abort();
    return 0;
  }
  errno = 0;
  char* end = nullptr;
  const long long expected = std::strtoll(text.c_str(), &end, 10);
  if (errno != 0 || end == text.c_str() || expected != value) std::abort();
  return 0;
}
