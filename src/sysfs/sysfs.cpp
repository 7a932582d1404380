// Reads the kernel's text files: numbers from kept descriptors, folders in natural order, links.
#include "sysfs/sysfs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "base/folder.hpp"
#include "base/parse.hpp"
#include "base/uninterrupted.hpp"

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

int64_t refresh_setting(const Host& host, const char* name) noexcept {
  const char* const text = setting(host, name);
  int64_t microseconds = 0;
  if (text == nullptr || !parse_integer(text, &microseconds) || microseconds < 0) return 0;
  constexpr int64_t kDay = int64_t{86400} * 1'000'000;
  return std::min(microseconds, kDay) * 1000;
}

std::string below_root(const Host& host, std::string_view path) {
  std::string whole = host.root == nullptr ? "" : host.root;
  whole += path;
  return whole;
}

bool read_text(const std::string& path, std::string* text) {
  KeptFile file;
  if (file.open(path) != 0) return false;
  std::string whole;
  char buffer[4096];
  int64_t got = 0;
  while ((got = file.read_some(buffer, sizeof buffer, whole.size())) > 0)
    whole.append(buffer, static_cast<size_t>(got));
  if (got < 0) {
    file.close();
    errno = static_cast<int>(-got);
    return false;
  }
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
  std::vector<std::string> names = names_in(path);
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
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real == nullptr ? std::string() : std::string(real.get());
}

std::string last_part(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

int KeptFile::open(const std::string& path) noexcept {
  close();
  const ssize_t opened =
      uninterrupted([&] { return result_or_error(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); });
  descriptor_ = static_cast<int>(std::max<ssize_t>(opened, -1));
  return opened < 0 ? static_cast<int>(-opened) : 0;
}

void KeptFile::close() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

int64_t KeptFile::read_some(char* buffer, size_t capacity, size_t from) const noexcept {
  return uninterrupted(
      [&] { return result_or_error(::pread(descriptor_, buffer, capacity, static_cast<off_t>(from))); });
}

int KeptFile::read_integer(int64_t* value) const noexcept {
  char text[64];
  const int64_t got = read_some(text, sizeof text, 0);
  if (got < 0) return static_cast<int>(-got);
  return parse_integer({text, static_cast<size_t>(got)}, value) ? 0 : EINVAL;
}

int64_t KeptFile::read_front(char* buffer, size_t capacity) const noexcept {
  size_t have = 0;
  while (have < capacity) {
    const int64_t got = read_some(buffer + have, capacity - have, have);
    if (got < 0) return got;
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
