// papi_version: the version of the library.
#include <cstdio>

#include "tools/papi_utilities/listing.hpp"

int main() {
  substrata::utilities::start_library();
  const int version = PAPI_get_opt(PAPI_LIB_VERSION, nullptr);
  std::printf("PAPI Version: %d.%d.%d.%d\n", PAPI_VERSION_MAJOR(version), PAPI_VERSION_MINOR(version),
              PAPI_VERSION_REVISION(version), PAPI_VERSION_INCREMENT(version));
  PAPI_shutdown();
  return 0;
}
