// Finds an installed PAPI, loads it so that its names stay its own, and brings it up.
#include "bridge/foreign_papi.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

#include "base/fork_lock.hpp"
#include "base/immortal.hpp"
#include "base/parse.hpp"
#include "base/shared_library.hpp"
#include "sysfs/sysfs.hpp"

namespace substrata::bridge {
namespace {

constexpr const char* kFolders[] = {"/usr/local/lib", MULTIARCH_FOLDER, "/usr/lib64", "/usr/lib",
                                    "/opt/papi/lib"};
constexpr const char* kNames[] = {"libpapi.so.7.3", "libpapi.so.7.2", "libpapi.so.7.1", "libpapi.so.7.0",
                                  "libpapi.so"};

// What substrata measures by itself.
constexpr std::array<std::string_view, 15> kServed = {
    "coretemp", "example",      "infiniband", "io",         "lmsensors",
    "lustre",   "net",          "nvml",       "perf_event", "perf_event_uncore",
    "powercap", "powercap_ppc", "sde",        "stealtime",  "sysdetect"};

// The libraries that are up; never freed: see bring_up.
std::vector<const ForeignPapi*>& libraries_up() {
  static auto* const kUp = new std::vector<const ForeignPapi*>;
  return *kUp;
}
ForkLock& up_lock() {
  static Immortal<ForkLock> lock;
  return *lock;
}

constexpr int kOldestVersion = PAPI_VERSION_NUMBER(7, 0, 0, 0);
constexpr int kNextUnknownVersion = PAPI_VERSION_NUMBER(7, 4, 0, 0);

std::string_view setting_of(const Host& host, const char* name) {
  const char* value = sysfs::setting(host, name);
  return value == nullptr ? "" : value;
}

unsigned long own_thread() { return static_cast<unsigned long>(pthread_self()); }

template <typename Function>
bool find(void* handle, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(handle, name));
  return *function != nullptr;
}

// The sanitizers end a program that loads with RTLD_DEEPBIND.
bool sanitized() noexcept {
  return ::dlsym(RTLD_DEFAULT, "__asan_init") != nullptr || ::dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr;
}

}  // namespace

Settings settings_of(const Host& host) {
  Settings settings;
  const std::string_view value = setting_of(host, "SUBSTRATA_BRIDGE");
  settings.asked = !value.empty() && value != "0";
  if (!settings.asked) return settings;
  if (value.find('/') != std::string_view::npos) {
    settings.libraries.emplace_back(value);
  } else {
    for (const char* folder : kFolders)
      for (const char* name : kNames) {
        std::string path = sysfs::below_root(host, std::string(folder) + "/" + name);
        if (::access(path.c_str(), R_OK) == 0) settings.libraries.push_back(std::move(path));
      }
  }
  if (const std::string_view text = setting_of(host, "SUBSTRATA_BRIDGE_SECONDS"); !text.empty()) {
    unsigned seconds = 0;
    if (parse_number(text, &seconds) && seconds > 0 && seconds <= 3600) settings.seconds = seconds;
  }
  std::string_view list = setting_of(host, "SUBSTRATA_BRIDGE_COMPONENTS");
  while (!list.empty()) {
    const size_t end = std::min(list.find_first_of(",:"), list.size());
    if (end > 0) settings.components.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return settings;
}

const char* Settings::harm_of(std::string_view component) const noexcept {
  for (const auto& [name, what] : harmful)
    if (name == component) return what.c_str();
  return nullptr;
}

bool Settings::chose(std::string_view component) const noexcept {
  if (harm_of(component) != nullptr) return false;
  if (components.empty()) return std::find(kServed.begin(), kServed.end(), component) == kServed.end();
  return std::find(components.begin(), components.end(), component) != components.end();
}

std::string ForeignPapi::version_text() const {
  return std::to_string(PAPI_VERSION_MAJOR(version_)) + "." + std::to_string(PAPI_VERSION_MINOR(version_)) +
         "." + std::to_string(PAPI_VERSION_REVISION(version_));
}

const char* ForeignPapi::error_text(int error) const noexcept {
  const char* text = strerror(error);
  return text != nullptr ? text : "an error without a name";
}

std::string ForeignPapi::load(const std::string& path) {
  if (const char* why = why_nothing_loads()) return path + ": " + why;
  // Names stay apart both ways: RTLD_LOCAL keeps its PAPI_ functions from the program, RTLD_DEEPBIND makes
  // its own calls of PAPI_ functions reach itself and not ours.
  handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (handle_ == nullptr) {
    const char* error = ::dlerror();
    return error != nullptr ? error : path + " does not load";
  }
  // A handle is searched with the libraries it needs, and only ours need libsubstrata.
  if (::dlsym(handle_, "substrata_last_error") != nullptr)
    return path + " is substrata itself; name the libpapi of the PAPI that is to be offered";
  const bool complete =
      find(handle_, "PAPI_get_opt", &get_opt) && find(handle_, "PAPI_is_initialized", &is_initialized) &&
      find(handle_, "PAPI_library_init", &library_init) && find(handle_, "PAPI_thread_init", &thread_init) &&
      find(handle_, "PAPI_disable_component_by_name", &disable_component_by_name) &&
      find(handle_, "PAPI_num_components", &num_components) &&
      find(handle_, "PAPI_get_component_info", &get_component_info) &&
      find(handle_, "PAPI_enum_cmp_event", &enum_cmp_event) &&
      find(handle_, "PAPI_get_event_info", &get_event_info) &&
      find(handle_, "PAPI_event_name_to_code", &event_name_to_code) &&
      find(handle_, "PAPI_get_event_component", &get_event_component) &&
      find(handle_, "PAPI_create_eventset", &create_eventset) &&
      find(handle_, "PAPI_add_event", &add_event) &&
      find(handle_, "PAPI_cleanup_eventset", &cleanup_eventset) &&
      find(handle_, "PAPI_destroy_eventset", &destroy_eventset) && find(handle_, "PAPI_attach", &attach) &&
      find(handle_, "PAPI_start", &start) && find(handle_, "PAPI_stop", &stop) &&
      find(handle_, "PAPI_read", &read) && find(handle_, "PAPI_reset", &reset) &&
      find(handle_, "PAPI_strerror", &strerror);
  if (!complete) return path + " is not a libpapi of PAPI 7: it lacks functions of its interface";
  version_ = get_opt(PAPI_LIB_VERSION, nullptr);
  if (version_ < kOldestVersion || version_ >= kNextUnknownVersion)
    return path + " is PAPI " + version_text() + "; the bridge knows the structures of 7.0 to 7.3";
  path_ = path;
  return {};
}

std::string ForeignPapi::initialise(const Settings& settings) {
  if (is_initialized() != PAPI_NOT_INITED)
    return {};  // the program uses that PAPI too: it is up as it wants it
  // Possible before its initialisation only: what substrata has itself is neither probed nor opened twice. A
  // component that this PAPI was built without is an error of no interest.
  for (const std::string_view served : kServed)
    if (!settings.chose(served)) disable_component_by_name(std::string(served).c_str());
  // So does what was left out by its user, who may know that it hangs.
  for (int i = 0; i < num_components(); ++i) {
    const PAPI_component_info_t* info = get_component_info(i);
    if (info == nullptr || info->name[0] == '\0' || settings.chose(info->name)) continue;
    disable_component_by_name(info->name);
  }
  const int wanted = version_ & ~0xffff;
  const int got = library_init(wanted);
  if (got != wanted) return "PAPI " + version_text() + " at " + path_ + " does not start: " + error_text(got);
  const int threads = thread_init(own_thread);
  if (threads != PAPI_OK)
    return "PAPI " + version_text() + " at " + path_ + " takes no threads: " + error_text(threads);
  return {};
}

bool ForeignPapi::is_up(const Settings& settings) {
  const std::lock_guard guard(up_lock());
  for (const ForeignPapi* up : libraries_up())
    if (std::find(settings.libraries.begin(), settings.libraries.end(), up->path_) !=
        settings.libraries.end())
      return true;
  return false;
}

const ForeignPapi* ForeignPapi::bring_up(const Settings& settings, std::string* why) {
  std::vector<const ForeignPapi*>& all_up = libraries_up();
  const std::lock_guard guard(up_lock());
  if (sanitized()) {
    *why = "a program with the address or thread sanitizer cannot load a second PAPI; build it without";
    return nullptr;
  }
  *why = "no libpapi was found";
  for (const std::string& path : settings.libraries) {
    for (const ForeignPapi* up : all_up)
      if (up->path_ == path) return up;
    struct Free {
      void operator()(ForeignPapi* papi) const noexcept {
        if (papi->handle_ != nullptr) ::dlclose(papi->handle_);
        delete papi;
      }
    };
    std::unique_ptr<ForeignPapi, Free> fresh(new ForeignPapi);
    std::string refusal = fresh->load(path);
    if (refusal.empty()) refusal = fresh->initialise(settings);
    if (refusal.empty()) {
      all_up.push_back(fresh.get());
      return fresh.release();
    }
    *why = std::move(refusal);
  }
  return nullptr;
}

Code code_of(int error) noexcept {
  if (error >= 0 || error < static_cast<int>(Code::kDelayedInit)) return Code::kMisc;
  return static_cast<Code>(error);
}

}  // namespace substrata::bridge
