// A rank's probe points in the feed, and the trace of them that the user may want.
#pragma once

#include <substrata/feed.hpp>

namespace substrata::mpi {

struct Shim;

struct Publishing {
  client::feed::Publisher sends;
  client::feed::Publisher arrivals;
  client::feed::Publisher contents;
  client::feed::Recorder recorder;
};
void open_publishing(Shim& self);
// Ends the trace as well.
void close_publishing(Publishing& publishing);

}  // namespace substrata::mpi
