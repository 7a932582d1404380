// Turns what an entry point published into a table the core can call without null checks, or refuses it.
#pragma once

#include "base/result.hpp"

namespace substrata {

// Calls the entry point with `host`, checks the table (ABI, size, name rules, required slots, limits) and
// fills the optional slots. `origin` names the source in the refusal ("plug-in /path/x.so", "built-in x").
//
// Left null on purpose, as facts the core acts on: find_event (Component::find_event searches), configure
// (Component::configure accepts the defaults), read_details (the core stamps a plain read), recipe (no
// presets), arm and disarm (the substrate cannot overflow by itself), hardware_counters
// (max_events). Every other null slot gets a function.
Result<SubstrateTable> build_table(EntryPoint* entry, const Host& host, const char* origin);

}  // namespace substrata
