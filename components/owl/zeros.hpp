// Arrays of zeros that take memory of the system only where they are written.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace substrata::owl {

struct FreeZeros {
  void operator()(void* memory) const noexcept { std::free(memory); }
};
template <typename T>
using Zeros = std::unique_ptr<T[], FreeZeros>;

// Throws std::bad_alloc.
template <typename T>
Zeros<T> zeros(size_t count) {
  Zeros<T> made(static_cast<T*>(std::calloc(count, sizeof(T))));
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

}  // namespace substrata::owl
