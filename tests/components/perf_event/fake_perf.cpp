// The plug-in fake_perf: the substrate's own code over the fake kernel.
#include "fake_perf.hpp"

#include "base/guard.hpp"
#include "perf_events/device.hpp"

namespace {

using namespace substrata;

Status open(const Host* host, Device** out) noexcept {
  return guarded([&]() -> Status {
    Host rooted = *host;
    rooted.root = fake_perf()->root.c_str();
    *out = reinterpret_cast<Device*>(
        new perf::DeviceState(rooted, fake_perf()->kernel.kernel(), test::fake_encoder(), fake_perf()->kind));
    return kSuccess;
  });
}

SubstrateTable table() noexcept {
  SubstrateTable all = perf::table_of_slots();
  all.name = "fake_perf";
  all.short_name = "fake_perf";
  all.prefixes = nullptr;
  all.open = open;
  return all;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) test::FakePerf* fake_perf() {
  static auto* const all = new test::FakePerf;
  return all;
}

SUBSTRATA_PUBLISH(fake_perf, table());
