// Loads libsensors and finds its functions.
#include "lmsensors/sensor_library.hpp"

#include <utility>

namespace substrata::lmsensors {
namespace {

// libsensors prints what it finds wrong in its configuration file; a library must not.
void be_quiet(const char*, int) {}
void be_quiet_too(const char*, const char*, int) {}

}  // namespace

SensorLibrary::~SensorLibrary() {
  if (began_) cleanup_();
}

bool SensorLibrary::load(const char* folder, std::string* why) {
  const auto load = [this](const std::string& path) {
    if (Result<SharedLibrary> loaded = SharedLibrary::load(path)) library_ = std::move(*loaded);
  };
  load("libsensors.so.5");
  if (!library_ && folder != nullptr && *folder != '\0') {
    for (const char* below : {"/lib64/libsensors.so.5", "/lib/libsensors.so.5"}) {
      if (!library_) load(std::string(folder) + below);
    }
  }
  if (!library_) {
    *why =
        "libsensors.so.5 is not installed (Debian: libsensors5), nor below PAPI_LMSENSORS_ROOT; the "
        "substrate "
        "coretemp reads the same chips without it";
    return false;
  }
  if (!find_functions()) {
    *why = "the libsensors.so.5 found lacks functions of version 5; install lm-sensors 3.5 or later";
    return false;
  }
  return true;
}

bool SensorLibrary::find_functions() {
  return library_.find("sensors_init", &init_) && library_.find("sensors_cleanup", &cleanup_) &&
         library_.find("sensors_get_detected_chips", &get_detected_chips) &&
         library_.find("sensors_snprintf_chip_name", &snprintf_chip_name) &&
         library_.find("sensors_get_label", &get_label) &&
         library_.find("sensors_get_features", &get_features) &&
         library_.find("sensors_get_all_subfeatures", &get_all_subfeatures) &&
         library_.find("sensors_get_value", &get_value) && library_.find("sensors_strerror", &strerror);
}

int SensorLibrary::begin() {
  int number = 0;
  if (get_detected_chips(nullptr, &number) != nullptr) return 0;  // the program began before us
  using Complain = void (*)(const char*, int);
  using ComplainOfFile = void (*)(const char*, const char*, int);
  auto* complain = static_cast<Complain*>(library_.symbol("sensors_parse_error"));
  auto* complain_of_file = static_cast<ComplainOfFile*>(library_.symbol("sensors_parse_error_wfn"));
  const Complain before = complain == nullptr ? nullptr : *complain;
  const ComplainOfFile before_of_file = complain_of_file == nullptr ? nullptr : *complain_of_file;
  if (complain != nullptr) *complain = be_quiet;
  if (complain_of_file != nullptr) *complain_of_file = be_quiet_too;
  const int error = init_(nullptr);
  if (complain != nullptr) *complain = before;
  if (complain_of_file != nullptr) *complain_of_file = before_of_file;
  began_ = error == 0;
  return error;
}

}  // namespace substrata::lmsensors
