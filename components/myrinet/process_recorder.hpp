// The one recorder of this process, and the form of the commands on it.
#pragma once

#include <substrata/myrinet.h>

#include <memory>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "base/guard.hpp"
#include "models/counting/counting.hpp"
#include "myrinet/host_store.hpp"
#include "myrinet/operations.hpp"
#include "myrinet/recorder.hpp"

namespace substrata::myrinet {

// Observes the interfaces while it records. The statistics have a lock of their own: a reader on another
// thread may come while a batch is taken.
class Recorder final : public counting::ObservingInstrument {
 public:
  Recorder() : ObservingInstrument(kLanaiProbes), memory_(std::make_unique<MonitorMemory>(Shape{})) {}
  ~Recorder() override { end_observation(); }

  std::mutex commands;  // one command at a time
  OperationRecorder operations{Shape{}.nodes, Shape{}.programs};
  bool recording = false;

  // The statistics in use: on the interfaces, or in host memory.
  template <typename Function>
  auto with_memory(Function&& function) {
    if (const std::shared_ptr<HostStore> store = host_store())
      return store->with_memory(std::forward<Function>(function));
    const std::lock_guard lock(memory_mutex_);
    MonitorMemory* const memory = memory_.get();
    return function(memory);
  }
  // Uses statistics on the interfaces, or without any a store in host memory.
  void replace(std::unique_ptr<MonitorMemory> memory, std::unique_ptr<OperationMemory> new_operations,
               std::shared_ptr<HostStore> store) noexcept {
    if (memory != nullptr) {
      const std::lock_guard lock(memory_mutex_);
      memory_.swap(memory);
    }
    operations.with_memory([&](auto& kept) { kept.swap(new_operations); });
    use_host_store(std::move(store));
  }
  // What passes from now on goes into the statistics; a store hears of it from the clusters.
  Status observe_packets() noexcept {
    const std::shared_ptr<HostStore> store = host_store();
    if (store == nullptr) return begin();
    store->record(true);
    return kSuccess;
  }
  void leave_packets() noexcept {
    if (const std::shared_ptr<HostStore> store = host_store()) {
      store->record(false);
    } else {
      end();
    }
  }

 protected:
  void observe(const substrata_transaction* batch, size_t count) noexcept override {
    try {
      const ProbeRole role = roles_.of(batch[0].probe);
      if (!role.known) return;
      const std::lock_guard lock(memory_mutex_);
      for (size_t i = 0; i < count; ++i) memory_->take(role.node, batch[i]);
      memory_->settle();
    } catch (...) {
      // No memory for a node's statistics: its packets stay unrecorded.
    }
  }

 private:
  std::mutex memory_mutex_;
  std::unique_ptr<MonitorMemory> memory_;
  ProbeRoles roles_;
};

// Made by the first command, never destroyed.
inline Recorder& recorder() {
  static auto* const one = new Recorder;
  return *one;
}

// Runs a command: bad_alloc becomes an error.
template <typename Function>
int command(Function&& function) noexcept {
  return guarded([&]() -> int { return function(recorder()); });
}

}  // namespace substrata::myrinet
