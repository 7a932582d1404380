// papi_error_codes: every error number with its text.
#include <cstdio>

#include "tools/papi_utilities/listing.hpp"

int main() {
  substrata::utilities::start_library();
  const int version = PAPI_get_opt(PAPI_LIB_VERSION, nullptr);
  std::printf("\n----------------------------------\nFor PAPI Version: %d.%d.%d.%d\n",
              PAPI_VERSION_MAJOR(version), PAPI_VERSION_MINOR(version), PAPI_VERSION_REVISION(version),
              PAPI_VERSION_INCREMENT(version));
  std::printf("----------------------------------\n");
  int count = 0;
  for (; const char* text = PAPI_strerror(-count); ++count) std::printf("Error code %4d: %s\n", -count, text);
  std::printf("There are %d error codes defined\n----------------------------------\n\n", count);
  PAPI_shutdown();
  return count > 1 ? 0 : 1;
}
