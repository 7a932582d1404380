// Compact batches: what observers of records and of transactions are given of one publisher.
#include <gtest/gtest.h>
#include <substrata/feed.hpp>

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace substrata::feed {
namespace {

namespace feed = client::feed;

// A compact publisher at a probe point of its own, and what was observed of it.
class Compact : public testing::Test {
 protected:
  Compact() {
    static int made = 0;
    name_ = "compact.test" + std::to_string(++made);
    probe_ = feed::Source::generated("compact-test").probe(name_.c_str()).value();
    EXPECT_EQ(publisher_.try_open_compact(probe_, 7, &cursor_, 64), 0) << substrata_feed_error();
  }
  void observe_transactions() {
    EXPECT_EQ(transactions_.try_create<&Compact::take>(*this), 0);
    EXPECT_EQ(transactions_.try_subscribe(name_.c_str()), 0);
  }
  void observe_records() {
    EXPECT_EQ(records_.try_create<&Compact::take_others>(*this), 0);
    EXPECT_EQ((records_.try_take_compact<&Compact::take_records, Compact>()), 0);
    EXPECT_EQ(records_.try_subscribe(name_.c_str()), 0);
  }
  void take(const substrata_transaction* batch, size_t count) {
    got_.insert(got_.end(), batch, batch + count);
  }
  void take_others(const substrata_transaction*, size_t count) { others_ += count; }
  void take_records(const substrata_compact_batch& batch) {
    words_.insert(words_.end(), batch.records, batch.records + batch.count);
  }
  static substrata_transaction access(uint64_t address, uint32_t size = 8, uint16_t kind = SUBSTRATA_READ) {
    substrata_transaction t{};
    t.address = address;
    t.size = size;
    t.kind = kind;
    return t;
  }

  std::string name_;
  uint32_t probe_ = 0;
  substrata_compact_cursor cursor_{};
  feed::Publisher publisher_;
  std::vector<substrata_transaction> got_;
  std::vector<uint64_t> words_;
  size_t others_ = 0;
  feed::Observer transactions_;
  feed::Observer records_;
};

// Any transaction of the kinds that the format has, with all fields it keeps.
substrata_transaction any(std::mt19937_64& random) {
  constexpr uint16_t kKinds[] = {SUBSTRATA_READ,   SUBSTRATA_WRITE,        SUBSTRATA_ATOMIC, SUBSTRATA_FETCH,
                                 SUBSTRATA_BRANCH, SUBSTRATA_INSTRUCTIONS, SUBSTRATA_BARRIER};
  const auto number = [&] { return random() >> random() % 64; };
  substrata_transaction t{};
  t.kind = kKinds[random() % 7];
  if (t.kind != SUBSTRATA_INSTRUCTIONS) t.address = number();
  if (random() % 4 == 0) t.site = number();
  if (random() % 4 == 0) t.detail = number();
  t.size = static_cast<uint32_t>(random() % 3 == 0 ? number() : uint64_t{1} << random() % 5);
  t.phase = static_cast<uint16_t>(random() % 3);
  if (t.kind == SUBSTRATA_BRANCH) t.state = random() % 2 == 0 ? SUBSTRATA_HIT : SUBSTRATA_MISS;
  return t;
}

bool is_same(const substrata_transaction& a, const substrata_transaction& b) {
  return a.address == b.address && a.site == b.site && a.detail == b.detail && a.size == b.size &&
         a.kind == b.kind && a.state == b.state && a.phase == b.phase;
}

TEST_F(Compact, ExpandsToTheTransactionsThatWerePut) {
  observe_transactions();
  std::mt19937_64 random(1);
  std::vector<substrata_transaction> put;
  for (int i = 0; i < 20000; ++i) publisher_.put(put.emplace_back(any(random)));
  feed::flush();
  ASSERT_EQ(got_.size(), put.size());
  for (size_t i = 0; i < put.size(); ++i) ASSERT_TRUE(is_same(got_[i], put[i])) << i;
}

TEST_F(Compact, ExpandedTransactionsAreNumberedAndHaveTheirInitiatorAndProbe) {
  observe_transactions();
  for (uint64_t i = 0; i < 3; ++i) publisher_.put(access(64 * i));
  feed::flush();
  ASSERT_EQ(got_.size(), 3u);
  EXPECT_EQ(got_[2].time, 3u);
  EXPECT_EQ(got_[2].initiator, 7u);
  EXPECT_EQ(got_[2].probe, probe_);
}

TEST_F(Compact, AnObserverOfTheFormatGetsTheRecordsAsTheyAre) {
  observe_records();
  publisher_.put(access(4096));
  *cursor_.next++ = substrata_compact_record(SUBSTRATA_COMPACT_WRITE, 4, 8192);
  feed::flush();
  EXPECT_EQ(words_, (std::vector<uint64_t>{substrata_compact_record(SUBSTRATA_COMPACT_READ, 8, 4096),
                                           substrata_compact_record(SUBSTRATA_COMPACT_WRITE, 4, 8192)}));
  EXPECT_EQ(others_, 0u);
}

TEST_F(Compact, BothKindsOfObserversAreGivenEverythingThroughAFullBuffer) {
  observe_records();
  observe_transactions();
  for (uint64_t i = 0; i < 5000; ++i) publisher_.put(access(8 * i));
  feed::flush();
  ASSERT_EQ(words_.size(), 5000u);
  ASSERT_EQ(got_.size(), 5000u);
  for (uint64_t i = 0; i < 5000; ++i) ASSERT_EQ(got_[i].address, words_[i] >> 16);
}

TEST_F(Compact, ALaterObserverIsGivenThePhaseThatHolds) {
  observe_transactions();
  substrata_transaction in_phase = access(64);
  in_phase.phase = 5;
  // Beyond the first buffer, which named the phase.
  for (int i = 0; i < 200; ++i) publisher_.put(in_phase);
  feed::flush();
  observe_records();
  publisher_.put(in_phase);
  feed::flush();
  EXPECT_EQ(words_, (std::vector<uint64_t>{substrata_compact_record(SUBSTRATA_COMPACT_PHASE, 1, 5),
                                           substrata_compact_record(SUBSTRATA_COMPACT_READ, 8, 64)}));
}

TEST_F(Compact, WhatTheFormatHasNoRecordForArrivesInItsPlaceAsATransaction) {
  observe_transactions();
  publisher_.put(access(64));
  publisher_.put(access(128, 16, SUBSTRATA_ALLOCATE));
  publisher_.put(access(192));
  feed::flush();
  ASSERT_EQ(got_.size(), 3u);
  EXPECT_EQ(got_[1].kind, SUBSTRATA_ALLOCATE);
  EXPECT_EQ(got_[1].initiator, 7u);
}

TEST_F(Compact, AnObserverThatLeftIsGivenWhatCameBeforeAndNothingAfter) {
  observe_records();
  publisher_.put(access(64));
  records_.destroy();
  publisher_.put(access(128));
  feed::flush();
  EXPECT_EQ(words_.size(), 1u);
}

TEST_F(Compact, ClosingDeliversWhatWaits) {
  observe_transactions();
  publisher_.put(access(64));
  publisher_.close();
  EXPECT_EQ(got_.size(), 1u);
}

TEST_F(Compact, APublisherOfTransactionsReachesAnObserverOfTheFormatToo) {
  observe_records();
  const feed::Publisher plain = feed::Publisher::open(probe_).value();
  plain.publish(access(64));
  feed::flush();
  EXPECT_EQ(others_, 1u);
}

TEST_F(Compact, AFormatThatIsNotKnownIsRefused) {
  substrata_compact_cursor cursor{};
  substrata_publisher* publisher = nullptr;
  EXPECT_EQ(substrata_compact_open(probe_, 2, 0, 0, &cursor, &publisher), -18);
  EXPECT_NE(std::string(substrata_feed_error()).find("format 2"), std::string::npos);
}

}  // namespace
}  // namespace substrata::feed
