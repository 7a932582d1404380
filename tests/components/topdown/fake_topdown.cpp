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

Host on_the_machine(const Host* host) {
  Host machine = *host;
  machine.root = fake_topdown()->root.c_str();
  return machine;
}
Status detect(const Host* host) noexcept {
  const Host machine = on_the_machine(host);
  return topdown_itself.detect(&machine);
}
Status open(const Host* host, Device** out) noexcept {
  const Host machine = on_the_machine(host);
  return topdown::open_over(&machine, fake_topdown()->kernel.kernel(), out);
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
