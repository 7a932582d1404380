// Reads environment settings safely: never in a set-user-id program.
#ifndef SUBSTRATA_SUPPORT_ENVIRONMENT_HPP
#define SUBSTRATA_SUPPORT_ENVIRONMENT_HPP

namespace substrata {

// The value of a setting; null when it is absent or the program runs with raised rights. Thread-safe as far
// as nobody changes the environment at the same time.
const char* environment(const char* name) noexcept;

}  // namespace substrata

#endif
