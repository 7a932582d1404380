// The substrate `coretemp`: temperatures, fans, voltages, currents, power and energy from the kernel's hwmon
// chips and thermal zones, read from kept descriptors of the selected sensors only.
#include <substrata/substrate.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/guard.hpp"
#include "coretemp/hardware_monitors.hpp"
#include "sysfs/sampled_slots.hpp"

namespace {

using namespace substrata;
using sysfs::KeptFile;

// One selected channel: its descriptors and what to call it when it fails.
struct Selected {
  KeptFile value;
  KeptFile fault;
  const char* name = nullptr;  // the catalogue's
  bool is_count = false;
};

class Sampler {
 public:
  void add(Selected selected) { selected_.push_back(std::move(selected)); }
  uint32_t size() const noexcept { return static_cast<uint32_t>(selected_.size()); }
  bool counts(uint32_t i) const noexcept { return selected_[i].is_count; }

  Status sample(int64_t* raw) noexcept {
    for (uint32_t i = 0; i < size(); ++i) {
      const Selected& one = selected_[i];
      int64_t broken = 0;
      if (one.fault.is_open()) {
        const int error = one.fault.read_integer(&broken);
        if (error != 0) return failed(one, error);
        if (broken != 0) {
          return refuse_system(EIO, "sensor %s: the chip reports it as broken or not connected", one.name);
        }
      }
      const int error = one.value.read_integer(&raw[i]);
      if (error != 0) return failed(one, error);
    }
    return kSuccess;
  }

  Status growth(uint32_t i, int64_t from, int64_t to, int64_t* out) noexcept {
    if (to < from) {
      return refuse(Code::kCountersLost, "energy meter %s went backwards: it was reset; start the set again",
                    selected_[i].name);
    }
    *out = to - from;
    return kSuccess;
  }

 private:
  static Status failed(const Selected& one, int error) noexcept {
    if (error == ENODEV || error == ENOENT) {
      return refuse_system(error,
                           "sensor %s has vanished (its driver was unloaded or the device removed); start "
                           "the set again when it is back, or remove it from the set",
                           one.name);
    }
    return refuse_system(error, "sensor %s cannot be read: %s", one.name, std::strerror(error));
  }

  std::vector<Selected> selected_;
};

class Monitors : public sysfs::SampledDevice {
 public:
  using SampledDevice::SampledDevice;

  static Status detect(const Host& host) {
    const std::string chips = sysfs::below_root(host, "/sys/class/hwmon");
    if (!sysfs::list_folder(chips).empty()) return kSuccess;
    for (const std::string& name : sysfs::list_folder(sysfs::below_root(host, "/sys/class/thermal"))) {
      if (name.compare(0, 12, "thermal_zone") == 0) return kSuccess;
    }
    return {Code::kNoSupport, 0,
            "no sensor: neither /sys/class/hwmon nor /sys/class/thermal shows a chip or a zone. On a real "
            "machine load the driver (modprobe coretemp or k10temp; sensors-detect finds others); a virtual "
            "machine usually has none: SUBSTRATA_THERMAL_MODEL=1 offers a model instead"};
  }

  Status scan() {
    channels_ = coretemp::find_channels(host_);
    for (const coretemp::Channel& channel : channels_) {
      sysfs::CatalogueEntry entry;
      entry.name = channel.name;
      entry.text = channel.text;
      entry.unit = channel.unit;
      entry.kind = channel.is_count ? ValueKind::kCount : ValueKind::kGauge;
      entry.aliases = channel.aliases;
      entry.flags = channel.core >= 0      ? kEventScopeCore
                    : channel.package >= 0 ? kEventScopePackage
                                           : kEventScopeNode;
      sysfs::mark_unopened(channel.path, KeptFile().open(channel.path),
                           " may not be read by this user: run as root, or chmod a+r that file", &entry);
      catalogue_.add(std::move(entry));
    }
    catalogue_.index_aliases();
    return kSuccess;
  }

  int64_t refresh_ns() const noexcept {
    return sysfs::refresh_setting(host_, "SUBSTRATA_CORETEMP_REFRESH_LATENCY");
  }

  Status select(const uint32_t* events, uint32_t count, Sampler* out) const {
    Sampler sampler;
    for (uint32_t i = 0; i < count; ++i) {
      const coretemp::Channel& channel = channels_[events[i]];
      Selected one;
      one.name = catalogue_.entry(events[i]).name.c_str();
      one.is_count = channel.is_count;
      int error = one.value.open(channel.path);
      if (error == 0 && !channel.fault_path.empty()) error = one.fault.open(channel.fault_path);
      if (error != 0) {
        return refuse(error == EACCES ? Code::kPermission : Code::kSystem, error,
                      "sensor %s cannot be opened: %s", one.name, std::strerror(error));
      }
      sampler.add(std::move(one));
    }
    *out = std::move(sampler);
    return kSuccess;
  }

 private:
  std::vector<coretemp::Channel> channels_;
};

using Slots = sysfs::SampledSlots<Monitors, Sampler>;

constexpr SubstrateTable kTable = Slots::table(
    "coretemp", "Temperatures, fans, voltages and power from the kernel's hwmon chips and thermal zones",
    "*-*:*,*-*.*.*,hwmon*:*,thermal*:*");

}  // namespace

SUBSTRATA_PUBLISH(coretemp, kTable);
