// The sums of what a rank sent, and their JSON.
#include "sources/mpi/message_counts.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace substrata::mpi {
namespace {

TEST(MessageCounts, SumsByPhaseSizeAndReceiver) {
  MessageCounts counts(3);
  const uint32_t a = counts.place_of("a");
  counts.sent(a, 1, 100);
  counts.sent(counts.place_of("a"), 2, 100, true);
  counts.sent(counts.place_of("b"), 1, 7);
  EXPECT_EQ(counts.messages(), 3u);
  EXPECT_EQ(counts.bytes(), 207u);
  EXPECT_EQ(counts.messages_to(), (std::vector<uint64_t>{0, 2, 1}));
  EXPECT_EQ(counts.bytes_to(), (std::vector<uint64_t>{0, 107, 100}));
  EXPECT_EQ(counts.phase(a).sizes.all().at(100), 2u);
  EXPECT_EQ(counts.phase(a).own_messages, 1u) << "the other one is a collective operation's";
  EXPECT_EQ(counts.phase(a).own_bytes, 100u);
  EXPECT_EQ(counts.phases(), (std::vector<std::string>{"a", "b"}));
}

TEST(MessageCounts, AReceiverOutsideTheWorldCountsOnlyInTheTotals) {
  MessageCounts counts(2);
  counts.sent(counts.place_of("a"), -1, 5);
  EXPECT_EQ(counts.messages(), 1u);
  EXPECT_EQ(counts.messages_to(), (std::vector<uint64_t>{0, 0}));
}

TEST(MessageCounts, ItsJsonIsReadByAnotherReaderWhateverThePhaseIsCalled) {
  MessageCounts counts(2);
  counts.sent(counts.place_of("quote \" backslash \\ tab \t high \xff"), 1, 65536);
  const auto json = nlohmann::json::parse(rank_as_json(counts, 1, 4, 44, 2));
  EXPECT_EQ(json["rank"], 1);
  EXPECT_EQ(json["messages_sent"], 1);
  EXPECT_EQ(json["messages_received"], 4);
  EXPECT_EQ(json["bytes_received"], 44);
  EXPECT_EQ(json["level"], 2);
  EXPECT_EQ(json["phases"][0]["name"], "quote \" backslash \\ tab \t high ?");
  EXPECT_EQ(json["phases"][0]["sizes_sent"]["65536"], 1);
}

TEST(MessageCounts, KeepsLatenciesOfBothTimeBasesApart) {  // FE-5
  MessageCounts counts(2);
  for (const int64_t real : {100, -20}) counts.on_its_way(real);
  for (const int64_t modelled : {12000, 14000}) counts.on_its_virtual_way(modelled);
  counts.received_without_stamp();
  const auto json = nlohmann::json::parse(rank_as_json(counts, 0, 3, 0, 2))["latencies"];
  EXPECT_EQ(json["real"]["least_ns"], -20);
  EXPECT_EQ(json["real"]["mean_ns"], 40);
  EXPECT_EQ(json["virtual"]["most_ns"], 14000);
  EXPECT_EQ(json["virtual"]["messages"], 2);
  EXPECT_EQ(json["unknown"], 1);
}

}  // namespace
}  // namespace substrata::mpi
