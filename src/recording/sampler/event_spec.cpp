// Names and patterns one after the other, and the setting of the thermal model.
#include "sampler/event_spec.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "measuring.hpp"

namespace substrata::tool {
namespace {
constexpr const char* kModelSetting = "SUBSTRATA_THERMAL_MODEL";
}  // namespace

ModelSetting::ModelSetting(const std::vector<std::string>& wishes) {
  const bool wanted =
      wishes.empty() || std::any_of(wishes.begin(), wishes.end(), [](const std::string& wish) {
        return wish.find("thermal_model") != std::string::npos;
      });
  if (!wanted || std::getenv(kModelSetting) != nullptr) return;
  setenv(kModelSetting, "1", 1);
  set_ = true;
}

ModelSetting::~ModelSetting() {
  if (set_) unsetenv(kModelSetting);
}

void ModelSetting::keep_from(std::vector<std::pair<std::string, std::string>>* environment) const {
  if (set_) environment->emplace_back(kModelSetting, "");
}

std::vector<std::string> add_wishes(const std::vector<std::string>& wishes, const TryAdd& try_add) {
  std::vector<std::string> refused;
  for (const std::string& item : wishes)
    for (std::size_t begin = 0; begin <= item.size();) {
      const std::size_t end = std::min(item.find(',', begin), item.size());
      const std::string wish = item.substr(begin, end - begin);
      begin = end + 1;
      const bool pattern = wish.find_first_of("*?") != std::string::npos;
      for (const std::string& name : expand({wish})) {
        const std::string why = try_add(name);
        if (why.empty()) continue;
        if (!pattern) throw std::runtime_error(why);
        refused.push_back(why);
      }
    }
  return refused;
}

}  // namespace substrata::tool
