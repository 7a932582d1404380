/* A program with Caliper's regions: one that touches 2000 fresh pages, twice, and one that touches none. */
#include <caliper/cali.h>

#include "touched.h"

int main(void) {
  CALI_MARK_BEGIN("all");
  for (int i = 0; i < 2; ++i) {
    CALI_MARK_BEGIN("touch");
    if (touch_pages(1000) != 0) return 1;
    CALI_MARK_END("touch");
  }
  CALI_MARK_BEGIN("compute");
  volatile double sum = 0;
  for (int i = 1; i < 10000000; ++i) sum = sum + 1.0 / i;
  CALI_MARK_END("compute");
  CALI_MARK_END("all");
  return 0;
}
