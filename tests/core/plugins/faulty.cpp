// The faulty substrate: a whole substrate whose n-th call fails, which counts what is open and every call out
// of order.
#include "faulty.hpp"

#include <substrata/substrate.h>

#include <new>

#include "base/table_of.hpp"

namespace {

using namespace substrata;

FaultyControl control;

struct FaultySet {
  uint32_t count = 0;
  int64_t value = 0;
  bool running = false;
};

constexpr uint32_t kEvents = 8;
const char* const kNames[kEvents] = {"a", "b", "c", "d", "e", "f", "g", "h"};

// True when this call is the one to fail; counts every call that can.
bool fails() noexcept {
  ++control.calls;
  if (control.fail_call == 0 || --control.fail_call != 0) return false;
  ++control.failed;
  return true;
}
constexpr Status kRefused{Code::kSystem, 5, "the faulty substrate is to fail this call"};

FaultySet* set_of(Set* set) { return reinterpret_cast<FaultySet*>(set); }

struct Faulty {
  static Status detect(const Host*) noexcept { return kSuccess; }
  static Status open(const Host*, Device** out) noexcept {
    if (fails()) return kRefused;
    ++control.devices;
    *out = reinterpret_cast<Device*>(&control);
    return kSuccess;
  }
  static void close(Device* device) noexcept {
    if (device != reinterpret_cast<Device*>(&control) || control.sets != 0 || control.threads != 0)
      ++control.out_of_order;
    --control.devices;
  }
  static uint32_t event_count(Device*) noexcept { return kEvents; }
  static Status event_at(Device*, uint32_t index, Event* out) noexcept {
    if (index >= kEvents) return {Code::kNoEvent, 0, "the faulty substrate has eight events"};
    *out = {.name = kNames[index], .text = "A value of the faulty substrate.", .unit = ""};
    return kSuccess;
  }
  static Status attach(Device*, Thread** out) noexcept {
    if (fails()) return kRefused;
    if (control.devices != 1) ++control.out_of_order;
    ++control.threads;
    *out = nullptr;
    return kSuccess;
  }
  static void detach(Device*, Thread*) noexcept { --control.threads; }
  static Status create_set(Device*, Thread*, Set** out) noexcept {
    if (fails()) return kRefused;
    if (control.threads < 1) ++control.out_of_order;
    ++control.sets;
    *out = reinterpret_cast<Set*>(new FaultySet);
    return kSuccess;
  }
  static void destroy_set(Set* set) noexcept {
    if (set_of(set)->running) ++control.out_of_order;
    --control.sets;
    delete set_of(set);
  }
  static Status program(Set* set, const uint32_t*, uint32_t count) noexcept {
    if (fails()) return kRefused;
    if (set_of(set)->running) ++control.out_of_order;
    set_of(set)->count = count;
    return kSuccess;
  }
  static Status configure(Set*, const Configuration*) noexcept { return fails() ? kRefused : kSuccess; }
  static Status start(Set* set) noexcept {
    if (fails()) return kRefused;
    if (set_of(set)->running || set_of(set)->count == 0) ++control.out_of_order;
    set_of(set)->running = true;
    set_of(set)->value = 0;
    ++control.running;
    return kSuccess;
  }
  static Status stop(Set* set) noexcept {
    if (!set_of(set)->running) ++control.out_of_order;
    set_of(set)->running = false;
    --control.running;
    return fails() ? kRefused : kSuccess;
  }
  static Status read(Set* set, int64_t* values) noexcept {
    if (fails()) return kRefused;
    if (set_of(set)->running) ++set_of(set)->value;
    for (uint32_t i = 0; i < set_of(set)->count; ++i) values[i] = set_of(set)->value;
    return kSuccess;
  }
  static Status reset(Set* set) noexcept {
    if (fails()) return kRefused;
    set_of(set)->value = 0;
    return kSuccess;
  }
  static Status write(Set* set, const int64_t* values) noexcept {
    if (fails()) return kRefused;
    if (set_of(set)->count > 0) set_of(set)->value = values[0];
    return kSuccess;
  }
};

constexpr SubstrateTable kTable =
    table_of<Faulty>({.name = "faulty", .summary = "Fails the call it is to fail", .version = "1"});

}  // namespace

extern "C" __attribute__((visibility("default"))) FaultyControl* faulty_control() { return &control; }

SUBSTRATA_PUBLISH(faulty, kTable);
