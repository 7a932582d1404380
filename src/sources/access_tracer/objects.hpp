// Places of memory with names: variables, heap objects by their allocation site, stacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sources/access_tracer/symbols.hpp"

namespace substrata::access_tracer {

// A variable, the heap objects of one allocation site, a stack, or what has no name.
struct Object {
  std::string name;
  const char* kind;
  uint64_t bytes = 0;        // of a variable, or allocated in all at a heap site
  uint64_t allocations = 0;  // of a heap site
  uintptr_t site = 0;        // its return address
};

// Where an object lies, or the part of it around an address.
struct Extent {
  uintptr_t low;
  uintptr_t length;
  uint32_t object;
};

// All objects of the program, numbered in the order in which they were first met. Not thread-safe: the
// runtime serialises.
class Objects {
 public:
  Extent locate(uintptr_t address);
  // The object that function entries are counted at.
  uint32_t calls();
  bool is_elsewhere(uint32_t object) const { return object == elsewhere_; }
  const Object& operator[](uint32_t object) const { return objects_[object]; }
  uint32_t count() const { return static_cast<uint32_t>(objects_.size()); }
  // Where a heap object is allocated, as a file and an address in it; an empty path for other objects.
  Symbols::Origin site_of(uint32_t object);
  // Of the code that returns to an address.
  std::string function_name(uintptr_t pc);
  // The function that the address lies in; "(elsewhere)" where there is none.
  std::string code_name(uintptr_t address);

  void allocated(uintptr_t block, size_t size, uintptr_t site);
  // False when it is not a block of the heap.
  bool freed(uintptr_t block) { return heap_.erase(block) != 0; }
  void add_stack(uint32_t thread, uintptr_t low, uintptr_t length);
  // The thread has ended; its stack may be another's soon.
  void remove_stack(uint32_t thread);

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct HeapBlock {
    size_t size;
    uint32_t object;
  };
  struct Stack {
    uintptr_t low;
    uintptr_t length;
    uint32_t thread;
  };
  Symbols& symbols();
  uint32_t add(std::string name, const char* kind, uint64_t bytes);
  std::string place_name(uintptr_t pc);

  std::unique_ptr<Symbols> symbols_;
  std::vector<Object> objects_;
  std::map<uintptr_t, HeapBlock> heap_;
  std::unordered_map<uintptr_t, uint32_t> heap_sites_;
  std::unordered_map<uintptr_t, uint32_t> variables_;
  std::vector<Stack> stacks_;
  std::unordered_map<uint32_t, uint32_t> stack_objects_;  // by thread
  uint32_t elsewhere_ = kNone;
  uint32_t calls_ = kNone;
};

}  // namespace substrata::access_tracer
