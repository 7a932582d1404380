// Finds workloads and makes their programs.
#include "sources/workloads/catalogue.hpp"

#include <algorithm>
#include <array>

#include "sources/workloads/programs/programs.hpp"

namespace substrata::workloads {

std::span<const Workload* const> workloads() noexcept {
  static constexpr std::array kAll{&kConflict, &kFalseSharing, &kFft,          &kGauss,
                                   &kHotSpot,  &kLu,           &kMigratory,    &kOcean,
                                   &kPingPong, &kPipeline,     &kPointerChase, &kProducerConsumer,
                                   &kRadix,    &kStream,       &kTrueSharing,  &kWaterSpatial};
  return kAll;
}

const Workload* find_workload(std::string_view name) noexcept {
  for (const Workload* workload : workloads()) {
    if (workload->name == name) return workload;
  }
  return nullptr;
}

std::unique_ptr<Program> make_program(std::string_view text, std::uint64_t seed, std::string& error,
                                      std::string* full_text) {
  const Spec spec = split_spec(text);
  const Workload* workload = find_workload(spec.name);
  if (workload == nullptr) {
    error = "there is no workload '";
    for (const char c : spec.name.substr(0, 60)) error += c >= 32 && c < 127 ? c : '?';
    error += "'; known:";
    for (const Workload* known : workloads()) (error += ' ') += known->name;
    return nullptr;
  }
  Values values(workload->parameters);
  if (const auto& all = workload->parameters;
      std::any_of(all.begin(), all.end(), [](const Parameter& p) { return p.name == "seed"; })) {
    if (!values.set("seed=" + std::to_string(seed % kSeeds), error)) return nullptr;
  }
  if (!values.set(spec.parameters, error)) {
    error = std::string(workload->name) + ": " + error;
    return nullptr;
  }
  if (full_text != nullptr) *full_text = std::string(workload->name) + ":" + values.text();
  return workload->make(values);
}

}  // namespace substrata::workloads
