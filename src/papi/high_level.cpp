// The high-level interface: regions of a program measured without an eventset in sight.
#include "papi/boundary.hpp"
#include "papi/high_level/regions.hpp"
#include "papi/rates.hpp"

using namespace substrata;
using namespace substrata::capi;
using substrata::high_level::Regions;

CAPI int PAPI_hl_region_begin(const char* region) {
  return answered([&] {
    if (region == nullptr) return answer(refuse(Code::kInvalid, "a region needs a name"));
    [[maybe_unused]] static const bool kLogged = [] {
      Regions::instance().set_interface_version(kGeneration70 ? "7.0.0.0" : "7.3.0.0");
      return true;
    }();
    end_rate();
    return answer(Regions::instance().begin(region, face));
  });
}

CAPI int PAPI_hl_read(const char* region) {
  return answered([&] {
    if (region == nullptr) return answer(refuse(Code::kInvalid, "a region needs a name"));
    return answer(Regions::instance().read(region));
  });
}

CAPI int PAPI_hl_region_end(const char* region) {
  return answered([&] {
    if (region == nullptr) return answer(refuse(Code::kInvalid, "a region needs a name"));
    return answer(Regions::instance().end(region));
  });
}

CAPI int PAPI_hl_stop(void) {
  return answered([] { return answer(Regions::instance().stop()); });
}
