// Reads environment settings safely: never in a set-user-id program.
#pragma once

#include <cstdlib>

namespace substrata {

// The value of a setting; null when it is absent or the program runs with raised rights. Thread-safe as far
// as nobody changes the environment at the same time.
inline const char* environment(const char* name) noexcept { return secure_getenv(name); }

// The folder that stands for "/" where substrates look for a machine: a recorded one (SUBSTRATA_ROOT), or "" for this
// one. Thread-safe as environment() is.
const char* machine_root() noexcept;

// Whether the program runs with raised rights and a variable of this prefix is set: a library that reads such
// variables itself must not be used then.
bool environment_misleads(const char* prefix) noexcept;

}  // namespace substrata
