// The codes of names that were found before, looked up without a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace substrata {

// Grows only: what was put in is never moved or freed before the end, and clear() makes it old instead. find() is
// thread-safe, also beside the others, and signal-safe; a fork may happen at any moment. The caller serialises put()
// and clear().
class FoundNames {
 public:
  static constexpr uint32_t kMost = 10'000;  // of all spellings; later ones are not kept

  FoundNames() = default;
  FoundNames(const FoundNames&) = delete;
  FoundNames& operator=(const FoundNames&) = delete;
  ~FoundNames() {
    for (std::atomic<Name*>& bucket : buckets_)
      for (Name* name = bucket.load(std::memory_order_relaxed); name != nullptr;)
        delete std::exchange(name, name->next);
  }

  bool find(std::string_view name, uint32_t* code) const noexcept {
    const Name* const known = in_bucket(bucket_of(name), name);
    if (known == nullptr) return false;
    const uint64_t is = known->is.load(std::memory_order_acquire);
    *code = static_cast<uint32_t>(is);
    return is >> 32 == age_.load(std::memory_order_acquire);
  }
  // Throws where memory is short; then it is not kept.
  void put(std::string_view name, uint32_t code) {
    const uint64_t is = uint64_t{age_.load(std::memory_order_relaxed)} << 32 | code;
    const size_t bucket = bucket_of(name);
    if (Name* const known = in_bucket(bucket, name); known != nullptr) {
      known->is.store(is, std::memory_order_release);
      return;
    }
    if (count_ == kMost) return;
    auto fresh = std::make_unique<Name>(std::string(name), buckets_[bucket].load(std::memory_order_relaxed));
    fresh->is.store(is, std::memory_order_relaxed);
    buckets_[bucket].store(fresh.release(), std::memory_order_release);
    ++count_;
  }
  void clear() noexcept { age_.fetch_add(1, std::memory_order_release); }

 private:
  struct Name {
    Name(std::string of, Name* before) : text(std::move(of)), next(before) {}
    const std::string text;
    Name* const next;
    std::atomic<uint64_t> is{0};  // its code, and above it the age in which that was so
  };
  static constexpr size_t kBuckets = 256;

  static size_t bucket_of(std::string_view name) noexcept {
    return std::hash<std::string_view>{}(name) % kBuckets;
  }
  Name* in_bucket(size_t bucket, std::string_view text) const noexcept {
    Name* name = buckets_[bucket].load(std::memory_order_acquire);
    while (name != nullptr && name->text != text) name = name->next;
    return name;
  }

  std::array<std::atomic<Name*>, kBuckets> buckets_{};
  std::atomic<uint32_t> age_{1};
  uint32_t count_ = 0;
};

}  // namespace substrata
