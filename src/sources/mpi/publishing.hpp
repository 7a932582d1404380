// A rank's probe points in the feed, and the trace of them that the user may want.
#pragma once

#include <substrata/feed.hpp>

#include <cstdint>

namespace substrata::mpi {

struct Shim;

struct Publishing {
  client::feed::Publisher sends;
  client::feed::Publisher arrivals;
  client::feed::Recorder recorder;
};
void open_publishing(Shim& self);
// Ends the trace as well.
void close_publishing(Publishing& publishing);

inline uint32_t size_field(uint64_t bytes) {
  return static_cast<uint32_t>(bytes > UINT32_MAX ? UINT32_MAX : bytes);
}
// One transaction as `fill` makes it; nothing where there is no observer.
template <typename Fill>
void publish(const client::feed::Publisher& publisher, Fill&& fill) {
  if (!publisher) return;
  substrata_transaction* const slot = publisher.reserve();
  if (slot == nullptr) return;
  *slot = {};
  fill(*slot);
  publisher.commit();
}

}  // namespace substrata::mpi
