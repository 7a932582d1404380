// One substrate as the layer sees it: its table, whether it is here, its open device and its reason when not.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fork_lock.hpp"
#include "base/result.hpp"
#include "base/shared_library.hpp"
#include "base/visibility.hpp"

namespace substrata {

// Owned by the Registry, as long as that lives. Thread-safe.
class Component {
 public:
  Component(int index, const SubstrateTable& table, const Host* host, SharedLibrary library,
            std::string origin);
  ~Component();
  Component(const Component&) = delete;
  Component& operator=(const Component&) = delete;

  int index() const noexcept { return index_; }
  const char* name() const noexcept { return table_.name; }
  const char* short_name() const noexcept { return table_.short_name; }
  const char* summary() const noexcept { return table_.summary; }
  const char* version() const noexcept { return table_.version; }
  const char* origin() const noexcept { return origin_.c_str(); }  // "built-in" or the plug-in's path
  bool has(Traits trait) const noexcept { return (table_.traits & trait) != 0; }
  bool arms_itself() const noexcept { return table_.arm != nullptr; }
  const SubstrateTable& table() const noexcept { return table_; }

  // Detects and opens at the first call; then remembers. Not ok: why this substrate is unavailable here, with
  // the cure (kDisabled when the user disabled it, else the code of detect or open).
  Status ensure_open();
  // The same answer as data, for listings: 0 when usable, 1 when disabled by the user, else the negative
  // code. Detects and opens at the first call.
  SUBSTRATA_PRIVATE_API int disabled();
  // "" when usable.
  SUBSTRATA_PRIVATE_API std::string disabled_reason();
  // Whether detect and open have run yet (PAPI's `initialized`).
  bool asked() const noexcept { return state_.load(std::memory_order_acquire) != kUnknown; }
  // Disabled by the user: it will answer kDisabled. No effect once open.
  void disable(std::string reason);

  // Valid after ensure_open() said ok.
  Device* device() const noexcept { return device_; }

  // The catalogue. Each opens the substrate first; 0 or an error when it is unavailable.
  uint32_t event_count();
  Status event_at(uint32_t index, Event* out);
  // By exact name as listed, or as the substrate's own find_event understands it (qualifiers, old spellings).
  Result<uint32_t> find_event(const char* name);
  // The counter units whose events it has here, as tables of events name them. None when it is unavailable.
  SUBSTRATA_PRIVATE_API std::vector<std::string> units();
  // How this substrate forms a preset; kNoEvent when it does not.
  Status recipe(const char* preset, Recipe* out);
  // Whether an event of that name (as listed) is spelled without "<component>:::" in front.
  bool name_is_complete(std::string_view event) const noexcept;
  // The event as a client spells it: "perf::TASK-CLOCK", "net:::lo:rx:bytes".
  std::string full_name(std::string_view event) const;
  // The prefixes a name may carry besides "<name>:::".
  SUBSTRATA_PRIVATE_API std::vector<std::string> prefixes() const;
  // By the table's event_names, without opening: whether an event can have this name, and the names among
  // them that are whole.
  bool may_have(std::string_view event) const;
  std::vector<std::string> known_events() const;

  // The configuration slot, or the default answer where the substrate has none.
  Status configure(Set* set, const Configuration& configuration) const;
  Configuration default_configuration() const noexcept;

  // Closes the device if open and lifts what was disabled; the next ensure_open starts anew.
  void close();
  // A number that grows with every opening in this process; 0 while closed.
  uint64_t opened() const noexcept { return opened_.load(std::memory_order_relaxed); }

 private:
  enum State : int { kUnknown, kOpen, kUnavailable };
  int index_;
  SubstrateTable table_;
  const Host* host_;
  SharedLibrary library_;
  std::string origin_;
  ForkLock lock_;
  std::atomic<int> state_{kUnknown};
  std::atomic<uint64_t> opened_{0};
  bool disabled_by_user_ = false;
  Code code_ = Code::kOk;
  int32_t os_error_ = 0;
  std::string reason_;
  Device* device_ = nullptr;
  std::unordered_map<std::string, uint32_t> index_by_name_;  // default find_event
  uint32_t indexed_ = 0;
  std::atomic<uint32_t> found_{
      0};  // events up to the last that its own find_event gave: to count all may take a list
};

}  // namespace substrata
