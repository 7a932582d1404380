// The C extension interface: group reads, value details, reasons (PA-32, PA-41).
#include <substrata/extensions.h>

#include <cstddef>
#include <cstring>

#include "base/clock.hpp"
#include "support/fake_substrates.hpp"

namespace {

using namespace substrata;
using fake::code;
using fake::set_of;
using fake::ticks;

int64_t fake_time = 0;
int64_t fake_clock() noexcept { return fake_time += 10; }

class Extensions : public fake::LibraryTest {
 protected:
  void SetUp() override {
    fake::LibraryTest::SetUp();
    fake_time = 1000;
    set_clock(fake_clock);
  }
  void TearDown() override {
    set_clock(nullptr);
    fake::LibraryTest::TearDown();
  }
};

TEST_F(Extensions, GroupIsReadUnderOneTimeWithItsSkew) {  // PA-41
  const int sets[2] = {set_of({"alpha::CYCLES", "alpha::LOADS"}), set_of({"beta:::b"})};
  substrata_stamp stamp{};
  ASSERT_EQ(substrata_start_group(sets, 2, &stamp), 0);
  EXPECT_EQ(stamp.time_ns, 1015);
  EXPECT_EQ(stamp.skew_ns, 5);
  ticks += 3;
  long long values[3] = {};
  EXPECT_EQ(substrata_read_group(sets, 2, values, 2, &stamp), static_cast<int>(Code::kBufferTooSmall));
  ASSERT_EQ(substrata_read_group(sets, 2, values, 3, &stamp), 0);
  EXPECT_EQ(values[0], 3);
  EXPECT_EQ(values[1], 18);
  EXPECT_EQ(values[2], 6);
  EXPECT_EQ(substrata_stop_group(sets, 2, values, 3, nullptr), 0);
  EXPECT_EQ(substrata_stop_group(sets, 2, values, 3, nullptr), static_cast<int>(Code::kNotRunning));
}

TEST_F(Extensions, GroupStartsWholeOrNotAtAll) {
  const int sets[3] = {set_of({"beta:::a"}), set_of({"alpha::CYCLES"}), set_of({"alpha::LOADS"})};
  EXPECT_EQ(substrata_start_group(sets, 3, nullptr), static_cast<int>(Code::kRunning));
  EXPECT_STREQ(substrata_last_error(), "another eventset of alpha runs in this thread; stop it first");
  EXPECT_EQ(state_of(sets[0]).value_or(0u), kSetStopped);
  EXPECT_EQ(state_of(sets[1]).value_or(0u), kSetStopped);
  EXPECT_EQ(substrata_start_group(nullptr, 0, nullptr), static_cast<int>(Code::kInvalid));
}

TEST_F(Extensions, ValuesAndEventsReportMoreThanNumbers) {  // PA-32
  const int set = set_of({"beta:::a"});
  ASSERT_TRUE(start_set(set).ok());
  ticks += 1;
  substrata_value value[1];
  ASSERT_EQ(substrata_read_values(set, value, 1), 0);
  EXPECT_EQ(value[0].value, 1);
  EXPECT_EQ(value[0].time_ns, 1010) << "stamped by the layer";
  EXPECT_TRUE(stop_set(set, nullptr).ok());
  substrata_event event{};
  EXPECT_EQ(substrata_event_info(static_cast<int>(code("alpha::CYCLES")), &event),
            static_cast<int>(Code::kInvalid));
  event.struct_size = sizeof event;
  ASSERT_EQ(substrata_event_info(static_cast<int>(code("alpha::CYCLES")), &event), 0);
  EXPECT_STREQ(event.unit, "cycles");
  EXPECT_EQ(event.scope, SUBSTRATA_SCOPE_THREAD);
  EXPECT_EQ(event.available, 1u);
  ASSERT_EQ(substrata_event_info(static_cast<int>(code("alpha::HIDDEN")), &event), 0);
  EXPECT_EQ(event.available, 0u);
  EXPECT_STREQ(event.why, "this processor lacks it; use another");
  substrata_event shorter{};
  std::memset(shorter.why, '#', sizeof shorter.why);
  shorter.struct_size = offsetof(substrata_event, why) + 8;
  EXPECT_EQ(substrata_event_info(static_cast<int>(code("alpha::HIDDEN")), &shorter), 0);
  EXPECT_STREQ(shorter.why, "this pr") << "as much as the client's own structure holds";
  EXPECT_EQ(shorter.why[8], '#') << "beyond it nothing is written";
  EXPECT_STREQ(substrata_component_origin(0), "built-in");
  EXPECT_EQ(substrata_component_origin(99), nullptr);
}

// What enumerations leave out can be found all the same, to say why.
TEST_F(Extensions, EventsThatDoNotOpenHereAreGoneThroughByTheirFullNames) {
  substrata_event event{};
  event.struct_size = sizeof event;
  ASSERT_EQ(substrata_event_info(static_cast<int>(code("alpha::HIDDEN")), &event), 0);
  const char* const name = substrata_unavailable_event(event.component, 0);
  ASSERT_NE(name, nullptr);
  EXPECT_EQ(code(name), code("alpha::HIDDEN"));
  EXPECT_EQ(substrata_unavailable_event(event.component, 1), nullptr);
  EXPECT_EQ(substrata_unavailable_event(99, 0), nullptr);
  EXPECT_EQ(substrata_unavailable_event(99, 1), nullptr);
  ASSERT_NE(substrata_unavailable_event(event.component, 0), nullptr) << "also when asked again";
}

}  // namespace
