// The substrate `cxi`: the counters of HPE Slingshot interfaces, from the driver's telemetry files and its retry
// handler.
#include <substrata/substrate.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/guard.hpp"
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

class Interfaces : public sysfs::NumberFiles {
 public:
  using NumberFiles::NumberFiles;

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
  // The retry handler has files of other things, too: only what is a number is a counter.
  void add_retry(const std::string& interface, const std::string& path, const std::string& counter) {
    if (int64_t value = 0; sysfs::read_integer(path, &value))
      add(interface + ":rh:" + counter, path, counter);
  }
};

constexpr SubstrateTable kTable = sysfs::NumberSlots<Interfaces>::table({
    .name = "cxi",
    .summary = "Counters of HPE Slingshot interfaces, from /sys/class/cxi",
    .event_names = "cxi[0-9]*:*",
});

}  // namespace

SUBSTRATA_PUBLISH(cxi, kTable);
