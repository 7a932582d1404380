// The two directions between a native event and its code.
#include "core/events/native_codes.hpp"

namespace substrata {

Result<uint32_t> NativeCodes::code_of(NativeEvent event) {
  if (event.component < 0)
    return refuse(Code::kNoComponent, "there is no component number %d", event.component);
  const auto component = static_cast<size_t>(event.component);
  if (code_by_index_.size() <= component) code_by_index_.resize(component + 1);
  std::vector<uint32_t>& codes = code_by_index_[component];
  if (codes.size() <= event.index) codes.resize(static_cast<size_t>(event.index) + 1);
  if (codes[event.index] == 0) {
    if (events_.size() > kIndexMask) return refuse(Code::kNoMemory, "there are too many events");
    events_.push_back(event);
    codes[event.index] = static_cast<uint32_t>(events_.size());
  }
  return kNativeMask | (codes[event.index] - 1);
}

Result<NativeEvent> NativeCodes::at(uint32_t code) const {
  if (kind_of(code) != CodeKind::kNative || index_of(code) >= events_.size())
    return refuse(Code::kNoComponent, "no component has an event 0x%08x", code);
  return events_[index_of(code)];
}

void NativeCodes::clear() noexcept {
  events_.clear();
  code_by_index_.clear();
}

}  // namespace substrata
