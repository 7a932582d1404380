// All substrates of this process: the built-in list and the plug-ins found on SUBSTRATA_PLUGIN_PATH.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fork_lock.hpp"
#include "base/visibility.hpp"
#include "core/registry/built_in.hpp"
#include "core/registry/component.hpp"

namespace substrata {

// Loading calls entry points, which only copy tables; nothing is detected or opened before it is needed.
// Thread-safe.
class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Builds the list once: built-ins in their order, then plug-ins in the order of the path and of their
  // names; applies PAPI_DISABLE_COMPONENTS. Later calls do nothing until close_all(); then plug-ins that have
  // appeared since are added at the end. A Component, once made, lives as long as the Registry.
  void load();
  // Closes every open substrate, last opened first, and lifts what was disabled.
  void close_all();
  // Tests, before the first load(): the list of entry points to use instead of the built-in one (ended by a
  // null name).
  void set_built_in(const BuiltIn* list) noexcept;

  SUBSTRATA_PRIVATE_API int count();
  // Null outside 0..count()-1.
  SUBSTRATA_PRIVATE_API Component* at(int index);
  // By name or short name; null when unknown.
  Component* find(std::string_view name);
  // -1 when unknown.
  SUBSTRATA_PRIVATE_API int index_of(std::string_view name);

  // Disables before initialisation. kNoComponent when there is no such substrate.
  SUBSTRATA_PRIVATE_API Status disable(int index);
  SUBSTRATA_PRIVATE_API Status disable(std::string_view name);

  // One message for every plug-in that was found and not taken.
  std::vector<std::string> refusals();

  const Host& host() const noexcept { return host_; }

 private:
  void load_built_in();
  void load_plug_ins();
  Component* known(std::string_view name) const noexcept;
  void load_plug_in(const std::string& path, const std::string& name);
  // The first components once more, for who asks without the lock while the list is loaded.
  static constexpr size_t kQuick = 64;
  std::array<std::atomic<Component*>, kQuick> quick_{};
  std::atomic<int> loaded_{0};  // one more than there are components; 0: the list is not loaded
  ForkLock lock_;
  Host host_;
  std::string root_;                   // of a recorded machine (SUBSTRATA_ROOT), or empty
  const BuiltIn* built_in_ = nullptr;  // what is not loaded yet
  std::vector<std::unique_ptr<Component>> components_;
  std::vector<std::string> refusals_;
};

}  // namespace substrata
