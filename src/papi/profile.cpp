// Profiles: histograms of program addresses that overflows fill.
#include "core/overflow/profile.hpp"

#include <utility>
#include <vector>

#include "core/eventset/overflow.hpp"
#include "papi/boundary.hpp"

using namespace substrata;
using namespace substrata::capi;

static_assert(kProfileRandom == PAPI_PROFIL_RANDOM && kProfileWeighted == PAPI_PROFIL_WEIGHTED &&
              kProfileCompress == PAPI_PROFIL_COMPRESS && kProfileData == PAPI_PROFIL_DATA_EAR);

namespace {

constexpr int kEventAddresses = PAPI_PROFIL_DATA_EAR | PAPI_PROFIL_INST_EAR;

int check_flags(int flags) {
  constexpr int kKnown = PAPI_PROFIL_RANDOM | PAPI_PROFIL_WEIGHTED | PAPI_PROFIL_COMPRESS |
                         PAPI_PROFIL_BUCKETS | PAPI_PROFIL_FORCE_SW | kEventAddresses;
  if ((flags & ~kKnown) != 0)
    return answer(refuse(Code::kInvalid, "unknown profile flags 0x%x", flags & ~kKnown));
  return PAPI_OK;
}

// 2, 4 or 8; 0 when the flags name two sizes.
size_t bucket_bytes_of(int flags) {
  switch (flags & PAPI_PROFIL_BUCKETS) {
    case 0:
    case PAPI_PROFIL_BUCKET_16:
      return 2;
    case PAPI_PROFIL_BUCKET_32:
      return 4;
    case PAPI_PROFIL_BUCKET_64:
      return 8;
    default:
      return 0;
  }
}

int profile_event(std::vector<ProfileSegment> segments, int set, int event, int threshold, int flags) {
  const auto code = static_cast<uint32_t>(event);
  if (threshold == 0) return answer(clear_overflow(set, code));
  if ((flags & PAPI_PROFIL_INST_EAR) != 0 && bucket_bytes_of(flags) != 0)
    return answer(refuse(Code::kNoSupport, "instruction address registers are of Itanium processors only"));
  Result<std::unique_ptr<Profile>> profile =
      Profile::make(std::move(segments), bucket_bytes_of(flags), static_cast<uint32_t>(flags), threshold);
  // What is wrong with the set or the event is reported first, as PAPI does.
  if (!profile) {
    const Status refusal = profile.status();
    const Status earlier = set_profile(set, code, threshold, OverflowBy::kEither, nullptr);
    return answer(earlier.code == Code::kInvalid ? refusal : earlier);
  }
  OverflowBy by = OverflowBy::kEither;
  if ((flags & PAPI_PROFIL_FORCE_SW) != 0) by = OverflowBy::kTimer;
  if ((flags & PAPI_PROFIL_DATA_EAR) != 0) {
    // A timer's signal knows of no data.
    if (by == OverflowBy::kTimer)
      return answer(refuse(Code::kNoSupport, "a profile by the timer has instruction addresses only"));
    by = OverflowBy::kSubstrate;
  }
  return answer(set_profile(set, code, threshold, by, std::move(*profile)));
}

}  // namespace

CAPI int PAPI_profil(void* buf, unsigned bufsiz, vptr_t offset, unsigned scale, int EventSet, int EventCode,
                     int threshold, int flags) {
  return answered([&] {
    if (const int refusal = check_flags(flags); refusal != PAPI_OK) return refusal;
    return profile_event({{buf, bufsiz, reinterpret_cast<uint64_t>(offset), scale}}, EventSet, EventCode,
                         threshold, flags);
  });
}

CAPI int PAPI_sprofil(PAPI_sprofil_t* prof, int profcnt, int EventSet, int EventCode, int threshold,
                      int flags) {
  return answered([&] {
    if (const int refusal = check_flags(flags); refusal != PAPI_OK) return refusal;
    // As in PAPI, an empty list of segments is accepted: nothing is counted.
    std::vector<ProfileSegment> segments;
    for (int i = 0; prof != nullptr && i < profcnt; ++i)
      segments.push_back(
          {prof[i].pr_base, prof[i].pr_size, reinterpret_cast<uint64_t>(prof[i].pr_off), prof[i].pr_scale});
    return profile_event(std::move(segments), EventSet, EventCode, threshold, flags);
  });
}
