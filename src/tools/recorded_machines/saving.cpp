// Walks the patterns of paths, follows each link below the root, and copies what it finds.
#include "tools/recorded_machines/saving.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>

#include "base/folder.hpp"
#include "base/glob.hpp"
#include "sysfs/registers.hpp"

namespace substrata::machines {
namespace {

namespace fs = std::filesystem;

// What the substrates, the description of the machine (hwloc) and their messages read. A '*' stands for the rest of a
// name; what ends in '/' is a folder of which only the names are used.
constexpr const char* kPatterns[] = {
    // processors, memory, kernel
    "/proc/cpuinfo", "/proc/hwloc-nofile-info", "/proc/meminfo", "/proc/stat", "/proc/self/io",
    "/proc/self/status", "/proc/sys/kernel/perf_*", "/sys/devices/system/cpu/{online,possible,present}",
    "/sys/devices/system/cpu/cpu*/{online,cpu_capacity}", "/sys/devices/system/cpu/cpu*/topology/*",
    "/sys/devices/system/cpu/cpu*/cache/index*/*",
    "/sys/devices/system/cpu/cpu*/cpufreq/{scaling_*_freq,cpuinfo_*_freq,base_frequency}",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/{name,time,usage}",
    "/sys/devices/system/cpu/cpu*/thermal_throttle/*", "/sys/devices/system/node/{online,possible}",
    "/sys/devices/system/node/node*/{cpumap,cpulist,meminfo,distance}",
    "/sys/bus/event_source/devices/*/{type,cpus,cpumask}",
    "/sys/bus/event_source/devices/*/{format,events,caps}/*",
    // sensors, energy
    "/sys/class/hwmon/hwmon*/{name,device,*_input,*_average,*_label,*_max,*_min,*_crit,*_fault,*_alarm}",
    "/sys/class/hwmon/hwmon*/{*_emergency,*_lcrit,*_cap,*_cap_max,*_cap_min,*_lowest,*_highest,pwm[0-9]}",
    "/sys/class/hwmon/hwmon*/device/{subsystem,name}", "/sys/class/hwmon/hwmon*/device/device/subsystem",
    "/sys/class/thermal/thermal_zone*/{type,temp,device,trip_point_*_type,trip_point_*_temp}",
    "/sys/class/powercap/*/{name,energy_uj,max_energy_range_uj,enabled,constraint_*}",
    "/dev/cpu/*/{msr_safe,msr}", "/sys/cray/pm_counters/*", "/sys/firmware/opal/powercap/system-powercap/*",
    "/sys/firmware/opal/exports/occ_inband_sensors",
    // networks, file systems
    "/proc/net/dev", "/sys/class/net/*/ifindex",
    "/sys/class/infiniband/*/ports/*/{state,rate,link_layer,counters,counters_ext,hw_counters}",
    "/sys/class/infiniband/*/ports/*/{counters,counters_ext,hw_counters}/*",
    "/sys/class/cxi/*/device/{telemetry,link_restarts}/*", "/var/run/cxi/*/*", "/sys/fs/lustre/llite/*/",
    "/{proc/fs,sys/kernel/debug}/lustre/llite/*/{stats,read_ahead_stats}",
    // GPUs
    "/sys/class/drm/card*/device/{vendor,device,product_name,gpu_busy_percent,mem_busy_percent}",
    "/sys/class/drm/card*/device/{mem_info_*,pp_dpm_*,pp_?clk_od,pcie_bw,pcie_replay_count,driver}",
    "/sys/class/drm/card*/device/{current_link_width,max_link_width,ras/*_err_count}",
    "/sys/class/drm/card*/device/hwmon/hwmon*/{name,*_input,*_average,*_label,*_cap,*_cap_*,*_crit,*_max}",
    "/sys/class/drm/card*/device/hwmon/hwmon*/{*_emergency,pwm1}", "/sys/class/drm/card*/gt/gt*/*",
    "/sys/class/drm/card*/device/tile*/gt*/{freq0,gtidle}/*",
    "/sys/class/drm/card*/device/tile*/gt*/engines/*/",
    "/sys/class/kfd/kfd/topology/nodes/*/{name,properties}", "/proc/driver/nvidia/{params,version}",
    // the place of the sensors' devices
    "/sys/devices/platform/*/subsystem"};

constexpr size_t kMostOfAFile = size_t{1} << 20;
constexpr int kMostLinks = 40;

// "a{b,c}d" as "abd" and "acd"; the first brace first.
void expand(const std::string& pattern, std::vector<std::string>* out) {
  const size_t open = pattern.find('{');
  if (open == std::string::npos) {
    out->push_back(pattern);
    return;
  }
  const size_t close = pattern.find('}', open);
  for (size_t at = open + 1; at <= close;) {
    const size_t end = std::min(pattern.find(',', at), close);
    expand(pattern.substr(0, open) + pattern.substr(at, end - at) + pattern.substr(close + 1), out);
    at = end + 1;
  }
}

// 0, or errno.
int read_file(const std::string& path, std::string* text) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return errno;
  char block[65536];
  ssize_t got = 0;
  while (text->size() < kMostOfAFile && (got = read(file, block, sizeof block)) > 0)
    text->append(block, static_cast<size_t>(got));
  const int error = got < 0 ? errno : 0;
  close(file);
  return error;
}

// The registers of a processor as lines "0x611 0x1f2"; those that it lacks are left out. 0, or errno.
int read_registers(const std::string& path, std::string* text) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  for (const sysfs::Register which : sysfs::kRecordedRegisters) {
    const auto number = static_cast<uint32_t>(which);
    uint64_t value = 0;
    if (pread(file, &value, sizeof value, number) != sizeof value) continue;
    char line[64];
    std::snprintf(line, sizeof line, "0x%x 0x%llx\n", number, static_cast<unsigned long long>(value));
    *text += line;
  }
  close(file);
  return 0;
}

class Copier {
 public:
  Copier(std::string root, std::string folder, Scrubber* scrubber)
      : root_(std::move(root)), folder_(std::move(folder)), scrubber_(scrubber) {}

  // Everything that matches; `path` is what has been found so far, `rest` what is still to match.
  void take(const std::string& path, std::string_view rest) {
    if (rest.empty()) return copy(path, 0);
    rest.remove_prefix(1);  // '/'
    const std::string part(rest.substr(0, rest.find('/')));
    rest.remove_prefix(part.size());
    if (part.empty()) return copy(path, 0);
    if (part.find_first_of("*?[") == std::string::npos) return take(path + "/" + part, rest);
    for (const std::string& name : names_in(root_ + path))
      if (glob(part, name)) take(path + "/" + name, rest);
  }

  Saved saved;

 private:
  // The file, folder or link of that path, and the links on the way to it.
  void copy(const std::string& path, int links) {
    for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
      const std::string part = path.substr(0, end);
      struct stat status {};
      if (lstat((root_ + part).c_str(), &status) != 0) return;
      // The process that reads, whichever it is.
      if (S_ISLNK(status.st_mode) && part != "/proc/self") {
        if (links == kMostLinks) return;
        const fs::path target = fs::read_symlink(root_ + part);
        std::string whole =
            (target.is_absolute() ? target : fs::path(part).parent_path() / target).lexically_normal();
        if (whole.back() == '/') whole.pop_back();
        link(part, whole);
        return copy(whole + path.substr(part.size()), links + 1);
      }
      if (end == std::string::npos) return leaf(path, status);
    }
  }

  std::string place(const std::string& path) { return folder_ + scrubber_->scrub_path(path); }

  void link(const std::string& path, const std::string& target) {
    if (!done_.insert(path).second) return;
    const fs::path at = place(path);
    fs::create_directories(at.parent_path());
    fs::create_symlink(fs::path(scrubber_->scrub_path(target))
                           .lexically_relative(fs::path(scrubber_->scrub_path(path)).parent_path()),
                       at);
  }

  void leaf(const std::string& path, const struct stat& status) {
    if (!done_.insert(path).second || Scrubber::identifies(fs::path(path).filename().string())) return;
    const fs::path at = place(path);
    if (S_ISDIR(status.st_mode)) {
      fs::create_directories(at);
      return;
    }
    const bool registers = S_ISCHR(status.st_mode) && path.starts_with("/dev/cpu/");
    if (registers ? !is_new_package(path) : !S_ISREG(status.st_mode)) return;
    std::string text;
    const int error = (status.st_mode & 0444) == 0 ? EACCES
                      : registers                  ? read_registers(root_ + path, &text)
                                                   : read_file(root_ + path, &text);
    fs::create_directories(at.parent_path());
    std::ofstream file(at, std::ios::binary);
    file << (text.find('\0') == std::string::npos ? scrubber_->scrub(text) : text);
    file.close();
    if (!file) throw std::system_error(errno, std::generic_category(), at.string());
    ++saved.files;
    if (error != EACCES && error != EPERM) return;
    saved.closed.push_back(path);
    fs::permissions(at, fs::perms::none);
  }

  // Of a package one processor's registers are enough.
  bool is_new_package(const std::string& path) {
    const std::string processor = fs::path(path).parent_path().filename();
    std::string package;
    read_file(root_ + "/sys/devices/system/cpu/cpu" + processor + "/topology/physical_package_id", &package);
    return !package.empty() && packages_.insert(fs::path(path).filename().string() + package).second;
  }

  std::string root_, folder_;
  Scrubber* scrubber_;
  std::set<std::string> done_;
  std::set<std::string> packages_;  // whose registers are there
};

}  // namespace

Saved save(const std::string& root, const std::string& folder, Scrubber* scrubber) {
  fs::create_directories(folder);
  Copier copier(root, folder, scrubber);
  std::vector<std::string> patterns;
  for (const char* const pattern : kPatterns) expand(pattern, &patterns);
  for (const std::string& pattern : patterns) copier.take("", pattern);
  return std::move(copier.saved);
}

}  // namespace substrata::machines
