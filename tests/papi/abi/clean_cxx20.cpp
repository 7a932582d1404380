// papi.h as a C++20 program sees it: compiles without a warning.
#include <papi.h>
#include <papiStdEventDefs.h>

int clean_cxx20(int code);
int clean_cxx20(int code) {
  return IS_USER_DEFINED(code) || code == PAPI_VER_CURRENT ? PAPI_OK : PAPI_EINVAL;
}
