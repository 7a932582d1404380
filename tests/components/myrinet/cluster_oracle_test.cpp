// The cluster against a second one, slow and obvious: one list of what is to happen, closures, nothing reused. Every
// stage of every packet of random traffic must begin and end at the same picosecond in both.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "myrinet/cluster.hpp"
#include "support/slow_future.hpp"

namespace substrata::myrinet::test {
namespace {

// Sender, number of the packet there, and which stage; begin and end.
using Stages = std::map<std::tuple<uint32_t, uint64_t, uint16_t>, std::pair<Time, Time>>;

struct Sent {
  Message message;
  Time at;
};

class SlowCluster : tests::SlowFuture {
 public:
  SlowCluster(const ClusterParameters& parameters, const Clocks& clocks)
      : p_(parameters), clocks_(clocks), nodes_(parameters.nodes) {
    for (Node& node : nodes_) node.buffers = p_.receive_buffers;
  }
  Stages run(const std::vector<Sent>& traffic) {
    for (const Sent& one : traffic)
      at(one.at, [this, one] { request(one.message.from, one.message.to, one.message.bytes); });
    run_to_the_end();
    return stages_;
  }

 private:
  struct Packet {
    uint32_t from, to, bytes;
    uint64_t number;
    Time seen = 0, fetched = 0, ready = 0, begun = 0, last_word = 0;
  };
  using Kept = std::shared_ptr<Packet>;
  struct Node {
    Time processor = 0, engine = 0, link = 0, armed = 0;  // free from then on
    bool link_taken = false, port_taken = false;
    uint32_t buffers = 0;
    uint64_t packets = 0;
    std::deque<Kept> wants_link, wants_port;
  };

  // The polling processor notices something now and is busy with it; gives when it began.
  Time processor(Node& node, Time takes) {
    const Time begin = std::max(now_ + p_.poll, node.processor);
    node.processor = begin + takes;
    return begin;
  }
  Time dma(Node& node, Time begin, Time setup, uint32_t bytes) {
    return node.engine = std::max(begin, node.engine) + setup + p_.dma_byte * bytes;
  }
  Time noticed(Time begin) const { return std::min(begin, now_ + p_.stamp_grain); }
  Time length(const Packet& packet) const {
    return p_.link_byte * (packet.bytes + p_.header_bytes + p_.stamp_bytes);
  }
  void note(const Packet& packet, uint16_t stage, Time begin, Time end) {
    stages_[{packet.from, packet.number, stage}] = {begin, end};
  }

  // The next packet of a message is seen in the queue.
  void request(uint32_t from, uint32_t to, uint32_t rest) {
    Node& node = nodes_[from];
    const uint32_t bytes = std::min(rest, p_.packet_bytes);
    const auto packet = std::make_shared<Packet>(Packet{from, to, bytes, node.packets++, now_});
    const Time taken = processor(node, p_.on_request) + p_.on_request;
    if (rest > bytes) at(taken, [=, this] { request(from, to, rest - bytes); });
    at(dma(node, taken, p_.source_setup, bytes), [=, this] { fetched(packet); });
  }
  void fetched(const Kept& packet) {
    Node& node = nodes_[packet->from];
    const Time before = p_.on_fetched + p_.stamp_sending + p_.clock_upkeep;
    const Time begin = processor(node, before + p_.on_injected + p_.record_sending);
    packet->ready = begin + before;
    packet->fetched = noticed(begin);
    note(*packet, SUBSTRATA_FETCHED, packet->seen, packet->fetched);
    node.wants_link.push_back(packet);
    use_link(node);
  }
  void use_link(Node& node) {
    if (node.link_taken || node.wants_link.empty()) return;
    node.link_taken = true;
    const Kept packet = node.wants_link.front();
    node.wants_link.pop_front();
    packet->begun = std::max({packet->ready, node.link, now_});
    at(packet->begun + p_.switch_latency, [=, this] {
      nodes_[packet->to].wants_port.push_back(packet);
      use_port(nodes_[packet->to]);
    });
  }
  void use_port(Node& to) {
    if (to.port_taken || to.buffers == 0 || to.wants_port.empty()) return;
    to.port_taken = true;
    --to.buffers;
    const Kept packet = to.wants_port.front();
    to.wants_port.pop_front();
    Node& from = nodes_[packet->from];
    const Time passed = std::max(now_, to.armed);
    // The link is free when the last byte has left; what exceeds the switch's slack waits for the head.
    from.link = packet->begun + length(*packet);
    const Time slack = p_.slack_bytes * p_.link_byte;
    if (length(*packet) > slack)
      from.link = std::max(from.link, passed - p_.switch_latency + length(*packet) - slack);
    at(passed + length(*packet) + p_.reception, [=, this] { arrived(packet); });
    note(*packet, SUBSTRATA_INJECTED, packet->fetched, from.link);
    from.link_taken = false;
    use_link(from);
  }
  void arrived(const Kept& packet) {
    Node& node = nodes_[packet->to];
    const Time takes = p_.on_arrived + p_.strip_receiving + p_.clock_upkeep;
    const Time begin = processor(node, takes);
    node.armed = begin + takes;
    node.port_taken = false;
    use_port(node);
    packet->last_word = noticed(begin);
    at(dma(node, begin + takes, p_.dest_setup, packet->bytes), [=, this] { delivered(packet); });
    note(*packet, SUBSTRATA_ARRIVED, clocks_.stamp(packet->from, packet->fetched),
         clocks_.stamp(packet->to, packet->last_word));
  }
  void delivered(const Kept& packet) {
    Node& node = nodes_[packet->to];
    const Time begin = processor(node, p_.on_delivered + p_.record_receiving);
    note(*packet, SUBSTRATA_DELIVERED, packet->last_word, noticed(begin));
    if (node.buffers++ == 0) node.armed = std::max(node.armed, begin);
    use_port(node);
  }

  const ClusterParameters p_;
  const Clocks& clocks_;
  std::vector<Node> nodes_;
  Stages stages_;
};

class Watch final : public StageWatch, public Delivery {
 public:
  void stage(uint32_t, const substrata_transaction& seen) noexcept override {
    constexpr uint64_t kNumbers = (uint64_t{1} << kTypeShift) - 1;
    stages[{seen.initiator, seen.detail & kNumbers, seen.state}] = {seen.start, seen.time};
  }
  void delivered(const Message&, Time, Time) override {}
  Stages stages;
};

std::vector<Sent> traffic_of(std::mt19937& random, uint32_t nodes) {
  std::vector<Sent> traffic;
  const auto below = [&](uint32_t most) {
    return std::uniform_int_distribution<uint32_t>(0, most - 1)(random);
  };
  Time at = 0;
  for (int i = 0; i < 200; ++i) {
    // Bursts, now and then a pause.
    at += below(4) == 0 ? below(300) * kMicrosecond : below(3) * Time{777'777};
    const uint32_t from = below(nodes);
    const uint32_t to = (from + 1 + below(nodes - 1)) % nodes;
    traffic.push_back({{.from = from, .to = to, .bytes = below(3) == 0 ? below(9000) : below(128)}, at});
  }
  return traffic;
}

class MyrinetClusterOracle : public testing::TestWithParam<uint32_t> {};

TEST_P(MyrinetClusterOracle, GivesEveryStageOfEveryPacketTheSameTimes) {  // MY-2, MY-20
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    ClusterParameters parameters;
    parameters.nodes = 2 + seed % 7;
    parameters.receive_buffers = GetParam();
    parameters.seed = seed;
    Watch watch;
    Cluster cluster(parameters, watch, false);
    cluster.watch(&watch);
    const std::vector<Sent> traffic = traffic_of(random, parameters.nodes);
    for (const Sent& one : traffic) cluster.post(one.message, one.at);
    cluster.run_out();
    EXPECT_EQ(watch.stages, SlowCluster(parameters, cluster.clocks()).run(traffic)) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(ReceiveBuffers, MyrinetClusterOracle, testing::Values(1, 2, 8));

}  // namespace
}  // namespace substrata::myrinet::test
