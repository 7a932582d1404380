// The substrate `infiniband`: the counters of each active port of the InfiniBand, RoCE and Omni-Path adapters, from
// /sys/class/infiniband.
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

constexpr const char* kAdapters = "/sys/class/infiniband";

// A port of an adapter: "mlx5_0_1" is port 1 of mlx5_0.
struct Port {
  std::string name;
  std::string folder;
};

// The ports that are active ("4: ACTIVE"): the others count nothing.
std::vector<Port> active_ports(const Host& host) {
  std::vector<Port> ports;
  const std::string adapters = sysfs::below_root(host, kAdapters);
  for (const std::string& adapter : list_folder(adapters)) {
    const std::string its_ports = adapters + "/" + adapter + "/ports";
    for (const std::string& number : list_folder(its_ports)) {
      const std::string folder = its_ports + "/" + number;
      std::string state;
      if (sysfs::read_text(folder + "/state", &state) && state.starts_with("4"))
        ports.push_back({adapter + "_" + number, folder});
    }
  }
  return ports;
}

// PAPI gives these a second event under the name of the extended counters, which their files have long been.
bool has_extended_name(const std::string& counter) {
  return counter == "port_rcv_data" || counter == "port_rcv_packets" || counter == "port_xmit_data";
}

struct Meaning {
  const char* unit;
  const char* text;
};

Meaning meaning_of(const std::string& counter) {
  if (counter.ends_with("_data")) return {"words", "words of 4 bytes"};
  if (counter.ends_with("_packets")) return {"packets", "packets"};
  if (counter == "port_xmit_wait")
    return {"ticks", "ticks of the port in which data waited and could not be sent"};
  return {"", "events"};
}

class Ports : public sysfs::NumberFiles {
 public:
  using NumberFiles::NumberFiles;

  static Status detect(const Host& host) {
    if (!active_ports(host).empty()) return kSuccess;
    if (!list_folder(sysfs::below_root(host, kAdapters)).empty()) {
      return {Code::kNoSupport, 0,
              "no port below /sys/class/infiniband is active (state 4): see ibstat; cable, switch or subnet "
              "manager"};
    }
    return {Code::kNoSupport, 0,
            "no InfiniBand, RoCE or Omni-Path adapter below /sys/class/infiniband: load its driver (modprobe "
            "mlx5_ib, "
            "irdma, hfi1)"};
  }

  Status scan() {
    for (const Port& port : active_ports(host_)) {
      for (const std::string& counter : list_folder(port.folder + "/counters")) {
        add(port, port.name, "counters", counter);
        if (has_extended_name(counter)) add(port, port.name + "_ext", "counters", counter);
      }
      const bool old_driver = !list_folder(port.folder + "/counters_ext").empty();
      const char* more = old_driver ? "counters_ext" : "hw_counters";
      for (const std::string& counter : list_folder(port.folder + "/" + more))
        if (counter != "lifespan") add(port, port.name + "_ext", more, counter);
    }
    return kSuccess;
  }

 private:
  void add(const Port& port, const std::string& place, const char* folder, const std::string& counter) {
    const Meaning meaning = meaning_of(counter);
    sysfs::CatalogueEntry entry;
    entry.name = place + ":" + counter;
    entry.text = std::string(meaning.text) + ", counter " + folder + "/" + counter + " of port " + port.name;
    entry.unit = meaning.unit;
    entry.kind = ValueKind::kCount;
    entry.flags = kEventScopeNode;
    sysfs::NumberSource source;
    source.path = port.folder + "/" + folder + "/" + counter;
    source.wrap = sysfs::Wrap::kBinary;
    NumberFiles::add(std::move(entry), std::move(source));
  }
};

constexpr SubstrateTable kTable = sysfs::NumberSlots<Ports>::table(
    "infiniband",
    "Counters of the ports of InfiniBand, RoCE and Omni-Path adapters, from /sys/class/infiniband",
    "*_[0-9]*:*");

}  // namespace

SUBSTRATA_PUBLISH(infiniband, kTable);
