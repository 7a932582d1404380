// Commands, counting, tracing and interrupts of a board.
#include "shrimp/board.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace substrata::shrimp {
namespace {

constexpr size_t bytes_of(unsigned address_bits) noexcept { return sizeof(uint64_t) << address_bits; }

}  // namespace

bool Board::can_extract() noexcept {
#ifdef __x86_64__
  return __builtin_cpu_supports("bmi2") != 0 && __builtin_cpu_is("amdfam15h") == 0 &&
         __builtin_cpu_is("amdfam17h") == 0;
#else
  return false;
#endif
}

Board::~Board() {
  if (memory_ != nullptr) munmap(memory_, bytes_of(selection_.address_bits()));
}

void Board::need_memory() {
  if (memory_ != nullptr) return;
  void* const mapped = mmap(nullptr, bytes_of(selection_.address_bits()), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<uint64_t*>(mapped);
}

// The extension adds words above those that are there, or takes them away.
bool Board::resize(unsigned old_bits) noexcept {
  const unsigned bits = selection_.address_bits();
  if (memory_ == nullptr || bits == old_bits) return true;
  void* const moved = mremap(memory_, bytes_of(old_bits), bytes_of(bits), MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) return false;
  memory_ = static_cast<uint64_t*>(moved);
  return true;
}

const char* Board::write(Register to, uint64_t value) noexcept {
  const auto range = [&](uint64_t most, const char* message) { return value > most ? message : nullptr; };
  const char* wrong = nullptr;
  switch (to) {
    case Register::kRun:
      wrong = range(1, "the run register takes 0 (stop) or 1 (start)");
      break;
    case Register::kMode:
      wrong = range(1, "the mode register takes 0 (histogram) or 1 (trace)");
      break;
    case Register::kMultiplexer:
      wrong = Selection::objection(value, selection_.jumper());
      break;
    case Register::kJumper: {
      wrong = Selection::objection(selection_.nibbles(), value);
      if (wrong != nullptr) break;
      const Selection old = selection_;
      const Selection wanted(selection_.nibbles(), static_cast<unsigned>(value));
      if (std::max(registers_[index(Register::kTraceLimit)], registers_[index(Register::kTraceBase)] + 1) >
          uint64_t{1} << wanted.address_bits()) {
        wrong = "the trace lies in the extended memory; move its base and limit before it is taken away";
        break;
      }
      selection_ = wanted;
      if (!resize(old.address_bits())) {
        selection_ = old;
        wrong = "no memory for the extended histogram";
      }
      break;
    }
    case Register::kLatencyShift:
      wrong = range(kClockBits - 1, "the latency has 44 bits; shift it by 0 to 43");
      break;
    case Register::kLatencyMinimum:
    case Register::kLatencyMaximum:
      wrong = range(kClockMask, "a latency has 44 bits");
      break;
    case Register::kCategory:
      wrong = range(15, "the category has 4 bits: 0 to 15");
      break;
    case Register::kThreshold:
      wrong = range(kWordMost, "the threshold has 40 bits, as the histogram's words");
      break;
    case Register::kTrigger:
      wrong = range(1, "the trigger register takes 0 or 1");
      break;
    case Register::kSource:
      wrong = range(1, "the monitor takes in packets (0) or uses of the EISA bus (1)");
      break;
    case Register::kTraceWrap:
      wrong = range(1, "a full trace stops (0) or wraps (1)");
      break;
    case Register::kTraceBase:
      if (value >= trace_limit()) wrong = "the trace's base must lie below its limit";
      break;
    case Register::kTraceLimit:
      if (value > words() || (value != 0 && value <= trace_base()))
        wrong = "the trace's limit must lie above its base and in the memory";
      break;
    default:
      return "there is no such register; substrata/shrimp.h lists them";
  }
  if (wrong != nullptr) return wrong;
  registers_[index(to)] = value;
  if (to == Register::kMultiplexer) selection_ = Selection(static_cast<uint32_t>(value), selection_.jumper());
  if (to == Register::kTraceBase || to == Register::kTraceLimit) {
    trace_next_ = 0;
    wrapped_ = false;
  }
  return nullptr;
}

const char* Board::initialise(uint64_t first, uint64_t count, uint64_t value) noexcept {
  if (value > kWordMost) return "a word of the memory has 40 bits";
  if (first > words() || count > words() - first) return "the range goes beyond the memory";
  if (value == 0 && memory_ == nullptr) return nullptr;
  try {
    need_memory();
  } catch (const std::bad_alloc&) {
    return "no memory for the histogram";
  }
  if (value == 0 && count == words() &&
      madvise(memory_, bytes_of(selection_.address_bits()), MADV_DONTNEED) == 0)
    return nullptr;
  std::fill_n(memory_ + first, count, value);
  return nullptr;
}

const char* Board::read(uint64_t first, uint64_t count, uint64_t* out) const noexcept {
  if (first > words() || count > words() - first) return "the range goes beyond the memory";
  if (memory_ == nullptr)
    std::fill_n(out, count, uint64_t{0});
  else
    std::copy_n(words_from(first, count), count, out);
  return nullptr;
}

void Board::add_words(uint64_t first, uint64_t count, uint64_t* out) const noexcept {
  if (memory_ == nullptr) return;
  const uint64_t* const words = words_from(first, count);
  for (uint64_t i = 0; i < count; ++i) out[i] += words[i];
}

// Most words were never written: the system maps its page of zeroes for them in one call, where it would else take a
// page fault for each 512 of them.
const uint64_t* Board::words_from(uint64_t first, uint64_t count) const noexcept {
#ifdef MADV_POPULATE_READ
  constexpr uint64_t kPage = 512;  // words; with larger pages the system may refuse, and the faults are taken
  const uint64_t from = first / kPage * kPage;
  if (count >= 8 * kPage)
    static_cast<void>(madvise(memory_ + from, (first + count - from) * sizeof(uint64_t), MADV_POPULATE_READ));
#endif
  return memory_ + first;
}

Board::Recorded Board::record(const uint64_t* variables, const uint64_t* clocks, size_t count,
                              bool stop_at_interrupt) {
  const bool counts = running() && !tracing() && memory_ != nullptr;
  if (counts && extracts_ && selection_.in_order())
    return count_extracting(variables, count, stop_at_interrupt);
  return record_otherwise(variables, clocks, count, stop_at_interrupt);
}

// Apart, so that record() keeps nothing over a call.
[[gnu::noinline]] Board::Recorded Board::record_otherwise(const uint64_t* variables, const uint64_t* clocks,
                                                          size_t count, bool stop_at_interrupt) {
  if (!running() || count == 0) return {.taken = count};
  need_memory();
  if (tracing()) return trace(variables, clocks, count);
  return this->count(variables, 0, count, stop_at_interrupt);
}

// Up to the first packet whose word would pass the threshold. That one and what follows goes the other way.
#ifdef __x86_64__
[[gnu::target("bmi2")]]
#endif
Board::Recorded
Board::count_extracting(const uint64_t* variables, size_t count, bool stop_at_interrupt) noexcept {
  size_t i = 0;
#ifdef __x86_64__
  constexpr size_t kAtOnce = 8;
  const uint64_t mask = selection_.mask();
  const uint64_t threshold = registers_[index(Register::kThreshold)];
  uint64_t* const memory = memory_;
  for (; count - i >= kAtOnce; i += kAtOnce) {
#pragma GCC unroll 8
    for (size_t k = 0; k < kAtOnce; ++k) {
      uint64_t& word = memory[_pext_u64(variables[i + k], mask)];
      if (word >= threshold) [[unlikely]]
        return this->count(variables, i + k, count, stop_at_interrupt);
      ++word;
    }
  }
#endif
  return i == count ? Recorded{.taken = count} : this->count(variables, i, count, stop_at_interrupt);
}

Board::Recorded Board::count(const uint64_t* variables, size_t from, size_t count,
                             bool stop_at_interrupt) noexcept {
  constexpr size_t kAtOnce = 64;
  const uint64_t threshold = registers_[index(Register::kThreshold)];
  const bool trigger = registers_[index(Register::kTrigger)] != 0;
  uint64_t* const memory = memory_;
  Recorded done{.taken = from};
  uint32_t addresses[kAtOnce];
  while (done.taken < count) {
    const size_t some = std::min(count - done.taken, kAtOnce);
    selection_.addresses(variables + done.taken, some, addresses);
    for (size_t i = 0; i < some; ++i) {
      const uint32_t address = addresses[i];
      const uint64_t incremented = ++memory[address];
      if (incremented <= threshold) [[likely]]
        continue;
      // Compared before it is cut to 40 bits, so that a full word interrupts too (section 4.3). No word needs
      // the cut that was not above the threshold.
      memory[address] = incremented & kWordMost;
      interrupt(address);
      ++done.interrupts;
      if (trigger) registers_[index(Register::kMode)] = 1;
      if (trigger || stop_at_interrupt) {
        done.taken += i + 1;
        return done;
      }
    }
    done.taken += some;
  }
  return done;
}

Board::Recorded Board::trace(const uint64_t* variables, const uint64_t* clocks, size_t count) noexcept {
  const bool wrap = registers_[index(Register::kTraceWrap)] != 0;
  Recorded done;
  for (size_t i = 0; i < count; ++i) {
    if (trace_next_ == trace_capacity()) {
      if (!wrap) {
        ++done.lost;
        continue;
      }
      trace_next_ = 0;
      wrapped_ = true;
    }
    if (wrapped_) ++done.lost;  // an older entry
    const uint64_t clock = clocks[i] & ((uint64_t{1} << kTraceClockBits) - 1);
    memory_[trace_base() + trace_next_++] =
        uint64_t{selection_.chosen_bits(variables[i])} << kTraceClockBits | clock;
    ++done.traced;
  }
  done.taken = count;
  return done;
}

void Board::interrupt(uint32_t address) noexcept {
  if (waiting_ == kInterruptQueue) {
    queue_overflowed_ = true;
    return;
  }
  queue_[(first_waiting_ + waiting_++) % kInterruptQueue] = address;
}

bool Board::next_interrupt(uint32_t* address) noexcept {
  if (waiting_ == 0) return false;
  *address = queue_[first_waiting_];
  first_waiting_ = (first_waiting_ + 1) % kInterruptQueue;
  --waiting_;
  return true;
}

const char* Board::set_tag(uint64_t page, uint64_t tag) {
  if (tag > 15) return "a page tag has 4 bits: 0 to 15";
  if (page >= kPages) return "the incoming page table has 2^24 entries";
  if (page >= tags_.size()) {
    if (tag == 0) return nullptr;
    tags_.resize(page + 1);
  }
  tags_[page] = static_cast<uint8_t>(tag);
  return nullptr;
}

}  // namespace substrata::shrimp
