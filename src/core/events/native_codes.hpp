// Codes of native events, given out at first use.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "core/events/event_code.hpp"

namespace substrata {

// A native event: which substrate, which index there.
struct NativeEvent {
  int component = -1;
  uint32_t index = 0;
};

// Thread-compatible.
class NativeCodes {
 public:
  // The same event always has the same code. kNoComponent for a negative component.
  Result<uint32_t> code_of(NativeEvent event);
  // kNoComponent for a code that was not given out.
  Result<NativeEvent> at(uint32_t code) const;
  void clear() noexcept;

 private:
  std::vector<NativeEvent> events_;
  std::vector<std::vector<uint32_t>>
      code_by_index_;  // [component][index] = place in events_ + 1, 0: none yet
};

}  // namespace substrata
