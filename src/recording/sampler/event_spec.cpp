// Names and patterns one after the other, and the setting of the thermal model.
#include "recording/sampler/event_spec.hpp"

#include <papi.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "base/environment.hpp"
#include "recording/sampler/measuring.hpp"

namespace substrata::sampler {
namespace {
constexpr const char* kModelSetting = "SUBSTRATA_THERMAL_MODEL";

void add_refused(const Refused& one, std::vector<Refused>* refused) {
  if (std::none_of(refused->begin(), refused->end(),
                   [&](const Refused& other) { return other.name == one.name; }))
    refused->push_back(one);
}

}  // namespace

ModelSetting::ModelSetting(const std::vector<std::string>& event_specs) {
  const bool wanted = std::any_of(event_specs.begin(), event_specs.end(), [](const std::string& spec) {
    return spec.find("thermal_model") != std::string::npos;
  });
  if (!wanted || environment(kModelSetting) != nullptr) return;
  setenv(kModelSetting, "1", 1);
  set_ = true;
}

ModelSetting::~ModelSetting() {
  if (set_) unsetenv(kModelSetting);
}

void ModelSetting::keep_from(std::vector<std::pair<std::string, std::string>>* environment) const {
  if (set_) environment->emplace_back(kModelSetting, "");
}

std::vector<std::string> add_event_specs(const std::vector<std::string>& event_specs, const TryAdd& try_add,
                                         std::vector<Refused>* refused) {
  std::vector<std::string> of_patterns;
  for (const std::string& item : event_specs)
    for (std::size_t begin = 0; begin <= item.size();) {
      const std::size_t end = std::min(item.find(',', begin), item.size());
      const std::string spec = item.substr(begin, end - begin);
      begin = end + 1;
      const bool pattern = spec.find_first_of("*?") != std::string::npos;
      for (const std::string& name : expand({spec})) {
        const std::string why = try_add(name);
        if (why.empty()) continue;
        if (pattern) {
          of_patterns.push_back(why);
          continue;
        }
        int code = 0;
        if (PAPI_event_name_to_code(name.c_str(), &code) != PAPI_OK) throw std::runtime_error(why);
        add_refused({name, why}, refused);
      }
    }
  return of_patterns;
}

void add_willing_events(const std::vector<std::string>& names, const TryAdd& try_add,
                        std::vector<Refused>* refused) {
  for (const std::string& name : names)
    if (const std::string why = try_add(name); !why.empty() && why != kLeftOut)
      add_refused({name, why}, refused);
}

}  // namespace substrata::sampler
