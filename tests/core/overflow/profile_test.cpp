// Bucket arithmetic of profiles against a search through all buckets (PA-22).
#include "core/overflow/profile.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

namespace {

using namespace substrata;

// PAPI_profil(3) turned round: bucket i holds the addresses whose distance times scale lies in
// [i * 2^17, (i + 1) * 2^17).
uint64_t searched_bucket(const ProfileSegment& segment, size_t bytes, uint64_t address) {
  if (address < segment.offset) return kNoBucket;
  const uint64_t scaled = (address - segment.offset) * segment.scale;  // small enough in this test
  for (uint64_t i = 0; i < segment.size_bytes / bytes; ++i) {
    if (scaled >= i * 131072 && scaled < (i + 1) * 131072) return i;
  }
  return kNoBucket;
}

TEST(ProfileBucket, IsTheOneASearchFinds) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 4000; ++round) {
    ProfileSegment segment;
    segment.offset = 0x400000 + random() % 5000;
    segment.size_bytes = random() % 700;
    segment.scale = 3 + static_cast<uint32_t>(random() % (0x20000 - 2));
    const size_t bytes = size_t{2} << random() % 3;
    const uint64_t address = 0x400000 + random() % 9000;
    EXPECT_EQ(bucket_of(segment, bytes, address), searched_bucket(segment, bytes, address))
        << "offset " << segment.offset << " size " << segment.size_bytes << " scale " << segment.scale
        << " address " << address;
  }
}

TEST(ProfileBucket, RepresentativeScalesMapAsTheManualSays) {
  for (const auto& [scale, addresses] :
       {std::pair<uint32_t, uint64_t>{0x20000, 1}, {0x10000, 2}, {0x8000, 4}, {0x4000, 8}}) {
    const ProfileSegment segment{nullptr, 200, 1000, scale};
    for (uint64_t i = 0; i < 100 * addresses; ++i)
      EXPECT_EQ(bucket_of(segment, 2, 1000 + i), i / addresses) << scale;
    EXPECT_EQ(bucket_of(segment, 2, 1000 + 100 * addresses), kNoBucket);
    EXPECT_EQ(bucket_of(segment, 2, 999), kNoBucket);
  }
}

TEST(ProfileBucket, AddressesAtTheEndsOfMemoryDoNotWrap) {
  EXPECT_EQ(bucket_of({nullptr, 64, 0, 0x20000}, 2, UINT64_MAX), kNoBucket);
  EXPECT_EQ(bucket_of({nullptr, 64, UINT64_MAX, 0x20000}, 2, UINT64_MAX), 0u);
  EXPECT_EQ(bucket_of({nullptr, 1, 0, 2}, 8, UINT64_MAX), 0u) << "one bucket for all";
  EXPECT_EQ(bucket_of({nullptr, 4, 0, 2}, 8, 5), kNoBucket) << "no space for it";
}

TEST(ProfileBucket, KernelAddressesAreNotThoseOfAProgramsSegment) {
  constexpr uint64_t kKernel = 0xffffffff81000000;
  EXPECT_EQ(bucket_of({nullptr, 8, 0x400000, 2}, 8, kKernel), kNoBucket);
  EXPECT_EQ(bucket_of({nullptr, 8, 0, 2}, 8, kKernel), 0u) << "one bucket for all";
  EXPECT_EQ(bucket_of({nullptr, 8, kKernel, 0x20000}, 8, kKernel), 0u);
}

template <class Bucket>
void counts_like_a_histogram() {
  std::mt19937_64 random(11);
  std::vector<Bucket> low(50), high(40), expected_low(50), expected_high(40);
  Bucket rest = 0, expected_rest = 0;
  const auto bytes = sizeof(Bucket);
  Result<std::unique_ptr<Profile>> profile = Profile::make({{&rest, bytes, 0, 2},
                                                            {low.data(), 50 * bytes, 1000, 0x10000},
                                                            {high.data(), 40 * bytes, 1080, 0x20000}},
                                                           bytes, 0, 10);
  ASSERT_TRUE(profile.has_value());
  for (int i = 0; i < 20000; ++i) {
    const uint64_t address = 900 + random() % 400;
    (*profile)->count(address, 0);
    // The segment that begins last and has the address: high [1080, 1120), low [1000, 1100), else the rest.
    if (address >= 1080 && address < 1120)
      ++expected_high[address - 1080];
    else if (address >= 1000 && address < 1100)
      ++expected_low[(address - 1000) / 2];
    else
      ++expected_rest;
  }
  EXPECT_EQ(low, expected_low);
  EXPECT_EQ(high, expected_high);
  EXPECT_EQ(rest, expected_rest);
}

TEST(ProfileCount, SegmentsOf16BitBucketsFillAsCounted) { counts_like_a_histogram<uint16_t>(); }
TEST(ProfileCount, SegmentsOf32BitBucketsFillAsCounted) { counts_like_a_histogram<uint32_t>(); }
TEST(ProfileCount, SegmentsOf64BitBucketsFillAsCounted) { counts_like_a_histogram<uint64_t>(); }

TEST(ProfileCount, FullBucketStaysFull) {
  uint16_t bucket = 65500;
  Result<std::unique_ptr<Profile>> profile = Profile::make({{&bucket, 2, 0, 2}}, 2, kProfileWeighted, 10);
  ASSERT_TRUE(profile.has_value());
  for (int i = 0; i < 3; ++i) (*profile)->count(5, 10);
  EXPECT_EQ(bucket, 65535);
}

TEST(ProfileCount, RandomDropsAQuarter) {  // the generator is seeded: the count is always the same
  uint32_t bucket = 0;
  Result<std::unique_ptr<Profile>> profile = Profile::make({{&bucket, 4, 0, 2}}, 4, kProfileRandom, 10);
  ASSERT_TRUE(profile.has_value());
  for (int i = 0; i < 100000; ++i) (*profile)->count(5, 0);
  EXPECT_NEAR(bucket, 75000, 700);  // five standard deviations
}

TEST(ProfileCount, CompressSparesBucketsThatAreBig) {
  uint64_t bucket = uint64_t{1} << 31;  // beyond every random number
  Result<std::unique_ptr<Profile>> profile = Profile::make({{&bucket, 8, 0, 2}}, 8, kProfileCompress, 10);
  ASSERT_TRUE(profile.has_value());
  for (int i = 0; i < 1000; ++i) (*profile)->count(5, 0);
  EXPECT_EQ(bucket, uint64_t{1} << 31);
  bucket = 0;
  (*profile)->count(5, 0);
  EXPECT_EQ(bucket, 1u);
}

TEST(ProfileMake, RefusesWhatCannotBeFilled) {  // PA-35
  alignas(8) char buffer[16] = {};
  const auto answer = [](const ProfileSegment& segment, size_t bytes) {
    return Profile::make({segment}, bytes, 0, 10).status().code;
  };
  EXPECT_EQ(answer({buffer, 16, 0, 0x10000}, 2), Code::kOk);
  EXPECT_EQ(answer({buffer, 16, 0, 0x10000}, 0), Code::kInvalid);
  EXPECT_EQ(answer({buffer, 16, 0, 0}, 2), Code::kInvalid);
  EXPECT_EQ(answer({buffer, 16, 0, 1}, 2), Code::kInvalid);
  EXPECT_EQ(answer({buffer, 16, 0, 0x20001}, 2), Code::kInvalid);
  EXPECT_EQ(answer({nullptr, 16, 0, 0x10000}, 2), Code::kInvalid);
  EXPECT_EQ(answer({buffer + 1, 15, 0, 0x10000}, 2), Code::kInvalid);
}

}  // namespace
