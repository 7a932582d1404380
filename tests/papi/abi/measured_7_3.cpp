// Sizes, offsets, bit fields and constants of papi.h in the generation of PAPI 7.3.
#define FACTS facts_7_3
#define LAYOUT "layout-7.3.inc"
#define CONSTANTS "consts-7.3.inc"
#include "measured.inc"
