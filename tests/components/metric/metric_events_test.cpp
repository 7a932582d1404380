// metric:::NAME through PAPI's interface, with metrics of a user's own file over the example substrate.
#include <gtest/gtest.h>
#include <papi.h>
#include <substrata/extensions.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "support/temporary_folder.hpp"

namespace {

class MetricEvents : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const substrata::tests::TemporaryFolder folder;
    std::ofstream(folder.file("own.metrics"))
        << "metric TWICE\n text Twice the constant\n unit s\n"
           " term a [s] = example:::constant\n formula 2 * a\n"
           "metric NONE\n text Divided by nothing\n"
           " term a = example:::constant\n term b = example:::zero\n"
           " formula a / b\n"
           "metric SPAN\n text Of two substrates\n"
           " term a = example:::constant\n term b = net:::lo:rx:errors\n"
           " formula a + 0 * b\n"
           "metric NOWHERE\n text x\n term a = nosuch:::event\n formula a\n";
    setenv("SUBSTRATA_METRICS_DIR", folder.path().c_str(), 1);
    ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
  }
  void SetUp() override { ASSERT_EQ(PAPI_create_eventset(&set_), PAPI_OK); }
  void TearDown() override {
    long long ignored[8];
    int state = 0;
    if (PAPI_state(set_, &state) == PAPI_OK && (state & PAPI_RUNNING) != 0) PAPI_stop(set_, ignored);
    PAPI_cleanup_eventset(set_);
    PAPI_destroy_eventset(&set_);
  }
  double only_value() {
    long long value = 0;
    EXPECT_EQ(PAPI_start(set_), PAPI_OK) << substrata_last_error();
    EXPECT_EQ(PAPI_stop(set_, &value), PAPI_OK) << substrata_last_error();
    return std::bit_cast<double>(value);
  }
  int set_ = PAPI_NULL;
};

TEST_F(MetricEvents, AreDoublesByPapisConvention) {
  int code = 0;
  ASSERT_EQ(PAPI_event_name_to_code("metric:::TWICE", &code), PAPI_OK) << substrata_last_error();
  PAPI_event_info_t info{};
  ASSERT_EQ(PAPI_get_event_info(code, &info), PAPI_OK);
  EXPECT_EQ(info.data_type, PAPI_DATATYPE_FP64);
  EXPECT_STREQ(info.units, "s");
}
TEST_F(MetricEvents, HaveTheValueOfTheirFormula) {
  ASSERT_EQ(PAPI_add_named_event(set_, "metric:::TWICE"), PAPI_OK) << substrata_last_error();
  EXPECT_DOUBLE_EQ(only_value(), 84);
}
TEST_F(MetricEvents, SpanSubstrates) {
  if (PAPI_query_named_event("net:::lo:rx:errors") != PAPI_OK) GTEST_SKIP() << "there is no interface lo";
  ASSERT_EQ(PAPI_add_named_event(set_, "metric:::SPAN"), PAPI_OK) << substrata_last_error();
  EXPECT_DOUBLE_EQ(only_value(), 42);
}
TEST_F(MetricEvents, ThatDivideByNothingAreNoNumber) {
  ASSERT_EQ(PAPI_add_named_event(set_, "metric:::NONE"), PAPI_OK) << substrata_last_error();
  EXPECT_TRUE(std::isnan(only_value()));
}
TEST_F(MetricEvents, OfModelledEventsAreModelled) {
  int code = 0;
  ASSERT_EQ(PAPI_event_name_to_code("metric:::MODEL_READ_RATIO", &code), PAPI_OK) << substrata_last_error();
  substrata_event about{};
  about.struct_size = sizeof about;
  ASSERT_EQ(substrata_event_info(code, &about), PAPI_OK);
  EXPECT_EQ(about.modelled, 1u);
}
TEST_F(MetricEvents, ReadAgainWhileTheyRun) {
  ASSERT_EQ(PAPI_add_named_event(set_, "metric:::TWICE"), PAPI_OK);
  ASSERT_EQ(PAPI_add_named_event(set_, "metric:::NONE"), PAPI_OK) << substrata_last_error();
  ASSERT_EQ(PAPI_start(set_), PAPI_OK) << substrata_last_error();
  for (int i = 0; i < 3; ++i) {
    long long values[2] = {};
    ASSERT_EQ(PAPI_read(set_, values), PAPI_OK);
    EXPECT_DOUBLE_EQ(std::bit_cast<double>(values[0]), 84);
    EXPECT_EQ(PAPI_reset(set_), PAPI_OK);
  }
}
TEST_F(MetricEvents, ThatCannotBeCountedAreRefusedWithTheReason) {
  EXPECT_EQ(PAPI_add_named_event(set_, "metric:::NOWHERE"), PAPI_ENOEVNT);
  EXPECT_NE(std::string(substrata_last_error()).find("nosuch"), std::string::npos) << substrata_last_error();
}
TEST_F(MetricEvents, OfAnUnknownNameAreRefused) {
  EXPECT_EQ(PAPI_add_named_event(set_, "metric:::NO_SUCH_METRIC"), PAPI_ENOEVNT);
}
TEST_F(MetricEvents, StartAgainAfterAStop) {
  ASSERT_EQ(PAPI_add_named_event(set_, "metric:::TWICE"), PAPI_OK);
  EXPECT_DOUBLE_EQ(only_value(), 84);
  EXPECT_DOUBLE_EQ(only_value(), 84);
}
TEST_F(MetricEvents, LeaveTheirSubstratesToTheProgram) {
  ASSERT_EQ(PAPI_add_named_event(set_, "metric:::TWICE"), PAPI_OK);
  ASSERT_EQ(PAPI_start(set_), PAPI_OK);
  int own = PAPI_NULL;
  ASSERT_EQ(PAPI_create_eventset(&own), PAPI_OK);
  ASSERT_EQ(PAPI_add_named_event(own, "example:::constant"), PAPI_OK);
  EXPECT_EQ(PAPI_start(own), PAPI_OK) << substrata_last_error();
  long long value = 0;
  EXPECT_EQ(PAPI_stop(own, &value), PAPI_OK);
  EXPECT_EQ(value, 42);
  PAPI_cleanup_eventset(own);
  PAPI_destroy_eventset(&own);
}
TEST_F(MetricEvents, OfAModelThatObservedNothingAreNoNumber) {
  ASSERT_EQ(PAPI_add_named_event(set_, "metric:::MODEL_READ_RATIO"), PAPI_OK) << substrata_last_error();
  ASSERT_EQ(PAPI_start(set_), PAPI_OK) << substrata_last_error();
  substrata_value value{};
  ASSERT_EQ(substrata_read_values(set_, &value, 1), PAPI_OK);
  EXPECT_TRUE(std::isnan(std::bit_cast<double>(value.value)));
  EXPECT_EQ(value.flags & SUBSTRATA_VALUE_MODELLED, SUBSTRATA_VALUE_MODELLED);
}

}  // namespace
