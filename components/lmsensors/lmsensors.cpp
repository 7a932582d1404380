// The substrate `lmsensors`: what libsensors shows, with the labels and formulas of its configuration file,
// under PAPI's names and in PAPI's scale of one thousandth.
#include <substrata/substrate.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/fork_lock.hpp"
#include "base/guard.hpp"
#include "lmsensors/sensor_library.hpp"
#include "sysfs/sampled_slots.hpp"

namespace {

using namespace substrata;
using lmsensors::SensorLibrary;

// libsensors keeps its tables in process-wide variables and makes no promise to threads; its reads open and
// read a file of the kernel, which may wait for the chip (kReadBlocks). One at a time, then.
ForkLock one_at_a_time;

// The unit of a value multiplied by 1000, from the kind of the subfeature. Alarms, faults and switches are 0
// or 1000.
const char* unit_of(sensors_subfeature_type type) noexcept {
  if ((static_cast<int>(type) & 0x80) != 0) return "1/1000";
  switch (static_cast<int>(type) >> 8) {
    case SENSORS_FEATURE_IN:
      return "mV";
    case SENSORS_FEATURE_FAN:
      return "mRPM";
    case SENSORS_FEATURE_TEMP:
      return "mdegC";
    case SENSORS_FEATURE_POWER:
      return "mW";
    case SENSORS_FEATURE_ENERGY:
      return "mJ";
    case SENSORS_FEATURE_CURR:
      return "mA";
    case SENSORS_FEATURE_HUMIDITY:
      return "m%RH";
    default:
      return "1/1000";
  }
}

struct Channel {
  const sensors_chip_name* chip = nullptr;
  int number = 0;
  int fault_number = -1;  // the subfeature that is 1 while this input is broken, -1 for none
};

class Sampler : public sysfs::LevelSampler {
 public:
  Sampler() noexcept = default;
  explicit Sampler(const SensorLibrary* library) noexcept : library_(library) {}

  void add(Channel channel, const char* name) {
    channels_.push_back(channel);
    names_.push_back(name);
  }
  uint32_t size() const noexcept { return static_cast<uint32_t>(channels_.size()); }

  Status sample(int64_t* raw) noexcept {
    const std::lock_guard alone(one_at_a_time);
    for (uint32_t i = 0; i < size(); ++i) {
      const Channel& channel = channels_[i];
      double value = 0;
      int error = 0;
      if (channel.fault_number >= 0) {
        error = library_->get_value(channel.chip, channel.fault_number, &value);
        if (error == 0 && value != 0) {
          return refuse_system(EIO, "sensor %s: the chip reports it as broken or not connected", names_[i]);
        }
      }
      if (error == 0) error = library_->get_value(channel.chip, channel.number, &value);
      if (error != 0) {
        return refuse_system(error == -SENSORS_ERR_IO ? EIO : 0,
                             "sensor %s cannot be read: %s (a chip that has gone, a sensor that fails or one "
                             "that is not connected)",
                             names_[i], library_->strerror(error));
      }
      const double scaled = value * 1000.0;
      if (!(std::fabs(scaled) < 9.2e18)) {
        return refuse_system(ERANGE, "sensor %s gives a value that is not a number", names_[i]);
      }
      raw[i] = std::llround(scaled);
    }
    return kSuccess;
  }

 private:
  const SensorLibrary* library_ = nullptr;
  std::vector<Channel> channels_;
  std::vector<const char*> names_;
};

class Chips : public sysfs::SampledDevice {
 public:
  using SampledDevice::SampledDevice;

  static Status detect(const Host& host) {
    if (host.root != nullptr && *host.root != '\0') {
      return {
          Code::kNoSupport, 0,
          "libsensors reads the machine's own /sys only, not a recorded tree; the substrate coretemp does"};
    }
    if (sysfs::list_folder("/sys/class/hwmon").empty()) {
      return {
          Code::kNoSupport, 0,
          "no sensor: /sys/class/hwmon shows no chip. Load the driver (sensors-detect finds it); a virtual "
          "machine usually has none: SUBSTRATA_THERMAL_MODEL=1 offers a model instead"};
    }
    SensorLibrary library;
    std::string why;
    if (!library.load(sysfs::setting(host, "PAPI_LMSENSORS_ROOT"), &why))
      return refuse(Code::kNoSupport, "%s", why.c_str());
    return kSuccess;
  }

  Status scan() {
    const std::lock_guard alone(one_at_a_time);
    std::string why;
    if (!library_.load(sysfs::setting(host_, "PAPI_LMSENSORS_ROOT"), &why))
      return refuse(Code::kNoSupport, "%s", why.c_str());
    const int error = library_.begin();
    if (error != 0) {
      return refuse(Code::kSystem, "libsensors does not start: %s; look at /etc/sensors3.conf",
                    library_.strerror(error));
    }
    int number = 0;
    while (const sensors_chip_name* chip = library_.get_detected_chips(nullptr, &number)) add_chip(chip);
    catalogue_.index_aliases();
    return kSuccess;
  }

  Status select(const uint32_t* events, uint32_t count, Sampler* out) const {
    Sampler sampler(&library_);
    for (uint32_t i = 0; i < count; ++i) {
      sampler.add(channels_[events[i]], catalogue_.entry(events[i]).name.c_str());
    }
    *out = std::move(sampler);
    return kSuccess;
  }

 private:
  void add_chip(const sensors_chip_name* chip) {
    char chip_text[200] = "";
    if (library_.snprintf_chip_name(chip_text, sizeof chip_text, chip) < 0) return;
    int feature_number = 0;
    while (const sensors_feature* feature = library_.get_features(chip, &feature_number)) {
      char* label_text = library_.get_label(chip, feature);
      if (label_text == nullptr) continue;
      const std::string label = label_text;
      std::free(label_text);
      std::string underscored = label;
      std::replace(underscored.begin(), underscored.end(), ' ', '_');
      int fault_number = -1;
      int subfeature_number = 0;
      while (const sensors_subfeature* part =
                 library_.get_all_subfeatures(chip, feature, &subfeature_number)) {
        if (part->type == SENSORS_SUBFEATURE_TEMP_FAULT || part->type == SENSORS_SUBFEATURE_FAN_FAULT) {
          fault_number = part->number;
        }
      }
      subfeature_number = 0;
      while (const sensors_subfeature* part =
                 library_.get_all_subfeatures(chip, feature, &subfeature_number)) {
        if ((part->flags & SENSORS_MODE_R) == 0) continue;
        sysfs::CatalogueEntry entry;
        entry.name = std::string(chip_text) + "." + underscored + "." + part->name;
        entry.aliases.push_back(std::string(chip_text) + ":" + part->name);
        entry.text = std::string(part->name) + " of '" + label + "' on " + chip_text +
                     ", libsensors' value times 1000";
        entry.unit = unit_of(part->type);
        entry.kind = ValueKind::kGauge;
        entry.flags = kEventScopeNode;
        catalogue_.add(std::move(entry));
        const bool is_input =
            part->type == SENSORS_SUBFEATURE_TEMP_INPUT || part->type == SENSORS_SUBFEATURE_FAN_INPUT;
        channels_.push_back({chip, part->number, is_input ? fault_number : -1});
      }
    }
  }

  SensorLibrary library_;
  std::vector<Channel> channels_;
};

using Slots = sysfs::SampledSlots<Chips, Sampler>;

void close(Device* device) noexcept {
  const std::lock_guard alone(one_at_a_time);
  Slots::close(device);
}

constexpr SubstrateTable kTable = Slots::table({
    .name = "lmsensors",
    .summary = "Hardware sensors as libsensors shows them, times 1000",
    .traits = kReadBlocks,
    .read_bound_ns = 2'000'000'000,
    .close = close,
    .event_names = "*-*.*.*,*-*:*",
});

}  // namespace

SUBSTRATA_PUBLISH(lmsensors, kTable);
