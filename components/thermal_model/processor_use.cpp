// Walks the lines "cpuN user nice system idle iowait irq softirq steal ..." of /proc/stat.
#include "thermal_model/processor_use.hpp"

namespace substrata::thermal_model {
namespace {

bool take_number(std::string_view* text, int64_t* value) noexcept {
  constexpr int64_t kLimit = int64_t{1} << 55;  // eight of them add up without overflow
  int64_t number = 0;
  size_t digits = 0;
  while (digits < text->size() && (*text)[digits] >= '0' && (*text)[digits] <= '9') {
    number = number * 10 + ((*text)[digits] - '0');
    if (number > kLimit) return false;
    ++digits;
  }
  if (digits == 0) return false;
  text->remove_prefix(digits);
  *value = number;
  return true;
}

void skip_blanks(std::string_view* text) noexcept {
  while (!text->empty() && text->front() == ' ') text->remove_prefix(1);
}

}  // namespace

bool next_processor(std::string_view* text, ProcessorTime* time) noexcept {
  while (!text->empty()) {
    const size_t end = text->find('\n');
    if (end == std::string_view::npos) return false;  // cut
    std::string_view line = text->substr(0, end);
    if (line.substr(0, 3) != "cpu") return false;
    text->remove_prefix(end + 1);
    line.remove_prefix(3);
    if (!line.empty() && line.front() == ' ') continue;  // the sum of all
    int64_t number = 0;
    if (!take_number(&line, &number) || number > INT32_MAX) return false;
    // user nice system idle iowait irq softirq steal; kernels before 2.6.11 have no steal.
    constexpr uint32_t kFields = 8;
    constexpr bool kBusy[kFields] = {true, true, true, false, false, true, true, false};
    int64_t busy = 0;
    int64_t total = 0;
    uint32_t fields = 0;
    while (fields < kFields) {
      int64_t ticks = 0;
      skip_blanks(&line);
      if (!take_number(&line, &ticks)) break;
      if (kBusy[fields]) busy += ticks;
      total += ticks;
      ++fields;
    }
    if (fields < 7) return false;
    *time = {static_cast<uint32_t>(number), busy, total};
    return true;
  }
  return false;
}

}  // namespace substrata::thermal_model
