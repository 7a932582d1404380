// libsensors, loaded at run time: the functions lmsensors uses and who may call them when.
#pragma once

#include <sensors/error.h>
#include <sensors/sensors.h>
#include <substrata/substrate.h>

#include <string>

#include "base/shared_library.hpp"

namespace substrata::lmsensors {

// A loaded libsensors. Not thread-safe itself: the owner serialises the calls.
class SensorLibrary {
 public:
  ~SensorLibrary();

  // Loads libsensors.so.5 from the usual places, else from lib64/ or lib/ below `folder`
  // (PAPI_LMSENSORS_ROOT, may be null). False with a message.
  bool load(const char* folder, std::string* why);

  // Reads the configuration and finds the chips, unless the program did so itself through its own libsensors;
  // then its chips are used and left alone at the end. 0 or libsensors' error.
  int begin();

  decltype(&sensors_get_detected_chips) get_detected_chips = nullptr;
  decltype(&sensors_snprintf_chip_name) snprintf_chip_name = nullptr;
  decltype(&sensors_get_label) get_label = nullptr;
  decltype(&sensors_get_features) get_features = nullptr;
  decltype(&sensors_get_all_subfeatures) get_all_subfeatures = nullptr;
  decltype(&sensors_get_value) get_value = nullptr;
  decltype(&sensors_strerror) strerror = nullptr;

 private:
  bool find_functions();

  SharedLibrary library_;
  bool began_ = false;
  decltype(&sensors_init) init_ = nullptr;
  decltype(&sensors_cleanup) cleanup_ = nullptr;
};

}  // namespace substrata::lmsensors
