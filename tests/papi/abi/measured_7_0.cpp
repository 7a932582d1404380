// Sizes, offsets, bit fields and constants of papi.h in the generation of PAPI 7.0.
#define PAPI_GENERATION_7_0
#define FACTS facts_7_0
#define LAYOUT "layout-7.0.inc"
#define CONSTANTS "consts-7.0.inc"
#include "measured.inc"
