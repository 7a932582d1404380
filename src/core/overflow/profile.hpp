// Histograms of program addresses: which bucket an overflow counts into, and by how much.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "base/visibility.hpp"

namespace substrata {

// The bits of PAPI_profil's flags that choose how a sample counts.
enum ProfileFlags : uint32_t {
  kProfileRandom = 0x1,    // a random quarter of the samples is dropped
  kProfileWeighted = 0x2,  // a sample counts 1 to 255, by how far the event went beyond its threshold
  kProfileCompress = 0x4,  // the fuller a bucket, the likelier a sample is dropped
  kProfileData = 0x80,     // the addresses of data, not of instructions
};

// One region of code and the buffer of its buckets, which stays the client's.
struct ProfileSegment {
  void* base = nullptr;
  size_t size_bytes = 0;
  uint64_t offset = 0;  // address of the region's first byte
  // PAPI_profil(3): 0x20000 maps one address to a bucket, 0x10000 two, 0x8000 four; 2 all of them to the
  // first bucket.
  uint32_t scale = 0x10000;
};

// No bucket: the address is below the segment or beyond its buffer.
inline constexpr uint64_t kNoBucket = UINT64_MAX;
// The bucket of an address: (address - offset) * scale / 2^17. Scale 2 needs one bucket only; a size
// of 1 also means that, as in PAPI_sprofil(3)'s example. An address in the kernel's half of the address space has a
// bucket only in a segment that begins there, or at 0. Signal-safe.
uint64_t bucket_of(const ProfileSegment& segment, size_t bucket_bytes, uint64_t address) noexcept;

// Several segments filled by the overflows of one event. count() is thread-safe and signal-safe: it neither
// locks nor allocates; a full bucket stays full.
class Profile {
 public:
  // kInvalid: buckets not of 2, 4 or 8 bytes, a scale that is 0, 1 or above 0x20000, a buffer that is null or
  // not aligned for its buckets.
  SUBSTRATA_PRIVATE_API static Result<std::unique_ptr<Profile>> make(std::vector<ProfileSegment> segments,
                                                                     size_t bucket_bytes, uint32_t flags,
                                                                     int64_t threshold);

  // `excess`: how far beyond the threshold the event had gone. Where several segments have a bucket for the
  // address, the one that begins last counts.
  void count(uint64_t address, int64_t excess) noexcept;
  bool of_data() const noexcept { return (flags_ & kProfileData) != 0; }

 private:
  Profile(std::vector<ProfileSegment> segments, size_t bucket_bytes, uint32_t flags,
          int64_t threshold) noexcept;
  uint32_t increment(uint64_t value, int64_t excess) noexcept;
  uint32_t random() noexcept;
  template <class Bucket>
  void count_in(void* base, uint64_t index, int64_t excess) noexcept;

  std::vector<ProfileSegment> segments_;
  size_t bucket_bytes_;
  uint32_t flags_;
  int64_t threshold_;
  std::atomic<uint32_t> seed_{2463534242u};
};

}  // namespace substrata
