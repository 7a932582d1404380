// Watches what the program prints for section marks, and names the phase of each message.
#include "sources/mpi/phases.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "sources/mpi/node_memory.hpp"
#include "sources/mpi/shim.hpp"
#include "sources/mpi/wrap.hpp"

namespace substrata::mpi {

void Phases::share(const Shim& self) {
  if (void* const memory = share_memory(self, sizeof(SectionBoard)).at; memory != nullptr)
    board_ = static_cast<SectionBoard*>(memory);
}

std::string Phases::name_of(uint16_t region, uint32_t section) const {
  const char* const name = region != 0 ? substrata_region_name(region) : nullptr;
  std::string phase = name != nullptr ? name : board_->name(section);
  return phase.empty() ? "(outside)" : phase;
}

void Phases::look_up(MessageCounts& counts, uint16_t region, uint32_t section) {
  place_ = counts.place_of(name_of(region, section));
  of_feed_ = region;
  if (region == 0 && section != 0) {
    // All sections up to it, in their order: a rank may have sent nothing in those before.
    for (uint32_t i = 1; i <= section; ++i) of_feed_ = substrata_region(board_->name(i).c_str());
  }
  region_ = region;
  section_ = section;
}

void look_for_mark(const char* text, size_t size) {
  Shim& self = shim();
  if (!self.counting || size > 512) return;
  unharmed([&] {
    std::string name;
    if (!find_section_mark({text, size}, name)) return;
    self.phases.board().enter(name);
    self.status.enter(name, real_ns());
  });
}

}  // namespace substrata::mpi

using namespace substrata::mpi;

namespace {
// Always loaded, and for all.
template <typename Function>
Function* of_c_library(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
}  // namespace

EXPORT size_t fwrite(const void* data, size_t size, size_t count, FILE* file) {
  static auto* const original = of_c_library<decltype(fwrite)>("fwrite");
  look_for_mark(static_cast<const char*>(data), size * count);
  return original(data, size, count, file);
}
EXPORT int fputs(const char* text, FILE* file) {
  static auto* const original = of_c_library<decltype(fputs)>("fputs");
  look_for_mark(text, std::strlen(text));
  return original(text, file);
}
