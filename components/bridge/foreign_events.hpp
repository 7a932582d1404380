// The events of the chosen components of another PAPI, numbered densely, as the layer wants them.
#pragma once

#include <substrata/substrate.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fork_lock.hpp"
#include "bridge/foreign_papi.hpp"

namespace substrata::bridge {

// One event: PAPI's code for it, and its description. Strings live as long as the catalogue.
struct ForeignEvent {
  int code = 0;
  int component = 0;  // of that PAPI
  std::string name;   // with that PAPI's prefix, "cuda:::dram__bytes_read.sum"
  std::string text;
  std::string unit;
  std::string why;  // it was tried and did not open: reason
  ValueKind kind = ValueKind::kCount;
  ValueType type = ValueType::kInt64;
  bool tried = false;
};

// Where a trial of that PAPI is, in memory that its process shares with ours: which component to blame.
class Suspect {
 public:
  Suspect() noexcept;
  ~Suspect();
  Suspect(const Suspect&) = delete;
  Suspect& operator=(const Suspect&) = delete;
  // From now on it is this component, "" for none.
  void is(std::string_view component) noexcept;
  std::string component() const;

 private:
  static constexpr size_t kCapacity = 256;
  char* name_;  // ends in a zero; null where there was no memory
};

constexpr int kNeverCame = INT_MIN;  // beside that PAPI's error numbers: a call did not return in time

// Thread-safe; of it only call_for is on a read path.
class ForeignEvents {
 public:
  explicit ForeignEvents(const ForeignPapi& papi) noexcept : papi_(papi) {}

  // Lists the events of the chosen components that are not disabled. When there is none: false, and *why a
  // message with the reason of each component.
  bool scan(const Settings& settings, std::string* why, Suspect* suspect = nullptr);

  // Counts an event of each component for a moment, the first that can be added; what comes of it is not looked at.
  void try_reading(Suspect* suspect) const;

  uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }

  // Describes an event. The first question about one adds it to an eventset of that PAPI and takes it out
  // again, for available means that it was opened here.
  Status at(uint32_t index, Event* out);

  // By the name it is listed under, or by any other that PAPI understands ("...:device=0"), which makes a new
  // entry.
  Status find(const char* name, uint32_t* index);

  const ForeignEvent& event(uint32_t index) const;

  // Makes a call of that PAPI for one of its components: beside the calling thread, so that one which does not return
  // within Settings::seconds (kNeverCame) harms only its component. That one is asked nothing any more, and its events
  // are unavailable. Components that count the calling thread itself are asked in it.
  int call_for(int component, std::shared_ptr<void> given, int (*call)(void* given));

  // The components that have events or are left out for what they did in a trial, separated by commas.
  const char* components() const noexcept { return offered_.c_str(); }

 private:
  // The event of a code, entered if it is new; false where that PAPI does not describe it or it is of a
  // component that was not chosen. With lock_ held.
  bool enter(int code, const std::string& asked, uint32_t* index);
  void try_out(ForeignEvent* event);

  const ForeignPapi& papi_;
  Settings settings_;
  std::string offered_;
  // By that PAPI's number of a component, from the scan.
  std::vector<bool> counts_its_caller_;
  mutable ForkLock lock_;
  std::deque<ForeignEvent> events_;
  std::unordered_map<std::string, uint32_t> by_name_;
  std::atomic<uint32_t> size_{0};
};

}  // namespace substrata::bridge
