// papi_clockres: latency and resolution of the library's clocks.
#include <cstdio>

#include "tools/papi_utilities/listing.hpp"
#include "tools/papi_utilities/timing.hpp"

using namespace substrata::utilities;

namespace {

constexpr int kSamples = 200'000;

// The latency is the mean difference of two calls one after the other; the resolution the mean of the
// differences that are not 0. False when the clock does not work.
bool examine(const char* name, long long (*clock)()) {
  Durations differences(kSamples);
  Durations steps(kSamples);
  for (int i = 0; i < kSamples; ++i) {
    const long long begin = clock();
    const long long difference = clock() - begin;
    if (begin < 0 || difference < 0) {
      std::fprintf(stderr, "papi_clockres: %s goes wrong: %lld, then %lld more\n", name, begin, difference);
      return false;
    }
    differences.add(difference);
    if (difference != 0) steps.add(difference);
  }
  std::printf("%s: min %.3f  max %.3f \n", name, static_cast<double>(differences.min()),
              static_cast<double>(differences.max()));
  std::printf("                   average %.3f std %.3f\n", differences.mean(), differences.deviation());
  if (steps.count() == differences.count())
    std::printf("%s : %7.3f   <%.3f\n", name, differences.mean(), differences.mean());
  else
    std::printf("%s : %7.3f    %7.3f\n", name, differences.mean(), steps.mean());
  return true;
}

}  // namespace

int main() {
  start_library();
  std::printf("Printing Clock latency and resolution.\n-----------------------------------------------\n");
  const bool ok =
      examine("PAPI_get_real_cyc", PAPI_get_real_cyc) && examine("PAPI_get_real_usec", PAPI_get_real_usec) &&
      examine("PAPI_get_virt_cyc", PAPI_get_virt_cyc) && examine("PAPI_get_virt_usec", PAPI_get_virt_usec);
  PAPI_shutdown();
  return ok ? 0 : 1;
}
