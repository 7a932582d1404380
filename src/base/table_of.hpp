// Tables of substrates whose functions are the static members of a class.
#pragma once

#include <substrata/substrate.h>

#include <memory>
#include <utility>

#include "base/guard.hpp"
#include "base/uncancelled.hpp"

namespace substrata {

// What open and create_set do: makes an object and gives it out behind the table's opaque type.
template <typename Object, typename Opaque, typename... Arguments>
Status make(Opaque** out, Arguments&&... arguments) noexcept {
  return guarded([&]() -> Status {
    *out = reinterpret_cast<Opaque*>(new Object(std::forward<Arguments>(arguments)...));
    return kSuccess;
  });
}

// Of a device that looks through the machine before it is given out: what its scan() answers.
template <typename Object, typename... Arguments>
Status make_scanned(Device** out, Arguments&&... arguments) noexcept {
  return guarded([&]() -> Status {
    auto device = std::make_unique<Object>(std::forward<Arguments>(arguments)...);
    if (const Status status = device->scan(); !status.ok()) return status;
    *out = reinterpret_cast<Device*>(device.release());
    return kSuccess;
  });
}

// A slot that measures, during which the calling thread is not cancelled. Every other slot runs inside guarded().
template <auto kSlot>
struct UncancelledSlot;
template <typename Answer, typename... Arguments, Answer (*kSlot)(Arguments...) noexcept>
struct UncancelledSlot<kSlot> {
  static Answer call(Arguments... arguments) noexcept {
    const Uncancelled here;
    return kSlot(arguments...);
  }
};

// Whether the slots of Calls that measure reach no cancellation point of the C library.
template <typename Calls>
inline constexpr bool kReachesNoCancellationPoint = requires {
  Calls::kReachesNoCancellationPoint;
};

template <typename Calls, auto kSlot>
constexpr auto measuring() noexcept {
  if constexpr (kReachesNoCancellationPoint<Calls>)
    return kSlot;
  else
    return &UncancelledSlot<kSlot>::call;
}

// `data`, with every slot that Calls has a function of the same name for. The required ones must be there.
template <typename Calls>
constexpr SubstrateTable table_of(SubstrateTable data) noexcept {
  data.event_count = Calls::event_count;
  data.event_at = Calls::event_at;
  data.create_set = Calls::create_set;
  data.destroy_set = Calls::destroy_set;
  data.program = Calls::program;
  data.start = measuring<Calls, Calls::start>();
  data.stop = measuring<Calls, Calls::stop>();
  data.read = measuring<Calls, Calls::read>();
  data.reset = measuring<Calls, Calls::reset>();
  if constexpr (requires(const Host* host) { Calls::detect(host); }) data.detect = Calls::detect;
  if constexpr (requires { Calls::open; }) data.open = Calls::open;
  if constexpr (requires { Calls::close; }) data.close = Calls::close;
  if constexpr (requires { Calls::find_event; }) data.find_event = Calls::find_event;
  if constexpr (requires { Calls::recipe; }) data.recipe = Calls::recipe;
  if constexpr (requires { Calls::attach; }) data.attach = Calls::attach;
  if constexpr (requires { Calls::detach; }) data.detach = Calls::detach;
  if constexpr (requires { Calls::configure; }) data.configure = Calls::configure;
  if constexpr (requires { Calls::read_details; })
    data.read_details = measuring<Calls, Calls::read_details>();
  if constexpr (requires { Calls::write; }) data.write = measuring<Calls, Calls::write>();
  if constexpr (requires { Calls::arm; }) data.arm = Calls::arm;
  if constexpr (requires { Calls::disarm; }) data.disarm = Calls::disarm;
  if constexpr (requires { Calls::hardware_counters; }) data.hardware_counters = Calls::hardware_counters;
  if constexpr (requires { Calls::fast_reads; }) data.fast_reads = Calls::fast_reads;
  if constexpr (requires { Calls::units; }) data.units = Calls::units;
  if constexpr (requires { Calls::countable_domains; }) data.countable_domains = Calls::countable_domains;
  if constexpr (requires { Calls::take; }) data.take = measuring<Calls, Calls::take>();
  return data;
}

}  // namespace substrata
