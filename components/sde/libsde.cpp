// The tool's side of whichever libsde the process holds, found by name in its global scope.
#include "sde/libsde.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>

// Where libsde.a is part of the program its functions have no name that the dynamic linker knows.
extern "C" {
[[gnu::weak]] void sde_ti_get_num_reg_events();
[[gnu::weak]] void sde_ti_get_event_name();
[[gnu::weak]] void sde_ti_get_event_description();
[[gnu::weak]] void sde_ti_name_to_code();
[[gnu::weak]] void sde_ti_read_counter();
[[gnu::weak]] void sde_ti_write_counter();
[[gnu::weak]] void sde_ti_reset_counter();
[[gnu::weak]] void sde_ti_is_counter_set_to_overflow();
[[gnu::weak]] void sde_ti_set_counter_overflow();
[[gnu::weak]] void sde_ti_shutdown();
[[gnu::weak]] void substrata_sde_read_from();
[[gnu::weak]] void substrata_sde_mark_start();
[[gnu::weak]] void substrata_sde_free_start();
[[gnu::weak]] void substrata_sde_nature_of();
}

namespace substrata_sde {
namespace {

// As sde_lib.h's cset_list_object_s: an element of the list that a counting set gives.
struct SetElement {
  std::uint32_t count;
  std::uint32_t type_id;
  std::size_t type_size;
  void* bytes;
  SetElement* next;
};

template <typename Function>
bool find(void (*within)(), const char* name, Function** out) {
  *out = within != nullptr ? reinterpret_cast<Function*>(within)
                           : reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  return *out != nullptr;
}

}  // namespace

void free_address(const Nature& nature, long long address) noexcept {
  void* memory = reinterpret_cast<void*>(static_cast<std::intptr_t>(address));
  if (nature.event_class != kCountingSet) {
    std::free(memory);
    return;
  }
  auto* element = static_cast<SetElement*>(memory);
  while (element != nullptr) {
    SetElement* next = element->next;
    std::free(element->bytes);
    std::free(element);
    element = next;
  }
}

bool find_libsde(Libsde* out) noexcept {
  Libsde found;
  if (!find(sde_ti_get_num_reg_events, "sde_ti_get_num_reg_events", &found.count) ||
      !find(sde_ti_get_event_name, "sde_ti_get_event_name", &found.name) ||
      !find(sde_ti_get_event_description, "sde_ti_get_event_description", &found.description) ||
      !find(sde_ti_name_to_code, "sde_ti_name_to_code", &found.name_to_code) ||
      !find(sde_ti_read_counter, "sde_ti_read_counter", &found.read) ||
      !find(sde_ti_write_counter, "sde_ti_write_counter", &found.write) ||
      !find(sde_ti_reset_counter, "sde_ti_reset_counter", &found.reset) ||
      !find(sde_ti_is_counter_set_to_overflow, "sde_ti_is_counter_set_to_overflow",
            &found.waits_for_overflow) ||
      !find(sde_ti_set_counter_overflow, "sde_ti_set_counter_overflow", &found.set_overflow) ||
      !find(sde_ti_shutdown, "sde_ti_shutdown", &found.shutdown))
    return false;
  if (!find(substrata_sde_read_from, "substrata_sde_read_from", &found.read_from) ||
      !find(substrata_sde_mark_start, "substrata_sde_mark_start", &found.mark_start) ||
      !find(substrata_sde_free_start, "substrata_sde_free_start", &found.free_start) ||
      !find(substrata_sde_nature_of, "substrata_sde_nature_of", &found.nature_of))
    found.nature_of = nullptr;  // another libsde
  *out = found;
  return true;
}

}  // namespace substrata_sde
