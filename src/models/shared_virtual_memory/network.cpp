// The kinds of packets by name, and the combining of updates.
#include "models/shared_virtual_memory/network.hpp"

namespace substrata::svm {

std::string_view name_of(PacketKind kind) noexcept {
  constexpr std::string_view kNames[kPacketKinds] = {
      "lock-request",    "lock-grant",   "lock-release", "barrier-arrive",
      "barrier-release", "home-request", "home-reply",   "page-request",
      "page-reply",      "page-move",    "diff",         "update",
      "update-mark",     "user"};
  return kNames[static_cast<std::size_t>(kind)];
}

void Network::combine(Packet& open, ProcessId from, ProcessId to, std::uint64_t address,
                      std::span<const std::byte> data, std::uint32_t most, Time now) {
  const bool fits = !open.data.empty() && open.to == to && open.address + open.data.size() == address &&
                    open.data.size() + data.size() <= most;
  if (!fits) {
    flush(from, now);
    open.kind = PacketKind::kUpdate;
    open.from = from;
    open.to = to;
    open.address = address;
  }
  open.data.insert(open.data.end(), data.begin(), data.end());
}

}  // namespace substrata::svm
