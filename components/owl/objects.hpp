// Addresses back to data objects by name.
#pragma once

#include <cstdint>
#include <string_view>

namespace substrata::owl {

void add_object(std::string_view name, uint64_t address, uint64_t bytes);  // may throw std::bad_alloc
// Null: no known object. The text lives as long as the process.
const char* object_at(uint64_t address) noexcept;
// The same, and where it lies: [*low, *high).
const char* object_at(uint64_t address, uint64_t* low, uint64_t* high) noexcept;
void clear_objects() noexcept;
// Adds the objects that machines publish at the probe point mem.objects. Once is enough.
void observe_objects() noexcept;

}  // namespace substrata::owl
