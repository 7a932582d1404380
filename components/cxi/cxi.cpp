// The substrate `cxi`: the counters of HPE Slingshot interfaces, from the driver's telemetry files and its retry
// handler, and restarts of links from the times that the driver keeps of them.
#include <substrata/substrate.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/guard.hpp"
#include "sysfs/files_and.hpp"
#include "sysfs/number_files.hpp"

namespace {

using namespace substrata;
using sysfs::list_folder;

constexpr const char* kInterfaces = "/sys/class/cxi";
constexpr const char* kRetryHandlers = "/var/run/cxi";

// Files beside the counters that are none.
bool is_counter(const std::string& file) { return file != "ALL-in-binary" && file != "reset_counters"; }

const char* unit_of(const std::string& counter) {
  if (counter.find("octets") != std::string::npos) return "bytes";
  return counter.find("pkts") != std::string::npos ? "packets" : "";
}

std::vector<std::string> times_in(const std::string& folder) {
  std::vector<std::string> times;
  for (const std::string& name : list_folder(folder))
    if (name.starts_with("time_")) times.push_back(folder + "/" + name);
  return times;
}

// Restarts of a link. The driver writes the time of each into the oldest of ten files, so what has changed since the
// look before is a restart; of more than ten between two looks only ten are seen.
class LinkRestarts {
 public:
  Status open(const std::string& folder) {
    for (const std::string& path : times_in(folder)) {
      Time time;
      if (const int error = time.file.open(path); error != 0)
        return refuse_system(error, "%s cannot be opened: %s", path.c_str(), std::strerror(error));
      times_.push_back(std::move(time));
    }
    return kSuccess;
  }

  // All that have happened since the first call.
  Status read(const char* name, int64_t* value) noexcept {
    for (Time& time : times_) {
      const int64_t length = time.file.read_some(time.now.data(), time.now.size(), 0);
      const int error = length < 0 ? static_cast<int>(-length) : length == 0 ? ENODEV : 0;
      if (error != 0) return refuse_system(error, "%s cannot be read: %s", name, std::strerror(error));
      time.length = static_cast<size_t>(length);
    }
    for (Time& time : times_) {
      if (looked_ && !time.is_as_before()) ++restarts_;
      time.keep();
    }
    looked_ = true;
    *value = restarts_;
    return kSuccess;
  }
  Status fell(const char* name) const noexcept { return refuse(Code::kBug, "%s went backwards", name); }

 private:
  struct Time {
    bool is_as_before() const noexcept {
      return length == length_before && std::memcmp(now.data(), before.data(), length) == 0;
    }
    void keep() noexcept {
      before = now;
      length_before = length;
    }
    sysfs::KeptFile file;
    std::array<char, 40> now{}, before{};  // a count of seconds, as text
    size_t length = 0, length_before = 0;
  };
  std::vector<Time> times_;
  bool looked_ = false;
  int64_t restarts_ = 0;
};

class Interfaces : public sysfs::NumberFilesAnd<LinkRestarts> {
 public:
  using NumberFilesAnd::NumberFilesAnd;

  static Status detect(const Host& host) {
    const std::string interfaces = sysfs::below_root(host, kInterfaces);
    for (const std::string& name : list_folder(interfaces))
      if (!list_folder(interfaces + "/" + name + "/device/telemetry").empty()) return kSuccess;
    return {Code::kNoSupport, 0,
            "no HPE Slingshot interface with telemetry below /sys/class/cxi: load its driver (modprobe "
            "cxi_ss1), or "
            "mount the node's /sys into the container"};
  }

  Status scan() {
    const std::string interfaces = sysfs::below_root(host_, kInterfaces);
    for (const std::string& name : list_folder(interfaces)) {
      const std::string telemetry = interfaces + "/" + name + "/device/telemetry";
      for (const std::string& counter : list_folder(telemetry))
        if (is_counter(counter)) add(name + ":" + counter, telemetry + "/" + counter, counter);
      const std::string handler = sysfs::below_root(host_, kRetryHandlers) + "/" + name;
      for (const std::string& counter : list_folder(handler))
        if (is_counter(counter)) add_retry(name, handler + "/" + counter, counter);
      const std::string restarts = interfaces + "/" + name + "/device/link_restarts";
      if (!times_in(restarts).empty()) add_restarts(name, restarts);
    }
    return kSuccess;
  }

 private:
  // "VALUE@SECONDS": the driver keeps a value for a while and says since when.
  void add(std::string name, std::string path, const std::string& counter) {
    sysfs::CatalogueEntry entry;
    entry.text = "counter " + counter + " of Slingshot interface " + name.substr(0, name.find(':'));
    entry.name = std::move(name);
    entry.unit = unit_of(counter);
    entry.kind = ValueKind::kCount;
    entry.flags = kEventScopeNode;
    sysfs::NumberSource source;
    source.path = std::move(path);
    source.wrap = sysfs::Wrap::kBinary;
    NumberFiles::add(std::move(entry), std::move(source));
  }
  void add_restarts(const std::string& interface, const std::string& folder) {
    sysfs::CatalogueEntry entry;
    entry.name = interface + ":link_restarts";
    entry.text = "restarts of the link of Slingshot interface " + interface +
                 ", by the times of the last ten that the driver keeps: at most ten between two reads";
    entry.unit = "restarts";
    entry.kind = ValueKind::kCount;
    entry.flags = kEventScopeNode;
    int64_t now = 0;
    LinkRestarts tried;
    Status status = tried.open(folder);
    if (status.ok()) status = tried.read(entry.name.c_str(), &now);
    if (!status.ok()) {
      entry.refusal = status.os_error == EACCES ? Code::kPermission : Code::kSystem;
      return add_unavailable(std::move(entry), status.note);
    }
    add_other(std::move(entry), [folder](LinkRestarts& of) { return of.open(folder); });
  }
  // The retry handler has files of other things, too: only what is a number is a counter.
  void add_retry(const std::string& interface, const std::string& path, const std::string& counter) {
    if (int64_t value = 0; sysfs::read_integer(path, &value))
      add(interface + ":rh:" + counter, path, counter);
  }
};

constexpr SubstrateTable kTable = sysfs::NumberSlots<Interfaces, sysfs::FilesAnd<LinkRestarts>>::table({
    .name = "cxi",
    .summary = "Counters of HPE Slingshot interfaces, from /sys/class/cxi",
    .event_names = "cxi[0-9]*:*",
});

}  // namespace

SUBSTRATA_PUBLISH(cxi, kTable);
