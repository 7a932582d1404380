// The shim's log of a rank, its setting, and the line before the operations in a file.
#include "sources/mpi/cluster_log.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <clocale>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sources/mpi/virtual_clock.hpp"
#include "support/decimal_comma.hpp"

namespace substrata::mpi {
namespace {

TEST(ClusterChoice, NamesTheMachineAndItsParameters) {
  ClusterChoice choice;
  EXPECT_EQ(parse_cluster_choice("myrinet", &choice), "");
  EXPECT_TRUE(choice.wanted);
  EXPECT_EQ(choice.parameters, "");
  EXPECT_EQ(parse_cluster_choice("myrinet:drop_ppm=5:queue=8", &choice), "");
  EXPECT_EQ(choice.parameters, "drop_ppm=5:queue=8");
}

TEST(ClusterChoice, AnotherMachineIsRefused) {
  ClusterChoice choice;
  EXPECT_NE(parse_cluster_choice("shrimp", &choice).find("'shrimp'"), std::string::npos);
  EXPECT_FALSE(choice.wanted);
}

std::vector<substrata_myrinet_operation> all_of(const ClusterLog& log) {
  std::vector<substrata_myrinet_operation> all;
  for (const auto& part : log.parts()) all.insert(all.end(), part.begin(), part.end());
  EXPECT_EQ(all.size(), log.size());
  return all;
}

TEST(ClusterLog, KeepsTheOrderAndTheComputingBetween) {  // MY-21
  ClusterLog log;
  log.open(1);
  log.computed(100.5);
  log.computed(-3);
  log.sent(0, 64, 2, false);
  log.computed(7);
  log.received(3, 9);
  log.sent(2, 5000, 0, true, uint64_t{6} << 32 | 5);
  const std::vector<substrata_myrinet_operation> all = all_of(log);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].compute_ns, 100u);
  EXPECT_EQ(all[0].bytes, 64u);
  EXPECT_EQ(all[0].phase, 2);
  EXPECT_EQ(all[0].type, SUBSTRATA_MYRINET_MESSAGE);
  EXPECT_EQ(all[0].receives, 0);
  EXPECT_EQ(all[1].compute_ns, 7u);
  EXPECT_EQ(all[1].peer, 3u);
  EXPECT_EQ(all[1].number, 9u);
  EXPECT_EQ(all[1].receives, 1);
  EXPECT_EQ(all[2].compute_ns, 0u);
  EXPECT_EQ(all[2].type, SUBSTRATA_MYRINET_COLLECTIVE);
  EXPECT_EQ(all[2].group, 6u);
  EXPECT_EQ(all[2].number, 5u);
}

TEST(ClusterLog, WhatPassesNoInterfaceIsCountedOnly) {  // MY-21
  ClusterLog log;
  log.open(1);
  log.sent(1, 10, 0, false);
  log.sent(-1, 20, 0, false);
  log.sent(0, 30, 0, false);
  log.received(1, 1);
  log.received(-1, 1);
  EXPECT_EQ(log.size(), 1u);
  EXPECT_EQ(log.totals().messages, 3u);
  EXPECT_EQ(log.totals().bytes, 60u);
  EXPECT_EQ(log.totals().to_itself, 1u);
  EXPECT_EQ(log.totals().to_itself_bytes, 10u);
  EXPECT_EQ(log.totals().left_out, 1u);
  EXPECT_EQ(log.totals().left_out_bytes, 20u);
}

TEST(ClusterLog, ItsPartsHoldEverythingInItsOrder) {
  ClusterLog log;
  log.open(0);
  for (uint64_t i = 0; i < 10'000; ++i) log.sent(1, i, 0, false);
  const std::vector<substrata_myrinet_operation> all = all_of(log);
  ASSERT_EQ(all.size(), 10'000u);
  for (uint64_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i].bytes, i);
}

TEST(MessageLogHeader, IsALineOfJsonThatAnotherReaderTakes) {  // MY-21
  MessageLogHeader header;
  header.parameters = "queue=8";
  header.factor = 100;
  header.phases = {"(outside)", "quote \" it's"};
  header.operations = {3, 0};
  header.totals.bytes = 77;
  const std::string line = header_line(header);
  ASSERT_EQ(line.find('\n'), line.size() - 1);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["parameters"], "queue=8");
  EXPECT_EQ(json["factor"], 100);
  EXPECT_EQ(json["phases"][1], "quote \" it's");
  EXPECT_EQ(json["operations"], nlohmann::json({3, 0}));
  EXPECT_EQ(json["messages"]["bytes"], 77);
}

TEST(MessageLogHeader, IsJsonInAProgramWhoseLocaleHasADecimalComma) {
  const substrata::tests::DecimalComma locale;
  if (!locale.is_set()) GTEST_SKIP() << "localedef cannot make the locale de_DE.UTF-8 here";
  MessageLogHeader header;
  header.factor = 2.5;
  const std::string line = header_line(header);
  const std::string network = describe({.factor = 2.5});
  EXPECT_EQ(nlohmann::json::parse(line, nullptr, false)["factor"], 2.5) << line;
  EXPECT_EQ(network, "factor=2.5:overhead=1000:latency=10000:byte=8");
}

}  // namespace
}  // namespace substrata::mpi
