// Events and commands of the substrate, on packets published at its probe points.
#include <gtest/gtest.h>
#include <papi.h>
#include <substrata/feed.h>
#include <substrata/shrimp.h>
#include <substrata/shrimp.hpp>

#include <cstdint>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "shrimp/probes.hpp"

namespace {

using substrata::shrimp::Probes;
using substrata::shrimp::Register;

constexpr uint32_t kNodes = 8;
constexpr uint64_t kTick = 100'000;  // ps
constexpr uint32_t kAll = SUBSTRATA_SHRIMP_EVERY_NODE;

class Shrimp : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
    substrata_shrimp_power_on();
  }
  void TearDown() override {
    for (int& set : sets_) {
      PAPI_stop(set, nullptr);
      PAPI_cleanup_eventset(set);
      PAPI_destroy_eventset(&set);
    }
    substrata_shrimp_power_on();
  }
  int make_set(const std::vector<std::string>& events) {
    int set = PAPI_NULL;
    EXPECT_EQ(PAPI_create_eventset(&set), PAPI_OK);
    for (const std::string& event : events)
      EXPECT_EQ(PAPI_add_named_event(set, ("shrimp:::" + event).c_str()), PAPI_OK) << event;
    sets_.push_back(set);
    return set;
  }
  std::vector<long long> stop(int set) {
    std::vector<long long> values(static_cast<size_t>(PAPI_num_events(set)));
    EXPECT_EQ(PAPI_stop(set, values.data()), PAPI_OK);
    return values;
  }
  uint64_t word(uint32_t node, uint32_t index) {
    uint64_t value = ~uint64_t{0};
    EXPECT_EQ(substrata_shrimp_read(node, index, 1, &value), 0) << substrata_shrimp_error();
    return value;
  }
  void packet(uint32_t sender, uint32_t receiver, uint32_t size, uint64_t address = 0, uint16_t phase = 0) {
    time_ += 7 * kTick;
    probes_.arrived({.time = time_,
                     .stamped = time_ - 3 * kTick,
                     .address = address,
                     .sender = sender,
                     .receiver = receiver,
                     .size = size,
                     .kind = SUBSTRATA_PACKET,
                     .phase = phase});
  }
  Probes probes_{kNodes};
  uint64_t time_ = 1'000'000'000;
  std::vector<int> sets_;
};

int command(uint32_t node, uint32_t reg, uint64_t value) {
  return substrata_shrimp_command(0, node, reg, value);
}

TEST_F(Shrimp, CountsPacketsBytesAndLatencyByNodeSenderAndTag) {
  ASSERT_EQ(substrata_shrimp_set_tag(3, 16, 5), 0);
  const int set = make_set({"PACKETS", "BYTES", "PACKETS:node=3", "PACKETS:sender=2", "BYTES:node=3:sender=2",
                            "PACKETS:tag=5", "LATENCY_SUM:node=3", "LOST"});
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  packet(2, 3, 100, 16 * 4096 + 12);
  packet(2, 3, 50);
  packet(1, 3, 10);
  packet(2, 4, 1, 16 * 4096);  // another node's page of that number has no tag
  const std::vector<long long> expected = {4, 161, 3, 3, 150, 1, 9, 0};
  EXPECT_EQ(stop(set), expected);
}

TEST_F(Shrimp, BinsMatchAtTheResolutionOfTheMultiplexer) {
  const uint32_t selection =
      SUBSTRATA_SHRIMP_SENDER | SUBSTRATA_SHRIMP_SIZE(1) | SUBSTRATA_SHRIMP_SIZE(2) | SUBSTRATA_SHRIMP_TAG;
  ASSERT_EQ(command(kAll, SUBSTRATA_SHRIMP_MULTIPLEXER, selection), 0) << substrata_shrimp_error();
  const int set = make_set({"BIN", "BIN:size=224", "BIN:size=224:sender=1", "BIN:latency=3", "BIN:node=0"});
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  packet(1, 0, 224);
  packet(2, 0, 239);  // the same sixteen bytes
  packet(1, 1, 240);
  const std::vector<long long> expected = {3, 2, 1, 0, 2};
  EXPECT_EQ(stop(set), expected) << "a variable that the multiplexer leaves out matches nothing";
}

TEST_F(Shrimp, AHistogramOverManyNodesEqualsTheOracle) {
  constexpr int kPackets = 20000;
  std::mt19937_64 random(3);
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> expected;
  const int set = make_set({"PACKETS"});
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  for (int i = 0; i < kPackets; ++i) {
    const auto sender = static_cast<uint32_t>(random() % 256);
    const auto receiver = static_cast<uint32_t>(random() % kNodes);
    const auto size = static_cast<uint32_t>(random() % 300);
    packet(sender, receiver, size);
    ++expected[{receiver, sender * 4096 + size}];
  }
  EXPECT_EQ(stop(set)[0], kPackets);
  std::vector<uint64_t> sum(SUBSTRATA_SHRIMP_WORDS);
  ASSERT_EQ(substrata_shrimp_read_sum(0, SUBSTRATA_SHRIMP_WORDS, sum.data()), 0);
  uint64_t total = 0;
  for (const uint64_t count : sum) total += count;
  EXPECT_EQ(total, static_cast<uint64_t>(kPackets));
  std::vector<uint64_t> words(SUBSTRATA_SHRIMP_WORDS);
  for (uint32_t node = 0; node < kNodes; ++node) {
    ASSERT_EQ(substrata_shrimp_read(node, 0, SUBSTRATA_SHRIMP_WORDS, words.data()), 0);
    for (uint32_t i = 0; i < SUBSTRATA_SHRIMP_WORDS; ++i) {
      if (words[i] == 0) continue;
      const auto found = expected.find({node, i});
      ASSERT_NE(found, expected.end()) << node << " " << i;
      EXPECT_EQ(found->second, words[i]);
      expected.erase(found);
    }
  }
  EXPECT_TRUE(expected.empty());
}

TEST_F(Shrimp, NothingIsRefusedAtOnePacketInSixHundredNanoseconds) {  // SH-11
  const int set = make_set({"PACKETS:node=1", "LOST"});
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  for (int i = 0; i < 10000; ++i) {
    time_ += 625'000;
    probes_.arrived({.time = time_, .stamped = time_, .sender = 0, .receiver = 1, .size = 8});
  }
  EXPECT_EQ(stop(set), (std::vector<long long>{10000, 0}));
}

struct Reported {
  int set = 0;
  uint64_t address = 0;
  long long vector = 0;
  uint64_t word = 0;
};
std::vector<Reported> reported;

void on_overflow(int set, void* address, long long vector, void*) {
  Reported one{set, reinterpret_cast<uintptr_t>(address), vector, 0};
  // A handler may read and command boards.
  EXPECT_EQ(substrata_shrimp_read(2, static_cast<uint32_t>(one.address), 1, &one.word), 0);
  EXPECT_EQ(substrata_shrimp_command(2, 2, SUBSTRATA_SHRIMP_CATEGORY_REGISTER, 1), 0);
  reported.push_back(one);
}

TEST_F(Shrimp, AnOverflowHandlerGetsTheHistogramAddress) {  // SH-6
  reported.clear();
  const int set = make_set({"PACKETS", "PACKETS:node=2"});
  int code = 0;
  ASSERT_EQ(PAPI_event_name_to_code("shrimp:::PACKETS:node=2", &code), PAPI_OK);
  ASSERT_EQ(PAPI_overflow(set, code, 3, 0, on_overflow), PAPI_OK);
  uint64_t threshold = 0;
  ASSERT_EQ(substrata_shrimp_register_value(2, SUBSTRATA_SHRIMP_THRESHOLD, &threshold), 0);
  EXPECT_EQ(threshold, 3u) << "PAPI_overflow arms the threshold register";
  ASSERT_EQ(substrata_shrimp_register_value(1, SUBSTRATA_SHRIMP_THRESHOLD, &threshold), 0);
  EXPECT_EQ(threshold, SUBSTRATA_SHRIMP_WORD_MOST);
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  for (int i = 0; i < 5; ++i) packet(6, 2, 32);
  for (int i = 0; i < 9; ++i) packet(6, 1, 32);
  packet(5, 2, 32);
  EXPECT_EQ(stop(set), (std::vector<long long>{15, 6}));
  ASSERT_EQ(reported.size(), 2u) << "the fourth and the fifth packet of that bin";
  EXPECT_EQ(reported[0].set, set);
  EXPECT_EQ(reported[0].address, 6u * 4096 + 32);
  EXPECT_EQ(reported[0].vector, 2);
  EXPECT_EQ(reported[0].word, 4u);
  EXPECT_EQ(reported[1].word, 5u);
  packet(6, 2, 32);
  substrata_flush();
  EXPECT_EQ(reported.size(), 2u) << "a stopped eventset gets no calls";
  ASSERT_EQ(PAPI_overflow(set, code, 0, 0, on_overflow), PAPI_OK);
  ASSERT_EQ(substrata_shrimp_register_value(2, SUBSTRATA_SHRIMP_THRESHOLD, &threshold), 0);
  EXPECT_EQ(threshold, SUBSTRATA_SHRIMP_WORD_MOST);
}

TEST_F(Shrimp, WithoutAHandlerAddressesWaitInTheQueue) {  // SH-6
  ASSERT_EQ(command(1, SUBSTRATA_SHRIMP_THRESHOLD, 0), 0);
  const int set = make_set({"INTERRUPTS:node=1"});
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  for (uint32_t i = 0; i < 17; ++i) packet(3, 1, i);
  EXPECT_EQ(stop(set)[0], 17);
  uint32_t address = 0, found = 0, overflowed = 0;
  ASSERT_EQ(substrata_shrimp_next_interrupt(1, &address, &found, &overflowed), 0);
  EXPECT_EQ(found, 1u);
  EXPECT_EQ(address, 3u * 4096);
  EXPECT_EQ(overflowed, 1u);
  for (int i = 0; i < 16; ++i)
    ASSERT_EQ(substrata_shrimp_next_interrupt(1, &address, &found, &overflowed), 0);
  EXPECT_EQ(found, 0u);
  EXPECT_EQ(overflowed, 0u);
}

TEST_F(Shrimp, ATriggeredTraceBeginsBehindTheEvent) {  // SH-8
  ASSERT_EQ(command(1, SUBSTRATA_SHRIMP_THRESHOLD, 1), 0);
  ASSERT_EQ(command(1, SUBSTRATA_SHRIMP_TRIGGER, 1), 0);
  ASSERT_EQ(command(1, SUBSTRATA_SHRIMP_TRACE_BASE, 0x80000), 0);
  const int set = make_set({"TRACE_ENTRIES:node=1", "INTERRUPTS", "BIN:node=1"});
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  for (uint32_t i = 0; i < 5; ++i) packet(3, 1, 8);
  for (uint32_t i = 0; i < 5; ++i) packet(4, 1, 24);
  EXPECT_EQ(stop(set), (std::vector<long long>{8, 1, 2}));
  substrata_shrimp_trace_entry entries[8] = {};
  uint32_t count = 0;
  ASSERT_EQ(substrata_shrimp_read_trace(1, 2, 6, entries, &count), 0);
  EXPECT_EQ(count, 6u);
  EXPECT_EQ(entries[0].address, 3u * 4096 + 8);
  EXPECT_EQ(entries[5].address, 4u * 4096 + 24);
  EXPECT_EQ(entries[5].clock - entries[4].clock, 7u);
}

TEST_F(Shrimp, AnyNodeMayCommandAnyNode) {  // SH-9
  const int set = make_set({"COMMANDS", "COMMANDS:node=6", "PACKETS:node=6:category=9"});
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  packet(1, 6, 8);
  ASSERT_EQ(substrata_shrimp_command(2, 6, SUBSTRATA_SHRIMP_CATEGORY_REGISTER, 9), 0);
  packet(1, 6, 8);
  probes_.command(5, 6, Register::kCategory, 4, time_, 0);  // on the wire, as the machine sends them
  packet(1, 6, 8);
  EXPECT_EQ(stop(set), (std::vector<long long>{2, 2, 1}));
}

TEST_F(Shrimp, ARegionIsTheCategoryModuloSixteen) {
  const int set = make_set({"PACKETS:category=2", "PACKETS:category=15"});
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  packet(1, 6, 8, 0, 2);
  packet(1, 6, 8, 0, 18);
  packet(1, 6, 8, 0, 31);
  EXPECT_EQ(stop(set), (std::vector<long long>{2, 1}));
}

// Section 3: the monitor can observe the EISA bus as well.
TEST_F(Shrimp, AMonitorThatTakesInTheBusCountsItsUsesByUserAndWait) {  // SH-12
  const uint32_t selection = SUBSTRATA_SHRIMP_LATENCY(0) | SUBSTRATA_SHRIMP_LATENCY(1) |
                             SUBSTRATA_SHRIMP_SIZE(0) | SUBSTRATA_SHRIMP_SIZE(1) | SUBSTRATA_SHRIMP_TAG;
  ASSERT_EQ(command(kAll, SUBSTRATA_SHRIMP_MULTIPLEXER, selection), 0) << substrata_shrimp_error();
  ASSERT_EQ(command(1, SUBSTRATA_SHRIMP_SOURCE, 1), 0) << substrata_shrimp_error();
  const int set = make_set({"PACKETS", "BIN:tag=1", "BIN:tag=3", "BIN:node=1", "BIN:latency=9"});
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  std::map<uint32_t, uint64_t> expected;
  std::mt19937_64 random(5);
  long long users[4] = {};
  long long waited_nine = 0;
  for (int i = 0; i < 2000; ++i) {
    using substrata::shrimp::BusUse;
    constexpr BusUse kUses[] = {BusUse::kOut, BusUse::kIn, BusUse::kCommand};
    const uint64_t user = random() % 3;
    const auto size = static_cast<uint32_t>(random() % 225);
    const uint64_t wait = random() % 200;
    time_ += 1000 * kTick;
    probes_.bus(1, kUses[user], size, time_ - wait * kTick, time_, time_ + 5 * kTick);
    probes_.bus(2, kUses[user], size, time_ - wait * kTick, time_,
                time_ + 5 * kTick);  // whose monitor does not
    ++expected[static_cast<uint32_t>(wait | size << 8 | (user + 1) << 16)];
    ++users[user + 1];
    waited_nine += wait == 9 ? 1 : 0;
  }
  packet(2, 1, 100);
  EXPECT_EQ(stop(set), (std::vector<long long>{0, users[1], users[3], 2000, waited_nine}));
  for (const auto& [address, count] : expected) ASSERT_EQ(word(1, address), count) << address;
}

TEST_F(Shrimp, AMonitorThatTookInTheBusTakesInPacketsAgain) {  // SH-12
  ASSERT_EQ(command(kAll, SUBSTRATA_SHRIMP_SOURCE, 1), 0);
  ASSERT_EQ(command(kAll, SUBSTRATA_SHRIMP_SOURCE, 0), 0);
  const int set = make_set({"PACKETS", "BIN"});
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  packet(2, 1, 100);
  probes_.bus(1, substrata::shrimp::BusUse::kIn, 4, time_, time_, time_ + kTick);
  EXPECT_EQ(stop(set), (std::vector<long long>{1, 1}));
}

TEST_F(Shrimp, TheExtensionCountsPacketsByPage) {  // SH-4
  ASSERT_EQ(command(kAll, SUBSTRATA_SHRIMP_JUMPER, SUBSTRATA_SHRIMP_JUMPER_PAGE), 0)
      << substrata_shrimp_error();
  const int set = make_set({"PACKETS"});
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  packet(2, 3, 0x20, 0x7123);
  packet(2, 3, 0x20, 0x17123);
  stop(set);
  EXPECT_EQ(word(3, 7u << 20 | 2u << 12 | 0x20), 2u);
}

TEST_F(Shrimp, BadInputIsRefusedWithAMessageAndChangesNothing) {
  const auto refused = [](int status, const char* part) {
    EXPECT_EQ(status, PAPI_EINVAL);
    EXPECT_NE(std::string(substrata_shrimp_error()).find(part), std::string::npos)
        << substrata_shrimp_error();
  };
  uint64_t before = 0;
  uint64_t after = 0;
  ASSERT_EQ(substrata_shrimp_register_value(0, SUBSTRATA_SHRIMP_MULTIPLEXER, &before), 0);
  refused(command(kAll, SUBSTRATA_SHRIMP_MULTIPLEXER, 0x0f | 1u << 8), "whole");
  refused(command(kAll, SUBSTRATA_SHRIMP_MULTIPLEXER, 0x15 | SUBSTRATA_SHRIMP_SENDER), "contiguous");
  refused(command(kAll, SUBSTRATA_SHRIMP_MULTIPLEXER, 0x3), "five");
  ASSERT_EQ(substrata_shrimp_register_value(0, SUBSTRATA_SHRIMP_MULTIPLEXER, &after), 0);
  EXPECT_EQ(before, after);
  refused(command(256, SUBSTRATA_SHRIMP_RUN, 1), "nodes 0 to 255");
  refused(substrata_shrimp_command(256, 0, SUBSTRATA_SHRIMP_RUN, 1), "nodes 0 to 255");
  refused(command(0, 14, 1), "register");
  refused(substrata_shrimp_set_tag(0, 1, 16), "4 bits");
  refused(substrata_shrimp_set_tag(300, 1, 1), "nodes");
  refused(substrata_shrimp_initialise(0, 0, SUBSTRATA_SHRIMP_WORDS, 1, 0), "beyond");
  refused(substrata_shrimp_initialise(0, 0, 0, 1, SUBSTRATA_SHRIMP_WORD_MOST + 1), "40 bits");
  uint64_t word_value = 5;
  refused(substrata_shrimp_read(0, SUBSTRATA_SHRIMP_WORDS - 1, 2, &word_value), "beyond");
  EXPECT_EQ(word_value, 5u);
  // One board with the extension keeps all from being written.
  ASSERT_EQ(command(7, SUBSTRATA_SHRIMP_JUMPER, 10), 0);
  refused(command(kAll, SUBSTRATA_SHRIMP_MULTIPLEXER,
                  SUBSTRATA_SHRIMP_TAG | SUBSTRATA_SHRIMP_CATEGORY | SUBSTRATA_SHRIMP_SENDER |
                      SUBSTRATA_SHRIMP_SIZE(0)),
          "wires");
  ASSERT_EQ(substrata_shrimp_register_value(0, SUBSTRATA_SHRIMP_MULTIPLEXER, &after), 0);
  EXPECT_EQ(before, after);
  int code = 0;
  for (const char* name : {"shrimp:::PACKETS:node=256", "shrimp:::BIN:tag=16", "shrimp:::PACKETS:size=3"})
    EXPECT_NE(PAPI_event_name_to_code(name, &code), PAPI_OK) << name;
}

TEST_F(Shrimp, APacketToANodeWithoutAMonitorIsLost) {
  const int set = make_set({"LOST", "PACKETS"});
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  uint32_t number = 0;
  ASSERT_EQ(substrata_probe_find("shrimp.node0.receive", &number), 0);
  substrata_publisher* publisher = nullptr;
  ASSERT_EQ(substrata_publisher_open(number, 0, &publisher), 0);
  substrata_transaction stray{};
  stray.target = 256;
  substrata_publish(publisher, &stray);
  substrata_publisher_close(publisher);
  EXPECT_EQ(stop(set), (std::vector<long long>{1, 0}));
}

TEST_F(Shrimp, AddressesAndVariablesLeadToOneAnother) {
  const uint32_t selection = SUBSTRATA_SHRIMP_SENDER | SUBSTRATA_SHRIMP_SIZE(1) | SUBSTRATA_SHRIMP_SIZE(2) |
                             SUBSTRATA_SHRIMP_CATEGORY;
  const substrata_shrimp_variables wanted{
      .latency = 77, .size = 224, .sender = 13, .tag = 3, .category = 6, .reserved = {}};
  uint32_t address = 0;
  ASSERT_EQ(substrata_shrimp_address(selection, &wanted, &address), 0);
  EXPECT_EQ(address, 6u << 16 | 13u << 8 | 14u);
  substrata_shrimp_variables found{};
  ASSERT_EQ(substrata_shrimp_variables_of(selection, address, &found), 0);
  EXPECT_EQ(found.size, 224);
  EXPECT_EQ(found.sender, 13);
  EXPECT_EQ(found.category, 6);
  EXPECT_EQ(found.latency, 0u);
  EXPECT_NE(substrata_shrimp_check_selection(selection | 1), 0);
  const substrata_shrimp_variables wide{
      .latency = 0, .size = 4096, .sender = 0, .tag = 0, .category = 0, .reserved = {}};
  EXPECT_NE(substrata_shrimp_address(selection, &wide, &address), 0);
}

TEST_F(Shrimp, TheCxxFaceGivesHistogramsTracesAndExceptions) {
  namespace counting = substrata::shrimp_monitor;
  const int set = make_set({"PACKETS"});
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  packet(2, 3, 100);
  packet(2, 3, 100);
  packet(4, 1, 8);
  const counting::Histogram all = counting::Histogram::read();
  const counting::Histogram one = counting::Histogram::read(1);
  counting::Variables wanted{};
  wanted.sender = 2;
  wanted.size = 100;
  EXPECT_EQ(all.at(wanted), 2u);
  EXPECT_EQ(one.at(wanted), 0u);
  int bins = 0;
  one.each([&](const counting::Variables& variables, uint64_t count) {
    ++bins;
    EXPECT_EQ(variables.sender, 4);
    EXPECT_EQ(variables.size, 8);
    EXPECT_EQ(count, 1u);
  });
  EXPECT_EQ(bins, 1);
  counting::command(3, SUBSTRATA_SHRIMP_MODE, 1);
  packet(5, 3, 9);
  const std::vector<counting::TraceEntry> trace = counting::trace(3);
  ASSERT_EQ(trace.size(), 1u);
  EXPECT_EQ(trace[0].address, 5u << 12 | 9);
  EXPECT_THROW(counting::command(3, SUBSTRATA_SHRIMP_MULTIPLEXER, 1), counting::Refused);
  EXPECT_THROW(counting::Histogram::read(256), counting::Refused);
}

}  // namespace
