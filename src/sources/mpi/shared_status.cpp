// Mapping the recorder's board and taking an entry of it.
#include "sources/mpi/shared_status.hpp"
#include "base/environment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace substrata::mpi {

void SharedStatus::find() {
  const char* path = environment("SUBSTRATA_MPI_LIVE");
  if (path == nullptr || path[0] == '\0' || board_ != nullptr) return;
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  struct stat about {};
  void* memory = MAP_FAILED;
  if (fstat(file, &about) == 0 && about.st_size >= static_cast<off_t>(sizeof(substrata_live_board)))
    memory = mmap(nullptr, sizeof(substrata_live_board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return;
  auto* board = static_cast<substrata_live_board*>(memory);
  if (__atomic_load_n(&board->magic, __ATOMIC_ACQUIRE) != SUBSTRATA_LIVE_MAGIC) {
    munmap(memory, sizeof(substrata_live_board));
    return;
  }
  board_ = board;
}

void SharedStatus::open(int rank, bool modelled) {
  if (board_ == nullptr || rank_ != nullptr) return;
  substrata_live_board* const board = board_;
  const uint64_t place = __atomic_fetch_add(&board->ranks_used, 1, __ATOMIC_RELAXED);
  if (place >= SUBSTRATA_LIVE_RANKS) return;
  rank_ = &board->ranks[place];
  __atomic_store_n(&rank_->modelled, modelled ? 1 : 0, __ATOMIC_RELAXED);
  __atomic_store_n(&rank_->rank_plus_1, static_cast<uint64_t>(rank) + 1, __ATOMIC_RELEASE);
}

void SharedStatus::enter(std::string_view section, int64_t now) noexcept {
  if (board_ == nullptr) return;
  const uint64_t place = __atomic_fetch_add(&board_->sections_used, 1, __ATOMIC_RELAXED);
  if (place >= SUBSTRATA_LIVE_SECTIONS) return;
  substrata_live_section& entry = board_->sections[place];
  const size_t length = std::min<size_t>(section.size(), SUBSTRATA_LIVE_NAME - 1);
  std::memcpy(entry.name, section.data(), length);
  entry.name[length] = '\0';
  entry.time_ns = now;
  __atomic_store_n(&entry.ready, 1, __ATOMIC_RELEASE);
}

void SharedStatus::clock(const mpi_exchange::ClockOffset& offset, std::string_view reference) noexcept {
  if (board_ == nullptr || offset.uncertainty < 0) return;
  const uint64_t place = __atomic_fetch_add(&board_->clocks_used, 1, __ATOMIC_RELAXED);
  if (place >= SUBSTRATA_LIVE_CLOCKS) return;
  substrata_live_clock& entry = board_->clocks[place];
  entry.time_ns = offset.time;
  entry.offset_ns = offset.offset;
  entry.uncertainty_ns = offset.uncertainty;
  const size_t length = std::min(reference.size(), sizeof entry.reference - 1);
  std::memcpy(entry.reference, reference.data(), length);
  entry.reference[length] = '\0';
  __atomic_store_n(&entry.ready, 1, __ATOMIC_RELEASE);
}

}  // namespace substrata::mpi
