// Reads places out of names and texts of events, and walks the tree to them.
#include "recording/topology/sensors.hpp"

#include <cstdio>
#include <functional>
#include <string_view>

#include "base/parse.hpp"

namespace substrata::topology {
namespace {

// The number behind a word: "package-0", ", core 12,". -1: there is none.
int number_behind(std::string_view text, std::string_view word, int base = 10) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return -1;
  int number = -1;
  leading_number(text.substr(at + word.size()), &number, base);
  return number;
}

Object* find(Object& within, const std::function<bool(const Object&)>& wanted) {
  if (wanted(within)) return &within;
  for (Object& part : within.parts)
    if (Object* found = find(part, wanted); found != nullptr) return found;
  return nullptr;
}

Object* find_numbered(Object& within, Kind kind, int number) {
  return find(within, [&](const Object& one) { return one.kind == kind && one.number == number; });
}

Object* only_package(Object& root) {
  Object* found = nullptr;
  int packages = 0;
  find(root, [&](const Object& one) {
    packages += one.kind == Kind::kPackage;
    return false;
  });
  if (packages == 1) found = find(root, [](const Object& one) { return one.kind == Kind::kPackage; });
  return found;
}

// A chip on PCI, as libsensors names it: bus and function in four hexadecimal digits.
Object* on_pci(Object& root, const std::string& event) {
  const int place = number_behind(event, "-pci-", 16);
  if (place < 0) return nullptr;
  char address[40];
  std::snprintf(address, sizeof address, ":%02x:%02x.%x", static_cast<unsigned>(place) >> 8 & 0xff,
                static_cast<unsigned>(place) >> 3 & 0x1f, static_cast<unsigned>(place) & 7);
  const std::string end = address;
  if (Object* device = find(root,
                            [&](const Object& one) {
                              return one.address.size() > end.size() &&
                                     one.address.compare(one.address.size() - end.size(), end.size(), end) ==
                                         0;
                            });
      device != nullptr)
    return device;
  // AMD's processors show their sensors as functions of devices 18 on: one a node, and a package where it has one
  // node.
  const int slot = place >> 3 & 0x1f;
  return event.find("k10temp") != std::string::npos && slot >= 0x18
             ? find_numbered(root, Kind::kPackage, slot - 0x18)
             : nullptr;
}

// "net:::eth0:rx:bytes" and "nvml:::...:device_1:power".
Object* of_device(Object& root, const std::string& event) {
  if (event.rfind("net:::", 0) == 0) {
    const std::string name = event.substr(6, event.find(':', 6) - 6);
    return find(root, [&](const Object& one) {
      if (one.kind != Kind::kDevice) return false;
      for (const std::string& called : split_list(one.name, " "))
        if (called == name) return true;
      return false;
    });
  }
  int left = event.rfind("nvml:::", 0) == 0 ? number_behind(event, "device_") : -1;
  if (left < 0) return nullptr;
  return find(root, [&](const Object& one) {
    constexpr unsigned kNvidia = 0x10de;
    return one.kind == Kind::kDevice && one.vendor == kNvidia && one.about.find("GPU") == 0 && left-- == 0;
  });
}

Object* place_of(Object& root, const Sensor& sensor) {
  int package = number_behind(sensor.text, ", package ");
  const int core = number_behind(sensor.text, ", core ");
  if (package < 0) package = number_behind(sensor.text, "package-");
  if (package < 0) package = number_behind(sensor.event, "package-");
  if (Object* of = package >= 0 ? find_numbered(root, Kind::kPackage, package) : nullptr; of != nullptr) {
    Object* inner = core >= 0 ? find_numbered(*of, Kind::kCore, core) : nullptr;
    return inner != nullptr ? inner : of;
  }
  if (sensor.event.find("x86_pkg_temp") != std::string::npos) return only_package(root);
  if (Object* device = on_pci(root, sensor.event); device != nullptr) return device;
  return of_device(root, sensor.event);
}

}  // namespace

void place_sensors(const std::vector<Sensor>& sensors, Machine* machine) {
  for (const Sensor& sensor : sensors) {
    Object* place = place_of(machine->root, sensor);
    (place != nullptr ? *place : machine->root).sensors.push_back(sensor.event);
  }
}

}  // namespace substrata::topology
