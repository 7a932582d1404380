// numachine-table410: each of the thesis's 23 recommended measurements, taken, and held against what is known of the
// program or the model (Lemieux, table 4.10).
#include "papers/numachine_items.hpp"
#include "papers/reproduction.hpp"

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

Study study() {
  std::vector<Claim> claims;
  for (const Measurement* item : all_measurements()) {
    claims.push_back({item->id,
                      {"4.5, table 4.10, item " + item->id, item->text, item->thesis},
                      {item->compared, "%", item->least, item->most},
                      Interval::kRange,
                      "nothing",
                      {},
                      {item->mutant, item->removes}});
  }
  return {
      std::move(claims),
      {{"2048, 4 processors", 2048, 4}, {"2048, 8 processors", 2048, 8}, {"4096, 12 processors", 4096, 12}},
      {{"16384, 8 processors", 16384, 8},
       {"16384, 16 processors", 16384, 16},
       {"65536, 32 processors", 65536, 32}},
      measure};
}

}  // namespace

extern const Reproduction numachine_table410{
    .id = "numachine-table410",
    .title = "Lemieux, table 4.10: the 23 recommended measurements, taken on the model",
    .study = study};

}  // namespace substrata::papers
