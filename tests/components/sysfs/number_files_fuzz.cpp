// Any text as a file of the kernel's: a number is found within it or not at all, for every way of looking.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sysfs/number_files.hpp"
#include "sysfs/registers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  substrata::sysfs::NumberSource source;
  source.word = data[0] % 8;
  source.starred = data[0] / 8 % 2 != 0;
  const size_t key = data[1] % 16;
  std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  source.key = text.substr(0, key);
  text.remove_prefix(source.key.size());
  const std::string_view word = substrata::sysfs::find_number(text, source);
  if (!word.empty() && (word.data() < text.data() || word.data() + word.size() > text.data() + text.size()))
    std::abort();
  uint64_t number = 0;
  if (substrata::sysfs::number_at_front(word, &number) && word.empty()) std::abort();
  uint64_t value = 0;
  const int error = substrata::sysfs::register_in(text, substrata::sysfs::Register::kIntelUnits, &value);
  if (error != 0 && value != 0) std::abort();
  return 0;
}
