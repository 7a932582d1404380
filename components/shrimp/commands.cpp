// The C interface of include/substrata/shrimp.h.
#include <substrata/feed.h>
#include <substrata/shrimp.h>

#include <array>
#include <vector>

#include "base/guard.hpp"
#include "shrimp/rack.hpp"

namespace substrata::shrimp {
namespace {

static_assert(SUBSTRATA_SHRIMP_NODES == kNodes && SUBSTRATA_SHRIMP_EVERY_NODE == kEveryNode);
static_assert(SUBSTRATA_SHRIMP_SOURCE == static_cast<uint32_t>(Register::kSource));
static_assert(SUBSTRATA_SHRIMP_SENDER_LAST == Selection::kSenderLast);
static_assert(SUBSTRATA_SHRIMP_UNRESTRICTED == Selection::kUnrestricted);
static_assert(SUBSTRATA_SHRIMP_JUMPER_KIND == kFirstSignal);
static_assert(SUBSTRATA_SHRIMP_WORD_MOST == kWordMost);
static_assert(SUBSTRATA_SHRIMP_CATEGORY == 1u << kCategoryNibble);
static_assert(SUBSTRATA_SHRIMP_SENDER == 3u << kSenderNibble);
static_assert(SUBSTRATA_SHRIMP_SIZE(0) == 1u << kSizeNibble);

bool is_node(uint32_t node) noexcept { return node < kNodes; }
constexpr const char* kNoNode = "there are nodes 0 to 255";

}  // namespace
}  // namespace substrata::shrimp

using namespace substrata;
using namespace substrata::shrimp;

extern "C" {

const char* substrata_shrimp_error(void) { return last_refusal(); }

int substrata_shrimp_command(uint32_t from, uint32_t node, uint32_t reg, uint64_t value) {
  if (!is_node(from) || (!is_node(node) && node != kEveryNode))
    return fail(Code::kInvalid, "command: %s", kNoNode);
  if (reg >= kRegisters)
    return fail(Code::kInvalid, "command: %s", "there is no such register; substrata/shrimp.h lists them");
  substrata_flush();
  const auto which = static_cast<Register>(reg);
  std::array<uint64_t, kNodes> before{};
  size_t written = 0;
  const char* refused = rack().with(node, [&](Board& board) {
    before[written] = board.read(which);
    const char* const no = board.write(which, value);
    if (no == nullptr) ++written;
    return no;
  });
  const Status followed = which == Register::kSource ? rack().follow_sources() : kSuccess;
  if (refused != nullptr || !followed.ok()) {
    // All boards or none.
    size_t next = 0;
    rack().with(node, [&](Board& board) -> const char* {
      if (next < written) board.write(which, before[next++]);
      return nullptr;
    });
    return refused != nullptr ? fail(Code::kInvalid, "command: %s", refused)
                              : fail(followed.code, "command: %s", followed.note);
  }
  rack().count_command(node);
  return 0;
}

int substrata_shrimp_register_value(uint32_t node, uint32_t reg, uint64_t* value) {
  if (!is_node(node)) return fail(Code::kInvalid, "register: %s", kNoNode);
  if (reg >= kRegisters || value == nullptr)
    return fail(Code::kInvalid, "register: %s", "there is no such register, or nowhere to put its value");
  substrata_flush();
  rack().with(node, [&](Board& board) -> const char* {
    *value = board.read(static_cast<Register>(reg));
    return nullptr;
  });
  return 0;
}

void substrata_shrimp_power_on(void) {
  substrata_flush();
  rack().power_on();
  static_cast<void>(rack().follow_sources());
}

int substrata_shrimp_initialise(uint32_t from, uint32_t node, uint32_t first, uint32_t count,
                                uint64_t value) {
  if (!is_node(from) || (!is_node(node) && node != kEveryNode))
    return fail(Code::kInvalid, "initialise: %s", kNoNode);
  substrata_flush();
  // Every board is asked first, so that all are written or none.
  const char* refused = rack().with(node, [&](Board& board) -> const char* {
    if (first > board.words() || count > board.words() - first) return "the range goes beyond the memory";
    return value > kWordMost ? "a word of the memory has 40 bits" : nullptr;
  });
  if (refused != nullptr) return fail(Code::kInvalid, "initialise: %s", refused);
  refused = rack().with(node, [&](Board& board) { return board.initialise(first, count, value); });
  if (refused != nullptr) return fail(Code::kNoMemory, "initialise: %s", refused);
  rack().count_command(node);
  return 0;
}

int substrata_shrimp_read(uint32_t node, uint32_t first, uint32_t count, uint64_t* out) {
  if (!is_node(node)) return fail(Code::kInvalid, "read: %s", kNoNode);
  if (out == nullptr && count != 0) return fail(Code::kInvalid, "read: %s", "nowhere to put the words");
  substrata_flush();
  const char* refused = rack().with(node, [&](Board& board) { return board.read(first, count, out); });
  if (refused != nullptr) return fail(Code::kInvalid, "read: %s", refused);
  rack().count_command(node);
  return 0;
}

int substrata_shrimp_read_sum(uint32_t first, uint32_t count, uint64_t* out) {
  if (out == nullptr && count != 0) return fail(Code::kInvalid, "read: %s", "nowhere to put the words");
  substrata_flush();
  const char* refused = rack().with(kEveryNode, [&](Board& board) -> const char* {
    return first > board.words() || count > board.words() - first ? "the range goes beyond the memory"
                                                                  : nullptr;
  });
  if (refused != nullptr) return fail(Code::kInvalid, "read: %s", refused);
  for (uint32_t i = 0; i < count; ++i) out[i] = 0;
  rack().with(kEveryNode, [&](Board& board) -> const char* {
    board.add_words(first, count, out);
    return nullptr;
  });
  rack().count_command(kEveryNode);
  return 0;
}

int substrata_shrimp_check_selection(uint32_t selection) {
  const char* refused = Selection::objection(selection);
  return refused == nullptr ? 0 : fail(Code::kInvalid, "selection: %s", refused);
}

int substrata_shrimp_address(uint32_t selection, const substrata_shrimp_variables* variables,
                             uint32_t* address) {
  if (const char* refused = Selection::objection(selection))
    return fail(Code::kInvalid, "selection: %s", refused);
  if (variables == nullptr || address == nullptr)
    return fail(Code::kInvalid, "address: %s", "a pointer is null");
  if (variables->latency > 0xfffff || variables->size > 0xfff || variables->tag > 0xf ||
      variables->category > 0xf)
    return fail(Code::kInvalid, "address: %s",
                "latency has 20 bits, size 12, sender 8, page tag and category 4 each");
  *address = Selection(selection).address(
      pack({variables->latency, variables->size, variables->sender, variables->tag, variables->category}));
  return 0;
}

int substrata_shrimp_variables_of(uint32_t selection, uint32_t address,
                                  substrata_shrimp_variables* variables) {
  if (const char* refused = Selection::objection(selection))
    return fail(Code::kInvalid, "selection: %s", refused);
  if (variables == nullptr || address >> kAddressBits != 0)
    return fail(Code::kInvalid, "variables: %s", "an address has 20 bits, and a pointer must not be null");
  const Variables v = unpack(Selection(selection).variables(address));
  *variables = {v.latency, v.size, v.sender, v.tag, v.category, {}};
  return 0;
}

int substrata_shrimp_read_trace(uint32_t node, uint32_t first, uint32_t capacity,
                                substrata_shrimp_trace_entry* out, uint32_t* count) {
  if (!is_node(node)) return fail(Code::kInvalid, "trace: %s", kNoNode);
  if (count == nullptr || (out == nullptr && capacity != 0))
    return fail(Code::kInvalid, "trace: %s", "a pointer is null");
  substrata_flush();
  rack().with(node, [&](Board& board) -> const char* {
    const uint32_t length = board.trace_length();
    *count = first < length ? length - first : 0;
    for (uint32_t i = 0; i < capacity && i < *count; ++i) {
      const uint64_t entry = board.trace_entry(first + i);
      out[i] = {static_cast<uint32_t>(entry >> kTraceClockBits),
                static_cast<uint32_t>(entry & ((1u << kTraceClockBits) - 1))};
    }
    return nullptr;
  });
  rack().count_command(node);
  return 0;
}

int substrata_shrimp_next_interrupt(uint32_t node, uint32_t* address, uint32_t* found, uint32_t* overflowed) {
  if (!is_node(node)) return fail(Code::kInvalid, "interrupt: %s", kNoNode);
  if (address == nullptr || found == nullptr)
    return fail(Code::kInvalid, "interrupt: %s", "a pointer is null");
  substrata_flush();
  rack().with(node, [&](Board& board) -> const char* {
    *found = board.next_interrupt(address) ? 1 : 0;
    if (overflowed != nullptr) *overflowed = board.queue_overflowed() ? 1 : 0;
    return nullptr;
  });
  return 0;
}

int substrata_shrimp_set_tag(uint32_t node, uint64_t page, uint32_t tag) {
  if (!is_node(node)) return fail(Code::kInvalid, "page tag: %s", kNoNode);
  substrata_flush();
  return guarded([&] {
    const char* refused = rack().with(node, [&](Board& board) { return board.set_tag(page, tag); });
    return refused == nullptr ? 0 : fail(Code::kInvalid, "page tag: %s", refused);
  });
}

}  // extern "C"
