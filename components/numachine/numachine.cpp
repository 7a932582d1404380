// The substrate "numachine": the counters of the modelled machine's monitors as events.
#include <substrata/substrate.h>

#include "monitor/counting.hpp"
#include "rack.hpp"

namespace {

using namespace substrata;

enum QualifierIndex : size_t { kNumber, kCpu };

constexpr monitor::Qualifier kQualifiers[] = {
    {"n", "which general-purpose counter; absent: 0", 0, 3},
    {"cpu", "one processor; absent: 0", 0, numachine::kMostProcessors - 1},
};

constexpr monitor::EventDescription kEvents[] = {
    {"GPC", "A general-purpose counter of a processor card, as its registers configure it.", "",
     ValueKind::kGauge, 32},
};

class NumachineMonitor final : public monitor::Monitor {
 public:
  explicit NumachineMonitor(const Host*) : Monitor(kEvents, kQualifiers) {}

 protected:
  Status bind(const monitor::Request& request, monitor::Binding* out) override {
    out->counters = {
        &numachine::Rack::instance().counter(static_cast<uint32_t>(request.value_or(kCpu, 0)),
                                             static_cast<unsigned>(request.value_or(kNumber, 0)))};
    return kSuccess;
  }
};

constexpr SubstrateTable kTable = monitor::table<NumachineMonitor>(
    {.name = "numachine",
     .summary = "The performance monitors of a modelled NUMAchine multiprocessor",
     .version = "1"});

}  // namespace

SUBSTRATA_ENTRY substrata_entry_numachine(const substrata::Host* host,
                                          substrata::SubstrateTable* out) noexcept {
  return substrata::publish(kTable, host, out);
}
