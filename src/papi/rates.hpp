// The rate calls and the regions of the high-level interface measure with eventsets of the same substrate.
#pragma once

namespace substrata::capi {

// Ends the rate that the calling thread measures, if any: as with PAPI, a region's begin ends it.
void end_rate();

}  // namespace substrata::capi
