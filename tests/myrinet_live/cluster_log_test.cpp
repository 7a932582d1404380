// The shim's log of a rank, its setting, and the files it is written to.
#include "mpi_shim/cluster_log.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace substrata::mpi_shim {
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

TEST(ClusterLog, KeepsTheOrderAndTheComputingBetween) {  // MY-21
  ClusterLog log;
  log.open(1);
  log.computed(100.5);
  log.computed(-3);
  log.sent(0, 64, 2, false);
  log.computed(7);
  log.received(3, 9);
  log.sent(2, 5000, 0, true);
  const std::vector<substrata_myrinet_operation> all = log.take();
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
  EXPECT_TRUE(log.take().empty());
}

TEST(ClusterLog, WhatPassesNoInterfaceIsCountedOnly) {  // MY-21
  ClusterLog log;
  log.open(1);
  log.sent(1, 10, 0, false);
  log.sent(-1, 20, 0, false);
  log.sent(0, 30, 0, false);
  log.received(1, 1);
  log.received(-1, 1);
  EXPECT_EQ(log.take().size(), 1u);
  EXPECT_EQ(log.totals().messages, 3u);
  EXPECT_EQ(log.totals().bytes, 60u);
  EXPECT_EQ(log.totals().to_itself, 1u);
  EXPECT_EQ(log.totals().to_itself_bytes, 10u);
  EXPECT_EQ(log.totals().left_out, 1u);
  EXPECT_EQ(log.totals().left_out_bytes, 20u);
}

TEST(ClusterLog, ItsBlocksComeOutInOnePiece) {
  ClusterLog log;
  log.open(0);
  for (uint64_t i = 0; i < 10'000; ++i) log.sent(1, i, 0, false);
  const std::vector<substrata_myrinet_operation> all = log.take();
  ASSERT_EQ(all.size(), 10'000u);
  for (uint64_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i].bytes, i);
}

std::vector<CarriedPart> parts() {
  std::vector<CarriedPart> all(3);
  all[1].name = "quote \" it's_here";
  all[2].name = "empty";
  for (const size_t i : {size_t{0}, size_t{1}}) {
    all[i].counts.packets_sent = 5 + i;
    substrata_myrinet_point point{};
    point.x = 33;
    point.x_end = 65;
    point.sent = 5 + i;
    point.average_ns[SUBSTRATA_MYRINET_SOURCE] = 10'500;
    all[i].points.push_back(point);
  }
  return all;
}

TEST(CarriedFiles, TheJsonIsReadByAnotherReader) {  // MY-9
  const auto json = nlohmann::json::parse(carried_as_json(2, parts()));
  EXPECT_EQ(json["rank"], 2);
  EXPECT_EQ(json["packets_sent"], 5);
  EXPECT_EQ(json["signature"][0]["bytes"][1], 64);
  EXPECT_EQ(json["signature"][0]["source_ns"]["average"], 10'500);
  EXPECT_EQ(json["phases"][0]["name"], "quote \" it's_here");
  EXPECT_EQ(json["phases"][0]["packets_sent"], 6);
  EXPECT_TRUE(json["phases"][1]["signature"].empty());
  EXPECT_TRUE(nlohmann::json::parse(carried_as_json(0, {CarriedPart{}})).contains("signature"));
}

TEST(CarriedFiles, ThePlotDrawsTheBlocksThatTheTableHas) {  // MY-9
  const std::string table = carried_as_table(parts());
  const std::string plot = carried_as_plot(2, parts());
  EXPECT_NE(table.find("33 65 5 0 10.500 0.000 0.000 0.000\n"), std::string::npos) << table;
  EXPECT_EQ(table.find("empty"), std::string::npos);
  EXPECT_NE(plot.find("'signature.rank2.dat' index 1 using"), std::string::npos) << plot;
  EXPECT_EQ(plot.find("index 2"), std::string::npos) << plot;
  EXPECT_NE(plot.find("quote  its\\_here"), std::string::npos) << "no quotation mark ends gnuplot's string";
}

}  // namespace
}  // namespace substrata::mpi_shim
