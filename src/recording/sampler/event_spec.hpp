// The events that a user asked for: names and patterns, and the thermal model where one is of it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "recording/sampler/sampler.hpp"

namespace substrata::sampler {

// Switched on when events of the model were asked for, until the object goes; in this process only. To be made
// before the library starts.
class ModelSetting {
 public:
  explicit ModelSetting(const std::vector<std::string>& event_specs);
  ~ModelSetting();
  ModelSetting(const ModelSetting&) = delete;
  ModelSetting& operator=(const ModelSetting&) = delete;
  // A command that is started does not see it.
  void keep_from(std::vector<std::pair<std::string, std::string>>* environment) const;

 private:
  bool set_ = false;
};

// Adds events in the order in which they were asked for. Those that were named and cannot be counted, and why, to
// *refused; returns the reasons of those that a pattern found. Throws std::runtime_error if no event has a name.
std::vector<std::string> add_event_specs(const std::vector<std::string>& event_specs, const TryAdd& try_add,
                                         std::vector<Refused>* refused);

// Adds events by name; those that refuse and are not in *refused, and why, to *refused.
void add_willing_events(const std::vector<std::string>& names, const TryAdd& try_add,
                        std::vector<Refused>* refused);

}  // namespace substrata::sampler
