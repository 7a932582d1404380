// What tests of the feed share: probe points by short names, a collecting observer, seeded random
// transactions.
#pragma once

#include <gtest/gtest.h>
#include <substrata/feed.hpp>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace substrata::feed::test {

inline uint32_t probe(const std::string& name, const char* source = "test") {
  uint32_t number = 0;
  EXPECT_EQ((client::feed::Source{source, "made by the test", SUBSTRATA_SOURCE_TEST, SUBSTRATA_TIME_SIMULATED,
                                  1000000}
                 .try_probe(name.c_str(), "a place in the test", &number)),
            0)
      << substrata_feed_error();
  return number;
}

inline substrata_probe_info probe_info(uint32_t number) {
  auto info = client::sized<substrata_probe_info>();
  EXPECT_EQ(substrata_probe_at(number, &info), 0);
  return info;
}

// Owns a publisher.
class Publishing {
 public:
  explicit Publishing(uint32_t number, uint32_t slots = 0) {
    EXPECT_EQ(publisher_.try_open(number, slots), 0) << substrata_feed_error();
  }
  substrata_publisher* get() const { return publisher_.get(); }
  void send(uint64_t time, uint64_t address = 0) {
    substrata_transaction transaction{};
    transaction.time = time;
    transaction.address = address;
    transaction.kind = SUBSTRATA_READ;
    publisher_.publish(transaction);
  }

 private:
  client::feed::Publisher publisher_;
};

// Keeps everything it sees.
class Collector {
 public:
  explicit Collector(const char* patterns = nullptr, uint32_t flags = 0) {
    EXPECT_EQ(observer_.try_create<&Collector::take>(*this, flags), 0);
    if (patterns != nullptr) {
      EXPECT_EQ(observer_.try_subscribe(patterns), 0) << substrata_feed_error();
    }
  }
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;
  substrata_observer* get() const { return observer_.get(); }
  std::vector<substrata_transaction> seen;
  std::vector<size_t> batches;

 private:
  void take(const substrata_transaction* batch, size_t count) {
    seen.insert(seen.end(), batch, batch + count);
    batches.push_back(count);
  }
  client::feed::Observer observer_;
};

inline bool equal(const substrata_transaction& a, const substrata_transaction& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// Every field with runs, steps and jumps, so that every way of encoding a column is taken.
inline substrata_transaction random_transaction(std::mt19937_64& random, uint64_t index) {
  substrata_transaction t{};
  t.time = index * 3;
  t.start = random() % 4 == 0 ? 0 : t.time - random() % 100;
  t.address = random() % 8 == 0 ? random() : 0x7f0000000000 + random() % 65536 * 8;
  t.site = 0x400000 + random() % 5;
  t.detail = index % 100 < 50 ? 0 : random();
  t.initiator = static_cast<uint32_t>(random() % 4);
  t.target = random() % 16 == 0 ? SUBSTRATA_NOBODY : static_cast<uint32_t>(random() % 300);
  t.size = 1u << random() % 20;
  t.kind = static_cast<uint16_t>(1 + random() % 3);
  t.state = static_cast<uint16_t>(random() % 2 == 0 ? SUBSTRATA_HIT : 0xfffe);
  t.program = 7;
  t.phase = static_cast<uint16_t>(index / 1000);
  t.flags = static_cast<uint16_t>(random() % 3 == 0 ? SUBSTRATA_FLAG_MODELLED : 0);
  return t;
}

}  // namespace substrata::feed::test
