// The substrate `powercap`: energy used and power limits of processor packages and their parts (RAPL), from
// /sys/class/powercap.
#include <substrata/substrate.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/guard.hpp"
#include "base/parse.hpp"
#include "sysfs/sampled_slots.hpp"

namespace {

using namespace substrata;
using sysfs::KeptFile;
using sysfs::list_folder;

constexpr const char* kZones = "/sys/class/powercap";

// The numbers of a zone (Documentation/power/powercap/powercap.rst) under PAPI's names. Constraint 0 is the
// long-term limit (PAPI's A), constraint 1 the short-term one (B).
struct Number {
  const char* name;
  const char* file;
  const char* unit;
  const char* text;
};
constexpr Number kNumbers[] = {
    {"ENERGY_UJ", "energy_uj", "uJ", "energy used by"},
    {"MAX_ENERGY_RANGE_UJ", "max_energy_range_uj", "uJ", "where the energy counter starts again, of"},
    {"MAX_POWER_A_UW", "constraint_0_max_power_uw", "uW", "highest long-term power limit of"},
    {"POWER_LIMIT_A_UW", "constraint_0_power_limit_uw", "uW", "long-term power limit of"},
    {"TIME_WINDOW_A_US", "constraint_0_time_window_us", "us", "time window of the long-term limit of"},
    {"MAX_POWER_B_UW", "constraint_1_max_power_uw", "uW", "highest short-term power limit of"},
    {"POWER_LIMIT_B_UW", "constraint_1_power_limit_uw", "uW", "short-term power limit of"},
    {"TIME_WINDOW_B", "constraint_1_time_window_us", "us", "time window of the short-term limit of"},
    {"ENABLED", "enabled", "", "1 if the limits are enforced, of"},
    {"NAME", "name", "", "name of"},
};
constexpr uint32_t kEnergy = 0;
constexpr uint32_t kName = sizeof kNumbers / sizeof kNumbers[0] - 1;

struct Channel {
  std::string path;
  int64_t range_uj = 0;  // energy: where it wraps
  bool is_energy = false;
};

struct Selected {
  KeptFile value;
  const char* name = nullptr;
  int64_t range_uj = 0;
  bool is_energy = false;
};

class Sampler {
 public:
  void add(Selected selected) { selected_.push_back(std::move(selected)); }
  uint32_t size() const noexcept { return static_cast<uint32_t>(selected_.size()); }
  bool counts(uint32_t i) const noexcept { return selected_[i].is_energy; }

  Status sample(int64_t* raw) noexcept {
    for (uint32_t i = 0; i < size(); ++i) {
      const int error = selected_[i].value.read_integer(&raw[i]);
      if (error != 0) {
        return refuse_system(error, "%s cannot be read: %s", selected_[i].name, std::strerror(error));
      }
    }
    return kSuccess;
  }

  // The counter starts again at its range. It is seen at each read: a set that is read more seldom than once
  // in a whole range (262 kJ: 43 minutes at 100 W) misses a round, as every reader of this file does.
  Status growth(uint32_t i, int64_t from, int64_t to, int64_t* out) noexcept {
    const Selected& one = selected_[i];
    if (to >= from) {
      *out = to - from;
    } else if (one.range_uj >= from) {
      *out = one.range_uj - from + to;
    } else {
      return refuse(Code::kCountersLost, "%s went backwards and its range is not known; start the set again",
                    one.name);
    }
    return kSuccess;
  }

 private:
  std::vector<Selected> selected_;
};

// "intel-rapl:1:0" is zone 1, part 0 of control type intel-rapl.
struct ZoneNumber {
  std::string control;
  std::vector<int64_t> path;
};

bool parse_zone(const std::string& folder, ZoneNumber* zone) {
  size_t at = folder.find(':');
  if (at == std::string::npos || at == 0) return false;
  zone->control = folder.substr(0, at);
  while (at != std::string::npos) {
    const size_t next = folder.find(':', at + 1);
    int64_t number = 0;
    if (!parse_integer(folder.substr(at + 1, next == std::string::npos ? next : next - at - 1), &number)) {
      return false;
    }
    zone->path.push_back(number);
    at = next;
  }
  return true;
}

class Zones : public sysfs::SampledDevice {
 public:
  using SampledDevice::SampledDevice;

  Status scan() {
    const std::string root = sysfs::below_root(host_, kZones);
    for (const std::string& folder : list_folder(root)) {
      ZoneNumber zone;
      if (parse_zone(folder, &zone)) add_zone(root, folder, zone);
    }
    catalogue_.index_aliases();
    return kSuccess;
  }

  Status select(const uint32_t* events, uint32_t count, Sampler* out) const {
    Sampler sampler;
    for (uint32_t i = 0; i < count; ++i) {
      const Channel& channel = channels_[events[i]];
      Selected one;
      one.name = catalogue_.entry(events[i]).name.c_str();
      one.is_energy = channel.is_energy;
      one.range_uj = channel.range_uj;
      const int error = one.value.open(channel.path);
      if (error != 0) {
        return refuse(error == EACCES ? Code::kPermission : Code::kSystem, error, "%s cannot be opened: %s",
                      one.name, std::strerror(error));
      }
      sampler.add(std::move(one));
    }
    *out = std::move(sampler);
    return kSuccess;
  }

 private:
  void add_zone(const std::string& root, const std::string& folder, const ZoneNumber& zone) {
    const std::string files = root + "/" + folder + "/";
    // PAPI's ZONE1_SUBZONE0; zones of other control types than intel-rapl carry theirs in front.
    std::string place = zone.control == "intel-rapl" ? "ZONE" : zone.control + "_ZONE";
    for (size_t depth = 0; depth < zone.path.size(); ++depth) {
      if (depth > 0) place += "_SUBZONE";
      place += std::to_string(zone.path[depth]);
    }
    // "package-0/dram": by content, since zone numbers move when a machine has a psys zone.
    std::string own_name;
    std::string content;
    std::string prefix = zone.control;
    for (const int64_t number : zone.path) {
      prefix += ":" + std::to_string(number);
      if (!sysfs::read_text(root + "/" + prefix + "/name", &own_name)) own_name = prefix;
      content += (content.empty() ? "" : "/") + sysfs::plain_name(own_name);
    }
    int64_t range = 0;
    if (!sysfs::read_integer(files + "max_energy_range_uj", &range)) range = 0;

    const std::vector<std::string> present = list_folder(root + "/" + folder);
    for (uint32_t number = 0; number <= kName; ++number) {
      bool there = false;
      for (const std::string& file : present) there = there || file == kNumbers[number].file;
      if (!there) continue;
      Channel channel;
      channel.path = files + kNumbers[number].file;
      channel.is_energy = number == kEnergy;
      channel.range_uj = range;
      sysfs::CatalogueEntry entry;
      entry.name = std::string(kNumbers[number].name) + ":" + place;
      entry.aliases.push_back(std::string(kNumbers[number].name) + ":" + content);
      entry.text = std::string(kNumbers[number].text) + " " + content + " (" + folder + ")";
      entry.unit = kNumbers[number].unit;
      entry.kind = number == kEnergy ? ValueKind::kCount : ValueKind::kGauge;
      entry.flags = kEventScopePackage;
      if (number == kName) {
        entry.flags |= kEventUnavailable;
        entry.why = "a zone's name is not a number; this one is " + content;
      } else {
        sysfs::mark_unopened(
            channel.path, KeptFile().open(channel.path),
            " may be read by root only (Linux 5.10 and later, for CVE-2020-8694): run as root, or let "
            "the administrator chmod a+r that file",
            &entry);
      }
      catalogue_.add(std::move(entry));
      channels_.push_back(std::move(channel));
    }
  }

  std::vector<Channel> channels_;
};

using Slots = sysfs::SampledSlots<Zones, Sampler>;

Status detect(const Host* host) noexcept {
  return guarded([&]() -> Status {
    const std::string root = sysfs::below_root(*host, kZones);
    for (const std::string& folder : list_folder(root)) {
      ZoneNumber zone;
      if (parse_zone(folder, &zone)) return kSuccess;
    }
    return {
        Code::kNoSupport, 0,
        "no energy zone below /sys/class/powercap: load the driver (modprobe intel_rapl_msr, Intel and AMD "
        "processors); a virtual machine has none"};
  });
}

constexpr SubstrateTable kTable = Slots::table({
    .name = "powercap",
    .summary = "Energy and power limits of processor packages and their parts, from /sys/class/powercap",
    .version = "1.0",
    .detect = detect,
    .event_names = "ENERGY_UJ:*,MAX_ENERGY_RANGE_UJ:*,MAX_POWER_?_UW:*,POWER_LIMIT_?_UW:*,TIME_WINDOW_?*:*,"
                   "ENABLED:*,NAME:*",
});

}  // namespace

SUBSTRATA_PUBLISH(powercap, kTable);
