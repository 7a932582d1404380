// Operations of the communication layer: as many as the layer itself counts, never shorter than their
// packets' way.
#include "myrinet/operations.hpp"

#include <gtest/gtest.h>
#include <substrata/owl.h>
#include <substrata/substrate.h>
#include <substrata/feed.hpp>
#include <substrata/result.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "entry_points.hpp"
#include "myrinet/machine.hpp"
#include "sources/workloads/run.hpp"
#include "support/opened_substrate.hpp"

namespace substrata::myrinet::test {
namespace {

// Everything that passes, kept.
class Onlooker {
 public:
  struct Packet {
    uint64_t seen = 0;     // the request
    uint64_t noticed = 0;  // in the receiver's memory
    uint32_t from = 0;
    uint32_t bytes = 0;
    uint32_t attempts = 0;
    uint64_t word = 0;
    uint32_t type = 0;
  };
  Onlooker() {
    EXPECT_EQ(observer_.try_create<&Onlooker::look>(*this), 0);
    EXPECT_EQ(observer_.try_subscribe("myrinet.node*.lanai.*,myrinet.node*.operation"), 0);
  }

  std::vector<substrata_transaction> operations;
  // By sender and its number.
  std::map<std::pair<uint32_t, uint64_t>, Packet> packets;

  uint64_t count(uint32_t kind) const {
    return static_cast<uint64_t>(std::count_if(operations.begin(), operations.end(), [&](const auto& one) {
      return operation_kind_of(one.site) == static_cast<int>(kind);
    }));
  }
  // Packets of one operation: its opener and its stamp without the direction.
  std::map<std::pair<uint32_t, uint64_t>, std::vector<Packet>> by_operation() const {
    std::map<std::pair<uint32_t, uint64_t>, std::vector<Packet>> out;
    for (const auto& [key, packet] : packets) {
      if (packet.word == 0) continue;
      out[{openers_.at(key), packet.word & ~kTowards}].push_back(packet);
    }
    return out;
  }
  static constexpr uint64_t kTowards = uint64_t{1} << 55;

 private:
  void look(const substrata_transaction* batch, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const substrata_transaction& seen = batch[i];
      if (seen.kind != SUBSTRATA_PACKET) {
        operations.push_back(seen);
        continue;
      }
      const std::pair<uint32_t, uint64_t> key(seen.initiator, seen.detail << 8 >> 8);
      Packet& packet = packets[key];
      packet.from = seen.initiator;
      packet.bytes = seen.size;
      packet.word = seen.site;
      packet.type = type_of(seen.detail);
      openers_[key] = opener_of(seen);
      if (seen.state == SUBSTRATA_FETCHED) packet.seen = seen.start;
      if (seen.state == SUBSTRATA_DELIVERED) packet.noticed = seen.time;
      if (seen.state == SUBSTRATA_INJECTED) ++packet.attempts;
    }
  }
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> openers_;
  client::feed::Observer observer_;
};

// A run whose layer can be asked what it counted.
workloads::Report run(const char* workload, uint32_t nodes, const char* parameters = "") {
  MachineParameters parsed;
  std::string error;
  EXPECT_TRUE(parse_machine_parameters(parameters, 5, &parsed, error)) << error;
  const auto machine = make_machine(parsed, 0);
  workloads::EngineSettings settings;
  settings.processes = nodes;
  workloads::Report report = workloads::run_workload(workload, 5, *machine, settings);
  EXPECT_TRUE(report.correct) << report.message;
  substrata_flush();
  return report;
}
uint64_t statistic(const workloads::Report& report, std::string_view name) {
  for (const workloads::Statistic& one : report.statistics)
    if (one.name == name) return one.value;
  ADD_FAILURE() << "the layer does not count " << name;
  return 0;
}

// Recorded, by kind.
std::map<uint32_t, substrata_myrinet_operation_point> recorded(uint32_t node = SUBSTRATA_MYRINET_ALL,
                                                               uint32_t program = SUBSTRATA_MYRINET_ALL) {
  std::vector<substrata_myrinet_operation_point> points(kOperationKinds);
  uint32_t count = 0;
  EXPECT_EQ(substrata_myrinet_operations(node, program, points.data(), kOperationKinds, &count), 0)
      << substrata_myrinet_error();
  std::map<uint32_t, substrata_myrinet_operation_point> out;
  for (uint32_t i = 0; i < count; ++i) out[points[i].kind] = points[i];
  return out;
}

// Between start and stop of the monitor, with a shape of its own; events by name beside it.
class MyrinetOperations : public tests::SubstrateTest<substrata_entry_myrinet> {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(SubstrateTest::SetUp());
    begin(1);
  }
  void TearDown() override {
    set_.reset();
    EXPECT_EQ(substrata_myrinet_stop(), 0);
    SubstrateTest::TearDown();
  }
  void begin(uint32_t programs) {
    ASSERT_EQ(substrata_myrinet_stop(), 0);
    auto shape = client::sized<substrata_myrinet_shape>();
    ASSERT_EQ(substrata_myrinet_default_shape(&shape), 0);
    shape.programs = programs;
    ASSERT_EQ(substrata_myrinet_configure(&shape), 0);
    ASSERT_EQ(substrata_myrinet_start(), 0);
  }
  void count(const std::vector<std::string>& names) {
    set_.emplace(table_, device_, events(names));
    set_->start();
  }
  std::vector<int64_t> read() { return set_->read(); }

 private:
  std::optional<tests::CountedSet> set_;
};

TEST_F(MyrinetOperations, AreAsManyAsSharedMemoryItselfCounts) {  // MY-42
  uint64_t locks = 0;
  for (const char* workload :
       {"fft:points=1024", "radix:keys=4096:radix=64", "lu:n=48", "ocean:n=16", "migratory"}) {
    SCOPED_TRACE(workload);
    ASSERT_EQ(substrata_myrinet_clear(), 0);
    Onlooker onlooker;
    const workloads::Report report = run(workload, 4);
    const auto kinds = recorded();
    const auto of = [&](uint32_t kind) {
      const auto found = kinds.find(kind);
      const uint64_t kept = found == kinds.end() ? 0 : found->second.count;
      EXPECT_EQ(kept, onlooker.count(kind)) << kOperationNames[kind];
      return kept;
    };
    EXPECT_GT(of(SUBSTRATA_MYRINET_PAGE_FETCH), 0u);
    EXPECT_EQ(of(SUBSTRATA_MYRINET_PAGE_FETCH), statistic(report, "page-fetches"));
    // Process 0 is the directory and asks itself.
    EXPECT_GE(of(SUBSTRATA_MYRINET_PAGE_HOME), statistic(report, "packets.home-request"));
    EXPECT_EQ(of(SUBSTRATA_MYRINET_LOCK_ACQUIRE), report.outcome.locks);
    EXPECT_EQ(of(SUBSTRATA_MYRINET_LOCK_RELEASE), report.outcome.locks);
    // One more for each process at the program's end.
    EXPECT_EQ(of(SUBSTRATA_MYRINET_BARRIER_PART), report.outcome.barriers + 4);
    EXPECT_EQ(of(SUBSTRATA_MYRINET_MESSAGE_SEND), report.outcome.messages);
    locks += report.outcome.locks;
    // A fetch is a request, a page and the word behind it; every diff belongs to a release or a barrier.
    const substrata_myrinet_operation_point& fetch = kinds.at(SUBSTRATA_MYRINET_PAGE_FETCH);
    EXPECT_EQ(fetch.packets, 3 * fetch.count);
    uint64_t packets = 0;
    uint64_t diffs = 0;
    for (const auto& [key, packet] : onlooker.packets) {
      if (packet.word == 0) continue;
      packets += packet.attempts;
      diffs += packet.type == SUBSTRATA_MYRINET_DIFF ? 1 : 0;
    }
    EXPECT_EQ(diffs, statistic(report, "packets.diff"));
    uint64_t kept = 0;
    for (const auto& [kind, point] : kinds) kept += point.packets;
    EXPECT_EQ(kept, packets);
    EXPECT_LE(kept, statistic(report, "packets-sent"));
  }
  EXPECT_GT(locks, 0u);
}

TEST_F(MyrinetOperations, ABroadcastOfGaussIsSevenSends) {  // MY-42, MY-31
  Onlooker onlooker;
  const workloads::Report report = run("gauss:n=40", 8);
  const auto kinds = recorded();
  const substrata_myrinet_operation_point& broadcast = kinds.at(SUBSTRATA_MYRINET_BROADCAST);
  EXPECT_EQ(broadcast.count, 40u);
  EXPECT_EQ(broadcast.packets, 7 * broadcast.count);
  for (const substrata_transaction& one : onlooker.operations) {
    if (operation_kind_of(one.site) != SUBSTRATA_MYRINET_BROADCAST) continue;
    EXPECT_EQ(one.detail, 7u);
    EXPECT_EQ(one.kind, SUBSTRATA_COLLECTIVE);
  }
  // Row k is k shorter than the first; every broadcast has its own bytes.
  uint64_t bytes = 0;
  for (uint64_t k = 0; k < 40; ++k) bytes += 7 * 8 * (41 - k);
  EXPECT_EQ(broadcast.bytes, bytes);
  // The rows gathered at the end are messages by themselves.
  EXPECT_EQ(kinds.at(SUBSTRATA_MYRINET_MESSAGE_SEND).count, 35u);
  EXPECT_EQ(report.outcome.messages, 7 * 40 + 35u);
  // By node: process p has every eighth row.
  for (uint32_t node = 0; node < 8; ++node) {
    const auto own = recorded(node);
    EXPECT_EQ(own.at(SUBSTRATA_MYRINET_BROADCAST).count, 5u);
    EXPECT_EQ(own.at(SUBSTRATA_MYRINET_BROADCAST).packets, 35u);
  }
}

TEST_F(MyrinetOperations, EachNodesOfferOfAPivotLineIsSevenSends) {  // MY-42, MY-31
  run("gauss:n=40:pivoting=1", 8);
  const auto kinds = recorded();
  const substrata_myrinet_operation_point& broadcast = kinds.at(SUBSTRATA_MYRINET_BROADCAST);
  EXPECT_GT(broadcast.count, 40u);
  EXPECT_LE(broadcast.count, 40u * 8);
  EXPECT_EQ(broadcast.packets, 7 * broadcast.count);
}

TEST_F(MyrinetOperations, AStreamsCallsAreOperationsAndItsPacketsHaveATypeOfTheirOwn) {  // MY-42, MY-20
  Onlooker onlooker;
  const workloads::Report report = run("pipeline:bytes=40000:window=3000:segment=1000", 4);
  const auto kinds = recorded();
  EXPECT_EQ(kinds.at(SUBSTRATA_MYRINET_STREAM_OPEN).count, 6u);   // both ends of three connections
  EXPECT_EQ(kinds.at(SUBSTRATA_MYRINET_STREAM_CLOSE).count, 3u);  // by the writers
  EXPECT_GT(kinds.at(SUBSTRATA_MYRINET_STREAM_WRITE).count, 0u);
  EXPECT_GT(kinds.at(SUBSTRATA_MYRINET_STREAM_READ).packets, 0u);  // credits
  EXPECT_EQ(kinds.at(SUBSTRATA_MYRINET_STREAM_WRITE).bytes, 3 * 40000u);
  EXPECT_FALSE(kinds.contains(SUBSTRATA_MYRINET_MESSAGE_SEND));
  uint64_t streamed = 0;
  for (const auto& [key, packet] : onlooker.packets) {
    EXPECT_NE(packet.type, uint32_t{SUBSTRATA_MYRINET_MESSAGE});
    streamed += packet.type == SUBSTRATA_MYRINET_STREAM ? 1 : 0;
  }
  EXPECT_EQ(streamed, report.outcome.messages);  // each fits one packet
}

TEST_F(MyrinetOperations, LastAtLeastAsLongAsTheWayOfThePacketsTheyWaitFor) {  // MY-42
  for (const char* workload : {"fft:points=1024", "ocean:n=16", "gauss:n=40"}) {
    SCOPED_TRACE(workload);
    Onlooker onlooker;
    run(workload, 4);
    const auto packets = onlooker.by_operation();
    constexpr uint64_t kGrain = 200'000;  // a stamp may be so much later than the event
    size_t looked_at = 0;
    for (const substrata_transaction& one : onlooker.operations) {
      EXPECT_LE(one.start, one.time);
      const int kind = operation_kind_of(one.site);
      const auto found = packets.find({one.initiator, one.site});
      if (found == packets.end()) {
        EXPECT_EQ(one.detail, 0u) << "of the node itself: nothing passed the network";
        continue;
      }
      uint64_t bytes = 0;
      for (const Onlooker::Packet& packet : found->second) {
        EXPECT_GE(packet.seen, one.start);
        bytes += packet.bytes;
        const bool awaited = (packet.word & Onlooker::kTowards) != 0 || kind == SUBSTRATA_MYRINET_BROADCAST ||
                             kind == SUBSTRATA_MYRINET_MESSAGE_SEND;
        if (awaited) {
          EXPECT_LE(packet.noticed, one.time + kGrain) << kOperationNames[kind];
        }
      }
      EXPECT_EQ(found->second.size(), one.detail);
      EXPECT_EQ(bytes, one.size);
      if (kind != SUBSTRATA_MYRINET_PAGE_FETCH) continue;
      // One after the other: the request, and the word behind the page.
      uint64_t path = 0;
      for (const Onlooker::Packet& packet : found->second)
        if (packet.type != SUBSTRATA_MYRINET_PAGE_REPLY) path += packet.noticed - packet.seen;
      EXPECT_GT(one.time - one.start, path);
      ++looked_at;
    }
    EXPECT_TRUE(looked_at > 10 || std::string_view(workload) == "gauss:n=40");
  }
}

TEST_F(MyrinetOperations, AreEventsByNodeProgramAndKind) {  // MY-42
  std::vector<std::string> names = {"OPERATIONS",        "OPERATIONS:kind=page-fetch",
                                    "OPERATIONS:kind=0", "OPERATION_LATENCY_SUM:kind=page-fetch",
                                    "OPERATION_PACKETS", "PACKETS_SENT",
                                    "OPERATION_BYTES",   "BYTES_SENT"};
  for (const char* latency : {"SOURCE", "LANAI", "NET", "DEST"})
    names.push_back(std::string("OPERATION_") + latency + "_LATENCY_SUM:kind=page-fetch");
  const size_t kinds_at = names.size();
  for (const char* name : kOperationNames)
    names.push_back(std::string("OPERATION_PACKETS:kind=") + name + ":program=0");
  const size_t nodes_at = names.size();
  for (int node = 0; node < 4; ++node) names.push_back("OPERATIONS:node=" + std::to_string(node));
  count(names);
  run("fft:points=1024", 4);
  const std::vector<int64_t>& values = read();
  const substrata_myrinet_operation_point fetch = recorded().at(SUBSTRATA_MYRINET_PAGE_FETCH);
  EXPECT_EQ(values[1], static_cast<int64_t>(fetch.count));
  EXPECT_EQ(values[1], values[2]);
  const auto per_fetch = [&](size_t i) {
    return static_cast<double>(values[i]) / static_cast<double>(fetch.count);
  };
  EXPECT_NEAR(per_fetch(3), fetch.average_ns, 1e-6 * fetch.average_ns);
  EXPECT_LE(values[4], values[5]);
  EXPECT_LE(values[6], values[7]);
  for (size_t i = 0; i < kLatencies; ++i)
    EXPECT_NEAR(per_fetch(8 + i), fetch.part_ns[i], 1e-6 * fetch.part_ns[i]);
  int64_t packets = 0;
  for (size_t i = 0; i < kOperationKinds; ++i) packets += values[kinds_at + i];
  EXPECT_EQ(packets, values[4]);
  int64_t operations = 0;
  for (size_t i = 0; i < 4; ++i) operations += values[nodes_at + i];
  EXPECT_EQ(operations, values[0]);
  uint32_t index = 0;
  const Status refused = table_.find_event(device_, "OPERATIONS:kind=page", &index);
  EXPECT_EQ(refused.code, Code::kAttribute);
  EXPECT_NE(std::string_view(refused.note).find("page-fetch"), std::string_view::npos) << refused.note;
  EXPECT_EQ(table_.find_event(device_, "OPERATIONS:peer=1", &index).code, Code::kAttribute);
  EXPECT_EQ(table_.find_event(device_, "OPERATIONS:kind=12", &index).code, Code::kAttribute);
}

TEST_F(MyrinetOperations, OfTwoProgramsAtOnceAreKeptApart) {  // MY-42, MY-8
  begin(2);
  auto options = client::sized<substrata_run_options>();
  options.processes = 4;
  options.seed = 2;
  auto first = client::sized<substrata_run_result>();
  substrata_run_result second = first;
  ASSERT_EQ(substrata_myrinet_run_together("fft:points=1024", "gauss:n=24", &options, &first, &second), 0)
      << substrata_myrinet_error();
  const auto fft = recorded(SUBSTRATA_MYRINET_ALL, 0);
  const auto gauss = recorded(SUBSTRATA_MYRINET_ALL, 1);
  EXPECT_GT(fft.at(SUBSTRATA_MYRINET_PAGE_FETCH).count, 0u);
  EXPECT_FALSE(fft.contains(SUBSTRATA_MYRINET_BROADCAST));
  EXPECT_EQ(gauss.at(SUBSTRATA_MYRINET_BROADCAST).count, 24u);
  const auto both = recorded();
  EXPECT_EQ(both.at(SUBSTRATA_MYRINET_BARRIER_PART).count,
            fft.at(SUBSTRATA_MYRINET_BARRIER_PART).count + gauss.at(SUBSTRATA_MYRINET_BARRIER_PART).count);
}

TEST_F(MyrinetOperations, LoseNothingWhenPacketsAreLost) {  // MY-42, MY-22
  count({"OPERATION_PACKETS", "PACKETS_SENT", "OPERATIONS:kind=page-fetch"});
  const workloads::Report report = run("fft:points=1024", 4, "drop_ppm=40000:corrupt_ppm=40000");
  const std::vector<int64_t>& values = read();
  EXPECT_EQ(values[2], static_cast<int64_t>(statistic(report, "page-fetches")));
  EXPECT_LE(values[0], values[1]);
  const substrata_myrinet_operation_point fetch = recorded().at(SUBSTRATA_MYRINET_PAGE_FETCH);
  EXPECT_GT(fetch.packets, 3 * fetch.count) << "a repeated packet counts each attempt";
}

TEST_F(MyrinetOperations, AreReplayedFromATrace) {  // MY-42, FE-8
  std::string trace = testing::TempDir() + "substrata-operations-XXXXXX";
  ASSERT_GE(mkstemp(trace.data()), 0);
  auto options = client::sized<substrata_run_options>();
  options.processes = 4;
  options.record = trace.c_str();
  ASSERT_EQ(substrata_run("myrinet", "fft:points=1024", &options, nullptr), 0) << substrata_feed_error();
  const auto live = recorded();
  ASSERT_EQ(substrata_myrinet_clear(), 0);
  ASSERT_EQ(substrata_replay(trace.c_str(), nullptr, nullptr), 0) << substrata_feed_error();
  const auto replayed = recorded();
  ASSERT_EQ(replayed.size(), live.size());
  for (const auto& [kind, point] : live) {
    EXPECT_EQ(replayed.at(kind).count, point.count);
    EXPECT_EQ(replayed.at(kind).average_ns, point.average_ns);
    EXPECT_EQ(replayed.at(kind).part_ns[2], point.part_ns[2]);
  }
  std::remove(trace.c_str());
}

TEST_F(MyrinetOperations, OutsideStartAndStopAreNotKept) {  // MY-42, MY-7
  ASSERT_EQ(substrata_myrinet_stop(), 0);
  run("gauss:n=8", 4);
  EXPECT_TRUE(recorded().empty());
  ASSERT_EQ(substrata_myrinet_start(), 0);
  run("gauss:n=8", 4);
  EXPECT_EQ(recorded().at(SUBSTRATA_MYRINET_BROADCAST).count, 8u);
  uint32_t count = 0;
  EXPECT_EQ(substrata_myrinet_operations(8, 0, nullptr, 0, &count), -1);
  EXPECT_EQ(substrata_myrinet_operations(0, 0, nullptr, 1, &count), -1);
  std::vector<uint64_t> bins(kOperationBins);
  EXPECT_EQ(substrata_myrinet_operation_histogram(0, 0, kOperationKinds, bins.data(), kOperationBins), -1);
  EXPECT_EQ(substrata_myrinet_operation_histogram(0, 0, 0, bins.data(), kOperationBins - 1), -1);
  ASSERT_EQ(substrata_myrinet_operation_histogram(SUBSTRATA_MYRINET_ALL, 0, SUBSTRATA_MYRINET_BROADCAST,
                                                  bins.data(), kOperationBins),
            0);
  uint64_t sum = 0;
  for (const uint64_t bin : bins) sum += bin;
  EXPECT_EQ(sum, 8u);
  EXPECT_STREQ(substrata_myrinet_operation_name(SUBSTRATA_MYRINET_BROADCAST), "broadcast");
  EXPECT_EQ(substrata_myrinet_operation_name(kOperationKinds), nullptr);
}

TEST_F(MyrinetOperations, AreWhatAnOwlCapsuleAttachesTo) {  // MY-42, OW-1
  constexpr std::string_view kSlowFetches = R"(module slow_fetches "page fetches longer than so many us" {
      register least = 200 in 1..1000000 "us";
      let slow = filter(site >> 56 == 1 && time - start > least * 1000000);
      input -> slow -> counter;
    })";
  ASSERT_EQ(substrata_owl_compose(kSlowFetches.data(), kSlowFetches.size(), "test"), 0)
      << substrata_owl_error();
  auto options = client::sized<substrata_owl_capsule_options>();
  options.name = "slow-fetches";
  options.probes = "myrinet.node*.operation";
  options.module = "slow_fetches";
  substrata_owl_capsule* capsule = nullptr;
  ASSERT_EQ(substrata_owl_attach(&options, &capsule), 0) << substrata_owl_error();
  ASSERT_EQ(substrata_owl_start(capsule), 0) << substrata_owl_error();
  Onlooker onlooker;
  run("fft:points=4096", 8);
  uint64_t seen = 0;
  uint64_t slow = 0;
  EXPECT_EQ(substrata_owl_read_metric(capsule, "SLOW_SEEN", &seen), 0) << substrata_owl_error();
  EXPECT_EQ(substrata_owl_read_metric(capsule, "SLOW_PASSED", &slow), 0) << substrata_owl_error();
  substrata_owl_detach(capsule);
  EXPECT_EQ(seen, onlooker.operations.size());
  const auto expected = std::count_if(onlooker.operations.begin(), onlooker.operations.end(),
                                      [](const substrata_transaction& one) {
                                        return operation_kind_of(one.site) == SUBSTRATA_MYRINET_PAGE_FETCH &&
                                               one.time - one.start > 200'000'000;
                                      });
  EXPECT_EQ(slow, static_cast<uint64_t>(expected));
  EXPECT_GT(slow, 0u);
  EXPECT_LT(slow, seen);
}

}  // namespace
}  // namespace substrata::myrinet::test
