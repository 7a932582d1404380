// Drives the substrate through its table as the layer does, over any kernel and any table of names.
#pragma once

#include <substrata/substrate.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "perf_events/device.hpp"
#include "support/sanitized.hpp"

extern "C" substrata::EntryPoint substrata_entry_perf_event;

namespace substrata::test {

inline std::string text_of(const Status& status) { return status.note == nullptr ? "" : status.note; }

using tests::kThreadSanitizer;

// A host with settings of the test's own; nothing of the environment shows through.
struct TestHost {
  std::map<std::string, std::string> settings;
  std::string root;
  Host host;

  explicit TestHost(std::string where = "") : root(std::move(where)) {
    host.context = this;
    host.setting = [](void* self, const char* name) noexcept -> const char* {
      const auto& all = static_cast<TestHost*>(self)->settings;
      const auto found = all.find(name);
      return found == all.end() ? nullptr : found->second.c_str();
    };
    host.root = root.c_str();
  }
  TestHost(const TestHost&) = delete;
  TestHost& operator=(const TestHost&) = delete;
};

inline SubstrateTable published(const Host& host) {
  SubstrateTable table;
  substrata_entry_perf_event(&host, &table);
  return table;
}

// The table and a device over it, closed at the end.
struct Driver {
  TestHost& host;
  SubstrateTable table;
  Device* device = nullptr;

  explicit Driver(TestHost& the_host) : host(the_host), table(published(the_host.host)) {
    table.open(&host.host, &device);
  }
  Driver(TestHost& the_host, const perf::Kernel& kernel, std::unique_ptr<perf::Encoder> encoder)
      : host(the_host),
        table(published(the_host.host)),
        device(reinterpret_cast<Device*>(
            new perf::DeviceState(host.host, kernel, std::move(encoder), perf::PmuKind::kCore))) {}
  ~Driver() { table.close(device); }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // An index, or UINT32_MAX.
  uint32_t find(const char* name) {
    uint32_t index = UINT32_MAX;
    last = table.find_event(device, name, &index);
    return last.ok() ? index : UINT32_MAX;
  }
  Event at(uint32_t index) {
    Event event;
    last = table.event_at(device, index, &event);
    return event;
  }
  Event named(const char* name) { return at(find(name)); }
  bool available(const char* name) {
    const uint32_t index = find(name);
    return index != UINT32_MAX && (at(index).flags & kEventUnavailable) == 0;
  }
  Status last;
};

// A set of a driver, destroyed at the end.
struct DrivenSet {
  Driver& driver;
  Set* set = nullptr;
  size_t count = 0;

  explicit DrivenSet(Driver& the_driver) : driver(the_driver) {
    driver.table.create_set(driver.device, nullptr, &set);
  }
  ~DrivenSet() { driver.table.destroy_set(set); }
  DrivenSet(const DrivenSet&) = delete;
  DrivenSet& operator=(const DrivenSet&) = delete;

  Status program(const std::vector<const char*>& names) {
    std::vector<uint32_t> events;
    for (const char* name : names) {
      events.push_back(driver.find(name));
      if (!driver.last.ok()) return driver.last;
    }
    const Status status = driver.table.program(set, events.data(), static_cast<uint32_t>(events.size()));
    if (status.ok()) count = events.size();
    return status;
  }
  Status configure(const Configuration& wanted) { return driver.table.configure(set, &wanted); }
  Status start() { return driver.table.start(set); }
  Status stop() { return driver.table.stop(set); }
  Status reset() { return driver.table.reset(set); }
  // The values, or none when the read failed (then `failure` says why).
  std::vector<int64_t> read() {
    std::vector<int64_t> values(count, -1);
    failure = driver.table.read(set, values.data());
    return failure.ok() ? values : std::vector<int64_t>{};
  }
  std::vector<ValueDetail> details() {
    std::vector<ValueDetail> values(count);
    failure = driver.table.read_details(set, values.data());
    return failure.ok() ? values : std::vector<ValueDetail>{};
  }
  Status failure;
};

}  // namespace substrata::test
