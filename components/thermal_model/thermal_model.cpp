// The substrate `thermal_model`: modelled temperature and power of each processor package, driven by the real
// use of its processors; there only when SUBSTRATA_THERMAL_MODEL asks for it.
#include <substrata/substrate.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/guard.hpp"
#include "base/parse.hpp"
#include "sysfs/sampled_slots.hpp"
#include "thermal_model/heat.hpp"
#include "thermal_model/processor_use.hpp"

namespace {

using namespace substrata;
using sysfs::KeptFile;
using thermal_model::Parameters;

constexpr const char* kSetting = "SUBSTRATA_THERMAL_MODEL";
constexpr const char* kUseTable = "/proc/stat";

enum class Quantity : uint32_t { kTemperature, kPower };

// One processor package: its heat and the ticks it was last seen at.
struct PackageState {
  Parameters parameters;
  thermal_model::Package heat;
  double use = 0;
  int64_t busy = 0;
  int64_t total = 0;
};

struct Selected {
  uint32_t package = 0;  // index into the packages, not the kernel's number
  Quantity quantity = Quantity::kTemperature;
};

class Sampler : public sysfs::LevelSampler {
 public:
  uint32_t size() const noexcept { return static_cast<uint32_t>(selected_.size()); }

  // The model begins as after a long time at the machine's mean use since boot.
  Status prepare(const Host& host, const std::string& path, const std::vector<PackageState>& packages,
                 const std::vector<uint32_t>& package_of) {
    host_ = &host;
    const int error = table_.open(path);
    if (error != 0) {
      return refuse_system(error, "%s does not open: %s", path.c_str(), std::strerror(error));
    }
    package_of_ = package_of;
    packages_ = packages;
    next_ = packages;
    text_.resize((package_of.size() + 2) * kLineCapacity);
    const Status status = read_ticks();
    if (!status.ok()) return status;
    for (size_t i = 0; i < packages_.size(); ++i) {
      packages_[i] = next_[i];
      PackageState& package = packages_[i];
      package.use =
          package.total > 0 ? static_cast<double>(package.busy) / static_cast<double>(package.total) : 0;
      package.heat.settle(power_w(package.parameters, package.use));
    }
    at_ns_ = now();
    return kSuccess;
  }

  void add(Selected selected) { selected_.push_back(selected); }

  Status sample(int64_t* raw) noexcept {
    const Status status = read_ticks();
    if (!status.ok()) return status;
    const int64_t at = now();
    const double seconds = at > at_ns_ ? static_cast<double>(at - at_ns_) * 1e-9 : 0.0;
    for (size_t i = 0; i < packages_.size(); ++i) {
      PackageState& package = packages_[i];
      const int64_t total = next_[i].total - package.total;
      const int64_t busy = next_[i].busy - package.busy;
      // Less than a tick has passed, or a processor went away: the use last seen still holds.
      if (total > 0) {
        const double use = static_cast<double>(busy) / static_cast<double>(total);
        package.use = use < 0 ? 0 : use > 1 ? 1 : use;
      }
      if (total != 0) {
        package.busy = next_[i].busy;
        package.total = next_[i].total;
      }
      package.heat.advance(power_w(package.parameters, package.use), seconds);
    }
    at_ns_ = at;
    for (uint32_t i = 0; i < size(); ++i) {
      const PackageState& package = packages_[selected_[i].package];
      const double value = selected_[i].quantity == Quantity::kTemperature
                               ? package.parameters.ambient_c + package.heat.rise_k()
                               : power_w(package.parameters, package.use);
      raw[i] = std::llround(value * 1000.0);
    }
    return kSuccess;
  }

 private:
  static constexpr size_t kLineCapacity = 256;

  int64_t now() const noexcept { return sysfs::now_ns(*host_); }

  // Adds up each package's ticks into next_.
  Status read_ticks() noexcept {
    const int64_t got = table_.read_front(text_.data(), text_.size());
    if (got < 0) {
      const int error = static_cast<int>(-got);
      return refuse_system(error, "/proc/stat cannot be read: %s", std::strerror(error));
    }
    for (PackageState& package : next_) package.busy = package.total = 0;
    std::string_view text(text_.data(), static_cast<size_t>(got));
    thermal_model::ProcessorTime time;
    uint32_t lines = 0;
    while (thermal_model::next_processor(&text, &time)) {
      ++lines;
      if (time.processor >= package_of_.size()) continue;
      PackageState& package = next_[package_of_[time.processor]];
      package.busy += time.busy;
      package.total += time.total;
    }
    if (lines == 0) return {Code::kSystem, EINVAL, "/proc/stat shows no processor"};
    return kSuccess;
  }

  const Host* host_ = nullptr;
  KeptFile table_;
  std::vector<char> text_;
  std::vector<uint32_t> package_of_;
  std::vector<PackageState> packages_, next_;
  std::vector<Selected> selected_;
  int64_t at_ns_ = 0;
};

// "1", or "peak_w=95,idle=0.3,ambient_c=40" in any order and number. False with what is wrong.
bool parse_parameters(const std::string& text, Parameters* parameters, std::string* wrong) {
  if (text == "1" || text == "on") return true;
  size_t at = 0;
  while (at <= text.size()) {
    const size_t comma = text.find(',', at);
    const std::string item = text.substr(at, comma == std::string::npos ? comma : comma - at);
    const size_t equals = item.find('=');
    const std::string key = item.substr(0, equals);
    const std::string number = equals == std::string::npos ? "" : item.substr(equals + 1);
    double value = 0;
    const bool is_number = parse_number(number, &value);
    if (key == "peak_w" && is_number && value > 0 && value <= 2000) {
      parameters->peak_w = value;
    } else if (key == "idle" && is_number && value >= 0 && value <= 1) {
      parameters->idle_fraction = value;
    } else if (key == "ambient_c" && is_number && value >= -40 && value <= 100) {
      parameters->ambient_c = value;
    } else {
      *wrong = item;
      return false;
    }
    if (comma == std::string::npos) return true;
    at = comma + 1;
  }
  return true;
}

const char* request(const Host& host) noexcept {
  const char* text = sysfs::setting(host, kSetting);
  return text == nullptr || *text == '\0' || std::strcmp(text, "0") == 0 ? nullptr : text;
}

class Model : public sysfs::SampledDevice {
 public:
  static constexpr uint32_t kValueFlags = kValueModelled;
  static constexpr uint32_t kMostEvents = 64;

  using SampledDevice::SampledDevice;

  static Status detect(const Host& host) {
    const char* text = request(host);
    if (text == nullptr) {
      return {Code::kDisabled, 0,
              "a model, not a sensor: off unless asked for; set SUBSTRATA_THERMAL_MODEL=1 to have it"};
    }
    Parameters parameters;
    std::string wrong;
    if (!parse_parameters(text, &parameters, &wrong)) {
      return refuse(Code::kInvalid,
                    "SUBSTRATA_THERMAL_MODEL: '%s' is not understood; use 1, or peak_w=65,idle=0.3,"
                    "ambient_c=45",
                    wrong.c_str());
    }
    const std::string path = sysfs::below_root(host, kUseTable);
    KeptFile table;
    const int error = table.open(path);
    if (error != 0) {
      return refuse(Code::kNoSupport, error, "the model needs %s, which does not open: %s", path.c_str(),
                    std::strerror(error));
    }
    return kSuccess;
  }

  Status scan() {
    const Status status = detect(host_);
    if (!status.ok()) return status;
    Parameters asked;
    std::string wrong;
    const std::string text = request(host_);
    parse_parameters(text, &asked, &wrong);
    const bool peak_given = text.find("peak_w") != std::string::npos;

    // Which package each processor belongs to; one package where the kernel does not say.
    std::map<int64_t, uint32_t> index_of;
    std::vector<std::pair<uint32_t, int64_t>> processors;
    const std::string folder = sysfs::below_root(host_, "/sys/devices/system/cpu");
    for (const std::string& name : sysfs::list_folder(folder)) {
      int64_t number = 0;
      int64_t package = 0;
      if (name.compare(0, 3, "cpu") != 0 || !parse_integer(name.substr(3), &number)) continue;
      if (number < 0 || number >= kMostProcessors) continue;
      if (!sysfs::read_integer(folder + "/" + name + "/topology/physical_package_id", &package) ||
          package < 0) {
        package = 0;
      }
      index_of.emplace(package, 0);
      processors.emplace_back(static_cast<uint32_t>(number), package);
    }
    if (processors.empty()) {
      std::string whole;
      sysfs::read_text(sysfs::below_root(host_, kUseTable), &whole);
      std::string_view rest = whole;
      thermal_model::ProcessorTime time;
      while (thermal_model::next_processor(&rest, &time)) {
        if (time.processor < kMostProcessors) processors.emplace_back(time.processor, 0);
      }
      index_of.emplace(0, 0);
    }
    uint32_t next = 0;
    for (auto& [package, index] : index_of) {
      index = next++;
      PackageState state;
      state.parameters = asked;
      const char* source = peak_given ? "as set" : "assumed";
      int64_t limit_uw = 0;
      if (!peak_given &&
          sysfs::read_integer(sysfs::below_root(host_, "/sys/class/powercap/intel-rapl:") +
                                  std::to_string(package) + "/constraint_0_max_power_uw",
                              &limit_uw) &&
          limit_uw > 0) {
        state.parameters.peak_w = static_cast<double>(limit_uw) * 1e-6;
        source = "the processor's own limit";
      }
      packages_.push_back(state);
      add_events(package, index, state.parameters, source);
    }
    for (const auto& [number, package] : processors) {
      if (number >= package_of_.size()) package_of_.resize(number + 1, 0);
      package_of_[number] = index_of[package];
    }
    return kSuccess;
  }

  Status select(const uint32_t* events, uint32_t count, Sampler* out) const {
    Sampler sampler;
    const Status status = sampler.prepare(host_, sysfs::below_root(host_, kUseTable), packages_, package_of_);
    if (!status.ok()) return status;
    for (uint32_t i = 0; i < count; ++i) sampler.add(selected_[events[i]]);
    *out = std::move(sampler);
    return kSuccess;
  }

 private:
  static constexpr uint32_t kMostProcessors = 8192;

  void add_events(int64_t package, uint32_t index, const Parameters& parameters, const char* source) {
    char model[160];
    std::snprintf(model, sizeof model,
                  " (model: %.1f W at full use, %s; %.0f %% of it idle; air at %.1f degC)", parameters.peak_w,
                  source, parameters.idle_fraction * 100, parameters.ambient_c);
    const std::string name = "package" + std::to_string(package);
    const std::string place = " of processor package " + std::to_string(package);
    sysfs::CatalogueEntry entry;
    entry.flags = kEventModelled | kEventScopePackage;
    entry.name = name + ":temperature";
    entry.text = "modelled temperature" + place + model;
    entry.unit = "mdegC";
    catalogue_.add(entry);
    selected_.push_back({index, Quantity::kTemperature});
    entry.name = name + ":power";
    entry.text = "modelled power" + place + model;
    entry.unit = "mW";
    catalogue_.add(entry);
    selected_.push_back({index, Quantity::kPower});
  }

  std::vector<PackageState> packages_;
  std::vector<uint32_t> package_of_;
  std::vector<Selected> selected_;
};

using Slots = sysfs::SampledSlots<Model, Sampler>;

constexpr SubstrateTable kTable = Slots::table({
    .name = "thermal_model",
    .summary = "Modelled temperature and power of each processor package, driven by its real use",
    .traits = kModelled | kOnRequest,
    .event_names = "package*:temperature,package*:power",
});

}  // namespace

SUBSTRATA_PUBLISH(thermal_model, kTable);
