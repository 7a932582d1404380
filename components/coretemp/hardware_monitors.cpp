// Scans hwmon chips and thermal zones: stable names, labels, limits, and which package and core they measure.
#include "coretemp/hardware_monitors.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "base/immortal.hpp"
#include "base/parse.hpp"
#include "sysfs/sysfs.hpp"

namespace substrata::coretemp {
namespace {

using sysfs::below_root;
using sysfs::last_part;
using sysfs::list_folder;
using sysfs::plain_name;
using sysfs::read_integer;
using sysfs::read_text;
using sysfs::resolved;

// Which attributes of a channel are numbers worth an event, after Documentation/hwmon/sysfs-interface.rst of
// the Linux kernel; the first is the measurement.
struct ChannelType {
  const char* prefix;
  const char* what;
  const char* unit;
  std::vector<const char*> attributes;
  bool grows;
};

const std::vector<ChannelType>& channel_types() {
  static Immortal<const std::vector<ChannelType>> types(std::initializer_list<ChannelType>{
      {"temp", "temperature", "mdegC", {"input", "max", "crit", "emergency", "min", "lcrit"}, false},
      {"fan", "fan speed", "RPM", {"input", "max", "min"}, false},
      {"in", "voltage", "mV", {"input", "max", "crit", "min", "lcrit"}, false},
      {"curr", "current", "mA", {"input", "max", "crit", "min", "lcrit"}, false},
      {"power", "power", "uW", {"input", "average", "max", "crit", "cap"}, false},
      {"energy", "energy", "uJ", {"input"}, true},
      {"humidity", "relative humidity", "m%RH", {"input"}, false},
  });
  return *types;
}

const char* attribute_text(const std::string& attribute) {
  static Immortal<const std::map<std::string, const char*>> texts(
      std::initializer_list<std::pair<const std::string, const char*>>{
          {"max", "highest allowed value of"},
          {"crit", "critical limit of"},
          {"emergency", "emergency limit of"},
          {"min", "lowest allowed value of"},
          {"lcrit", "lower critical limit of"},
          {"cap", "cap set for"},
          {"average", "average, made by the chip, of"},
      });
  const auto found = (*texts).find(attribute);
  return found == (*texts).end() ? "" : found->second;
}

bool exists(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return false;
  std::fclose(file);
  return true;
}

// The place of a device on its bus in libsensors' spelling, "" if the bus is not one of those.
std::string place_on_bus(const std::string& bus, const std::string& device) {
  char text[64] = "";
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (bus == "pci" && std::sscanf(device.c_str(), "%x:%x:%x.%x", &a, &b, &c, &d) == 4) {
    std::snprintf(text, sizeof text, "pci-%04x", (a << 16) + (b << 8) + (c << 3) + d);
  } else if (bus == "i2c" && std::sscanf(device.c_str(), "%u-%x", &a, &b) == 2) {
    std::snprintf(text, sizeof text, "i2c-%u-%02x", a, b);
  } else if (bus == "spi" && std::sscanf(device.c_str(), "spi%u.%u", &a, &b) == 2) {
    std::snprintf(text, sizeof text, "spi-%u-%x", a, b);
  } else if (bus == "scsi" && std::sscanf(device.c_str(), "%u:%u:%u:%x", &a, &b, &c, &d) == 4) {
    std::snprintf(text, sizeof text, "scsi-%u-%x", a, (b << 8) + (c << 4) + d);
  } else if (bus == "hid" && std::sscanf(device.c_str(), "%x:%x:%x.%x", &a, &b, &c, &d) == 4) {
    std::snprintf(text, sizeof text, "hid-%u-%x", a, d);
  } else if (bus == "mdio_bus") {
    const size_t colon = device.rfind(':');
    unsigned long address = 0;
    if (colon != std::string::npos) leading_number(std::string_view(device).substr(colon + 1), &address, 16);
    std::snprintf(text, sizeof text, "mdio-%lx", address);
  } else if (bus == "acpi") {
    std::snprintf(text, sizeof text, "acpi-0");
  } else if (bus == "platform" || bus == "of_platform") {
    const size_t dot = device.rfind('.');
    int64_t number = 0;
    if (dot == std::string::npos || !parse_integer(device.substr(dot + 1), &number)) number = 0;
    std::snprintf(text, sizeof text, "isa-%04x", static_cast<unsigned>(number));
  }
  return text;
}

// Logical processors by package and core, from the kernel's topology files.
struct Processors {
  std::map<int, std::string> of_package;
  std::map<std::pair<int, int>, std::string> of_core;
};

Processors find_processors(const Host& host) {
  Processors processors;
  const std::string folder = below_root(host, "/sys/devices/system/cpu");
  for (const std::string& name : list_folder(folder)) {
    int64_t number = 0;
    if (name.compare(0, 3, "cpu") != 0 || !parse_integer(name.substr(3), &number)) continue;
    int64_t package = 0;
    int64_t core = 0;
    if (!read_integer(folder + "/" + name + "/topology/physical_package_id", &package)) continue;
    const auto append = [&](std::string& list) {
      list += (list.empty() ? "" : ",") + std::to_string(number);
    };
    append(processors.of_package[static_cast<int>(package)]);
    if (read_integer(folder + "/" + name + "/topology/core_id", &core)) {
      append(processors.of_core[{static_cast<int>(package), static_cast<int>(core)}]);
    }
  }
  return processors;
}

// "Core 3" gives 3 for the prefix "Core "; -1 for anything else.
int number_behind(const std::string& label, const std::string& prefix) {
  int64_t number = 0;
  if (label.compare(0, prefix.size(), prefix) != 0) return -1;
  if (!parse_integer(label.substr(prefix.size()), &number) || number < 0 || number > 1 << 24) return -1;
  return static_cast<int>(number);
}

// One chip of /sys/class/hwmon.
struct Chip {
  std::string number;  // "hwmon3"
  std::string folder;
  std::string files;     // where its attributes are: the folder, or its device's on kernels before 3.15
  std::string own_name;  // "coretemp"
  std::string name;      // "coretemp-isa-0000"
  std::string device;    // last part of its device's path
};

// What of the processor a channel belongs to. Intel's coretemp has one platform device a package and labels
// its channels "Package id N" and "Core N" (Documentation/hwmon/coretemp.rst).
void place_channel(const Chip& chip, const std::string& label, const Processors& processors,
                   Channel* channel) {
  if (chip.own_name != "coretemp") return;
  const int package_label = number_behind(label, "Package id ");
  const int device_number = number_behind(chip.device, "coretemp.");
  channel->package = package_label >= 0 ? package_label : device_number;
  channel->core = number_behind(label, "Core ");
  if (channel->core >= 0) {
    const auto found = processors.of_core.find({channel->package, channel->core});
    if (found != processors.of_core.end()) channel->processors = found->second;
  } else {
    const auto found = processors.of_package.find(channel->package);
    if (found != processors.of_package.end()) channel->processors = found->second;
  }
}

std::string place_text(const Channel& channel) {
  std::string text;
  if (channel.package >= 0) text += ", package " + std::to_string(channel.package);
  if (channel.core >= 0) text += ", core " + std::to_string(channel.core);
  if (!channel.processors.empty()) text += ", logical processors " + channel.processors;
  return text;
}

void add_channels_of(const Chip& chip, const Processors& processors, std::vector<Channel>* channels) {
  std::set<std::string> labels_seen;
  const std::vector<std::string> files = list_folder(chip.files);
  const std::set<std::string> present(files.begin(), files.end());
  for (const ChannelType& type : channel_types()) {
    const std::string prefix = type.prefix;
    std::set<int64_t> numbers;
    for (const std::string& file : files) {
      const size_t bar = file.find('_');
      int64_t number = 0;
      if (file.compare(0, prefix.size(), prefix) != 0 || bar == std::string::npos || bar <= prefix.size()) {
        continue;
      }
      if (std::isdigit(static_cast<unsigned char>(file[prefix.size()])) == 0) continue;
      if (parse_integer(file.substr(prefix.size(), bar - prefix.size()), &number)) numbers.insert(number);
    }
    for (const int64_t number : numbers) {
      const std::string stem = prefix + std::to_string(number);
      std::string label;
      if (!read_text(chip.files + "/" + stem + "_label", &label) || label.empty()) label = stem;
      std::string plain = plain_name(label);
      if (!labels_seen.insert(plain).second) plain += "_" + stem;
      for (const char* attribute_name : type.attributes) {
        const std::string attribute = attribute_name;
        const std::string file = stem + "_" + attribute;
        if (present.count(file) == 0) continue;
        Channel channel;
        channel.name = chip.name + ":" + plain + (attribute == "input" ? "" : ":" + attribute);
        channel.aliases = {chip.number + ":" + file, chip.name + ":" + file,
                           chip.name + "." + plain + "." + file};
        channel.unit = type.unit;
        channel.is_count = type.grows;
        channel.path = chip.files + "/" + file;
        const std::string fault = stem + "_fault";
        if (attribute == "input" && present.count(fault) != 0) channel.fault_path = chip.files + "/" + fault;
        place_channel(chip, label, processors, &channel);
        const std::string limit = attribute_text(attribute);
        channel.text = (limit.empty() ? "" : limit + " ") + std::string(type.what) + " '" + label + "' of " +
                       chip.name + place_text(channel);
        channels->push_back(std::move(channel));
      }
    }
  }
}

std::vector<Chip> find_chips(const Host& host) {
  std::vector<Chip> chips;
  const std::string monitors = below_root(host, "/sys/class/hwmon");
  for (const std::string& number : list_folder(monitors)) {
    Chip chip;
    chip.number = number;
    chip.folder = monitors + "/" + number;
    chip.files = chip.folder;
    if (!read_text(chip.folder + "/name", &chip.own_name)) {
      if (!read_text(chip.folder + "/device/name", &chip.own_name)) continue;
      chip.files = chip.folder + "/device";
    }
    chip.device = last_part(resolved(chip.folder + "/device"));
    chip.name = chip_name(chip.folder, chip.own_name);
    chips.push_back(std::move(chip));
  }
  // Two chips of one name are distinguished by their devices, which the kernel does not renumber.
  std::map<std::string, int> uses;
  for (const Chip& chip : chips) ++uses[chip.name];
  for (Chip& chip : chips) {
    if (uses[chip.name] > 1 && !chip.device.empty()) chip.name += "@" + plain_name(chip.device);
  }
  std::stable_sort(chips.begin(), chips.end(),
                   [](const Chip& a, const Chip& b) { return sysfs::natural_less(a.name, b.name); });
  return chips;
}

void add_zones(const Host& host, std::vector<Channel>* channels) {
  const std::string folder = below_root(host, "/sys/class/thermal");
  struct Zone {
    std::string number, type, device, name;
  };
  std::vector<Zone> zones;
  std::map<std::string, int> uses;
  for (const std::string& number : list_folder(folder)) {
    Zone zone;
    zone.number = number;
    if (number.compare(0, 12, "thermal_zone") != 0) continue;
    if (!read_text(folder + "/" + number + "/type", &zone.type)) continue;
    zone.device = last_part(resolved(folder + "/" + number + "/device"));
    zone.name = "thermal-" + plain_name(zone.type);
    ++uses[zone.name];
    zones.push_back(std::move(zone));
  }
  for (Zone& zone : zones) {
    if (uses[zone.name] > 1 && !zone.device.empty()) zone.name += "@" + plain_name(zone.device);
  }
  std::stable_sort(zones.begin(), zones.end(),
                   [](const Zone& a, const Zone& b) { return sysfs::natural_less(a.name, b.name); });
  for (const Zone& zone : zones) {
    const std::string files = folder + "/" + zone.number;
    Channel channel;
    channel.name = zone.name + ":temp";
    channel.aliases = {zone.number + ":temp"};
    channel.text = "temperature of thermal zone '" + zone.type + "'";
    channel.unit = "mdegC";
    channel.path = files + "/temp";
    if (!exists(channel.path)) continue;
    channels->push_back(channel);
    std::set<std::string> trips_seen;
    for (const std::string& file : list_folder(files)) {
      unsigned trip = 0;
      char rest[8] = "";
      std::string type;
      if (std::sscanf(file.c_str(), "trip_point_%u_%7s", &trip, rest) != 2 || std::string(rest) != "type")
        continue;
      if (!read_text(files + "/" + file, &type)) continue;
      const std::string stem = "trip_point_" + std::to_string(trip);
      const std::string plain = plain_name(type);
      Channel limit;
      limit.name =
          zone.name + ":" + plain + (trips_seen.insert(plain).second ? "" : "_" + std::to_string(trip));
      limit.aliases = {zone.number + ":" + stem + "_temp", zone.name + ":" + stem + "_temp"};
      limit.text = type + " trip point of thermal zone '" + zone.type + "'";
      limit.unit = "mdegC";
      limit.path = files + "/" + stem + "_temp";
      if (exists(limit.path)) channels->push_back(std::move(limit));
    }
  }
}

}  // namespace

std::string chip_name(const std::string& folder, const std::string& own_name) {
  const std::string name = plain_name(own_name);
  // The device itself may be of a class ("nvme0"); the bus is that of the first ancestor which has one.
  std::string device = resolved(folder + "/device");
  while (device.size() > 1) {
    const std::string bus = last_part(resolved(device + "/subsystem"));
    const std::string place = bus.empty() ? "" : place_on_bus(bus, last_part(device));
    if (!place.empty()) return name + "-" + place;
    if (bus == "thermal") break;  // a chip made for a thermal zone
    device.resize(device.rfind('/'));
  }
  return name + "-virtual-0";
}

std::vector<Channel> find_channels(const Host& host) {
  std::vector<Channel> channels;
  const Processors processors = find_processors(host);
  for (const Chip& chip : find_chips(host)) add_channels_of(chip, processors, &channels);
  add_zones(host, &channels);
  return channels;
}

}  // namespace substrata::coretemp
