// What a recorder outside sees while the program runs: what this rank sends and which section the program is
// in.
#pragma once

#include <substrata/live_board.h>

#include <cstdint>
#include <string_view>

#include "sources/mpi/exchange/clock_exchange.hpp"

namespace substrata::mpi {

// This rank's entry of the board that SUBSTRATA_MPI_LIVE names. Without one, or when it is full, every call
// does nothing. Thread-compatible; the shim serialises.
class SharedStatus {
 public:
  // Maps the board.
  void find();
  // Takes an entry. `modelled`: messages inside of collectives are expanded.
  void open(int rank, bool modelled);
  void sent(uint64_t bytes) noexcept {
    if (rank_ == nullptr) return;
    __atomic_store_n(&rank_->messages, ++messages_, __ATOMIC_RELAXED);
    __atomic_store_n(&rank_->bytes, bytes_ += bytes, __ATOMIC_RELAXED);
  }
  bool is_open() const noexcept { return board_ != nullptr; }
  // This node's clock beside that of the reference.
  void clock(const mpi_exchange::ClockOffset& offset, std::string_view reference) noexcept;
  // "": out of all sections.
  void enter(std::string_view section, int64_t now) noexcept;

 private:
  substrata_live_board* board_ = nullptr;  // mapped until the process ends
  substrata_live_rank* rank_ = nullptr;
  uint64_t messages_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace substrata::mpi
