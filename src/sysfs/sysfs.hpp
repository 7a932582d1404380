// The kernel's text files as substrates need them: paths below Host::root, one number read from a kept
// descriptor, and the messages that say why one could not be read.
#pragma once

#include <substrata/substrate.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace substrata::sysfs {

// The layer's clock; 0 where the host has none. Signal-safe.
inline int64_t now_ns(const Host& host) noexcept {
  return host.now_ns == nullptr ? 0 : host.now_ns(host.context);
}

// An environment setting as the layer reads it, null when it is absent.
inline const char* setting(const Host& host, const char* name) noexcept {
  return host.setting == nullptr ? nullptr : host.setting(host.context, name);
}

// How old a value may be that is handed out again, in nanoseconds, of a setting in microseconds: a day at most. 0, so
// that every read is fresh, without the setting or where it is no number or a negative one.
int64_t refresh_setting(const Host& host, const char* name) noexcept;

// host.root followed by path, which starts with '/'.
std::string below_root(const Host& host, std::string_view path);

// The whole of a small file without its closing white space; false with errno set when it cannot be read.
bool read_text(const std::string& path, std::string* text);

// One number of a file; false (errno, or EINVAL when it is not a number).
bool read_integer(const std::string& path, int64_t* value);

// Names in a folder except "." and "..", numbers inside names ordered by value ("hwmon2" before "hwmon10").
// Empty when the folder is not there.
std::vector<std::string> list_folder(const std::string& path);

// True if `left` comes before `right` when digits inside names are compared as numbers.
bool natural_less(std::string_view left, std::string_view right) noexcept;

// A name made of letters, digits and ".-+_" only; every other run of bytes becomes one '_'.
std::string plain_name(std::string_view text);

// Where a link or folder really is, "" when it is not there.
std::string resolved(const std::string& path);

// The last part of a path.
std::string last_part(const std::string& path);

// A file opened once and read many times from its beginning (sysfs and procfs generate the text each time).
// Thread-compatible.
class KeptFile {
 public:
  KeptFile() noexcept = default;
  KeptFile(KeptFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  KeptFile& operator=(KeptFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  KeptFile(const KeptFile&) = delete;
  KeptFile& operator=(const KeptFile&) = delete;
  ~KeptFile() { close(); }

  // 0, or errno.
  int open(const std::string& path) noexcept;
  void close() noexcept;
  bool is_open() const noexcept { return descriptor_ >= 0; }

  // The bytes from `from` on that one read gives, 0 at the end of the file, or -errno. Signal-safe.
  int64_t read_some(char* buffer, size_t capacity, size_t from) const noexcept;

  // The number the file holds now. 0, or errno (EINVAL: what stands there is not a number). One system call, no
  // allocation. Signal-safe.
  int read_integer(int64_t* value) const noexcept;

  // Up to `capacity` bytes from the beginning, as many calls as it takes; the count, or -errno (EFBIG: more than
  // capacity). No allocation. Signal-safe.
  int64_t read_all(char* buffer, size_t capacity) const noexcept;

  // As read_all, for a file of which only the beginning is wanted: what does not fit is left out.
  int64_t read_front(char* buffer, size_t capacity) const noexcept;

 private:
  int descriptor_ = -1;
};

}  // namespace substrata::sysfs
