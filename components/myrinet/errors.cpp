// The text of the last refusal, for callers of the C interface.
#include "errors.hpp"

#include <substrata/myrinet.h>

extern "C" const char* substrata_myrinet_error(void) { return substrata::last_refusal(); }
