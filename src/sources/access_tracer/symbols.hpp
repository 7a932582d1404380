// Names for addresses: functions and variables of the program and its shared objects, from their ELF symbol
// tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace substrata::access_tracer {

struct Symbol {
  uintptr_t low = 0;
  uintptr_t size = 0;
  std::string name;  // as the file has it: of some ten thousand symbols few are asked for

  std::string plain_name() const;  // demangled
};

// What one ELF file (64-bit, this machine's byte order) names, by file addresses: .symtab where it is there,
// else .dynsym. A file that is damaged or no ELF gives empty lists. Never reads outside [bytes, bytes +
// size).
struct ElfSymbols {
  std::vector<Symbol> functions;  // sorted by low
  std::vector<Symbol> variables;  // sorted by low
};
ElfSymbols read_elf_symbols(const unsigned char* bytes, size_t size);

// The symbols of every object loaded at construction, at their run-time addresses. A file is read when an address in
// it is first asked for: most never are. Not thread-safe.
class Symbols {
 public:
  Symbols();
  // Null when no symbol covers the address. The pointers live as long as this object.
  const Symbol* function_at(uintptr_t address);
  const Symbol* variable_at(uintptr_t address);
  // The file that an address was loaded from, and the address in it as its debugging data has it. An empty path
  // where nothing was loaded there.
  struct Origin {
    std::string path;
    uintptr_t address = 0;
  };
  Origin origin_of(uintptr_t address) const;

 private:
  struct File {
    std::string path;
    uintptr_t base = 0;
    bool is_program = false;
    bool is_read = false;
    ElfSymbols symbols{};
  };
  struct Part {
    uintptr_t low;
    uintptr_t high;
    size_t file;
  };
  const Part* part_of(uintptr_t address) const;
  // Of the file that the address was loaded from; null: of none.
  const ElfSymbols* symbols_around(uintptr_t address);
  std::vector<File> files_;
  std::vector<Part> parts_;
};

}  // namespace substrata::access_tracer
