// Reads registers by their number from the driver's file, or from the text that stands for it.
#include "sysfs/registers.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/parse.hpp"

namespace substrata::sysfs {
namespace {

constexpr size_t kMostText = 4096;  // of a recorded one

}  // namespace

int register_in(std::string_view text, Register which, uint64_t* value) noexcept {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const size_t blank = line.find(' ');
    uint32_t number = 0;
    if (blank == std::string_view::npos || !parse_number(line.substr(0, blank), &number)) continue;
    if (number != static_cast<uint32_t>(which)) continue;
    return parse_number(line.substr(blank + 1), value) ? 0 : EINVAL;
  }
  return EIO;
}

int Registers::open(const std::string& root, int64_t processor) {
  int error = ENOENT;
  for (const char* const name : {"msr_safe", "msr"}) {
    path_ = root + "/dev/cpu/" + std::to_string(processor) + "/" + name;
    error = file_.open(path_);
    if (error == 0) break;
  }
  struct stat status {};
  recorded_ = error == 0 && ::stat(path_.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  return error;
}

int Registers::read(Register which, uint64_t* value) const noexcept {
  if (recorded_) {
    char text[kMostText];
    const int64_t length = file_.read_front(text, sizeof text);
    return length < 0 ? static_cast<int>(-length)
                      : register_in(std::string_view(text, static_cast<size_t>(length)), which, value);
  }
  char bytes[sizeof *value];
  const int64_t length = file_.read_some(bytes, sizeof bytes, static_cast<uint32_t>(which));
  if (length < 0) return static_cast<int>(-length);
  if (length != sizeof bytes) return EIO;
  std::memcpy(value, bytes, sizeof bytes);
  return 0;
}

}  // namespace substrata::sysfs
