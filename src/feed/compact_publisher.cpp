// Publishers and observers of compact records.
#include <bit>
#include <utility>

#include "base/guard.hpp"
#include "feed/compact.hpp"
#include "feed/registry.hpp"

using namespace substrata;
using namespace substrata::feed;

namespace {

// Transactions in a batch of expanded records: they stay in half of a core's first cache.
constexpr uint32_t kExpanded = 256;

}  // namespace

extern "C" {

int substrata_compact_open(uint32_t probe, uint32_t format, uint32_t initiator, uint32_t records,
                           substrata_compact_cursor* cursor, substrata_publisher** out) {
  return guarded([&] {
    constexpr uint32_t kMost = 1U << 20;
    if (records == 0) records = 1024;
    if (cursor == nullptr || out == nullptr || records < 2 * kMostRecords || records > kMost)
      return fail(Code::kInvalid,
                  "substrata_compact_open needs a cursor, a place for the publisher and 16 to %u records",
                  kMost);
    if (format != SUBSTRATA_COMPACT_ACCESSES)
      return fail(Code::kNoSupport, "compact format %u is not known here; format %d is", format,
                  SUBSTRATA_COMPACT_ACCESSES);
    auto publisher = std::make_unique<Publisher>(kExpanded);
    publisher->compact = std::make_unique<CompactBuffer>();
    CompactBuffer& compact = *publisher->compact;
    compact.records = std::make_unique<uint64_t[]>(records);
    compact.size = records;
    compact.initiator = initiator;
    compact.expansion.name(initiator, static_cast<uint16_t>(probe));
    compact.cursor.store(cursor);
    *cursor = {
        .next = compact.records.get(), .end = compact.records.get() + records, .phase = 0, .reserved = 0};
    return list_publisher(std::move(publisher), probe, out);
  });
}

void substrata_compact_put(substrata_publisher* publisher, const substrata_transaction* transaction) {
  if (!substrata_observed(publisher)) return;
  Publisher& to = *static_cast<Publisher*>(publisher);
  CompactBuffer& compact = *to.compact;
  substrata_compact_cursor& cursor = *compact.cursor.load(std::memory_order_relaxed);
  uint32_t phase = cursor.phase;
  uint64_t group[kMostRecords];
  const size_t count = is_whole(*transaction) ? encode(*transaction, &phase, group) : 0;
  if (count == 0) {
    substrata_transaction as_it_is = *transaction;
    as_it_is.initiator = compact.initiator;
    as_it_is.probe = publisher->probe;
    deliver_array(to, &as_it_is, 1);
    return;
  }
  const uint64_t* const end = compact.records.get() + compact.size;
  if (static_cast<size_t>(end - cursor.next) < count && !make_compact_space(to)) return;
  uint64_t* const next = cursor.next;
  for (size_t i = 0; i < count; ++i) next[i] = group[i];
  cursor.phase = phase;
  __atomic_store_n(&cursor.next, next + count, __ATOMIC_RELEASE);
}

int substrata_observer_take_compact(substrata_observer* observer, uint32_t format,
                                    substrata_compact_function call) {
  return guarded([&] {
    if (observer == nullptr || call == nullptr)
      return fail(Code::kInvalid, "substrata_observer_take_compact needs an observer and a function");
    if (format != SUBSTRATA_COMPACT_ACCESSES)
      return fail(Code::kNoSupport, "compact format %u is not known here; format %d is", format,
                  SUBSTRATA_COMPACT_ACCESSES);
    observer->take_compact = call;
    return 0;
  });
}

}  // extern "C"
