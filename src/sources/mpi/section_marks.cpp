// Finds the marks in lines of output, and keeps the sections' names.
#include "sources/mpi/section_marks.hpp"

#include <cstring>

namespace substrata::mpi {

bool find_section_mark(std::string_view line, std::string& name) {
  const size_t end = line.find(" section");
  if (end == std::string_view::npos) return false;
  for (const std::string_view word : {std::string_view("Begin of "), std::string_view("End of ")}) {
    const size_t begin = line.rfind(word, end);
    if (begin == std::string_view::npos) continue;
    const std::string_view found = line.substr(begin + word.size(), end - begin - word.size());
    if (found.empty() || found.size() >= SectionBoard::kLength || found.find('\n') != std::string_view::npos)
      continue;
    name = word[0] == 'B' ? std::string(found) : std::string();
    return true;
  }
  return false;
}

void SectionBoard::enter(std::string_view name) {
  if (name.empty()) {
    current.store(0, std::memory_order_release);
    return;
  }
  const uint32_t known = count.load(std::memory_order_relaxed);
  for (uint32_t i = 1; i <= known; ++i) {
    if (name == names[i]) {
      current.store(i, std::memory_order_release);
      return;
    }
  }
  if (known + 1 >= kMost || name.size() >= kLength) {
    current.store(0, std::memory_order_release);
    return;
  }
  std::memcpy(names[known + 1], name.data(), name.size());
  names[known + 1][name.size()] = '\0';
  count.store(known + 1, std::memory_order_relaxed);
  current.store(known + 1, std::memory_order_release);
}

std::string SectionBoard::name(uint32_t at) const {
  if (at == 0 || at >= kMost) return {};
  return std::string(names[at], strnlen(names[at], kLength));
}

}  // namespace substrata::mpi
