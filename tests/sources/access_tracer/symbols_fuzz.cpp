// Fuzzes the reader of ELF symbol tables.
#include <cstddef>
#include <cstdint>

#include "sources/access_tracer/symbols.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto found = substrata::access_tracer::read_elf_symbols(data, size);
  for (const auto* symbols : {&found.functions, &found.variables})
    for (const auto& symbol : *symbols) (void)symbol.plain_name();
  return 0;
}
