// Reads the kernel's text files: numbers from kept descriptors, folders in natural order, links.
#include "sysfs.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/parse.hpp"

namespace substrata::sysfs {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The digits at the front of `text`, without leading zeros, and how many bytes they took.
std::string_view number_at_front(std::string_view text, size_t* taken) noexcept {
  size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  *taken = end;
  size_t begin = 0;
  while (begin + 1 < end && text[begin] == '0') ++begin;
  return text.substr(begin, end - begin);
}

}  // namespace

std::string below_root(const Host& host, std::string_view path) {
  std::string whole = host.root == nullptr ? "" : host.root;
  whole += path;
  return whole;
}

bool read_text(const std::string& path, std::string* text) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  std::string whole;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int error = errno;
      ::close(descriptor);
      errno = error;
      return false;
    }
    if (got == 0) break;
    whole.append(buffer, static_cast<size_t>(got));
  }
  ::close(descriptor);
  while (!whole.empty() && is_space(whole.back())) whole.pop_back();
  *text = std::move(whole);
  return true;
}

bool read_integer(const std::string& path, int64_t* value) {
  std::string text;
  if (!read_text(path, &text)) return false;
  if (parse_integer(text, value)) return true;
  errno = EINVAL;
  return false;
}

bool natural_less(std::string_view left, std::string_view right) noexcept {
  while (!left.empty() && !right.empty()) {
    if (is_digit(left[0]) && is_digit(right[0])) {
      size_t left_taken = 0;
      size_t right_taken = 0;
      const std::string_view a = number_at_front(left, &left_taken);
      const std::string_view b = number_at_front(right, &right_taken);
      if (a.size() != b.size()) return a.size() < b.size();
      if (a != b) return a < b;
      left.remove_prefix(left_taken);
      right.remove_prefix(right_taken);
    } else {
      if (left[0] != right[0]) return left[0] < right[0];
      left.remove_prefix(1);
      right.remove_prefix(1);
    }
  }
  return left.size() < right.size();
}

std::vector<std::string> list_folder(const std::string& path) {
  std::vector<std::string> names;
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return names;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(folder);
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return natural_less(a, b); });
  return names;
}

std::string plain_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool plain = is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
                       c == '-' || c == '+' || c == '_';
    if (plain) {
      name += c;
    } else if (name.empty() || name.back() != '_') {
      name += '_';
    }
  }
  return name;
}

std::string resolved(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return {};
  std::string whole = real;
  std::free(real);
  return whole;
}

std::string last_part(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

int KeptFile::open(const std::string& path) noexcept {
  close();
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  return descriptor_ < 0 ? errno : 0;
}

void KeptFile::close() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

int KeptFile::read_integer(int64_t* value) const noexcept {
  char text[64];
  for (;;) {
    const ssize_t got = ::pread(descriptor_, text, sizeof text, 0);
    if (got >= 0) return parse_integer({text, static_cast<size_t>(got)}, value) ? 0 : EINVAL;
    if (errno != EINTR) return errno;
  }
}

int64_t KeptFile::read_front(char* buffer, size_t capacity) const noexcept {
  size_t have = 0;
  while (have < capacity) {
    const ssize_t got = ::pread(descriptor_, buffer + have, capacity - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -errno;
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  return static_cast<int64_t>(have);
}

int64_t KeptFile::read_all(char* buffer, size_t capacity) const noexcept {
  const int64_t have = read_front(buffer, capacity);
  if (have < 0 || static_cast<size_t>(have) < capacity) return have;
  return -EFBIG;  // no space left to see the end of the file
}

}  // namespace substrata::sysfs
