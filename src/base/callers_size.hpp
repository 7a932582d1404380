// Structures that pass the C interface between this library and callers built with an older or newer header: the
// caller's struct_size says how much of them it knows.
#pragma once

#include <cstdint>
#include <cstring>

namespace substrata {

// The part of a caller's structure that both know. What is shorter or null is filled up with zeros.
template <typename Info>
Info taken_in(const Info* given) noexcept {
  Info known{};
  if (given != nullptr)
    std::memcpy(static_cast<void*>(&known), given,
                given->struct_size < sizeof known ? given->struct_size : sizeof known);
  known.struct_size = sizeof known;
  return known;
}

// Fills no more of *out than the caller's struct_size, which becomes what was filled.
template <typename Info>
void hand_out(const Info& info, Info* out) noexcept {
  const uint32_t size =
      out->struct_size < sizeof(Info) ? out->struct_size : static_cast<uint32_t>(sizeof(Info));
  std::memcpy(static_cast<void*>(out), &info, size);
  out->struct_size = size;
}

}  // namespace substrata
