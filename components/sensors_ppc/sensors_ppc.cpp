// The substrate `sensors_ppc`: the sensors of POWER9 and POWER10 processors, which their on-chip controllers (OCC) keep
// in memory and the OPAL firmware shows as one binary file.
#include <substrata/substrate.h>

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/guard.hpp"
#include "sysfs/sampled_slots.hpp"

namespace {

using namespace substrata;
using sysfs::KeptFile;

constexpr const char* kFile = "/sys/firmware/opal/exports/occ_inband_sensors";

// The file has a block for each controller: a header, the sensors' names, and two buffers of readings ("ping" and
// "pong") of which the controller writes one while the other is valid. Numbers are big-endian. (OCC firmware interface
// specification for POWER9, in-band sensors.)
constexpr size_t kBlock = 0x25800;
constexpr size_t kMostControllers = 8;
constexpr size_t kHeader = 24;
constexpr size_t kMostNames = 1024;
constexpr size_t kReading = 48;  // a whole record; one of a mere counter is shorter
constexpr uint8_t kWholeRecord = 1;
constexpr uint8_t kMereCounter = 2;

template <typename Number>
Number big_endian(const char* at) noexcept {
  Number number = 0;
  for (size_t i = 0; i < sizeof number; ++i)
    number = static_cast<Number>(static_cast<uint64_t>(number) << 8 | static_cast<unsigned char>(at[i]));
  return number;
}

// A number of the firmware's: 24 bits by a power of ten.
double scale_of(uint32_t number) noexcept {
  return static_cast<double>(number >> 8) * std::pow(10.0, static_cast<int8_t>(number & 0xff));
}

// What of a reading an event shows.
struct Field {
  const char* name;  // PAPI's, behind the sensor's
  const char* text;
  size_t offset;  // in a whole record
  size_t bytes;
};
constexpr Field kFields[] = {
    {"", "", 10, 2},
    {":min", "lowest since the machine started of ", 12, 2},
    {":max", "highest since the machine started of ", 14, 2},
    {":csm_min", "lowest since the cluster manager asked of ", 16, 2},
    {":csm_max", "highest since the cluster manager asked of ", 18, 2},
    {":profiler_min", "lowest since the profiler asked of ", 20, 2},
    {":profiler_max", "highest since the profiler asked of ", 22, 2},
    {":job_scheduler_min", "lowest since the job scheduler asked of ", 24, 2},
    {":job_scheduler_max", "highest since the job scheduler asked of ", 26, 2},
    {":accumulator", "sum of all samples, each times its length, of ", 28, 8},
};
constexpr uint32_t kAccumulator = std::size(kFields) - 1;
constexpr size_t kCounterAccumulator = 10;  // where a mere counter has it

struct Sensor {
  size_t ping = 0, pong = 0;        // the buffers, in the file
  size_t ping_at = 0, pong_at = 0;  // the readings
  uint32_t field = 0;
  size_t offset = 0, bytes = 0;
  double factor = 1;
};

class Sampler {
 public:
  Status open(const std::string& path) {
    const int error = file_.open(path);
    if (error == 0) return kSuccess;
    return refuse(error == EACCES ? Code::kPermission : Code::kSystem, error, "%s cannot be opened: %s",
                  path.c_str(), std::strerror(error));
  }
  void add(const Sensor& sensor, const char* name) { selected_.push_back({sensor, name}); }

  uint32_t size() const noexcept { return static_cast<uint32_t>(selected_.size()); }
  bool counts(uint32_t i) const noexcept { return selected_[i].sensor.field == kAccumulator; }
  Status growth(uint32_t i, int64_t from, int64_t to, int64_t* out) const noexcept {
    *out = to - from;
    if (to >= from) return kSuccess;
    return refuse(Code::kCountersLost,
                  "%s went backwards: its controller was started again; start the set again",
                  selected_[i].name);
  }

  Status sample(int64_t* raw) noexcept {
    for (uint32_t i = 0; i < size(); ++i) {
      const Sensor& sensor = selected_[i].sensor;
      char readings[2][kReading];
      const bool ping = read(sensor.ping, sensor.ping_at, readings[0]);
      const bool pong = read(sensor.pong, sensor.pong_at, readings[1]);
      if (!ping && !pong)
        return refuse_system(EIO, "%s: its controller shows no valid reading", selected_[i].name);
      const bool second = !ping || (pong && time_of(readings[1]) > time_of(readings[0]));
      const char* at = readings[second ? 1 : 0] + sensor.offset;
      const double value = sensor.bytes == 8 ? static_cast<double>(big_endian<uint64_t>(at))
                                             : static_cast<double>(big_endian<uint16_t>(at));
      raw[i] = std::llround(value * sensor.factor);
    }
    return kSuccess;
  }

 private:
  struct Selected {
    Sensor sensor;
    const char* name;
  };
  static uint64_t time_of(const char* reading) noexcept { return big_endian<uint64_t>(reading + 2); }

  // False where the buffer, whose first byte says so, is not valid now.
  bool read(size_t buffer, size_t at, char* reading) const noexcept {
    char valid = 0;
    return file_.read_some(&valid, 1, buffer) == 1 && valid != 0 &&
           file_.read_some(reading, kReading, at) == static_cast<int64_t>(kReading);
  }

  KeptFile file_;
  std::vector<Selected> selected_;
};

class Sensors : public sysfs::SampledDevice {
 public:
  using SampledDevice::SampledDevice;

  static Status detect(const Host& host) {
    KeptFile file;
    const int error = file.open(sysfs::below_root(host, kFile));
    if (error == 0) return kSuccess;
    if (error == EACCES)
      return refuse(Code::kPermission, error, "%s may be read by root only: run as root", kFile);
    return {Code::kNoSupport, 0,
            "no /sys/firmware/opal/exports/occ_inband_sensors: only POWER9 and POWER10 machines whose Linux "
            "runs on "
            "OPAL, not in a partition, have it"};
  }

  Status scan() {
    path_ = sysfs::below_root(host_, kFile);
    KeptFile file;
    if (const int error = file.open(path_); error != 0)
      return refuse(Code::kPermission, error, "%s may be read by root only: run as root", path_.c_str());
    for (size_t controller = 0; controller < kMostControllers; ++controller)
      if (!scan_block(file, controller)) break;
    return kSuccess;
  }

  Status select(const uint32_t* events, uint32_t count, Sampler* out) const {
    Sampler sampler;
    if (const Status status = sampler.open(path_); !status.ok()) return status;
    for (uint32_t i = 0; i < count; ++i)
      sampler.add(sensors_[events[i]], catalogue_.entry(events[i]).name.c_str());
    *out = std::move(sampler);
    return kSuccess;
  }

 private:
  // The sensors of one controller; false where the file ends.
  bool scan_block(const KeptFile& file, size_t controller) {
    const size_t start = controller * kBlock;
    char header[kHeader];
    if (file.read_some(header, kHeader, start) != static_cast<int64_t>(kHeader)) return false;
    const uint16_t count = big_endian<uint16_t>(header + 2);
    const size_t length = static_cast<unsigned char>(header[13]);
    if (header[0] != 1 || length < 37 || count > kMostNames) return true;  // a place without a controller
    const size_t names = start + big_endian<uint32_t>(header + 8);
    const size_t ping = start + big_endian<uint32_t>(header + 16);
    const size_t pong = start + big_endian<uint32_t>(header + 20);
    std::vector<char> name(length);
    for (uint16_t i = 0; i < count; ++i)
      if (file.read_some(name.data(), length, names + i * length) == static_cast<int64_t>(length))
        add_sensor(name.data(), controller, ping, pong);
    return true;
  }

  // name[16] unit[4] number[2] frequency[4] scale[4] type[2] place[2] kind[1] reading[4]
  void add_sensor(const char* at, size_t controller, size_t ping, size_t pong) {
    const std::string sensor(at, ::strnlen(at, 16));
    const std::string unit(at + 16, ::strnlen(at + 16, 4));
    const uint8_t kind = static_cast<uint8_t>(at[34]);
    const size_t reading = big_endian<uint32_t>(at + 35);
    if (sensor.empty() || (kind != kWholeRecord && kind != kMereCounter)) return;
    const double frequency = scale_of(big_endian<uint32_t>(at + 22));
    for (uint32_t field = kind == kWholeRecord ? 0 : kAccumulator; field <= kAccumulator; ++field) {
      Sensor one;
      one.ping = ping;
      one.pong = pong;
      one.ping_at = ping + reading;
      one.pong_at = pong + reading;
      one.field = field;
      one.offset = kind == kMereCounter ? kCounterAccumulator : kFields[field].offset;
      one.bytes = kFields[field].bytes;
      one.factor = field != kAccumulator ? scale_of(big_endian<uint32_t>(at + 26))
                   : frequency > 0       ? 1 / frequency
                                         : 1;
      sysfs::CatalogueEntry entry;
      entry.name = sysfs::plain_name(sensor) + ":occ=" + std::to_string(controller) + kFields[field].name;
      entry.text = std::string(kFields[field].text) + "sensor " + sensor + " of controller " +
                   std::to_string(controller);
      entry.unit = field == kAccumulator && unit == "W" ? "J" : unit;
      entry.kind = field == kAccumulator ? ValueKind::kCount : ValueKind::kGauge;
      entry.flags = kEventScopePackage;
      catalogue_.add(std::move(entry));
      sensors_.push_back(one);
    }
  }

  std::string path_;
  std::vector<Sensor> sensors_;
};

constexpr SubstrateTable kTable = sysfs::SampledSlots<Sensors, Sampler>::table({
    .name = "sensors_ppc",
    .summary = "Sensors of POWER processors, which their on-chip controllers keep",
    .max_events = 512,
    .max_multiplexed = 512,
    .event_names = "*:occ=*",
});

}  // namespace

SUBSTRATA_PUBLISH(sensors_ppc, kTable);
