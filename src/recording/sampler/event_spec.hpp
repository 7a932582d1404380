// The events that a user asked for: names and patterns, and the thermal model where it is needed for them.
#ifndef SUBSTRATA_TOOL_RECORDING_WISHES_HPP
#define SUBSTRATA_TOOL_RECORDING_WISHES_HPP

#include <string>
#include <utility>
#include <vector>

#include "sampler/sampler.hpp"

namespace substrata::tool {

// Where no temperature is measured, the model is what there is; its values say so. Switched on when nothing
// was asked for or the model was, until the object goes; in this process only. To be made before the library
// starts.
class ModelSetting {
 public:
  explicit ModelSetting(const std::vector<std::string>& wishes);
  ~ModelSetting();
  ModelSetting(const ModelSetting&) = delete;
  ModelSetting& operator=(const ModelSetting&) = delete;
  // A command that is started does not see it.
  void keep_from(std::vector<std::pair<std::string, std::string>>* environment) const;

 private:
  bool set_ = false;
};

// Adds events in the order in which they were asked for. Throws std::runtime_error when one that was named
// cannot be counted; gives the reasons for those that a pattern found and that refused.
std::vector<std::string> add_wishes(const std::vector<std::string>& wishes, const TryAdd& try_add);

}  // namespace substrata::tool

#endif
