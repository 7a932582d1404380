// Fuzzes the reader of user-defined events and the evaluation of what it accepts.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/events/user_events.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace substrata;
  const UserEventsFile file =
      parse_user_events(std::string_view(reinterpret_cast<const char*>(data), size), [] {
        return std::vector<std::string>{"skx", "cpu"};
      });
  for (const RefusedLine& line : file.refused)
    if (line.why.empty() || line.number == 0) std::abort();
  const int64_t values[kMaxRecipeTerms] = {0, 1, -1, INT64_MAX, INT64_MIN};
  const uint16_t positions[kMaxRecipeTerms] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  for (const UserEvent& event : file.events) {
    const auto formula = Formula::make(event.kind, event.formula, static_cast<uint32_t>(event.terms.size()));
    if (!formula) std::abort();  // the reader has accepted it
    formula->evaluate(values, positions, 1e9);
  }
  return 0;
}
