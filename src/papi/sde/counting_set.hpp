// Counts how often each distinct element was put into a counting set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/fork_lock.hpp"
#include "sde_lib.h"

namespace substrata::sde {

// Thread-safe.
class CountingSet {
 public:
  // Elements are equal when type and all bytes are. Throws std::bad_alloc, then without effect.
  void insert(std::string_view element, std::size_t hashable_size, std::uint32_t type_id);
  // Takes one back of an element whose hashable bytes and type these are; without effect when there is none.
  void remove(std::string_view hashable, std::uint32_t type_id);
  // The elements in order of their first insertion, all from malloc; null when empty. Throws std::bad_alloc.
  cset_list_object_t* list() const;

 private:
  struct Element {
    std::string bytes;
    std::size_t hashable_size;
    std::uint32_t type_id;
    std::uint32_t count;
  };
  // The hashable bytes, with the type in front.
  static std::string key_of(std::string_view hashable, std::uint32_t type_id);

  mutable ForkLock mutex_;
  std::list<Element> elements_;
  std::unordered_multimap<std::string, std::list<Element>::iterator> by_key_;
};

// Frees what list() gave.
void release(cset_list_object_t* list) noexcept;

}  // namespace substrata::sde
