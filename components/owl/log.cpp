// The access log: everything that passes its filters, compressed without loss, or only the last few before a
// trigger.
#include <algorithm>
#include <limits>
#include <vector>

#include "owl/log_codec.hpp"
#include "owl/module.hpp"

namespace substrata::owl {
namespace {

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

class Log {
 public:
  enum Index {
    kFormat,
    kPacket,
    kAddressLow,
    kAddressHigh,
    kSiteLow,
    kSiteHigh,
    kTimeLow,
    kTimeHigh,
    kKind,
    kKeep,
    kTriggerLow,
    kTriggerHigh,
    kTriggerKind,
    kTriggerSiteLow,
    kTriggerSiteHigh,
    kTriggerValueLow,
    kTriggerValueHigh
  };
  static constexpr Register kRegisters[] = {
      reg("format", "0 raw records, 1 runs of constant steps, 2 value prediction", 2, 0, 2),
      reg("packet", "bytes of a packet at most", 4096, 512, SUBSTRATA_OWL_MOST_PACKET),
      reg("address_low", "logs from this address on", 0, 0, kAll, true),
      reg("address_high", "up to this address", kAll, 0, kAll, true),
      reg("site_low", "logs from this code address on", 0, 0, kAll, true),
      reg("site_high", "up to this code address", kAll, 0, kAll, true),
      reg("time_low", "logs from this time on", 0, 0, kAll, true),
      reg("time_high", "up to this time", kAll, 0, kAll, true),
      reg("kind", "logs this kind only; 0: all", 0, 0, 65535, true),
      reg("keep", "keeps the last so many only, and delivers them when a trigger fires; 0: logs all", 0, 0,
          65536),
      reg("trigger_low", "a trigger: an access from this address on", kAll, 0, kAll, true),
      reg("trigger_high", "up to this address", 0, 0, kAll, true),
      reg("trigger_kind", "of this kind only; 0: of any", 0, 0, 65535, true),
      reg("trigger_site_low", "from this code address on", 0, 0, kAll, true),
      reg("trigger_site_high", "up to this code address", kAll, 0, kAll, true),
      reg("trigger_value_low", "with a value from this one on, where not every value is allowed", 0, 0, kAll,
          true),
      reg("trigger_value_high", "up to this value", kAll, 0, kAll, true),
  };
  static constexpr Metric kMetrics[] = {
      count_metric("LOGGED", "transactions logged", "transactions"),
      count_metric("FILTERED", "transactions that a filter held back", "transactions"),
      count_metric("LOG_BYTES", "bytes of the packets", "bytes"),
      count_metric("TRIGGERS", "times the short log was delivered", "times"),
  };
  static void cost(const uint64_t* r, Cost& out) noexcept {
    // 14 fields with last value and step; with prediction three tables of 1024 steps; the short log's
    // records.
    out = {6, 14 * 2 * 64 + (r[kFormat] == 2 ? uint64_t{3} * 1024 * 64 : 0) + r[kPacket] * 8 + r[kKeep] * 512,
           15};
  }
  static uint32_t longest_packet(const uint64_t* r) noexcept { return static_cast<uint32_t>(r[kPacket]); }
  Log(const uint64_t* r, const Services& services)
      : encoder_(static_cast<LogFormat>(r[kFormat]), static_cast<uint32_t>(r[kPacket])),
        services_(services),
        kept_(r[kKeep]) {
    configure(r);
  }
  void configure(const uint64_t* r) noexcept { std::copy_n(r, std::size(kRegisters), registers_); }

  void observe(const Transaction* batch, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) {
      const Transaction& t = batch[i];
      if (t.address < registers_[kAddressLow] || t.address > registers_[kAddressHigh] ||
          t.site < registers_[kSiteLow] || t.site > registers_[kSiteHigh] || t.time < registers_[kTimeLow] ||
          t.time > registers_[kTimeHigh] || (registers_[kKind] != 0 && t.kind != registers_[kKind])) {
        ++counts_.filtered;
        continue;
      }
      if (kept_.empty()) {
        log(t);
        continue;
      }
      kept_[next_ % kept_.size()] = t;
      ++next_;
      if (is_trigger(t)) deliver(t);
    }
  }
  void write_back() noexcept { send(); }
  // Packets stand by themselves; each instance sends its own. A short log stays its thread's.
  void merge(Log& from) noexcept {
    from.send();
    move_counts(counts_, from.counts_);
  }
  void read(uint64_t* metrics) const noexcept { give(counts_, metrics); }

 private:
  // In the order of kMetrics.
  struct Counts {
    uint64_t logged, filtered, bytes, triggers;
  };
  bool lies(uint64_t what, Index low) const noexcept {
    return what >= registers_[low] && what <= registers_[low + 1];
  }
  bool is_trigger(const Transaction& t) const noexcept {
    const bool any_value = registers_[kTriggerValueLow] == 0 && registers_[kTriggerValueHigh] == kAll;
    return lies(t.address, kTriggerLow) && lies(t.site, kTriggerSiteLow) &&
           (registers_[kTriggerKind] == 0 || registers_[kTriggerKind] == t.kind) &&
           (any_value || (has_value(t) && lies(t.detail, kTriggerValueLow)));
  }
  void log(const Transaction& t) noexcept {
    if (!encoder_.add(t)) {
      send();
      static_cast<void>(encoder_.add(t));  // there is space now
    }
    ++counts_.logged;
  }
  void send() noexcept {
    if (encoder_.transactions() == 0) return;
    size_t bytes = 0;
    const uint8_t* const packet = encoder_.take(&bytes);
    counts_.bytes += bytes;
    services_.emit(packet, bytes);
  }
  void deliver(const Transaction& cause) noexcept {
    const uint64_t held = std::min<uint64_t>(next_, kept_.size());
    for (uint64_t i = next_ - held; i < next_; ++i) log(kept_[i % kept_.size()]);
    send();
    next_ = 0;
    ++counts_.triggers;
    services_.signal(cause, 1);
  }
  uint64_t registers_[std::size(kRegisters)] = {};
  LogEncoder encoder_;
  const Services services_;
  std::vector<Transaction> kept_;
  uint64_t next_ = 0;
  Counts counts_{};
};

}  // namespace

constexpr Module kLogModule =
    make_module<Log>("log", "logs every transaction that its filters let through, compressed without loss",
                     "u8 format, u8[3] 0, u32 transactions, payload: see substrata_owl_expand_log");

}  // namespace substrata::owl
