// A program whose regions are those of PAPI's high-level interface.
#include <papi.h>

#include <thread>

int main() {
  bool good = PAPI_hl_region_begin("outer part") == PAPI_OK;
  good = PAPI_hl_region_begin("inner") == PAPI_OK && good;
  std::thread other([] {
    if (PAPI_hl_region_begin("of another thread") == PAPI_OK) PAPI_hl_region_end("of another thread");
  });
  other.join();
  good = PAPI_hl_region_end("inner") == PAPI_OK && good;
  good = PAPI_hl_region_end("outer part") == PAPI_OK && good;
  good = PAPI_hl_region_begin("given up") == PAPI_OK && good;
  PAPI_hl_stop();
  return good ? 0 : 1;
}
