// A rank's virtual time: its own computing, scaled, and its messages on a modelled network.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace substrata::mpi {

// The network of the virtual clock, in the manner of LogGP (Alexandrov, Ionescu, Schauser, Scheiman, SPAA
// 1995): overhead o at each end, latency L, gap G for each byte; and how much slower than this host the
// modelled processor computes. The defaults are round numbers of a network of 125 MB/s, from no paper.
struct NetworkModel {
  double factor = 1;           // virtual nanoseconds for each nanosecond computed here
  double overhead_ns = 1000;   // o
  double latency_ns = 10'000;  // L
  double byte_ns = 8;          // G
};

// Reads "factor=20:latency=9000:byte=12.5:overhead=1500", any of them, numbers from 0 on. On an error the
// message, and `out` unchanged; else "".
std::string parse_network_model(std::string_view text, NetworkModel* out);
// The same text with all four.
std::string describe(const NetworkModel& model);

// Nanoseconds since MPI_Init of one rank. Carried from rank to rank by the messages, so that a receive is
// never before its send. Not thread-safe: the shim serialises.
class VirtualClock {
 public:
  explicit VirtualClock(const NetworkModel& model = {}) : model_(model) {}
  int64_t now() const { return static_cast<int64_t>(now_); }
  // The rank computed for so long, in processor time of this host; nothing for a negative span.
  void compute(int64_t nanoseconds) {
    if (nanoseconds > 0) now_ += model_.factor * static_cast<double>(nanoseconds);
  }
  // The stamp of a message that is sent now.
  int64_t send() {
    const int64_t stamp = now();
    now_ += model_.overhead_ns;
    return stamp;
  }
  // A message with that stamp is received: gives when, not before it can be there.
  int64_t receive(int64_t stamp, uint64_t bytes) {
    const double there = static_cast<double>(stamp) + model_.overhead_ns + model_.latency_ns +
                         model_.byte_ns * static_cast<double>(bytes);
    if (now_ < there) now_ = there;
    now_ += model_.overhead_ns;
    return now();
  }

 private:
  NetworkModel model_;
  double now_ = 0;
};

}  // namespace substrata::mpi
