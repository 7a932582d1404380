// NUMAchine's two-level coherence protocol: processor caches, network caches, memories and what they know.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "numachine/large_pages.hpp"
#include "numachine/memory_card.hpp"

// Source: Lemieux's thesis, sections 3.3.2 and 4.1 and the states of figure 4.3. The figure's arcs are not in
// our text; the transitions follow from the states' meaning there:
//   local    a valid copy is on this station only; global: copies are elsewhere too
//   invalid  the copy here is outdated because a processor (of this station: local, of another: global)
//            has it dirty
namespace substrata::numachine {

// A line of a processor's cache: M, S or I; exclusive data enters dirty. An invalid line keeps its tag.
enum class CacheState : std::uint8_t { kInvalid, kShared, kModified };

struct ProtocolShape {
  std::uint32_t stations = 4;
  std::uint32_t per_station = 4;
  std::uint64_t line_bytes = 64;
  std::uint64_t page_bytes = 4096;  // pages are dealt out to the stations' memories in turn
  std::uint64_t cache_lines = 16384;
  std::uint64_t network_lines = 65536;
  bool update = false;  // update-based instead of invalidate-based (section 3.3.2)
  bool split = false;   // instructions have the upper half of the processors' caches (section 4.2)
};

// Of a split cache, the number of a line of instructions has this bit, so that it is another than that of the same
// bytes as data.
inline constexpr unsigned kInstructionBit = 57;
inline constexpr std::uint64_t kInstructionLine = std::uint64_t{1} << kInstructionBit;

// What a processor wants of a line it could not use as it is.
enum class Want : std::uint8_t { kRead, kExclusive, kUpgrade, kUpdate };

// How an access finds the processor's own cache.
enum class Found : std::uint8_t {
  kHit,
  kOwnership,     // present, but a write needs ownership
  kInvalidation,  // its tag is there, invalidated from outside before reuse
  kOther          // compulsory, capacity, conflict
};

// What one step of a request did. The lists are the protocol's own until its next step.
struct Step {
  bool served = false;         // else it must go on to the home memory
  bool network_cache = false;  // served by the station's network cache
  BlockState met = BlockState::kNotIn;
  bool data = false;                          // a line travels to the requester; else an acknowledgement
  int owner = -1;                             // processor whose dirty line was taken
  int owner_station = -1;                     // other station that was asked for the block
  std::uint64_t stations = 0;                 // other stations that invalidations or updates were sent to
  std::uint64_t evicted = ~std::uint64_t{0};  // line the requester's cache dropped
  bool evicted_dirty = false;
  BlockState evicted_met =
      BlockState::kNotIn;  // what a dirty one met at its home; not in: it went no further
  std::uint64_t network_evicted = ~std::uint64_t{0};  // line the network cache wrote back to its home
  BlockState network_evicted_met = BlockState::kNotIn;
};

// An invalidation or update that reached a processor's cache.
struct Delivery {
  std::uint32_t cpu;
  std::uint64_t line;
  bool hit;    // the cache had the line
  bool dirty;  // and it was modified
};

// Division by a number that is a power of two most often.
class Divisor {
 public:
  explicit Divisor(std::uint64_t value) noexcept
      : value_(value),
        shift_(std::has_single_bit(value) ? static_cast<unsigned>(std::countr_zero(value)) : kNone) {}

  std::uint64_t quotient(std::uint64_t of) const noexcept {
    return shift_ != kNone ? of >> shift_ : of / value_;
  }
  std::uint64_t rest(std::uint64_t of) const noexcept {
    return shift_ != kNone ? of & (value_ - 1) : of % value_;
  }

 private:
  static constexpr unsigned kNone = ~0U;
  std::uint64_t value_;
  unsigned shift_;
};

// The state of all caches and memories. Every step is atomic; what may happen between two steps of one
// request (to the network cache, to the home) is the caller's. Thread-compatible.
class Protocol {
 public:
  static constexpr std::uint64_t kNoLine = ~std::uint64_t{0};

  // What a home memory knows of one of its lines, and what the machine keeps there.
  struct Block {
    std::uint64_t stations = 0;  // other stations that may have copies (GV), or the one that owns it (GI)
    std::uint64_t locked_until = 0;
    std::uint32_t version = 0;  // of memory's copy
    std::uint32_t latest = 0;   // of the newest copy anywhere; only tests look
    std::int32_t profile = -1;  // the machine's
    BlockState state = BlockState::kLocalValid;
    std::uint8_t processors = 0;  // of the home station that may have copies
  };

  explicit Protocol(const ProtocolShape& shape);
  Protocol(const Protocol& other);
  Protocol& operator=(const Protocol&) = delete;

  const ProtocolShape& shape() const noexcept { return shape_; }
  std::uint32_t processors() const noexcept { return shape_.stations * shape_.per_station; }
  std::uint32_t station_of(std::uint32_t cpu) const noexcept {
    return static_cast<std::uint32_t>(per_station_.quotient(cpu));
  }
  std::uint32_t home_of(std::uint64_t line) const noexcept {
    return static_cast<std::uint32_t>(stations_.rest(page_of(physical(line))));
  }
  std::uint64_t line_of(std::uint64_t address) const noexcept { return address >> line_shift_; }
  std::uint64_t page_of(std::uint64_t line) const noexcept { return line >> page_shift_; }
  std::uint64_t index_of(std::uint64_t line) const noexcept {
    return (line & data_mask_) | (line >> kInstructionBit & 1U) << half_shift_;
  }
  // Where it is in memory.
  static std::uint64_t physical(std::uint64_t line) noexcept { return line & ~kInstructionLine; }

  Found find(std::uint32_t cpu, std::uint64_t line, bool write) const noexcept {
    const Line& own = cache_line(cpu, line);
    if (own.tag != line) return Found::kOther;
    if (own.state == CacheState::kInvalid) return Found::kInvalidation;
    return write && own.state != CacheState::kModified ? Found::kOwnership : Found::kHit;
  }
  // The state at the line's index, whatever its tag: what the external monitor sees.
  CacheState state_at(std::uint32_t cpu, std::uint64_t index) const noexcept {
    return caches_[cpu * shape_.cache_lines + index].state;
  }
  // The state of that line; invalid if another one is in its place.
  CacheState state_of(std::uint32_t cpu, std::uint64_t line) const noexcept {
    const Line& own = cache_line(cpu, line);
    return own.tag == line ? own.state : CacheState::kInvalid;
  }
  bool holds(std::uint32_t cpu, std::uint64_t line) const noexcept;
  // A request for the line will be stepped soon: what it will look at is fetched meanwhile.
  void expect(std::uint32_t cpu, std::uint64_t line);
  // At the network cache of the requester's station; only for lines of another station's memory.
  Step at_network_cache(std::uint32_t cpu, std::uint64_t line, Want want);
  // At the home memory; always serves.
  Step at_home(std::uint32_t cpu, std::uint64_t line, Want want);
  const std::vector<Delivery>& deliveries() const noexcept { return deliveries_; }

  // Every processor's cache full of shared lines that no program of the machine touches, as an earlier
  // program leaves it. Before the first step.
  void warm_up();
  Block& block(std::uint64_t line) {
    const std::uint64_t page = page_of(line);
    const KnownPage& known = lately_[page & (lately_.size() - 1)];
    return (known.page == page ? known.blocks : find_page(page))[line & lines_mask_];
  }
  // The state of a line in a station's network cache.
  BlockState network_state(std::uint32_t station, std::uint64_t line) const noexcept;

 private:
  friend struct ProtocolCheck;  // of the tests

  struct Line {
    std::uint64_t tag = kNoLine;
    std::uint32_t version = 0;
    CacheState state = CacheState::kInvalid;
  };
  struct NetworkLine {
    std::uint64_t tag = kNoLine;
    std::uint32_t version = 0;
    BlockState state = BlockState::kNotIn;
    std::uint8_t processors = 0;
  };
  using Chunk = std::vector<Block, LargePages<Block>>;

  Line& cache_line(std::uint32_t cpu, std::uint64_t line) noexcept {
    return caches_[cpu * shape_.cache_lines + index_of(line)];
  }
  const Line& cache_line(std::uint32_t cpu, std::uint64_t line) const noexcept {
    return caches_[cpu * shape_.cache_lines + index_of(line)];
  }
  // Null: not in.
  NetworkLine* network_line(std::uint32_t station, std::uint64_t line) noexcept;
  std::uint8_t bit_of(std::uint32_t cpu) const noexcept {
    return static_cast<std::uint8_t>(1U << per_station_.rest(cpu));
  }
  std::uint8_t all_processors() const noexcept {
    return static_cast<std::uint8_t>((1U << shape_.per_station) - 1);
  }
  Block* find_page(std::uint64_t page);
  void invalidate(std::uint32_t station, std::uint8_t processors, std::uint64_t line, std::uint32_t except);
  // The processor of a station that has the line modified, or -1.
  int dirty_holder(std::uint32_t station, std::uint64_t line) const noexcept;
  // Takes the dirty line of a processor for a reader (it keeps a shared copy) or a writer; gives its version.
  std::uint32_t take(std::uint32_t cpu, std::uint64_t line, bool exclusive);
  void fill(std::uint32_t cpu, std::uint64_t line, CacheState state, std::uint32_t version, Step& step);
  NetworkLine& allocate(std::uint32_t station, std::uint64_t line, Step& step);
  // Gives what it met at its home; not in: a network cache took it.
  BlockState write_back(std::uint32_t cpu, std::uint64_t line, std::uint32_t version);
  // What memory knows of a line when a processor's request reaches it, and the step that it begins.
  struct AtHome {
    Step step;
    std::uint32_t station, home;  // the processor's, the line's
    Block& known;
  };
  AtHome served_at_home(std::uint32_t cpu, std::uint64_t line);
  Step read_at_home(std::uint32_t cpu, std::uint64_t line);
  Step own_at_home(std::uint32_t cpu, std::uint64_t line);
  Step update_at_home(std::uint32_t cpu, std::uint64_t line);

  const ProtocolShape shape_;
  const Divisor stations_;
  const Divisor per_station_;
  const unsigned line_shift_;
  const unsigned page_shift_;                                   // from a line's number
  const std::uint64_t lines_mask_;                              // of a page
  const std::uint64_t data_mask_;                               // of the lines of a cache that data may have
  const unsigned half_shift_;                                   // half the lines
  std::vector<Line, LargePages<Line>> caches_;                  // of each processor in turn
  std::vector<NetworkLine, LargePages<NetworkLine>> networks_;  // of each station in turn
  std::vector<Chunk> chunks_;                                   // the blocks of many pages each
  std::size_t free_blocks_ = 0;                                 // of the last chunk
  std::unordered_map<std::uint64_t, Block*> pages_;
  // Pages used lately, by the low bits of their number;
  struct KnownPage {
    std::uint64_t page = kNoLine;
    Block* blocks = nullptr;
  };
  std::vector<KnownPage> lately_;  // a power of two
  std::vector<Delivery> deliveries_;
};

}  // namespace substrata::numachine
