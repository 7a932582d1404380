// Objects that live as long as the process.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace substrata {

// A function's static object that is never destroyed, since threads and exit handlers may still call. It
// stands in static storage: making it needs no memory beyond what its constructor asks for.
template <class T>
class Immortal {
 public:
  template <class... Arguments>
  explicit Immortal(Arguments&&... arguments) {
    new (storage_) T(std::forward<Arguments>(arguments)...);
  }
  Immortal(const Immortal&) = delete;
  Immortal& operator=(const Immortal&) = delete;
  T& operator*() noexcept { return *std::launder(reinterpret_cast<T*>(storage_)); }

 private:
  alignas(T) std::byte storage_[sizeof(T)];
};

}  // namespace substrata
