// Load addresses as a probe point, and what the packets of pattern detectors expand to.
#pragma once

#include <substrata/feed.hpp>
#include <substrata/owl.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace substrata::papers {

class LoadProbe {
 public:
  // A source and a probe point of these names.
  LoadProbe(const char* source, const char* text, const char* probe)
      : publisher_(client::feed::Source::generated(source, text).publisher(probe, "load addresses").value()) {
  }
  void load(uint64_t address) {
    substrata_transaction t{};
    t.time = ++time_;
    t.address = address;
    t.size = 8;
    t.kind = SUBSTRATA_READ;
    publisher_.publish(t);
  }
  void deliver() { substrata_flush(); }

 private:
  client::feed::Publisher publisher_;
  uint64_t time_ = 0;
};

// One level's packets to addresses.
class Expander {
 public:
  Expander() { owl_monitor::demand(substrata_owl_expander_open(&expander_)); }
  ~Expander() { substrata_owl_expander_close(expander_); }
  Expander(const Expander&) = delete;
  Expander& operator=(const Expander&) = delete;
  void take(const void* packet, size_t bytes, void (*call)(void*, uint64_t, uint64_t), void* owner) {
    owl_monitor::demand(substrata_owl_expander_take(expander_, packet, bytes, call, owner));
  }

 private:
  substrata_owl_expander* expander_ = nullptr;
};

}  // namespace substrata::papers
