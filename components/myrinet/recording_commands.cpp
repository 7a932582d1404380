// Commands: the recorder's start, stop and clearing, and how much it has recorded.
#include <substrata/myrinet.h>

#include <memory>

#include "myrinet/process_recorder.hpp"

using namespace substrata;
using namespace substrata::myrinet;

extern "C" {

int substrata_myrinet_start(void) {
  return command([](Recorder& self) {
    const std::lock_guard lock(self.commands);
    if (self.recording) return 0;
    const auto refusal = [](const Status& refused) {
      return fail(static_cast<int>(refused.code), "the monitor cannot observe: %s",
                  refused.note != nullptr ? refused.note : "no reason given");
    };
    if (const Status refused = self.observe_packets(); !refused.ok()) return refusal(refused);
    if (const Status refused = self.operations.begin(); !refused.ok()) {
      self.leave_packets();
      return refusal(refused);
    }
    self.recording = true;
    return 0;
  });
}

int substrata_myrinet_stop(void) {
  return command([](Recorder& self) {
    const std::lock_guard lock(self.commands);
    if (self.recording) {
      self.leave_packets();
      self.operations.end();
    }
    self.recording = false;
    return 0;
  });
}

int substrata_myrinet_clear(void) {
  return command([](Recorder& self) {
    const std::lock_guard lock(self.commands);
    substrata_flush();  // what was published before is forgotten as well
    if (const auto store = host_store()) {
      store->clear();
    } else {
      self.with_memory([](auto& memory) { memory->clear(); });
    }
    self.operations.with_memory([](auto& memory) { memory->clear(); });
    return 0;
  });
}

int substrata_myrinet_recorded(uint64_t* packets, uint64_t* left_out) {
  return command([&](Recorder& self) {
    substrata_flush();
    self.with_memory([&](auto& memory) {
      if (packets != nullptr) *packets = memory->packets();
      if (left_out != nullptr) *left_out = memory->left_out();
    });
    return 0;
  });
}

}  // extern "C"
