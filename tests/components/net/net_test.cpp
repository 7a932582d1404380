// net over recorded tables (growth, wrap, interfaces that go) and over the loopback interface of this
// machine.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

struct Traffic {
  std::string interface;
  uint64_t rx_bytes, rx_packets, tx_bytes, tx_packets;
};

void record(RecordedTree& tree, const std::vector<Traffic>& interfaces) {
  std::string table =
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo "
      "colls "
      "carrier compressed\n";
  for (const Traffic& one : interfaces) {
    table += one.interface + ": " + std::to_string(one.rx_bytes) + " " + std::to_string(one.rx_packets) +
             " 0 0 0 0 0 0 " + std::to_string(one.tx_bytes) + " " + std::to_string(one.tx_packets) +
             " 0 0 0 0 0 0\n";
  }
  tree.write("/proc/net/dev", table);
}

using Net = SubstrateOnTree<substrata_entry_net>;

// PA-31
TEST_F(Net, MachineWithoutTheTableIsUnavailableAndSaysWhatToDo) {
  const Status status = substrate.detect();
  EXPECT_EQ(status.code, Code::kNoSupport);
  EXPECT_THAT(note_of(status), HasSubstr("mount /proc"));
}

// PA-16, PA-31
TEST_F(Net, EventsHavePapisNamesAndAnswerToOlderSpellings) {
  record(tree, {{"lo", 1, 2, 3, 4}, {"eth0", 5, 6, 7, 8}});
  open();
  EXPECT_EQ(substrate.names().size(), 32u);
  for (const char* name :
       {"lo:rx:bytes", "lo:rx:packets", "lo:rx:errors", "lo:rx:dropped", "lo:rx:fifo", "lo:rx:frame",
        "lo:rx:compressed", "lo:rx:multicast", "eth0:tx:bytes", "eth0:tx:packets", "eth0:tx:errors",
        "eth0:tx:dropped", "eth0:tx:fifo", "eth0:tx:colls", "eth0:tx:carrier", "eth0:tx:compressed"}) {
    EXPECT_THAT(substrate.names(), Contains(name));
  }
  EXPECT_EQ(substrate.find("eth0.tx.packets"), substrate.find("eth0:tx:packets"));
  EXPECT_EQ(substrate.find("eth0:tx:packet"), substrate.find("eth0:tx:packets"));
  EXPECT_STREQ(substrate.event("lo:rx:bytes").unit, "bytes");
  EXPECT_STREQ(substrate.event("lo:rx:packets").unit, "packets");
  EXPECT_EQ(substrate.event("lo:rx:bytes").kind, ValueKind::kCount);
  EXPECT_EQ(substrate.find("wlan0:rx:bytes"), -1);
}

// PA-31
TEST_F(Net, CountsFromTheStartAndFromEachReset) {
  record(tree, {{"lo", 100, 10, 100, 10}, {"eth0", 1, 2, 3, 4}});
  open();
  EventSet set(substrate, {"eth0:tx:bytes", "lo:rx:packets"});
  EXPECT_THAT(set.read(), ElementsAre(0, 0));  // never started
  ASSERT_TRUE(set.start().ok());
  EXPECT_THAT(set.read(), ElementsAre(0, 0));
  record(tree, {{"lo", 200, 17, 200, 20}, {"eth0", 1, 2, 1503, 5}});
  EXPECT_THAT(set.read(), ElementsAre(1500, 7));
  ASSERT_TRUE(set.reset().ok());
  record(tree, {{"lo", 200, 18, 200, 20}, {"eth0", 1, 2, 1503, 5}});
  EXPECT_THAT(set.read(), ElementsAre(0, 1));
  ASSERT_TRUE(set.stop().ok());
  record(tree, {{"lo", 200, 99, 200, 20}, {"eth0", 1, 2, 1503, 5}});
  EXPECT_THAT(set.read(), ElementsAre(0, 1));
  ASSERT_TRUE(set.start().ok());
  EXPECT_THAT(set.read(), ElementsAre(0, 0));
}

// PA-31: interfaces may be listed in another order and between new ones
TEST_F(Net, FollowsAnInterfaceByItsNameWhenTheTableChanges) {
  record(tree, {{"lo", 0, 0, 0, 0}, {"eth0", 0, 10, 0, 0}});
  open();
  RunningSet set(substrate, {"eth0:rx:packets"});
  record(tree, {{"eth0", 0, 15, 0, 0}, {"veth1", 0, 999, 0, 0}, {"lo", 0, 0, 0, 0}});
  EXPECT_THAT(set.read(), ElementsAre(5));
}

// PA-30, PA-31: an error never travels as a number
TEST_F(Net, InterfaceThatVanishesGivesAnErrorAndTouchesNoValue) {
  record(tree, {{"lo", 0, 0, 0, 0}, {"eth0", 0, 0, 0, 0}});
  open();
  RunningSet set(substrate, {"lo:rx:packets", "eth0:rx:packets"});
  record(tree, {{"lo", 0, 5, 0, 0}});
  const Status status = set.refused_read();
  EXPECT_EQ(status.code, Code::kSystem);
  EXPECT_EQ(status.os_error, ENODEV);
  EXPECT_THAT(note_of(status), HasSubstr("eth0"));
  EXPECT_FALSE(set.reset().ok());
  record(tree, {{"lo", 0, 6, 0, 0}, {"eth0", 0, 2, 0, 0}});
  EXPECT_THAT(set.read(), ElementsAre(6, 2));
}

// PA-31
TEST_F(Net, InterfaceMadeAnewUnderItsNameIsAnErrorThoughItsCountIsHigher) {
  record(tree, {{"eth0", 0, 10, 0, 0}});
  tree.write("/sys/class/net/eth0/ifindex", 3);
  open();
  RunningSet set(substrate, {"eth0:rx:packets"});
  record(tree, {{"eth0", 0, 12, 0, 0}});
  EXPECT_THAT(set.read(), ElementsAre(2));
  tree.write("/sys/class/net/eth0/ifindex", 7);
  record(tree, {{"eth0", 0, 500, 0, 0}});
  Status status;
  set.read(&status);
  EXPECT_EQ(status.code, Code::kCountersLost);
}

// PA-31: counters of 32 bits
TEST_F(Net, CounterOf32BitsMayWrapOnceBetweenReads) {
  record(tree, {{"eth0", 4294967290u, 0, 0, 0}});
  open();
  RunningSet set(substrate, {"eth0:rx:bytes"});
  record(tree, {{"eth0", 4, 0, 0, 0}});
  EXPECT_THAT(set.read(), ElementsAre(10));
  record(tree, {{"eth0", 2000000000u, 0, 0, 0}});
  EXPECT_THAT(set.read(), ElementsAre(2000000006));
  record(tree, {{"eth0", 4000000000u, 0, 0, 0}});
  EXPECT_THAT(set.read(), ElementsAre(4000000006));
  record(tree, {{"eth0", 5, 0, 0, 0}});
  EXPECT_THAT(set.read(), ElementsAre(4000000006 + 294967301));
}

// PA-31: a fall that no wrap explains is not made into a number
TEST_F(Net, CounterThatFallsOtherwiseIsAnError) {
  for (const uint64_t before : {uint64_t{1000}, uint64_t{1} << 40}) {
    record(tree, {{"eth0", before, 0, 0, 0}});
    Substrate fresh(substrata_entry_net, host);
    ASSERT_TRUE(fresh.open().ok());
    RunningSet set(fresh, {"eth0:rx:bytes"});
    record(tree, {{"eth0", 10, 0, 0, 0}});
    EXPECT_EQ(set.refused_read().code, Code::kCountersLost);
    ASSERT_TRUE(set.start().ok());
    EXPECT_THAT(set.read(), ElementsAre(0));
  }
}

// PA-15: fresh by default; with a latency the age is reported
TEST_F(Net, RefreshLatencyKeepsValuesAndReportsTheirAge) {
  record(tree, {{"lo", 0, 0, 0, 0}});
  host.set("PAPI_NET_REFRESH_LATENCY", "1000");
  open();
  RunningSet set(substrate, {"lo:rx:packets"});
  record(tree, {{"lo", 0, 3, 0, 0}});
  host.advance_ns(999'999);
  EXPECT_THAT(set.read(), ElementsAre(0));
  EXPECT_EQ(set.details()[0].age_ns, 999'999);
  host.advance_ns(1);
  EXPECT_THAT(set.read(), ElementsAre(3));
  EXPECT_EQ(set.details()[0].age_ns, 0);
  record(tree, {{"lo", 0, 4, 0, 0}});
  ASSERT_TRUE(set.stop().ok());  // a stop is always fresh
  EXPECT_THAT(set.read(), ElementsAre(4));
}

// PA-15
TEST_F(Net, RefreshLatencyThatIsNoNumberIsIgnored) {
  for (const char* text : {"soon", "-5", "", "1e3"}) {
    record(tree, {{"lo", 0, 0, 0, 0}});
    host.set("PAPI_NET_REFRESH_LATENCY", text);
    Substrate fresh(substrata_entry_net, host);
    ASSERT_TRUE(fresh.open().ok());
    RunningSet set(fresh, {"lo:rx:packets"});
    record(tree, {{"lo", 0, 3, 0, 0}});
    EXPECT_THAT(set.read(), ElementsAre(3)) << text;
  }
}

// PA-31
TEST_F(Net, TableThatOutgrowsTheSetsSpaceIsAnErrorNotACutTable) {
  record(tree, {{"lo", 0, 0, 0, 0}});
  open();
  RunningSet set(substrate, {"lo:rx:packets"});
  std::vector<Traffic> many(1000, Traffic{"veth0", 0, 0, 0, 0});
  many.push_back({"lo", 0, 1, 0, 0});
  record(tree, many);
  Status status;
  set.read(&status);
  EXPECT_EQ(status.code, Code::kBufferTooSmall);
  ASSERT_TRUE(set.stop().ok());
}

// PA-2: sets are independent of each other
TEST_F(Net, SetsStartedAtDifferentTimesCountEachFromItsOwnStart) {
  record(tree, {{"lo", 0, 0, 0, 0}});
  open();
  EventSet first(substrate);
  EventSet second(substrate);
  ASSERT_TRUE(first.program({"lo:rx:packets"}).ok());
  ASSERT_TRUE(second.program({"lo:rx:packets", "lo:rx:packets"}).ok());
  ASSERT_TRUE(first.start().ok());
  record(tree, {{"lo", 0, 3, 0, 0}});
  ASSERT_TRUE(second.start().ok());
  record(tree, {{"lo", 0, 5, 0, 0}});
  EXPECT_THAT(first.read(), ElementsAre(5));
  EXPECT_THAT(second.read(), ElementsAre(2, 2));
}

// PA-31: real packets over the loopback interface; others use it too, so counts are lower bounds
TEST(NetOnThisMachine, DatagramsSentOverLoopbackAreCounted) {
  FakeHost host("");
  Substrate substrate(substrata_entry_net, host);
  if (!substrate.detect().ok()) GTEST_SKIP() << note_of(substrate.detect());
  ASSERT_TRUE(substrate.open().ok());
  if (substrate.find("lo:tx:packets") < 0) GTEST_SKIP() << "no interface lo";

  const int receiver = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int sender = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(receiver, 0);
  ASSERT_GE(sender, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(receiver, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::getsockname(receiver, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    ::close(receiver);
    ::close(sender);
    GTEST_SKIP() << "the loopback interface is not up";
  }

  const std::string payload(1000, 'x');
  std::vector<char> arrived(2000);
  const auto send_one = [&] {
    return ::sendto(sender, payload.data(), payload.size(), 0, reinterpret_cast<sockaddr*>(&address),
                    sizeof address) == static_cast<ssize_t>(payload.size()) &&
           ::recv(receiver, arrived.data(), arrived.size(), 0) == static_cast<ssize_t>(payload.size());
  };
  if (!send_one()) {
    ::close(receiver);
    ::close(sender);
    GTEST_SKIP() << "nothing can be sent over the loopback interface";
  }
  RunningSet set(substrate, {"lo:tx:packets", "lo:rx:packets", "lo:tx:bytes", "lo:rx:bytes"});
  constexpr int kDatagrams = 200;
  for (int i = 0; i < kDatagrams; ++i) ASSERT_TRUE(send_one());
  const std::vector<int64_t> counts = set.read();
  ASSERT_TRUE(set.stop().ok());
  ::close(receiver);
  ::close(sender);
  EXPECT_GE(counts[0], kDatagrams);
  EXPECT_GE(counts[1], kDatagrams);
  EXPECT_GE(counts[2], kDatagrams * 1028);  // with the headers of UDP and IP
  EXPECT_GE(counts[3], kDatagrams * 1028);
}

}  // namespace
