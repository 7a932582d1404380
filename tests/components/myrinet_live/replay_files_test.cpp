// The messages of an MPI program read back from their file, carried, and written as figures.
#include "tools/model_runs/replay_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"
#include "tools/model_runs/offline_replay.hpp"

namespace substrata::model_runs {
namespace {

using mpi::MessageLogHeader;
using testing::HasSubstr;

substrata_myrinet_operation send(uint32_t to, uint64_t bytes, uint16_t phase) {
  substrata_myrinet_operation one{};
  one.bytes = bytes;
  one.peer = to;
  one.phase = phase;
  one.type = SUBSTRATA_MYRINET_MESSAGE;
  return one;
}
substrata_myrinet_operation receive(uint32_t from, uint32_t number) {
  substrata_myrinet_operation one{};
  one.peer = from;
  one.number = number;
  one.receives = 1;
  return one;
}

std::string as_file(const MessageLogHeader& header,
                    const std::vector<substrata_myrinet_operation>& operations) {
  std::string out = mpi::header_line(header);
  const char* const bytes = reinterpret_cast<const char*>(operations.data());
  return out.append(bytes, operations.size() * sizeof operations[0]);
}

// Rank 0 sends a short message and one of three packets, which rank 1 awaits.
MessageLogHeader two_ranks() {
  MessageLogHeader header;
  header.factor = 10;
  header.phases = {"first", "second"};
  header.operations = {2, 2};
  header.totals.messages = 2;
  header.totals.bytes = 10'064;
  return header;
}
const std::vector<substrata_myrinet_operation> kOperations = {send(1, 64, 0), send(1, 10'000, 1),
                                                              receive(0, 1), receive(0, 2)};

TEST(MessageLog, ComesBackAsItWasWritten) {  // MY-21
  MessageLogHeader header = two_ranks();
  header.parameters = "queue=8";
  const MessageLog log = parse_message_log(as_file(header, kOperations));
  EXPECT_EQ(log.header.parameters, "queue=8");
  EXPECT_EQ(log.header.factor, 10);
  EXPECT_EQ(log.header.phases, header.phases);
  EXPECT_EQ(log.header.operations, header.operations);
  EXPECT_EQ(log.header.totals.bytes, 10'064u);
  ASSERT_EQ(log.operations.size(), kOperations.size());
  EXPECT_EQ(
      std::memcmp(log.operations.data(), kOperations.data(), sizeof kOperations[0] * kOperations.size()), 0);
}

std::string refusal(const std::string& bytes) {
  try {
    parse_message_log(bytes);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "taken";
}

TEST(MessageLog, OneThatIsCutShortIsRefused) {
  const std::string whole = as_file(two_ranks(), kOperations);
  EXPECT_THAT(refusal(whole.substr(0, whole.size() - 1)), HasSubstr("not whole"));
  EXPECT_THAT(refusal(whole.substr(0, whole.size() - sizeof kOperations[0])), HasSubstr("not whole"));
  EXPECT_THAT(refusal(whole + std::string(sizeof kOperations[0], '\0')), HasSubstr("not whole"));
  EXPECT_THAT(refusal(whole.substr(0, 20)), HasSubstr("line of text"));
}

TEST(MessageLog, AnotherVersionIsRefusedByItsNumber) {
  std::string bytes = as_file(two_ranks(), kOperations);
  const std::string version = "\"substrata_mpi_messages\":1";
  ASSERT_EQ(bytes.find(version), 1u);
  bytes[version.size()] = '7';
  EXPECT_THAT(refusal(bytes), HasSubstr("version 7"));
}

TEST(MessageLog, CountsThatOverflowTogetherAreRefused) {
  MessageLogHeader header = two_ranks();
  header.operations = {SIZE_MAX, 5};
  EXPECT_THAT(refusal(as_file(header, kOperations)), HasSubstr("not whole"));
}

TEST(OfflineReplay, CountsEachPhaseByItself) {  // MY-21
  const OfflineReplay run(parse_message_log(as_file(two_ranks(), kOperations)));
  EXPECT_EQ(run.outcome().messages, 2u);
  EXPECT_EQ(run.outcome().unmatched, 0u);
  EXPECT_EQ(run.counts(SUBSTRATA_MYRINET_ALL, 0).packets_sent, 1u);
  EXPECT_EQ(run.counts(SUBSTRATA_MYRINET_ALL, 1).packets_sent, 3u);
  EXPECT_EQ(run.counts(1, SUBSTRATA_MYRINET_ALL).bytes_received, 10'064u);
}

TEST(OfflineReplay, ANodeThatIsNotThereIsRefusedBeforeAnythingRuns) {
  std::vector<substrata_myrinet_operation> operations = kOperations;
  operations[0].peer = 9;
  EXPECT_THROW(OfflineReplay(parse_message_log(as_file(two_ranks(), operations))), std::runtime_error);
}

// Packets of 64, 1808 and twice 4096 bytes: a packet of 4096 is in the last bin.
TEST(OfflineReplay, LeavesHistogramsByTheLengthsOfTheBins) {
  const substrata::tests::TemporaryFolder folder;
  write_replay(OfflineReplay(parse_message_log(as_file(two_ranks(), kOperations))), folder.path());
  const auto kept = nlohmann::json::parse(substrata::tests::contents(folder.file("histograms.json")));
  ASSERT_EQ(kept.at("histograms").size(), 4u);
  EXPECT_EQ(kept.at("histograms").at(0).at("rows"),
            (nlohmann::json{"0 to 256", "1793 to 2048", "3841 to 4096"}));
}

std::vector<ReplayPart> parts() {
  std::vector<ReplayPart> all(3);
  all[1].name = "quote \" it's_here";
  all[2].name = "empty";
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
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

TEST(ReplayFiles, TheJsonHasTheWholeAndItsPhases) {  // MY-9
  const nlohmann::ordered_json json = rank_as_json(2, parts());
  EXPECT_EQ(json["rank"], 2);
  EXPECT_EQ(json["packets_sent"], 5);
  EXPECT_EQ(json["signature"][0]["bytes"][1], 64);
  EXPECT_EQ(json["signature"][0]["source_ns"]["average"], 10'500);
  EXPECT_EQ(json["phases"][0]["name"], "quote \" it's_here");
  EXPECT_EQ(json["phases"][0]["packets_sent"], 6);
  EXPECT_TRUE(json["phases"][1]["signature"].empty());
  EXPECT_TRUE(rank_as_json(0, {ReplayPart{}}).contains("signature"));
}

TEST(ReplayFiles, ThePlotDrawsTheBlocksThatTheTableHas) {  // MY-9
  const std::string table = rank_as_table(parts());
  const std::string plot = rank_as_plot(2, parts());
  EXPECT_NE(table.find("33 65 5 0 10.500 0.000 0.000 0.000\n"), std::string::npos) << table;
  EXPECT_EQ(table.find("empty"), std::string::npos);
  EXPECT_NE(plot.find("'signature.rank2.dat' index 1 using"), std::string::npos) << plot;
  EXPECT_EQ(plot.find("index 2"), std::string::npos) << plot;
  EXPECT_NE(plot.find("quote  its\\_here"), std::string::npos) << "no quotation mark ends gnuplot's string";
}

}  // namespace
}  // namespace substrata::model_runs
