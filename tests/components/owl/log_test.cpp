// The module that logs transactions: its formats, its filters, and the short log behind a trigger.
#include <functional>

#include "feeding.hpp"

namespace substrata::owl::test {
namespace {

std::vector<substrata_transaction> mixed_transactions(int count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<substrata_transaction> out;
  substrata_transaction t{};
  for (int i = 0; i < count; ++i) {
    t.time += 5;
    t.address += 8;
    t.kind = SUBSTRATA_READ;
    t.size = 8;
    if (random() % 10 == 0) {
      t.address = random();
      t.kind = static_cast<uint16_t>(random() % 100);
      t.state = static_cast<uint16_t>(random());
      t.detail = random();
      t.site = random() % 4 == 0 ? ~uint64_t{0} : 0x401000 + random() % 64;
      t.initiator = static_cast<uint32_t>(random());
      t.target = static_cast<uint32_t>(random());
      t.size = static_cast<uint32_t>(random());
      t.start = random();
      t.program = static_cast<uint16_t>(random());
      t.phase = static_cast<uint16_t>(random());
      t.flags = static_cast<uint16_t>(random());
    }
    out.push_back(t);
  }
  return out;
}

TEST(OwlLog, EveryFormatGivesEveryFieldBack) {  // OW-7
  const auto sent = mixed_transactions(kMany / 10, 7);
  uint64_t bytes[3] = {};
  for (const int format : {0, 1, 2}) {
    Feed feed("owl.test.log");
    TestCapsule capsule(feed.name(), "log", "format=" + std::to_string(format), 1 << 25);
    for (const auto& t : sent) feed.publish(t);
    std::vector<substrata_transaction> got;
    for (const Packet& packet : capsule.drain()) {
      bytes[format] += packet.data.size();
      ASSERT_EQ(substrata_owl_expand_log(
                    packet.data.data(), packet.data.size(),
                    [](void* to, const substrata_transaction* t) {
                      static_cast<std::vector<substrata_transaction>*>(to)->push_back(*t);
                    },
                    &got),
                0)
          << substrata_owl_error();
    }
    ASSERT_EQ(got.size(), sent.size());
    for (size_t i = 0; i < sent.size(); ++i) {
      substrata_transaction expected = sent[i];
      expected.probe = got[i].probe;
      ASSERT_EQ(std::memcmp(&expected, &got[i], sizeof expected), 0) << i;
    }
    EXPECT_EQ(capsule.metric("LOGGED"), sent.size());
  }
  EXPECT_LT(bytes[1], bytes[0] / 2);
  EXPECT_LT(bytes[2], bytes[0] / 2);
}

TEST(OwlLog, DamagedPacketsAreRefusedWithTheirOffset) {
  Feed feed("owl.test.damaged");
  TestCapsule capsule(feed.name(), "log", "format=2");
  for (const auto& t : mixed_transactions(500, 8)) feed.publish(t);
  const auto packets = capsule.drain();
  ASSERT_FALSE(packets.empty());
  const auto ignore = [](void*, const substrata_transaction*) {};
  const auto& whole = packets[0].data;
  for (size_t length = 0; length < whole.size(); length += 7) {
    EXPECT_NE(substrata_owl_expand_log(whole.data(), length, ignore, nullptr), 0) << length;
  }
  EXPECT_NE(std::string(substrata_owl_error()).find("at byte"), std::string::npos);
  std::mt19937 random(9);
  for (int i = 0; i < 300; ++i) {  // must end, with whatever answer
    auto changed = whole;
    changed[random() % changed.size()] ^= static_cast<unsigned char>(1u << random() % 8);
    uint32_t count = 0;
    std::memcpy(&count, changed.data() + 4, 4);
    if (count > 100'000) continue;  // a damaged number of transactions is only found out at their end
    static_cast<void>(substrata_owl_expand_log(changed.data(), changed.size(), ignore, nullptr));
  }
}

// What alone keeps an access out that every other filter lets through.
struct Outside {
  const char* filter;
  uint64_t address, site, time;
  uint16_t kind;
};

class OwlLogFilter : public testing::TestWithParam<Outside> {};

TEST_P(OwlLogFilter, LeavesOutWhatItAloneExcludes) {  // OW-7
  Feed feed("owl.test.filter");
  TestCapsule capsule(feed.name(), "log",
                      "format=0:address_low=100:address_high=200:site_low=1000:site_high=2000:time_low=5:"
                      "time_high=8:kind=2");
  substrata_transaction t{};
  t.address = 150;
  t.site = 1500;
  t.time = 6;
  t.kind = SUBSTRATA_WRITE;
  feed.publish(t);
  t.address = GetParam().address;
  t.site = GetParam().site;
  t.time = GetParam().time;
  t.kind = GetParam().kind;
  feed.publish(t);
  static_cast<void>(capsule.drain());
  EXPECT_EQ(capsule.metric("LOGGED"), 1u) << GetParam().filter;
  EXPECT_EQ(capsule.metric("FILTERED"), 1u) << GetParam().filter;
}

INSTANTIATE_TEST_SUITE_P(, OwlLogFilter,
                         testing::Values(Outside{"address_low", 99, 1500, 6, SUBSTRATA_WRITE},
                                         Outside{"address_high", 201, 1500, 6, SUBSTRATA_WRITE},
                                         Outside{"site_low", 150, 999, 6, SUBSTRATA_WRITE},
                                         Outside{"site_high", 150, 2001, 6, SUBSTRATA_WRITE},
                                         Outside{"time_low", 150, 1500, 4, SUBSTRATA_WRITE},
                                         Outside{"time_high", 150, 1500, 9, SUBSTRATA_WRITE},
                                         Outside{"kind", 150, 1500, 6, SUBSTRATA_READ}),
                         [](const auto& one) { return std::string(one.param.filter); });

TEST(OwlLog, ShortLogIsDeliveredWhenTheTriggerFires) {  // OW-7
  Feed feed("owl.test.short");
  TestCapsule capsule(feed.name(), "log", "format=0:keep=4:trigger_low=0x1000:trigger_high=0x1fff");
  uint64_t signalled = 0;
  substrata_owl_on_signal(
      capsule.get(),
      [](void* owner, const substrata_transaction* cause, uint32_t) {
        *static_cast<uint64_t*>(owner) = cause->address;
      },
      &signalled);
  for (uint64_t i = 1; i <= 100; ++i) feed.access(i);
  EXPECT_EQ(capsule.drain().size(), 0u);
  feed.access(0x1234);
  const auto packets = capsule.drain(false);
  ASSERT_EQ(packets.size(), 1u);
  std::vector<uint64_t> got;
  substrata_owl_expand_log(
      packets[0].data.data(), packets[0].data.size(),
      [](void* to, const substrata_transaction* t) {
        static_cast<std::vector<uint64_t>*>(to)->push_back(t->address);
      },
      &got);
  EXPECT_EQ(got, (std::vector<uint64_t>{98, 99, 100, 0x1234}));
  EXPECT_EQ(signalled, 0x1234u);
}

TEST(OwlLog, TheShortLogIsDeliveredByKindCodeAndValueToo) {
  const auto triggers = [](const std::string& registers, const auto& publish) {
    Feed feed("owl.test.triggers." + std::to_string(std::hash<std::string>()(registers)));
    TestCapsule capsule(feed.name(), "log", "keep=4:trigger_low=0:trigger_high=0xffff:" + registers);
    publish(feed);
    substrata_flush();
    return capsule.metric("TRIGGERS");
  };
  const auto all = [](Feed& feed) {
    feed.value(8, 5, SUBSTRATA_READ, 0x400);
    feed.value(8, 6, SUBSTRATA_WRITE, 0x400);
    feed.value(8, 7, SUBSTRATA_WRITE, 0x500);
    feed.access(8, SUBSTRATA_WRITE);
  };
  EXPECT_EQ(triggers("trigger_kind=2", all), 3u);
  EXPECT_EQ(triggers("trigger_site_low=0x500:trigger_site_high=0x5ff", all), 1u);
  EXPECT_EQ(triggers("trigger_value_low=6:trigger_value_high=7", all), 2u);
  EXPECT_EQ(triggers("trigger_kind=1:trigger_value_low=6", all), 0u);
}

}  // namespace
}  // namespace substrata::owl::test
