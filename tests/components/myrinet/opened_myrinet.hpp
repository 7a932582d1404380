// The substrate "myrinet", opened with its default shape, and workloads that run on its cluster.
#pragma once

#include <gtest/gtest.h>
#include <substrata/myrinet.h>
#include <substrata/substrate.h>
#include <substrata/feed.hpp>

#include <string>
#include <vector>

#include "entry_points.hpp"
#include "support/opened_substrate.hpp"

namespace substrata::myrinet::test {

inline constexpr char kSmall[] = "fft:points=1024";

// The opened substrate.
class Myrinet : public tests::SubstrateTest<substrata_entry_myrinet> {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(SubstrateTest::SetUp());
    ASSERT_EQ(substrata_myrinet_stop(), 0);
    auto shape = client::sized<substrata_myrinet_shape>();
    ASSERT_EQ(substrata_myrinet_default_shape(&shape), 0);
    ASSERT_EQ(substrata_myrinet_configure(&shape), 0);
  }
  void TearDown() override {
    EXPECT_EQ(substrata_myrinet_stop(), 0);
    SubstrateTest::TearDown();
  }

  // Runs a workload; its result must be right.
  substrata_run_result run(const char* workload, uint32_t nodes, const char* parameters = nullptr,
                           uint16_t program = 0, const char* record = nullptr) {
    auto options = client::sized<substrata_run_options>();
    options.processes = nodes;
    options.seed = 5;
    options.parameters = parameters;
    options.program = program;
    options.record = record;
    auto result = client::sized<substrata_run_result>();
    EXPECT_EQ(substrata_run("myrinet", workload, &options, &result), 0) << result.message;
    EXPECT_EQ(result.correct, 1u) << result.message;
    return result;
  }
  Status find(const std::string& name, uint32_t* index) {
    return table_.find_event(device_, name.c_str(), index);
  }
};

// Events by name, counted from now on.
class Counting : public tests::CountedSet {
 public:
  Counting(const SubstrateTable& table, Device* device, const std::vector<std::string>& names)
      : CountedSet(table, device, tests::find_events(table, device, names)) {
    start();
  }
};

}  // namespace substrata::myrinet::test
