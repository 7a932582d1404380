// Names of probe points, made and taken apart.
#include "myrinet/probes.hpp"
#include "base/parse.hpp"

#include <substrata/feed.hpp>

#include <cstdio>
#include <string_view>

namespace substrata::myrinet {
namespace {

constexpr std::string_view kPlaceNames[kPlaces] = {"lanai.send", "lanai.receive", "clock", "operation"};
constexpr const char* kPlaceTexts[kPlaces] = {
    "packets leaving the node: fetched (source latency), injected (LANai latency), dropped; initiator and "
    "target are nodes",
    "packets coming to the node: arrived (net latency), delivered (destination latency), corrupt, misrouted; "
    "initiator and target are nodes",
    "the node's clock is set; detail is its largest error since the round before, in picoseconds",
    "an operation of the communication layer that the node's process began has ended: page fetch, lock, "
    "barrier, message, broadcast; site is its kind and number"};
constexpr std::string_view kPrefix = "myrinet.node";

}  // namespace

int add_node_probe(uint32_t node, Place place, uint32_t* number) noexcept {
  constexpr auto kCluster = client::feed::Source::simulated(
      kSource, "a modelled cluster of PCs on a Myrinet switch (Liao, Martonosi, Clark 1998)");
  const auto index = static_cast<uint32_t>(place);
  char name[64];
  std::snprintf(name, sizeof name, "myrinet.node%u.%s", node, kPlaceNames[index].data());
  return kCluster.try_probe(name, kPlaceTexts[index], number);
}

ProbeRole ProbeRoles::of(uint16_t probe) noexcept {
  try {
    if (entries_.size() <= probe) entries_.resize(probe + 1u);
  } catch (...) {
    return {};
  }
  Entry& entry = entries_[probe];
  if (entry.looked_up) return entry.role;
  entry.looked_up = true;
  auto info = client::sized<substrata_probe_info>();
  if (substrata_probe_at(probe, &info) != 0) return entry.role;
  const std::string_view name = info.name;
  if (!name.starts_with(kPrefix)) return entry.role;
  uint32_t node = 0;
  const size_t length = leading_number(name.substr(kPrefix.size()), &node);
  const std::string_view rest = name.substr(kPrefix.size() + length);
  if (length == 0 || rest.size() < 2 || rest[0] != '.' || node >= kMostNodes) return entry.role;
  for (uint32_t place = 0; place < kPlaces; ++place)
    if (rest.substr(1) == kPlaceNames[place]) entry.role = {true, node, static_cast<Place>(place)};
  return entry.role;
}

}  // namespace substrata::myrinet
