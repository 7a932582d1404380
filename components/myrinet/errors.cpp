// The text of the last refusal, for callers of the C interface.
#include <substrata/myrinet.h>

#include "base/error.hpp"

extern "C" const char* substrata_myrinet_error(void) { return substrata::last_refusal(); }
