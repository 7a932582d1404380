// Memory for large arrays with scattered accesses: where the system has large pages to give, such an
// array takes a few entries of the translation buffer instead of thousands.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace substrata::numachine {

// An allocator of the standard library's kind. Arrays of a large page or more are aligned to one and the
// system is asked for large pages; refused, it is ordinary memory. Throws std::bad_alloc.
template <typename Element>
class LargePages {
 public:
  using value_type = Element;

  LargePages() noexcept = default;
  template <typename Other>
  explicit(false) LargePages(const LargePages<Other>&) noexcept {}

  Element* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / 2 / sizeof(Element)) throw std::bad_array_new_length();
    const std::size_t bytes = count * sizeof(Element);
    void* const place = ::operator new(bytes, alignment(bytes));
    if (bytes >= kLargePage) madvise(place, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
    return static_cast<Element*>(place);
  }
  void deallocate(Element* place, std::size_t count) noexcept {
    ::operator delete(place, alignment(count * sizeof(Element)));
  }
  template <typename Other>
  bool operator==(const LargePages<Other>&) const noexcept {
    return true;
  }

 private:
  static constexpr std::size_t kLargePage = std::size_t{2} << 20;
  static std::align_val_t alignment(std::size_t bytes) noexcept {
    return std::align_val_t{bytes >= kLargePage ? kLargePage : 64};
  }
};

}  // namespace substrata::numachine
