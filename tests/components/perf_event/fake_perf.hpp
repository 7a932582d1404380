// The substrate perf_event over the fake kernel, as a plug-in called fake_perf: for tests through PAPI's
// interface.
#pragma once

#include <string>

#include "fake_kernel.hpp"
#include "perf_events/catalogue.hpp"

namespace substrata::test {

struct FakePerf {
  FakeKernel kernel;
  perf::PmuKind kind = perf::PmuKind::kCore;
  std::string root;  // below which /sys and /proc are looked for when the substrate is opened
};

}  // namespace substrata::test

// The one of the plug-in; the same for as long as it is loaded.
extern "C" substrata::test::FakePerf* fake_perf();
