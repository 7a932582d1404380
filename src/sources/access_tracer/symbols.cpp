// Reads ELF symbol tables of the loaded objects.
#include "symbols.hpp"

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

Symbols::Symbols() {
  auto collect = [](dl_phdr_info* info, size_t, void* self) -> int {
    auto* symbols = static_cast<Symbols*>(self);
    const char* path =
        info->dlpi_name != nullptr && info->dlpi_name[0] != '\0' ? info->dlpi_name : "/proc/self/exe";
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    struct stat facts {};
    if (fstat(file, &facts) == 0 && facts.st_size > 0) {
      const auto size = static_cast<size_t>(facts.st_size);
      void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
      if (bytes != MAP_FAILED) {
        ElfSymbols found = read_elf_symbols(static_cast<const unsigned char*>(bytes), size);
        munmap(bytes, size);
        for (auto* list : {&found.functions, &found.variables}) {
          auto& all = list == &found.functions ? symbols->functions_ : symbols->variables_;
          for (Symbol& symbol : *list) {
            symbol.low += info->dlpi_addr;
            all.push_back(std::move(symbol));
          }
        }
      }
    }
    ::close(file);
    char real[4096];
    const ssize_t length = readlink("/proc/self/exe", real, sizeof real);
    const bool program = info->dlpi_name == nullptr || info->dlpi_name[0] == '\0';
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = info->dlpi_phdr[i];
      if (part.p_type != PT_LOAD) continue;
      const uintptr_t low = info->dlpi_addr + part.p_vaddr;
      symbols->loaded_.push_back(
          {low, low + part.p_memsz, info->dlpi_addr,
           program && length > 0 ? std::string(real, static_cast<size_t>(length)) : path});
    }
    return 0;
  };
  dl_iterate_phdr(collect, this);
  sort_by_address(functions_);
  sort_by_address(variables_);
}

Symbols::Origin Symbols::origin_of(uintptr_t address) const {
  for (const Loaded& one : loaded_)
    if (address >= one.low && address < one.high) return {one.path, address - one.base};
  return {};
}
const Symbol* Symbols::function_at(uintptr_t address) const { return covering(functions_, address); }
const Symbol* Symbols::variable_at(uintptr_t address) const { return covering(variables_, address); }

}  // namespace substrata::access_tracer
