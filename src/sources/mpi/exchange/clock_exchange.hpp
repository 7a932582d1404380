// How far the clocks of two nodes are apart, from messages that went to and fro between them; and which ranks
// share a clock.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace substrata::mpi_exchange {

// One message to the reference and back: nanoseconds of the own clock when it left and when the answer was
// there, and of the reference's clock in between.
struct ClockExchange {
  int64_t sent = 0;
  int64_t remote = 0;
  int64_t received = 0;
};

// At `time` of the own clock the reference showed time + offset, within +- uncertainty: from the exchange
// with the shortest way, whose two halves are unknown (F. Cristian, "Probabilistic clock synchronization",
// Distributed Computing 3, 1989). Where the reference's clock runs at most 100 ppm off, the true offset lies
// within. An empty list gives an uncertainty of -1.
struct ClockOffset {
  int64_t time = 0;
  int64_t offset = 0;
  int64_t uncertainty = -1;
};
ClockOffset best_offset(std::span<const ClockExchange> exchanges);

// A name that all processes with this CLOCK_MONOTONIC_RAW have in common, and no others: the boot, and where
// the process lives in a time namespace with an offset, that. Empty when the kernel does not show its boot.
std::string clock_name();
// From the texts of /proc/sys/kernel/random/boot_id and /proc/self/timens_offsets.
std::string clock_name(std::string_view boot, std::string_view offsets);

// The first rank of each clock other than rank 0's, in their order.
std::vector<int> clock_leaders(const std::vector<uint64_t>& clock_of_rank);

}  // namespace substrata::mpi_exchange
