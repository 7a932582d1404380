// The program's present phase: its region in the feed, else the section that its output announced.
#pragma once

#include <substrata/feed.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "sources/mpi/message_counts.hpp"
#include "sources/mpi/section_marks.hpp"

namespace substrata::mpi {

struct Shim;

// Of one process. Not thread-safe: the shim serialises.
class Phases {
 public:
  Phases() = default;
  Phases(const Phases&) = delete;
  Phases& operator=(const Phases&) = delete;
  // The ranks of one node share the section from now on. Collective.
  void share(const Shim& self);
  SectionBoard& board() { return *board_; }
  // The phase's place in the counts.
  uint32_t present(MessageCounts& counts) {
    const uint16_t region = substrata_phase();
    const uint32_t section = board_->current.load(std::memory_order_relaxed);
    if (region != region_ || section != section_) look_up(counts, region, section);
    return place_;
  }
  // The phase as a region of the feed: the program's own, else the section, whose number all ranks agree on.
  uint16_t of_feed(MessageCounts& counts) {
    present(counts);
    return of_feed_;
  }
  // Of a region of the feed, else of a section; "(outside)" of neither.
  std::string name_of(uint16_t region, uint32_t section) const;

 private:
  void look_up(MessageCounts& counts, uint16_t region, uint32_t section);
  SectionBoard own_{};
  SectionBoard* board_ = &own_;
  // Those of the last message.
  uint32_t place_ = 0;
  uint32_t section_ = UINT32_MAX;
  uint16_t region_ = 0;
  uint16_t of_feed_ = 0;
};

// The program prints this: a section mark names the phase.
void look_for_mark(const char* text, size_t size);

}  // namespace substrata::mpi
