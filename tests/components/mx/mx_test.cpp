// mx: off unless asked for, and then the numbers of the modelled Myrinet interfaces under PAPI's names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <substrata/feed.hpp>

#include <cstring>
#include <string>

#include "support/opened_substrate.hpp"

extern "C" substrata::EntryPoint substrata_entry_mx;
extern "C" substrata::EntryPoint substrata_entry_myrinet;

namespace {

using namespace substrata;
using ::testing::ElementsAre;

using Mx = tests::SubstrateTest<substrata_entry_mx>;

TEST_F(Mx, IsOffUnlessAskedForAndCallsItselfAModel) {
  const Status off = table_.detect(&host_);
  EXPECT_EQ(off.code, Code::kDisabled);
  EXPECT_NE(std::strstr(off.note, "SUBSTRATA_MX=1"), nullptr);
  EXPECT_NE(table_.traits & kModelled, 0u);
  Event about;
  ASSERT_TRUE(table_.event_at(device_, event("RAW_SENDS"), &about).ok());
  EXPECT_NE(about.flags & kEventModelled, 0u);
  host_.setting = [](void*, const char* name) noexcept -> const char* {
    return std::strcmp(name, "SUBSTRATA_MX") == 0 ? "1" : nullptr;
  };
  EXPECT_TRUE(table_.detect(&host_).ok());
}

// Those of PAPI's table, the last of which is its 98th.
TEST_F(Mx, HasEveryNameOfPapisComponentInItsOrder) {
  ASSERT_EQ(table_.event_count(device_), 98u);
  const auto name = [&](uint32_t index) {
    Event about;
    EXPECT_TRUE(table_.event_at(device_, index, &about).ok());
    return std::string(about.name);
  };
  EXPECT_EQ(name(0), "LANAI_UPTIME");
  EXPECT_EQ(name(37), "RAW_SENDS");
  EXPECT_EQ(name(52), "QUERY_UNKNOWN");  // PAPI leaves out the one behind it, which has the same name
  EXPECT_EQ(name(53), "DATA_SEND_NULL");
  EXPECT_EQ(name(71), "PACKETS_RECENT");
  EXPECT_EQ(name(97), "DMA_METADATA_RACE");
}

TEST_F(Mx, CounterOfTheDriverThatTheModelLacksIsListedAndRefusedWithThoseThatItHas) {
  uint32_t index = 0;
  ASSERT_TRUE(table_.find_event(device_, "LANAI_UPTIME", &index).ok());
  Event about;
  ASSERT_TRUE(table_.event_at(device_, index, &about).ok());
  EXPECT_NE(about.flags & kEventUnavailable, 0u);
  Set* set = nullptr;
  ASSERT_TRUE(table_.create_set(device_, nullptr, &set).ok());
  const Status status = table_.program(set, &index, 1);
  EXPECT_EQ(status.code, Code::kNoEvent);
  EXPECT_NE(std::strstr(status.note, "RAW_SENDS"), nullptr);
  EXPECT_FALSE(table_.find_event(device_, "LANAI_UPTIME:node=1", &index).ok());
  table_.destroy_set(set);
}

TEST_F(Mx, CountsWhatTheModelledInterfacesCount) {
  SubstrateTable other;
  ASSERT_EQ(substrata_entry_myrinet(&host_, &other), 0);
  Device* device = nullptr;
  ASSERT_TRUE(other.open(&host_, &device).ok());
  {
    tests::CountedSet own(table_, device_,
                          events({"RAW_SENDS", "RAW_RECEIVES", "RAW_SENDS:node=1", "BAD_CRC32"}));
    tests::CountedSet models(
        other, device,
        tests::find_events(other, device,
                           {"PACKETS_SENT", "PACKETS_RECEIVED", "PACKETS_SENT:node=1", "CHECKSUM_ERRORS"}));
    own.start();
    models.start();
    auto options = client::sized<substrata_run_options>();
    options.processes = 4;
    options.seed = 5;
    auto result = client::sized<substrata_run_result>();
    ASSERT_EQ(substrata_run("myrinet", "fft:points=4096", &options, &result), 0) << result.message;
    const std::vector<int64_t> values = own.read();
    EXPECT_GT(values[0], 0);
    EXPECT_EQ(values, models.read());
  }
  other.close(device);
}

}  // namespace
