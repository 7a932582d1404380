/* papi.h as a C99 program sees it: compiles without a warning. */
#include <papi.h>

int clean_c99(int code);
int clean_c99(int code) { return IS_PRESET(code) || IS_NATIVE(code) || code == PAPI_VER_CURRENT; }
