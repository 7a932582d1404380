// Capsules and readers of substrata/owl.h with their lifetimes in C++20 types; header-only over the C
// interface. What is refused throws client::Failure (substrata/result.hpp).
#ifndef SUBSTRATA_OWL_HPP
#define SUBSTRATA_OWL_HPP

#include <substrata/owl.h>
#include <substrata/result.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace substrata::owl_monitor {

// Throws client::Failure for a number below 0, with the message of substrata_owl_error(). Thread-safe.
inline void demand(int code) {
  if (code < 0) throw client::Failure({code, substrata_owl_error()});
}

// A packet with its payload.
struct Packet {
  uint64_t sequence = 0;
  uint32_t stage = 0;
  std::vector<unsigned char> data;
};

// A reader of a ring. Movable. Thread-bound.
class Reader {
 public:
  explicit Reader(const std::string& path, uint32_t flags = 0) {
    demand(substrata_owl_reader_open(path.c_str(), flags, &reader_));
  }
  ~Reader() { substrata_owl_reader_close(reader_); }
  Reader(Reader&& other) noexcept : reader_(std::exchange(other.reader_, nullptr)) {}
  Reader& operator=(Reader&& other) noexcept {
    std::swap(reader_, other.reader_);
    return *this;
  }
  // Takes the next packet out. False: none is there.
  bool next(Packet& packet) {
    packet.data.resize(SUBSTRATA_OWL_MOST_PACKET);
    substrata_owl_packet head{};
    const int status = substrata_owl_reader_peek(reader_, &head, packet.data.data(), packet.data.size());
    demand(status);
    packet.data.resize(status == 1 ? head.bytes : 0);
    if (status == 0) return false;
    packet.sequence = head.sequence;
    packet.stage = head.stage;
    substrata_owl_reader_consume(reader_);
    return true;
  }
  uint64_t lost() const noexcept { return substrata_owl_reader_lost(reader_); }
  substrata_owl_reader* get() const noexcept { return reader_; }

 private:
  substrata_owl_reader* reader_ = nullptr;
};

// A capsule that observes from its making to its end. Movable. Thread-safe as the C interface.
class Capsule {
 public:
  Capsule(const std::string& probes, const std::string& module, const std::string& registers = {},
          uint64_t ring_bytes = 0, const std::string& name = {}) {
    auto options = client::sized<substrata_owl_capsule_options>();
    options.probes = probes.c_str();
    options.module = module.c_str();
    options.registers = registers.c_str();
    options.ring_bytes = ring_bytes;
    options.name = name.empty() ? nullptr : name.c_str();
    demand(substrata_owl_attach(&options, &capsule_));
    if (const int refused = substrata_owl_start(capsule_); refused < 0) {
      const client::Failure failure({refused, substrata_owl_error()});
      substrata_owl_detach(std::exchange(capsule_, nullptr));
      throw failure;
    }
  }
  ~Capsule() { substrata_owl_detach(capsule_); }
  Capsule(Capsule&& other) noexcept : capsule_(std::exchange(other.capsule_, nullptr)) {}
  Capsule& operator=(Capsule&& other) noexcept {
    std::swap(capsule_, other.capsule_);
    return *this;
  }
  uint64_t metric(const char* name) const {
    uint64_t value = 0;
    demand(substrata_owl_read_metric(capsule_, name, &value));
    return value;
  }
  substrata_owl_statistics statistics() const {
    auto out = client::sized<substrata_owl_statistics>();
    demand(substrata_owl_read_statistics(capsule_, &out));
    return out;
  }
  void write_back() { demand(substrata_owl_write_back(capsule_)); }
  void write_register(const char* name, uint64_t value) {
    demand(substrata_owl_write_register(capsule_, name, value));
  }
  // "low0=4096:high0=8191", all at once.
  void write_registers(const char* assignments) {
    demand(substrata_owl_write_registers(capsule_, assignments));
  }
  Reader reader() const { return Reader(substrata_owl_ring_path(capsule_)); }
  substrata_owl_capsule* get() const noexcept { return capsule_; }

 private:
  substrata_owl_capsule* capsule_ = nullptr;
};

}  // namespace substrata::owl_monitor

#endif
