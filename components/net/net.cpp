// The substrate `net`: packets, bytes and errors of each network interface since the start of the set, from
// /proc/net/dev, one read of the table for all events of a set.
#include <substrata/substrate.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/guard.hpp"
#include "net/interface_table.hpp"
#include "sysfs/sampled_slots.hpp"

namespace {

using namespace substrata;
using net::kColumns;
using sysfs::KeptFile;

constexpr const char* kInterfaceTable = "/proc/net/dev";

struct Column {
  const char* name;   // PAPI's
  const char* alias;  // the singular some clients use, or null
  const char* text;
  const char* unit;
};
constexpr Column kColumn[kColumns] = {
    {"rx:bytes", "rx:byte", "bytes received", "bytes"},
    {"rx:packets", "rx:packet", "packets received", "packets"},
    {"rx:errors", "rx:error", "packets received with an error", "packets"},
    {"rx:dropped", nullptr, "packets dropped while receiving", "packets"},
    {"rx:fifo", nullptr, "receive queue overruns", "packets"},
    {"rx:frame", nullptr, "packets received with a framing, length or checksum error", "packets"},
    {"rx:compressed", nullptr, "compressed packets received", "packets"},
    {"rx:multicast", nullptr, "multicast packets received", "packets"},
    {"tx:bytes", "tx:byte", "bytes sent", "bytes"},
    {"tx:packets", "tx:packet", "packets sent", "packets"},
    {"tx:errors", "tx:error", "packets not sent for an error", "packets"},
    {"tx:dropped", nullptr, "packets dropped while sending", "packets"},
    {"tx:fifo", nullptr, "send queue underruns", "packets"},
    {"tx:colls", nullptr, "collisions", "packets"},
    {"tx:carrier", nullptr, "losses of carrier while sending", "packets"},
    {"tx:compressed", nullptr, "compressed packets sent", "packets"},
};

// One interface that a set looks at.
struct Target {
  std::string name;
  std::string index_path;  // its number, which a removed and re-created interface does not keep
  KeptFile index_file;     // on a real machine a read of a removed interface's file fails with ENODEV
  int64_t index = 0;       // 0: not known
  bool found = false;      // in the table just read
  uint64_t counters[kColumns] = {};
};

struct Selected {
  uint32_t target = 0;  // index into targets_
  uint32_t column = 0;
};

class Sampler {
 public:
  uint32_t size() const noexcept { return static_cast<uint32_t>(selected_.size()); }
  bool counts(uint32_t) const noexcept { return true; }

  Status prepare(const std::string& table_path, size_t capacity) {
    const int error = table_.open(table_path);
    if (error != 0) {
      return refuse_system(error, "%s does not open: %s", table_path.c_str(), std::strerror(error));
    }
    text_.resize(capacity);
    return kSuccess;
  }

  void add(const Host& host, const std::string& interface, uint32_t column) {
    uint32_t at = 0;
    while (at < targets_.size() && targets_[at].name != interface) ++at;
    if (at == targets_.size()) {
      Target target;
      target.name = interface;
      target.index_path = sysfs::below_root(host, "/sys/class/net/" + interface + "/ifindex");
      if (target.index_file.open(target.index_path) == 0 &&
          target.index_file.read_integer(&target.index) != 0) {
        target.index_file.close();
      }
      targets_.push_back(std::move(target));
    }
    selected_.push_back({at, column});
  }

  Status sample(int64_t* raw) noexcept {
    const int64_t got = table_.read_all(text_.data(), text_.size());
    if (got == -EFBIG) {
      return {Code::kBufferTooSmall, EFBIG,
              "the table of interfaces has grown since the set was made; add its events again"};
    }
    if (got < 0) {
      const int error = static_cast<int>(-got);
      return refuse_system(error, "/proc/net/dev cannot be read: %s", std::strerror(error));
    }
    for (Target& target : targets_) target.found = false;
    std::string_view text(text_.data(), static_cast<size_t>(got));
    net::InterfaceLine line;
    bool bad = false;
    while (net::next_interface(&text, &line, &bad)) {
      for (Target& target : targets_) {
        if (line.name != target.name) continue;
        std::memcpy(target.counters, line.counters, sizeof target.counters);
        target.found = true;
      }
    }
    for (const Target& target : targets_) {
      if (!target.found) {
        return refuse_system(
            ENODEV, "interface %s has vanished; start the set again when it is back, or remove its events",
            target.name.c_str());
      }
      int64_t index = target.index;
      if (target.index_file.is_open() &&
          (target.index_file.read_integer(&index) != 0 || index != target.index)) {
        return refuse(Code::kCountersLost, ENODEV,
                      "interface %s was removed and made again, its counts began anew; start the set again",
                      target.name.c_str());
      }
    }
    for (uint32_t i = 0; i < size(); ++i) {
      raw[i] = static_cast<int64_t>(targets_[selected_[i].target].counters[selected_[i].column]);
    }
    return kSuccess;
  }

  // Counters of 64 bits never wrap in practice. One that falls while both readings fit 32 bits has wrapped at
  // 2^32, if it went less than half the way round; anything else is a reset by the driver.
  Status growth(uint32_t i, int64_t from, int64_t to, int64_t* out) noexcept {
    const uint64_t before = static_cast<uint64_t>(from);
    const uint64_t after = static_cast<uint64_t>(to);
    constexpr uint64_t kWrap = uint64_t{1} << 32;
    if (after >= before) {
      *out = static_cast<int64_t>(after - before);
      return kSuccess;
    }
    const uint64_t around = after + kWrap - before;
    if (before < kWrap && around < kWrap / 2) {
      *out = static_cast<int64_t>(around);
      return kSuccess;
    }
    return refuse(Code::kCountersLost,
                  "%s of interface %s went backwards: its driver reset it; start the set again",
                  kColumn[selected_[i].column].name, targets_[selected_[i].target].name.c_str());
  }

 private:
  KeptFile table_;
  std::vector<char> text_;
  std::vector<Target> targets_;
  std::vector<Selected> selected_;
};

class Interfaces : public sysfs::SampledDevice {
 public:
  using SampledDevice::SampledDevice;

  static Status detect(const Host& host) {
    const std::string path = sysfs::below_root(host, kInterfaceTable);
    std::string whole;
    if (!sysfs::read_text(path, &whole)) {
      const int error = errno;
      return refuse(Code::kNoSupport, error,
                    "%s cannot be read (%s): mount /proc, or allow the process to see it", path.c_str(),
                    std::strerror(error));
    }
    return kSuccess;
  }

  Status scan() {
    const std::string path = sysfs::below_root(host_, kInterfaceTable);
    std::string whole;
    if (!sysfs::read_text(path, &whole)) {
      const int error = errno;
      return refuse_system(error, "%s cannot be read: %s", path.c_str(), std::strerror(error));
    }
    table_size_ = whole.size();
    std::string_view text = whole;
    net::InterfaceLine line;
    bool bad = false;
    while (net::next_interface(&text, &line, &bad)) {
      const std::string interface(line.name);
      for (uint32_t column = 0; column < kColumns; ++column) {
        sysfs::CatalogueEntry entry;
        entry.name = interface + ":" + kColumn[column].name;
        entry.text = std::string(kColumn[column].text) + " by interface " + interface;
        entry.unit = kColumn[column].unit;
        entry.kind = ValueKind::kCount;
        entry.flags = kEventScopeNode;
        std::string dotted = kColumn[column].name;  // "lo.rx.bytes", as PAPI before 5.5 spelt it
        dotted[2] = '.';
        entry.aliases.push_back(interface + "." + dotted);
        if (kColumn[column].alias != nullptr)
          entry.aliases.push_back(interface + ":" + kColumn[column].alias);
        catalogue_.add(std::move(entry));
        events_.push_back({interface, column});
      }
    }
    catalogue_.index_aliases();
    if (bad && catalogue_.size() == 0) {
      return refuse_system(EINVAL, "%s is not as expected: no line could be read", path.c_str());
    }
    return kSuccess;
  }

  int64_t refresh_ns() const noexcept { return sysfs::refresh_setting(host_, "PAPI_NET_REFRESH_LATENCY"); }

  Status select(const uint32_t* events, uint32_t count, Sampler* out) const {
    Sampler sampler;
    // Space for counters that get longer and for as many interfaces again.
    constexpr size_t kMinimumCapacity = 8192;
    const Status status =
        sampler.prepare(sysfs::below_root(host_, kInterfaceTable), table_size_ * 4 + kMinimumCapacity);
    if (!status.ok()) return status;
    for (uint32_t i = 0; i < count; ++i)
      sampler.add(host_, events_[events[i]].first, events_[events[i]].second);
    *out = std::move(sampler);
    return kSuccess;
  }

 private:
  std::vector<std::pair<std::string, uint32_t>> events_;
  size_t table_size_ = 0;
};

using Slots = sysfs::SampledSlots<Interfaces, Sampler>;

constexpr SubstrateTable kTable = Slots::table(
    "net", "Packets, bytes and errors of the network interfaces, from /proc/net/dev", "*:[rt]x:*,*.[rt]x.*");

}  // namespace

SUBSTRATA_PUBLISH(net, kTable);
