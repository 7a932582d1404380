// Another PAPI inside this process: found, loaded beside our own libraries, brought up once.
#pragma once

#include <papi.h>
#include <substrata/substrate.h>

#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace substrata::bridge {

// What SUBSTRATA_BRIDGE and SUBSTRATA_BRIDGE_COMPONENTS ask for.
struct Settings {
  bool asked = false;
  std::vector<std::string> libraries;   // files to try, in order, below Host::root
  std::vector<std::string> components;  // empty: all but those that substrata has itself
  unsigned seconds = 20;                // what loading it, listing its events and a first read may take
  // Components that crashed or hung in a trial, each with what it did. Such a one is not chosen.
  std::vector<std::pair<std::string, std::string>> harmful;

  // What a component did in a trial; null: nothing.
  const char* harm_of(std::string_view component) const noexcept;
  bool chose(std::string_view component) const noexcept;
};
Settings settings_of(const Host& host);

// The functions of a loaded PAPI, of generation 7.0 to 7.3, under PAPI's names. Only fields that lie at the
// same place in both generations are read: PAPI_component_info_t up to `disabled`, PAPI_event_info_t up to
// `note`. Thread-safe as far as that PAPI is.
class ForeignPapi {
 public:
  ForeignPapi(const ForeignPapi&) = delete;
  ForeignPapi& operator=(const ForeignPapi&) = delete;

  // The first of the requested libraries that can be used, loaded and initialised once and kept until the
  // process ends: PAPI 7.0 does not survive a second initialisation, and its shutdown would take libpfm's
  // tables from us. Null, and *why a message, when there is none. What the first request for a library left out
  // stays disabled inside it.
  static const ForeignPapi* bring_up(const Settings& settings, std::string* why);

  // Whether bring_up would answer with a library that is up.
  static bool is_up(const Settings& settings);

  const std::string& path() const noexcept { return path_; }
  std::string version_text() const;

  decltype(&::PAPI_get_opt) get_opt = nullptr;
  decltype(&::PAPI_is_initialized) is_initialized = nullptr;
  decltype(&::PAPI_library_init) library_init = nullptr;
  decltype(&::PAPI_thread_init) thread_init = nullptr;
  decltype(&::PAPI_disable_component_by_name) disable_component_by_name = nullptr;
  decltype(&::PAPI_num_components) num_components = nullptr;
  decltype(&::PAPI_get_component_info) get_component_info = nullptr;
  decltype(&::PAPI_enum_cmp_event) enum_cmp_event = nullptr;
  decltype(&::PAPI_get_event_info) get_event_info = nullptr;
  decltype(&::PAPI_event_name_to_code) event_name_to_code = nullptr;
  decltype(&::PAPI_get_event_component) get_event_component = nullptr;
  decltype(&::PAPI_create_eventset) create_eventset = nullptr;
  decltype(&::PAPI_add_event) add_event = nullptr;
  decltype(&::PAPI_cleanup_eventset) cleanup_eventset = nullptr;
  decltype(&::PAPI_destroy_eventset) destroy_eventset = nullptr;
  decltype(&::PAPI_attach) attach = nullptr;
  decltype(&::PAPI_start) start = nullptr;
  decltype(&::PAPI_stop) stop = nullptr;
  decltype(&::PAPI_read) read = nullptr;
  decltype(&::PAPI_reset) reset = nullptr;
  decltype(&::PAPI_strerror) strerror = nullptr;

  // Leaves a component out for the rest of the process: a call for it did not return, and perhaps never will.
  void lose(int component) const noexcept {
    if (component >= 0 && component < kMostComponents) lost_[component].store(true);
  }
  bool lost(int component) const noexcept {
    return component >= 0 && component < kMostComponents && lost_[component].load();
  }

  // What an error number of that PAPI says; never null.
  const char* error_text(int error) const noexcept;

 private:
  ForeignPapi() = default;
  ~ForeignPapi() = default;

  // Empty, or why this file cannot be used.
  std::string load(const std::string& path);
  std::string initialise(const Settings& settings);

  static constexpr int kMostComponents = 256;
  mutable std::atomic<bool> lost_[kMostComponents] = {};
  void* handle_ = nullptr;
  int version_ = 0;
  std::string path_;
};

// An error of that PAPI as ours.
Code code_of(int error) noexcept;

}  // namespace substrata::bridge
