// Messages that ranks of live MPI programs publish, on the modelled cluster.
#include <string>
#include <vector>

#include "opened_myrinet.hpp"
#include "support/transactions.hpp"

namespace substrata::myrinet::test {
namespace {

// A rank of an MPI program as the shim publishes it.
class Rank {
 public:
  explicit Rank(uint32_t rank) : rank_(rank) {
    constexpr client::feed::Source kSource{
        .name = "mpi", .summary = "the test", .time_base = SUBSTRATA_TIME_NONE, .ticks_per_second = 0};
    const std::string prefix = "mpi.rank" + std::to_string(rank);
    EXPECT_EQ(kSource.try_publisher((prefix + ".send").c_str(), "", 64, &sends_), 0);
    EXPECT_EQ(kSource.try_publisher((prefix + ".receive").c_str(), "", 64, &receives_), 0);
  }
  // `operation`: of a message inside a collective operation, its number.
  void send(uint32_t to, uint32_t bytes, uint64_t at_ns, uint16_t flags = 0, uint64_t operation = 0) {
    substrata_transaction t = tests::message(SUBSTRATA_SEND, rank_, to, bytes, at_ns);
    t.flags = flags;
    t.address = operation;
    sends_.publish(t);
  }
  void receive(uint32_t from, uint32_t bytes, uint64_t sent_ns, uint64_t at_ns) {
    substrata_transaction t = tests::message(SUBSTRATA_RECEIVE, from, rank_, bytes, at_ns);
    t.start = sent_ns;
    receives_.publish(t);
  }

 private:
  const uint32_t rank_;
  client::feed::Publisher sends_;
  client::feed::Publisher receives_;
};

TEST_F(Myrinet, MessagesOfALiveRankPassItsInterface) {  // MY-21, FE-4
  auto options = client::sized<substrata_run_options>();
  options.parameters = "nodes=4";
  substrata_following* following = nullptr;
  ASSERT_EQ(substrata_follow("myrinet", &options, &following), 0) << substrata_feed_error();
  // Without a node: the rank's own.
  Counting set(table_, device_,
               {"PACKETS_SENT", "BYTES_SENT", "PACKETS_RECEIVED", "BYTES_RECEIVED", "PACKETS_SENT:type=8",
                "BYTES_SENT:peer=3", "BYTES_RECEIVED:node=3", "OPERATIONS:kind=message", "OPERATION_PACKETS",
                "OPERATION_LATENCY_SUM:node=1"});
  {
    Rank rank(2);
    int64_t packets = 0;
    int64_t bytes = 0;
    int64_t to_three = 0;
    for (uint32_t i = 0; i < 200; ++i) {
      const uint32_t to = i % 2 == 0 ? 3 : 1;
      const uint32_t length = i * 97;
      rank.send(to, length, 1'000'000 + i * 50'000,
                i % 4 == 0 ? uint16_t{SUBSTRATA_FLAG_COLLECTIVE} : uint16_t{0});
      packets += length == 0 ? 1 : (length + 4095) / 4096;
      bytes += length;
      if (to == 3) to_three += length;
    }
    for (uint32_t i = 0; i < 50; ++i) rank.receive(1, 500, 1'000'000 + i * 70'000, 1'020'000 + i * 70'000);
    rank.send(2, 100, 20'000'000);  // to itself: not by the network
    rank.send(9, 100, 20'000'000);  // no such node
    substrata_unfollow(following);
    const std::vector<int64_t> values = set.read();
    EXPECT_EQ(values[0], packets);
    EXPECT_EQ(values[1], bytes);
    EXPECT_EQ(values[2], 50);
    EXPECT_EQ(values[3], 25'000);
    EXPECT_GT(values[4], 0);
    EXPECT_EQ(values[5], to_three);
    EXPECT_EQ(values[6], to_three);
    EXPECT_EQ(values[7], 150);  // each by itself; of the 200, every fourth is a collective's
    EXPECT_EQ(values[8] + values[4], packets);
    EXPECT_GT(values[9], 50 * 20'000);  // those of node 1 came to the rank; no way is shorter
  }
  options.parameters = "nodes=1";
  EXPECT_LT(substrata_follow("myrinet", &options, &following), 0);
}

// What a rank sends inside a collective operation was of no operation.
TEST_F(Myrinet, TheMessagesOfALiveRankInACollectiveAreOneOperation) {  // MY-42
  auto options = client::sized<substrata_run_options>();
  options.parameters = "nodes=4";
  substrata_following* following = nullptr;
  ASSERT_EQ(substrata_follow("myrinet", &options, &following), 0) << substrata_feed_error();
  Counting set(table_, device_,
               {"OPERATIONS:kind=collective", "OPERATION_PACKETS:kind=collective", "PACKETS_SENT"});
  {
    Rank rank(2);
    constexpr uint64_t kCollectives = 700;  // more messages than a batch has
    for (uint64_t i = 0; i < kCollectives; ++i)
      for (const uint32_t to : {0u, 1u, 3u})
        rank.send(to, 5000, 1'000'000 + i * 500'000, SUBSTRATA_FLAG_COLLECTIVE, uint64_t{5} << 32 | (i + 1));
    rank.receive(1, 500, 400'000'000, 400'020'000);
    substrata_unfollow(following);
    EXPECT_EQ(set.read(), (std::vector<int64_t>{kCollectives, kCollectives * 6, kCollectives * 6}));
  }
}

}  // namespace
}  // namespace substrata::myrinet::test
