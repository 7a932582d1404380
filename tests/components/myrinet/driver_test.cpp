// One driver for a program's messages: what passes the feed while it runs, and what its log has when it has ended.
#include <gtest/gtest.h>
#include <substrata/myrinet.h>
#include <substrata/substrate.h>
#include <substrata/feed.hpp>

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "entry_points.hpp"
#include "support/temporary_folder.hpp"
#include "support/transactions.hpp"

namespace substrata::myrinet::test {
namespace {

namespace feed = client::feed;

// A program's messages as its ranks' traces have them, and as its log has them.
class RecordedProgram {
 public:
  explicit RecordedProgram(uint32_t ranks) : log_(ranks), numbers_(ranks * ranks) {
    constexpr feed::Source kSource{.name = "mpi", .time_base = SUBSTRATA_TIME_VIRTUAL};
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      const std::string prefix = "mpi.rank" + std::to_string(rank);
      sends_.push_back(kSource.publisher((prefix + ".send").c_str()).value());
      receives_.push_back(kSource.publisher((prefix + ".receive").c_str()).value());
      traces_.push_back(feed::Recorder::start(trace(rank).c_str(), (prefix + ".*").c_str()).value());
    }
  }
  // Sent so many nanoseconds after the one before, and received 50 us later.
  void message(uint32_t from, uint32_t to, uint32_t bytes, uint64_t after_ns) {
    now_ns_ += after_ns;
    const uint32_t number = ++numbers_[from * log_.size() + to];
    substrata_transaction seen = tests::message(SUBSTRATA_SEND, from, to, bytes, now_ns_);
    seen.detail = number;
    sends_[from].publish(seen);
    seen.start = seen.time;
    seen.time += 50'000;
    seen.kind = SUBSTRATA_RECEIVE;
    receives_[to].publish(seen);
    substrata_myrinet_operation operation{};
    operation.compute_ns = after_ns;
    operation.bytes = bytes;
    operation.peer = to;
    operation.type = SUBSTRATA_MYRINET_MESSAGE;
    log_[from].push_back(operation);
    operation = {};
    operation.peer = from;
    operation.number = number;
    operation.receives = 1;
    log_[to].push_back(operation);
  }
  void end() {
    for (feed::Recorder& one : traces_) one.stop().value();
    sends_.clear();
    receives_.clear();
  }
  std::string trace(uint32_t rank) const { return folder_.file("trace." + std::to_string(rank)); }
  const std::vector<std::vector<substrata_myrinet_operation>>& log() const { return log_; }

 private:
  const substrata::tests::TemporaryFolder folder_;
  std::vector<std::vector<substrata_myrinet_operation>> log_;
  std::vector<uint32_t> numbers_;
  std::vector<feed::Publisher> sends_;
  std::vector<feed::Publisher> receives_;
  std::vector<feed::Recorder> traces_;
  uint64_t now_ns_ = 1'000'000;
};

constexpr std::array<const char*, 11> kEvents = {
    "PACKETS_SENT",    "PACKETS_RECEIVED",  "BYTES_SENT",       "BYTES_RECEIVED",
    "CHECKSUM_ERRORS", "DROPPED",           "MISROUTED",        "SOURCE_LATENCY_SUM",
    "NET_LATENCY_SUM", "LANAI_LATENCY_SUM", "DEST_LATENCY_SUM",
};
using Counts = std::array<int64_t, kEvents.size()>;

// Of one rank's interface while its messages pass the feed.
Counts counted_live(const RecordedProgram& program, uint32_t rank, const std::string& parameters) {
  Host host;
  SubstrateTable table;
  Device* device = nullptr;
  EXPECT_EQ(substrata_entry_myrinet(&host, &table), 0);
  EXPECT_TRUE(table.open(&host, &device).ok());
  std::vector<uint32_t> events;
  for (const char* name : kEvents) {
    uint32_t index = 0;
    EXPECT_TRUE(
        table.find_event(device, (std::string(name) + ":node=" + std::to_string(rank)).c_str(), &index).ok());
    events.push_back(index);
  }
  Set* set = nullptr;
  EXPECT_TRUE(table.create_set(device, nullptr, &set).ok());
  EXPECT_TRUE(table.program(set, events.data(), static_cast<uint32_t>(events.size())).ok());
  EXPECT_TRUE(table.start(set).ok());
  {
    const auto following = feed::Following::begin("myrinet", parameters.c_str()).value();
    EXPECT_TRUE(feed::replay(program.trace(rank).c_str()));
  }
  Counts values{};
  EXPECT_TRUE(table.read(set, values.data()).ok());
  table.destroy_set(set);
  table.close(device);
  return values;
}

// Of every rank's interface when the log has passed one cluster.
std::vector<Counts> counted_afterwards(const RecordedProgram& program, const char* parameters) {
  std::vector<const substrata_myrinet_operation*> begins;
  std::vector<size_t> sizes;
  for (const auto& one : program.log()) {
    begins.push_back(one.data());
    sizes.push_back(one.size());
  }
  auto options = client::sized<substrata_myrinet_carry_options>();
  options.nodes = static_cast<uint32_t>(begins.size());
  options.parameters = parameters;
  substrata_myrinet_carried* carried = nullptr;
  EXPECT_EQ(substrata_myrinet_carry(begins.data(), sizes.data(), &options, &carried), 0)
      << substrata_myrinet_error();
  std::vector<Counts> out;
  for (uint32_t node = 0; node < options.nodes; ++node) {
    auto of = client::sized<substrata_myrinet_counts>();
    EXPECT_EQ(substrata_myrinet_carried_counts(carried, node, SUBSTRATA_MYRINET_ALL, &of), 0);
    out.push_back({static_cast<int64_t>(of.packets_sent), static_cast<int64_t>(of.packets_received),
                   static_cast<int64_t>(of.bytes_sent), static_cast<int64_t>(of.bytes_received),
                   static_cast<int64_t>(of.checksum_errors), static_cast<int64_t>(of.dropped),
                   static_cast<int64_t>(of.misrouted), of.latency_sum_ns[SUBSTRATA_MYRINET_SOURCE],
                   of.latency_sum_ns[SUBSTRATA_MYRINET_NET], of.latency_sum_ns[SUBSTRATA_MYRINET_LANAI],
                   of.latency_sum_ns[SUBSTRATA_MYRINET_DEST]});
  }
  substrata_myrinet_carried_free(carried);
  return out;
}

// The packets and bytes, without latencies.
std::array<int64_t, 7> packets_of(const Counts& all) {
  std::array<int64_t, 7> out{};
  for (size_t i = 0; i < out.size(); ++i) out[i] = all[i];
  return out;
}

TEST(MyrinetDriver, ARecordedProgramCountsTheSameLiveAndAfterwards) {
  constexpr uint32_t kRanks = 4;
  RecordedProgram program(kRanks);
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    const uint32_t from = random() % kRanks;
    const uint32_t to = (from + 1 + random() % (kRanks - 1)) % kRanks;
    program.message(from, to, random() % 4 == 0 ? random() % 100'000 : random() % 500, random() % 30'000);
  }
  program.end();
  const std::vector<Counts> afterwards = counted_afterwards(program, nullptr);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(packets_of(counted_live(program, rank, "nodes=4")), packets_of(afterwards[rank])) << rank;
    EXPECT_GT(afterwards[rank][0], 500) << rank;
    EXPECT_GT(afterwards[rank][1], 500) << rank;
  }
}

TEST(MyrinetDriver, MessagesThatDoNotMeetTakeTheSameTimeLiveAndAfterwards) {
  RecordedProgram program(2);
  for (uint32_t i = 0; i < 200; ++i) {
    program.message(0, 1, 100 + 37 * i, 10'000'000);
    program.message(1, 0, 5000 + 11 * i, 10'000'000);
  }
  program.end();
  const std::vector<Counts> afterwards = counted_afterwards(program, nullptr);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(counted_live(program, rank, "nodes=2"), afterwards[rank]) << rank;
    EXPECT_GT(afterwards[rank][7], 0) << rank;
  }
}

}  // namespace
}  // namespace substrata::myrinet::test
