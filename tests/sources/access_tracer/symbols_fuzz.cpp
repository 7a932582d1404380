// Fuzzes the reader of ELF symbol tables.
#include <cstddef>
#include <cstdint>

#include "access_tracer/symbols.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)substrata::access_tracer::read_elf_symbols(data, size);
  return 0;
}
