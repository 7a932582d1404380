// Fuzzes specs: any text is either a program or a message.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sources/workloads/catalogue.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using substrata::workloads::Values;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const substrata::workloads::Spec spec = substrata::workloads::split_spec(text);
  for (const substrata::workloads::Workload* workload : substrata::workloads::workloads()) {
    if (size != 0 && workload->name != spec.name) continue;
    Values values(workload->parameters);
    std::string error;
    if (!values.set(spec.parameters, error)) {
      if (error.empty()) std::abort();
      continue;
    }
    // What was taken is taken again when written out.
    Values again(workload->parameters);
    if (!again.set(values.text(), error) || again.text() != values.text()) std::abort();
  }
  return 0;
}
