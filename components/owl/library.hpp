// The module library: built-in modules, shared objects loaded at run time, compositions, and what was
// refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "owl/module.hpp"

namespace substrata::owl {

// One module of the library. Stays as it is until the process ends, also when another has taken its name.
struct LibraryEntry {
  const Module* module;
  std::string origin;
};

// Null, or what is wrong with a module's description.
const char* objection(const Module* module) noexcept;

const LibraryEntry* find_module(std::string_view name);
std::vector<const LibraryEntry*> all_modules();  // by name
// 0, or a negative number with its message. All or none are added. `replacing`: other modules of the same origin leave
// the library; capsules that have them go on.
int add_modules(const std::vector<const Module*>& modules, const std::string& origin, bool replacing = false);
int load_modules(const char* path);
// Capsules and compositions that have it go on.
int remove_module(const char* name);
int load_folder(const char* folder);
void keep_refusal(std::string message);
const char* refusal_at(uint32_t index) noexcept;

// The register values that "name=value:name=value" gives, the initial ones otherwise. 0, or negative with a
// message.
int parse_registers(const Module& module, const char* text, uint64_t* values);

}  // namespace substrata::owl
