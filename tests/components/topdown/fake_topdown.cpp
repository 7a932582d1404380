// The plug-in fake_topdown: the substrate topdown over the fake kernel, on the machine whose folder the test names.
#include "components/perf_event/fake_perf.hpp"
#include "topdown/topdown.hpp"

extern "C" substrata::EntryPoint substrata_entry_topdown;

extern "C" __attribute__((visibility("default"))) substrata::test::FakePerf* fake_topdown() {
  static auto* const all = new substrata::test::FakePerf;
  return all;
}

namespace {

using namespace substrata;

SubstrateTable topdown_itself;

// The host as the device sees it, for as long as the plug-in is loaded.
const Host* on_the_machine(const Host* host) {
  static Host machine;
  machine = *host;
  machine.root = fake_topdown()->root.c_str();
  return &machine;
}
Status detect(const Host* host) noexcept { return topdown_itself.detect(on_the_machine(host)); }
Status open(const Host* host, Device** out) noexcept {
  return topdown::open_over(on_the_machine(host), fake_topdown()->kernel.kernel(), out);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int32_t substrata_entry_fake_topdown(
    const Host* host, SubstrateTable* out) noexcept {
  if (const int32_t refused = substrata_entry_topdown(host, &topdown_itself); refused != 0) return refused;
  SubstrateTable table = topdown_itself;
  table.name = table.short_name = "fake_topdown";
  table.detect = detect;
  table.open = open;
  return publish(table, host, out);
}
