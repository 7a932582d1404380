// A rank's probe points in the feed, and the trace of them that the user may want.
#ifndef SUBSTRATA_MPI_PUBLISHING_HPP
#define SUBSTRATA_MPI_PUBLISHING_HPP

#include <substrata/feed.h>

#include <cstdint>

namespace substrata::mpi {

struct Shim;

struct Publishing {
  substrata_publisher* sends = nullptr;
  substrata_publisher* arrivals = nullptr;
  substrata_recorder* recorder = nullptr;
};
void open_publishing(Shim& self);
// Ends the trace as well.
void close_publishing(Publishing& publishing);

inline uint32_t size_field(uint64_t bytes) {
  return static_cast<uint32_t>(bytes > UINT32_MAX ? UINT32_MAX : bytes);
}
// One transaction of the present phase, otherwise as `fill` makes it; nothing where there is no observer.
template <typename Fill>
void publish(substrata_publisher* publisher, Fill&& fill) {
  if (publisher == nullptr) return;
  substrata_transaction* const slot = substrata_reserve(publisher);
  if (slot == nullptr) return;
  *slot = {};
  slot->phase = substrata_phase();
  fill(*slot);
  substrata_commit(publisher);
}

}  // namespace substrata::mpi

#endif
