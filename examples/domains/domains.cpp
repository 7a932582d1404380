// What a computation costs in several domains at once, through the C++ interface: processor time, page
// faults, packets on the loopback interface, and temperature where a sensor is there.
#include <cstdio>
#include <numeric>
#include <string>
#include <substrata/substrata.hpp>
#include <vector>

namespace measure = substrata::client;

namespace {

const char* origin_name(measure::Origin origin) {
  return origin == measure::Origin::kModelled ? "modelled" : "measured";
}

// The first temperature of a substrate that opens here, if there is one.
std::string temperature_event(const measure::Library& library, const char* substrate) {
  for (const measure::SubstrateInfo& info : library.substrates()) {
    if (info.name != substrate || !info.available) continue;
    for (const measure::EventInfo& event : library.events(info.index))
      if (event.available && event.kind == measure::Kind::kGauge && event.unit == "mdegC") return event.name;
  }
  return {};
}

void work() {
  std::vector<double> values(1 << 20);
  std::iota(values.begin(), values.end(), 0.0);
  std::printf("sum %.0f\n", std::accumulate(values.begin(), values.end(), 0.0));
}

void measure_work() {
  const measure::Library library = measure::Library::open().value();

  // One set per substrate; what a value is read as is settled when its event is added.
  measure::EventSet processor = library.event_set("perf_event").value();
  const auto clock = processor.add<std::chrono::nanoseconds>("perf::TASK-CLOCK").value();
  const auto faults = processor.add("perf::PAGE-FAULTS").value();
  measure::EventSet network = library.event_set("net").value();
  const auto packets = network.add<measure::Packets>("net:::lo:rx:packets").value();
  const auto bytes = network.add<measure::Bytes>("net:::lo:rx:bytes").value();

  measure::Run run = measure::EventSet::start_together(processor, network).value();
  work();
  const measure::Snapshot end = run.stop().value();

  const std::chrono::duration<double, std::milli> used = end[clock].amount;
  std::printf("%.3f ms of processor time, %s\n", used.count(), origin_name(end[clock].origin));
  std::printf("%lld page faults, %s\n", static_cast<long long>(end[faults].amount.as_int()),
              origin_name(end[faults].origin));
  std::printf("%lld packets and %lld bytes on lo\n", static_cast<long long>(end[packets].amount.count),
              static_cast<long long>(end[bytes].amount.count));

  // A domain that may be missing is asked, not assumed.
  for (const char* substrate : {"coretemp", "thermal_model"}) {
    const std::string name = temperature_event(library, substrate);
    if (name.empty()) continue;
    measure::EventSet sensors = library.event_set(substrate).value();
    const auto slot = sensors.add<measure::Temperature>(name).value();
    const measure::Snapshot level = sensors.start().value().stop().value();
    std::printf("%.1f degrees Celsius at %s, %s\n", level[slot].amount.in_units(), name.c_str(),
                origin_name(level[slot].origin));
    return;
  }
  std::printf("no temperature: ");
  for (const measure::SubstrateInfo& info : library.substrates())
    if (info.name == "coretemp") std::printf("%s\n", info.why.c_str());
}

}  // namespace

int main() {
  try {
    measure_work();
  } catch (const measure::Failure& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
  return 0;
}
