// Reads ELF symbol tables of the loaded objects.
#include "sources/access_tracer/symbols.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace substrata::access_tracer {
namespace {

void sort_by_address(std::vector<Symbol>& symbols) {
  std::sort(symbols.begin(), symbols.end(), [](const Symbol& a, const Symbol& b) { return a.low < b.low; });
}

const Symbol* covering(const std::vector<Symbol>& symbols, uintptr_t address) {
  auto next = std::upper_bound(symbols.begin(), symbols.end(), address,
                               [](uintptr_t value, const Symbol& symbol) { return value < symbol.low; });
  if (next == symbols.begin()) return nullptr;
  --next;
  return address - next->low < next->size ? &*next : nullptr;
}

// One structure at an offset of the file, copied, so that alignment does not matter.
template <typename T>
bool copy_at(const unsigned char* bytes, size_t size, uint64_t offset, T& out) {
  if (offset > size || size - offset < sizeof(T)) return false;
  std::memcpy(&out, bytes + offset, sizeof(T));
  return true;
}

}  // namespace

std::string Symbol::plain_name() const {
  if (!name.starts_with("_Z")) return name;  // else "d" would be the type double
  int status = 0;
  char* plain = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string text = status == 0 && plain != nullptr ? plain : name;
  std::free(plain);
  return text;
}

ElfSymbols read_elf_symbols(const unsigned char* bytes, size_t size) {
  ElfSymbols found;
  Elf64_Ehdr header;
  if (!copy_at(bytes, size, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr))
    return found;
  Elf64_Shdr table{};
  for (const unsigned wanted : {SHT_SYMTAB, SHT_DYNSYM}) {
    for (unsigned i = 0; i < header.e_shnum && table.sh_type == SHT_NULL; ++i) {
      Elf64_Shdr section;
      if (!copy_at(bytes, size, header.e_shoff + uint64_t{i} * sizeof section, section)) return found;
      if (section.sh_type == wanted) table = section;
    }
  }
  Elf64_Shdr strings;
  if (table.sh_type == SHT_NULL || table.sh_entsize != sizeof(Elf64_Sym) ||
      !copy_at(bytes, size, header.e_shoff + uint64_t{table.sh_link} * sizeof strings, strings) ||
      strings.sh_offset > size || size - strings.sh_offset < strings.sh_size)
    return found;
  for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
    Elf64_Sym symbol;
    if (!copy_at(bytes, size, table.sh_offset + i * sizeof symbol, symbol)) break;
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0 || symbol.st_name >= strings.sh_size) continue;
    if (type != STT_FUNC && type != STT_OBJECT) continue;
    const char* name = reinterpret_cast<const char*>(bytes) + strings.sh_offset + symbol.st_name;
    const uint64_t left = strings.sh_size - symbol.st_name;
    if (strnlen(name, left) == left) continue;
    (type == STT_FUNC ? found.functions : found.variables).push_back({symbol.st_value, symbol.st_size, name});
  }
  sort_by_address(found.functions);
  sort_by_address(found.variables);
  return found;
}

namespace {

// At the addresses where it was loaded; none where it cannot be read.
ElfSymbols symbols_of(const char* path, uintptr_t base) {
  ElfSymbols found;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return found;
  struct stat facts {};
  if (fstat(file, &facts) == 0 && facts.st_size > 0) {
    const auto size = static_cast<size_t>(facts.st_size);
    void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes != MAP_FAILED) {
      found = read_elf_symbols(static_cast<const unsigned char*>(bytes), size);
      munmap(bytes, size);
    }
  }
  ::close(file);
  for (auto* const list : {&found.functions, &found.variables})
    for (Symbol& symbol : *list) symbol.low += base;
  return found;
}

}  // namespace

Symbols::Symbols() {
  auto collect = [](dl_phdr_info* info, size_t, void* self) -> int {
    auto* const symbols = static_cast<Symbols*>(self);
    const bool is_program = info->dlpi_name == nullptr || info->dlpi_name[0] == '\0';
    char real[4096];
    const ssize_t length = is_program ? readlink("/proc/self/exe", real, sizeof real) : 0;
    std::string path = length > 0   ? std::string(real, static_cast<size_t>(length))
                       : is_program ? "/proc/self/exe"
                                    : info->dlpi_name;
    symbols->files_.push_back({.path = std::move(path), .base = info->dlpi_addr, .is_program = is_program});
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = info->dlpi_phdr[i];
      if (part.p_type != PT_LOAD) continue;
      const uintptr_t low = info->dlpi_addr + part.p_vaddr;
      symbols->parts_.push_back({low, low + part.p_memsz, symbols->files_.size() - 1});
    }
    return 0;
  };
  dl_iterate_phdr(collect, this);
}

const Symbols::Part* Symbols::part_of(uintptr_t address) const {
  for (const Part& part : parts_)
    if (address >= part.low && address < part.high) return &part;
  return nullptr;
}

const ElfSymbols* Symbols::symbols_around(uintptr_t address) {
  const Part* const part = part_of(address);
  if (part == nullptr) return nullptr;
  File& file = files_[part->file];
  if (!file.is_read)
    file.symbols = symbols_of(file.is_program ? "/proc/self/exe" : file.path.c_str(), file.base);
  file.is_read = true;
  return &file.symbols;
}

Symbols::Origin Symbols::origin_of(uintptr_t address) const {
  const Part* const part = part_of(address);
  if (part == nullptr) return {};
  return {files_[part->file].path, address - files_[part->file].base};
}
const Symbol* Symbols::function_at(uintptr_t address) {
  const ElfSymbols* const around = symbols_around(address);
  return around != nullptr ? covering(around->functions, address) : nullptr;
}
const Symbol* Symbols::variable_at(uintptr_t address) {
  const ElfSymbols* const around = symbols_around(address);
  return around != nullptr ? covering(around->variables, address) : nullptr;
}

}  // namespace substrata::access_tracer
