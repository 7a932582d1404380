// Lays out shared arrays and maps the memory behind them.
#include "sources/workloads/memory.hpp"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace substrata::workloads {

Mapping::Mapping(std::size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  void* mapped =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(mapped);
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, size_);
}

std::uint64_t Memory::reserve(std::string_view name, std::uint64_t bytes, std::uint64_t alignment) {
  const std::uint64_t address = (end_ + alignment - 1) & ~(alignment - 1);
  end_ = address + bytes;
  objects_.push_back({std::string(name), address, bytes});
  return address;
}

RegionId Memory::region(std::string_view name) {
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    if (regions_[i] == name) return static_cast<RegionId>(i);
  }
  regions_.emplace_back(name);
  return static_cast<RegionId>(regions_.size() - 1);
}

const Memory::Object* Memory::object_at(std::uint64_t address) const noexcept {
  for (const Object& object : objects_) {
    if (address >= object.address && address - object.address < object.bytes) return &object;
  }
  return nullptr;
}

void Memory::commit() { mapping_ = Mapping(bytes()); }

}  // namespace substrata::workloads
