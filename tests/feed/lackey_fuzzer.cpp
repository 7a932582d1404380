// Any line as valgrind lackey's text.
#include <cstddef>
#include <string_view>

#include "feed/lackey.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, size_t count) {
  std::string_view text(reinterpret_cast<const char*>(bytes), count);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    substrata_transaction transaction{};
    const auto kind = substrata::feed::parse_lackey_line(text.substr(0, end), &transaction);
    if (kind == substrata::feed::LackeyLine::kTransaction && transaction.kind == 0) __builtin_trap();
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return 0;
}
