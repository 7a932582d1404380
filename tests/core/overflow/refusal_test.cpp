// What the signal of overflow must keep away from; apart, as a process loads its substrates once.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/eventset/event_set.hpp"
#include "core/eventset/library.hpp"
#include "core/eventset/measure.hpp"
#include "core/eventset/overflow.hpp"
#include "core/registry/built_in.hpp"
#include "support/smallest_substrate.hpp"

namespace {

using namespace substrata;

void on_overflow(int, void*, long long, void*) {}

int set_of(const char* name, uint32_t* code) {
  const int set = create_event_set().value_or(-1);
  EXPECT_TRUE(add_named_event(set, name).ok());
  *code = Library::instance().catalogue().find(name).value_or(0u);
  return set;
}

// Two substrates that a signal handler cannot look at: one whose values are floating-point, one that may
// block.
Status floating_event(Device*, uint32_t, Event* out) noexcept {
  *out = {.name = "share", .text = "A share.", .unit = "", .type = ValueType::kDouble};
  return kSuccess;
}
Status slow_event(Device*, uint32_t, Event* out) noexcept {
  *out = {.name = "bytes", .text = "Bytes.", .unit = "bytes"};
  return kSuccess;
}
struct Floating : smallest::Calls {
  static constexpr auto event_at = floating_event;
};
struct Slow : smallest::Calls {
  static constexpr auto event_at = slow_event;
};
constexpr SubstrateTable kFloating = table_of<Floating>({.name = "floating"});
constexpr SubstrateTable kSlow =
    table_of<Slow>({.name = "slow", .traits = kReadBlocks, .read_bound_ns = 1000});
int32_t floating(const Host* host, SubstrateTable* out) noexcept { return publish(kFloating, host, out); }
int32_t slow(const Host* host, SubstrateTable* out) noexcept { return publish(kSlow, host, out); }

// A substrate whose read is interrupted by the timer's signal, always.
int interrupted_set = -1, depth = 0, deepest = 0;
Status interrupted(Set*, int64_t* values) noexcept {
  deepest = std::max(deepest, ++depth);
  if (depth < 3) look_for_overflows(interrupted_set, nullptr);
  --depth;
  values[0] = 0;
  return kSuccess;
}
struct Interrupted : Slow {
  static constexpr auto read = interrupted;
};
constexpr SubstrateTable kInterrupted = table_of<Interrupted>({.name = "interrupted"});
int32_t interruptible(const Host* host, SubstrateTable* out) noexcept {
  return publish(kInterrupted, host, out);
}

// A substrate with an event whose reading takes a lock of the program, and one whose reading does not until
// the program makes it so.
bool second_locks = false;
uint32_t two_events(Device*) noexcept { return 2; }
Status locking_event(Device*, uint32_t index, Event* out) noexcept {
  *out = {.name = index == 0 ? "recorder" : "counter", .text = "A number.", .unit = ""};
  if (index == 0 || second_locks) out->flags = kEventReadLocks;
  return kSuccess;
}
int reads = 0;
Status counted_reads(Set*, int64_t* values) noexcept {
  ++reads;
  values[0] = 0;
  return kSuccess;
}
struct Locking : smallest::Calls {
  static constexpr auto event_count = two_events;
  static constexpr auto event_at = locking_event;
  static constexpr auto read = counted_reads;
};
constexpr SubstrateTable kLocking = table_of<Locking>({.name = "locking"});
int32_t locking(const Host* host, SubstrateTable* out) noexcept { return publish(kLocking, host, out); }

constexpr BuiltIn kSubstrates[] = {{"floating", floating},
                                   {"slow", slow},
                                   {"interrupted", interruptible},
                                   {"locking", locking},
                                   {nullptr, nullptr}};

TEST(OverflowByTimer, NeverReadsAnEventWhoseReadingTakesALock) {  // PA-22
  Library::instance().use_built_in(kSubstrates);
  ASSERT_TRUE(Library::instance().initialise().ok());
  second_locks = false;
  uint32_t recorder = 0, counter = 0;
  const int alone = set_of("locking:::recorder", &recorder);
  const Status refused = set_overflow(alone, recorder, 1, OverflowBy::kTimer, on_overflow);
  EXPECT_EQ(refused.code, Code::kComponent);
  EXPECT_NE(std::string(refused.note).find("recorder takes a lock"), std::string::npos) << refused.note;

  const int set = set_of("locking:::counter", &counter);
  ASSERT_TRUE(set_overflow(set, counter, 1, OverflowBy::kTimer, on_overflow).ok());
  ASSERT_TRUE(start_set(set).ok());
  ASSERT_TRUE(stop_set(set, nullptr).ok());
  // An event that comes later is read by the same signal.
  ASSERT_TRUE(add_event(set, recorder).ok());
  reads = 0;
  EXPECT_EQ(start_set(set).code, Code::kComponent);
  ASSERT_TRUE(remove_event(set, recorder).ok());
  second_locks = true;  // as when the program registers the name as a recorder
  EXPECT_EQ(start_set(set).code, Code::kComponent);
  EXPECT_EQ(reads, 0);
  EXPECT_EQ(overflow_signal(), 0) << "a refused start leaves no handler";
  second_locks = false;
  EXPECT_TRUE(start_set(set).ok());
  EXPECT_TRUE(stop_set(set, nullptr).ok());
  Library::instance().shutdown();
}

TEST(OverflowByTimer, SignalInAReadingDoesNotReadAgain) {  // PA-22
  Library::instance().use_built_in(kSubstrates);
  ASSERT_TRUE(Library::instance().initialise().ok());
  uint32_t bytes = 0;
  const int set = interrupted_set = set_of("interrupted:::bytes", &bytes);
  ASSERT_TRUE(set_overflow(set, bytes, 1, OverflowBy::kTimer, on_overflow).ok());
  ASSERT_TRUE(start_set(set).ok());
  int64_t value = 0;
  EXPECT_TRUE(read_set(set, &value).ok());
  EXPECT_EQ(deepest, 1);
  EXPECT_TRUE(stop_set(set, &value).ok());
  EXPECT_EQ(deepest, 1);
  Library::instance().shutdown();
}

TEST(OverflowByTimer, IsRefusedWhereASignalHandlerCannotLook) {  // PA-22, PA-35
  Library::instance().use_built_in(kSubstrates);
  ASSERT_TRUE(Library::instance().initialise().ok());
  uint32_t share_code = 0, bytes_code = 0;
  const int share = set_of("floating:::share", &share_code), bytes = set_of("slow:::bytes", &bytes_code);
  for (const OverflowBy by : {OverflowBy::kEither, OverflowBy::kTimer}) {
    EXPECT_EQ(set_overflow(share, share_code, 1, by, on_overflow).code, Code::kNoSupport);
    EXPECT_EQ(set_overflow(bytes, bytes_code, 1, by, on_overflow).code, Code::kComponent);
  }
  EXPECT_EQ(state_of(share).value_or(0u), kSetStopped);
  EXPECT_EQ(state_of(bytes).value_or(0u), kSetStopped);
  Library::instance().shutdown();
}

}  // namespace
