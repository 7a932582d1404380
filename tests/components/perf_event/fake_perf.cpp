// The plug-in fake_perf: the substrate's own code over the fake kernel.
#include "fake_perf.hpp"

#include "base/guard.hpp"
#include "base/table_of.hpp"
#include "perf_events/device.hpp"
#include "perf_events/slots.hpp"

namespace {

using namespace substrata;

struct FakePerfEvents : perf::OverflowingSlots {
  static Status open(const Host* host, Device** out) noexcept {
    return guarded([&]() -> Status {
      Host rooted = *host;
      rooted.root = fake_perf()->root.c_str();
      *out = reinterpret_cast<Device*>(new perf::DeviceState(rooted, fake_perf()->kernel.kernel(),
                                                             test::fake_encoder(), fake_perf()->kind));
      return kSuccess;
    });
  }
};

constexpr SubstrateTable kTable = [] {
  SubstrateTable data = perf::kThreadEvents;
  data.name = data.short_name = "fake_perf";
  data.prefixes = nullptr;
  return table_of<FakePerfEvents>(data);
}();

}  // namespace

extern "C" __attribute__((visibility("default"))) test::FakePerf* fake_perf() {
  static auto* const all = new test::FakePerf;
  return all;
}

SUBSTRATA_PUBLISH(fake_perf, kTable);
