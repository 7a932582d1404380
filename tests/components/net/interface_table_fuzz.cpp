// Any text as /proc/net/dev: the parser must end, stay inside the text and give names from within it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "net/interface_table.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view whole(reinterpret_cast<const char*>(data), size);
  std::string_view text = whole;
  substrata::net::InterfaceLine line;
  bool bad = false;
  size_t left = text.size();
  while (substrata::net::next_interface(&text, &line, &bad)) {
    if (line.name.empty() || line.name.data() < whole.data() ||
        line.name.data() + line.name.size() > whole.data() + whole.size() || text.size() >= left) {
      std::abort();
    }
    left = text.size();
  }
  if (!text.empty()) std::abort();
  return 0;
}
