// Loads libsensors and finds its functions.
#include "sensor_library.hpp"

#include <dlfcn.h>

namespace substrata::lmsensors {
namespace {

// libsensors prints what it finds wrong in its configuration file; a library must not.
void be_quiet(const char*, int) {}
void be_quiet_too(const char*, const char*, int) {}

template <typename Function>
bool find(void* handle, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(handle, name));
  return *function != nullptr;
}

}  // namespace

SensorLibrary::~SensorLibrary() {
  if (began_) cleanup_();
  if (handle_ != nullptr) ::dlclose(handle_);
}

bool SensorLibrary::load(const char* folder, std::string* why) {
  handle_ = ::dlopen("libsensors.so.5", RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr && folder != nullptr && *folder != '\0') {
    for (const char* below : {"/lib64/libsensors.so.5", "/lib/libsensors.so.5"}) {
      if (handle_ == nullptr)
        handle_ = ::dlopen((std::string(folder) + below).c_str(), RTLD_NOW | RTLD_LOCAL);
    }
  }
  if (handle_ == nullptr) {
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
  return find(handle_, "sensors_init", &init_) && find(handle_, "sensors_cleanup", &cleanup_) &&
         find(handle_, "sensors_get_detected_chips", &get_detected_chips) &&
         find(handle_, "sensors_snprintf_chip_name", &snprintf_chip_name) &&
         find(handle_, "sensors_get_label", &get_label) &&
         find(handle_, "sensors_get_features", &get_features) &&
         find(handle_, "sensors_get_all_subfeatures", &get_all_subfeatures) &&
         find(handle_, "sensors_get_value", &get_value) && find(handle_, "sensors_strerror", &strerror);
}

int SensorLibrary::begin() {
  int number = 0;
  if (get_detected_chips(nullptr, &number) != nullptr) return 0;  // the program began before us
  using Complain = void (*)(const char*, int);
  using ComplainOfFile = void (*)(const char*, const char*, int);
  auto* complain = static_cast<Complain*>(::dlsym(handle_, "sensors_parse_error"));
  auto* complain_of_file = static_cast<ComplainOfFile*>(::dlsym(handle_, "sensors_parse_error_wfn"));
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
