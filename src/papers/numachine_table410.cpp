// numachine-table410: each of the thesis's 23 recommended measurements, taken, and held against what is known of the
// program or the model (Lemieux, table 4.10).
#include "papers/claims.hpp"
#include "papers/numachine_items.hpp"

namespace substrata::papers {
namespace {

std::vector<const Measurement*> all_measurements() {
  std::vector<const Measurement*> all;
  for (const auto* group : {&processor_measurements, &memory_measurements, &software_measurements}) {
    for (const Measurement& one : *group) all.push_back(&one);
  }
  return all;
}

Readings measure(const Case& one) {
  Readings found;
  for (const Measurement* item : all_measurements()) {
    if (one.wants(item->id)) found[item->id] = item->take(one);
  }
  return found;
}

}  // namespace

extern const Reproduction numachine_table410 =
    stated("numachine-table410", "Lemieux, table 4.10: the 23 recommended measurements, taken on the model",
           measure);

}  // namespace substrata::papers
