// Reads the kernel's own description of its PMUs: /sys/bus/event_source/devices/*/{type,format,events,cpus}.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace substrata::perf {

// A whole small file, or nothing. At most `limit` bytes.
std::optional<std::string> read_file(const std::string& path, size_t limit = size_t{1} << 20);
// The first line of a file without its newline, or nothing.
std::optional<std::string> read_line(const std::string& path);

// Where a format term's bits go: config, config1, config2 (0, 1, 2) and its bit ranges, low first.
struct FormatField {
  uint32_t word = 0;
  struct Range {
    uint32_t low, high;
  };
  std::vector<Range> ranges;
};
// "config:0-7,32-35" or "config1:1"; nothing when malformed.
std::optional<FormatField> parse_format(std::string_view text);

// Three words of a perf_event_attr.
struct ConfigWords {
  uint64_t word[3] = {0, 0, 0};
};

// One PMU of the kernel. Thread-compatible.
struct Pmu {
  std::string name;
  std::string model;  // what the kernel calls the processor ("crestmont"), empty where it does not say
  uint32_t type = 0;
  bool core = false;         // counts the program running on a processor (cpu, cpu_core, armv8_...)
  std::vector<int> cpus;     // of a core PMU: where it counts; empty when it does everywhere
  std::vector<int> cpumask;  // of an uncore PMU: one processor a socket
  std::map<std::string, FormatField> format;
  std::map<std::string, std::string> events;  // name to terms, "event=0x3c,umask=0x0"
  std::map<std::string, std::string> units;   // name to unit, from NAME.unit
  std::map<std::string, std::string> scales;  // name to scale, from NAME.scale
};

// The PMUs of the kernel below `root`, sorted by name. An unreadable tree gives an empty list.
std::vector<Pmu> read_pmus(const std::string& root);

// What /proc/cpuinfo below `root` says of its first processor, an x86; nothing elsewhere.
struct X86Model {
  std::string vendor;  // "AuthenticAMD"
  long family, model;
};
std::optional<X86Model> x86_model(const std::string& root);

// The processors of a list such as "0-3,8"; empty when malformed.
std::vector<int> parse_cpu_list(std::string_view text);

// Encodes terms ("event=0x3c,umask=0x01", "instructions", "config1=2") for a PMU; the name of one of its
// events stands for that event's terms. On failure nothing, and `*error` says which term and why.
std::optional<ConfigWords> encode_terms(const Pmu& pmu, std::string_view terms, std::string* error);

}  // namespace substrata::perf
