// A probe point of a test's own, a capsule that frees itself, and everything that lies in its ring.
#pragma once

#include <gtest/gtest.h>
#include <substrata/owl.h>
#include <substrata/values.h>
#include <substrata/feed.hpp>

#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/sanitized.hpp"
#include "support/transactions.hpp"

namespace substrata::owl::test {

inline constexpr int kMany = tests::kSanitized ? 20'000 : 200'000;  // transactions of a long stream

// A probe point of the tests' own source.
inline uint32_t add_probe(const std::string& name) {
  uint32_t number = 0;
  EXPECT_EQ(client::feed::Source::generated("owl-test", "made by a test")
                .try_probe(name.c_str(), "of a test", &number),
            0);
  return number;
}

class Feed {
 public:
  explicit Feed(const std::string& name, uint32_t slots = 0) : name_(name) {
    EXPECT_EQ(publisher_.try_open(add_probe(name), slots), 0);
  }
  void publish(const substrata_transaction& t) { publisher_.publish(t); }
  void access(uint64_t address, uint16_t kind = SUBSTRATA_READ, uint16_t state = 0, uint32_t size = 8) {
    substrata_transaction t = tests::access(kind, address, size, ++time_);
    t.state = state;
    publish(t);
  }
  // An access that carries its value.
  void value(uint64_t address, uint64_t value, uint16_t kind = SUBSTRATA_WRITE, uint64_t site = 0,
             uint32_t size = 8) {
    substrata_transaction t = tests::access(kind, address, size, ++time_);
    t.site = site;
    t.detail = value;
    t.flags = SUBSTRATA_FLAG_VALUE;
    publish(t);
  }
  const char* name() const { return name_.c_str(); }

 private:
  std::string name_;
  client::feed::Publisher publisher_;
  uint64_t time_ = 0;
};

struct Packet {
  uint64_t sequence;
  uint32_t stage;
  std::vector<unsigned char> data;
  std::vector<uint64_t> words() const {
    std::vector<uint64_t> out(data.size() / 8);
    std::memcpy(out.data(), data.data(), out.size() * 8);
    return out;
  }
};

class TestCapsule {
 public:
  TestCapsule(const std::string& probes, const std::string& module, const std::string& registers = "",
              uint64_t ring_bytes = 1 << 22, const std::string& name = "") {
    auto options = client::sized<substrata_owl_capsule_options>();
    options.probes = probes.c_str();
    options.module = module.c_str();
    options.registers = registers.c_str();
    options.ring_bytes = ring_bytes;
    if (!name.empty()) options.name = name.c_str();
    EXPECT_EQ(substrata_owl_attach(&options, &capsule_), 0) << substrata_owl_error();
    if (capsule_ != nullptr) {
      EXPECT_EQ(substrata_owl_start(capsule_), 0) << substrata_owl_error();
    }
  }
  ~TestCapsule() { substrata_owl_detach(capsule_); }
  TestCapsule(const TestCapsule&) = delete;
  TestCapsule& operator=(const TestCapsule&) = delete;
  substrata_owl_capsule* get() { return capsule_; }
  uint64_t metric(const char* name) {
    uint64_t value = 0;
    EXPECT_EQ(substrata_owl_read_metric(capsule_, name, &value), 0) << substrata_owl_error();
    return value;
  }
  substrata_owl_statistics statistics() {
    auto out = client::sized<substrata_owl_statistics>();
    EXPECT_EQ(substrata_owl_read_statistics(capsule_, &out), 0);
    return out;
  }
  // Writes back, then takes all packets.
  std::vector<Packet> drain(bool write_back = true) {
    if (write_back) {
      EXPECT_EQ(substrata_owl_write_back(capsule_), 0);
    }
    substrata_flush();
    std::vector<Packet> packets;
    substrata_owl_reader* reader = nullptr;
    EXPECT_EQ(substrata_owl_reader_open(substrata_owl_ring_path(capsule_), 0, &reader), 0)
        << substrata_owl_error();
    if (reader == nullptr) return packets;
    std::vector<unsigned char> data(SUBSTRATA_OWL_MOST_PACKET);
    substrata_owl_packet head{};
    int status = 0;
    while ((status = substrata_owl_reader_peek(reader, &head, data.data(), data.size())) == 1) {
      packets.push_back({head.sequence, head.stage, {data.begin(), data.begin() + head.bytes}});
      substrata_owl_reader_consume(reader);
    }
    EXPECT_EQ(status, 0) << substrata_owl_error();
    substrata_owl_reader_close(reader);
    return packets;
  }

 private:
  substrata_owl_capsule* capsule_ = nullptr;
};

}  // namespace substrata::owl::test
