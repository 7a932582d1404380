// The events that the user asked for, or those of the machine.
#include "tools/substrata/commands/model_events.hpp"

namespace substrata::tool {
using namespace sampler;

void choose_events(const std::vector<std::string>& event_specs, const std::string& machine,
                   sampler::Measurement& sets) {
  if (!event_specs.empty()) {
    for (const std::string& name : expand(event_specs)) sets.add(name);
    return;
  }
  const int component = machine.empty() ? -1 : PAPI_get_component_index(machine.c_str());
  if (component < 0) return;
  for (const int code : native_events(component))
    if (describe(code).kind < 2 && describe(code).available != 0) sets.try_add(event_name(code));
}

void choose_models(sampler::Measurement& sets) {
  for (int component = 0; component < PAPI_num_components(); ++component)
    for (const int code : native_events(component))
      if (const substrata_event event = describe(code);
          event.modelled != 0 && event.kind == 0 && event.available != 0)
        sets.try_add(event_name(code));
}

}  // namespace substrata::tool
