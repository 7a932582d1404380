// Bucket arithmetic of profiles.
#include "core/overflow/profile.hpp"

#include <limits>
#include <utility>

namespace substrata {
namespace {

constexpr uint32_t kAllInOne = 2;
constexpr uint32_t kTwoToOne = 0x10000;  // bytes to a bucket
constexpr uint32_t kOneToOne = 0x20000;

}  // namespace

uint64_t bucket_of(const ProfileSegment& segment, size_t bucket_bytes, uint64_t address) noexcept {
  if (address < segment.offset) return kNoBucket;
  if (segment.offset != 0 && (address ^ segment.offset) >> 63 != 0) return kNoBucket;
  if (segment.scale == kAllInOne)
    return segment.size_bytes == 1 || segment.size_bytes >= bucket_bytes ? 0 : kNoBucket;
  __extension__ using Wide = unsigned __int128;
  const Wide index = (static_cast<Wide>(address - segment.offset) * segment.scale) >> 17;
  return index < segment.size_bytes / bucket_bytes ? static_cast<uint64_t>(index) : kNoBucket;
}

Result<std::unique_ptr<Profile>> Profile::make(std::vector<ProfileSegment> segments, size_t bucket_bytes,
                                               uint32_t flags, int64_t threshold) {
  if (bucket_bytes != 2 && bucket_bytes != 4 && bucket_bytes != 8)
    return refuse(Code::kInvalid, "a profile has buckets of 2, 4 or 8 bytes, not of %u",
                  static_cast<unsigned>(bucket_bytes));
  for (const ProfileSegment& segment : segments) {
    if (segment.scale < kAllInOne || (segment.scale > kTwoToOne && segment.scale != kOneToOne))
      return refuse(Code::kInvalid,
                    "a profile's scale lies between 2 and 0x10000 or is 0x20000; 0x%x was given",
                    segment.scale);
    if (segment.base == nullptr || reinterpret_cast<uintptr_t>(segment.base) % bucket_bytes != 0)
      return refuse(Code::kInvalid, "a profile's buffer must be there and aligned to its buckets of %u bytes",
                    static_cast<unsigned>(bucket_bytes));
  }
  return std::unique_ptr<Profile>(new Profile(std::move(segments), bucket_bytes, flags, threshold));
}

Profile::Profile(std::vector<ProfileSegment> segments, size_t bucket_bytes, uint32_t flags,
                 int64_t threshold) noexcept
    : segments_(std::move(segments)), bucket_bytes_(bucket_bytes), flags_(flags), threshold_(threshold) {}

// Xorshift with the period 2^32 - 1 (Marsaglia, Xorshift RNGs, Journal of Statistical Software 8(14), 2003).
// Two threads that draw at once may draw the same number: the quarter stays a quarter.
uint32_t Profile::random() noexcept {
  uint32_t x = seed_.load(std::memory_order_relaxed);
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  seed_.store(x, std::memory_order_relaxed);
  return x;
}

// By how much a sample raises a bucket that stands at `value`; 0: the sample is dropped.
uint32_t Profile::increment(uint64_t value, int64_t excess) noexcept {
  if ((flags_ & kProfileRandom) != 0 && random() < UINT32_MAX / 4) return 0;
  if ((flags_ & kProfileCompress) != 0 && random() >> 1 < value) return 0;
  if ((flags_ & kProfileWeighted) == 0 || excess <= 1) return 1;
  if (excess >= threshold_) return 255;
  __extension__ using Wide = __int128;
  const auto weight = static_cast<uint32_t>(static_cast<Wide>(excess) * 255 / threshold_);
  return weight == 0 ? 1 : weight;
}

template <class Bucket>
void Profile::count_in(void* base, uint64_t index, int64_t excess) noexcept {
  Bucket* const bucket = static_cast<Bucket*>(base) + index;
  Bucket value = __atomic_load_n(bucket, __ATOMIC_RELAXED);
  const uint32_t more = increment(value, excess);
  if (more == 0) return;
  Bucket next;
  do {
    const Bucket left = static_cast<Bucket>(std::numeric_limits<Bucket>::max() - value);
    next = left < more ? std::numeric_limits<Bucket>::max() : static_cast<Bucket>(value + more);
  } while (!__atomic_compare_exchange_n(bucket, &value, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

void Profile::count(uint64_t address, int64_t excess) noexcept {
  const ProfileSegment* best = nullptr;
  uint64_t index = kNoBucket;
  for (const ProfileSegment& segment : segments_) {
    const uint64_t found = bucket_of(segment, bucket_bytes_, address);
    if (found == kNoBucket || (best != nullptr && segment.offset <= best->offset)) continue;
    best = &segment;
    index = found;
  }
  if (best == nullptr) return;
  if (bucket_bytes_ == 2) return count_in<uint16_t>(best->base, index, excess);
  if (bucket_bytes_ == 4) return count_in<uint32_t>(best->base, index, excess);
  count_in<uint64_t>(best->base, index, excess);
}

}  // namespace substrata
