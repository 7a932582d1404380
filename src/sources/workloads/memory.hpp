// The shared address space of one run: named arrays laid out page by page, and the names of regions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace substrata::workloads {

// What may live in shared memory: copied byte by byte, of a power-of-two size, so that an aligned element
// never crosses a cache line or a page.
template <typename T>
concept Shareable = std::is_trivially_copyable_v<T> &&(sizeof(T) & (sizeof(T) - 1)) == 0 && sizeof(T) <= 64;

// Names a procedure or a phase; see Memory::region.
using RegionId = std::uint16_t;

// Where an array lies in the shared address space. A handle: copying it copies no data.
template <Shareable T>
struct SharedArray {
  std::uint64_t address = 0;  // bytes, of element 0
  std::uint64_t length = 0;   // elements
  constexpr std::uint64_t address_of(std::uint64_t index) const noexcept {
    return address + index * sizeof(T);
  }
};

// An anonymous mapping that costs memory only where it is touched. Movable, zero-filled. Thread-compatible.
class Mapping {
 public:
  Mapping() noexcept = default;
  explicit Mapping(std::size_t bytes);  // throws std::bad_alloc
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();
  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// The address space. A program lays its arrays out before the processes start; then commit() maps it, zeroed.
// Addresses are byte offsets; the first page is never used, so that 0 is not a valid address. Thread-compatible.
class Memory {
 public:
  struct Object {
    std::string name;
    std::uint64_t address;
    std::uint64_t bytes;
  };
  // Alignment of arrays that ask for none: no two of them share a page of up to this size.
  static constexpr std::uint64_t kPageBytes = 4096;

  // Reserves an array. `alignment` is a power of two in bytes. Only before commit().
  template <Shareable T>
  SharedArray<T> array(std::string_view name, std::uint64_t length, std::uint64_t alignment = kPageBytes) {
    return {reserve(name, length * sizeof(T), alignment < sizeof(T) ? sizeof(T) : alignment), length};
  }
  // The number of a named region; the same name gives the same number.
  RegionId region(std::string_view name);
  const std::vector<std::string>& regions() const noexcept { return regions_; }
  const std::vector<Object>& objects() const noexcept { return objects_; }
  // The object that holds `address`, or null.
  const Object* object_at(std::uint64_t address) const noexcept;

  void commit();  // throws std::bad_alloc
  // Whole pages, the unused first one included.
  std::uint64_t bytes() const noexcept { return (end_ + kPageBytes - 1) / kPageBytes * kPageBytes; }
  std::byte* data() const noexcept { return mapping_.data(); }

  // Direct access, unseen by any machine: for checks after the run.
  template <Shareable T>
  T peek(const SharedArray<T>& array, std::uint64_t index) const noexcept {
    T value;
    std::memcpy(&value, data() + array.address_of(index), sizeof(T));
    return value;
  }

 private:
  std::uint64_t reserve(std::string_view name, std::uint64_t bytes, std::uint64_t alignment);

  std::uint64_t end_ = kPageBytes;
  std::vector<Object> objects_;
  std::vector<std::string> regions_{std::string("none")};
  Mapping mapping_;
};

}  // namespace substrata::workloads
