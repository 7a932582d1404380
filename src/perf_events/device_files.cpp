// Reads and encodes what /sys/bus/event_source says of the kernel's PMUs.
#include "perf_events/device_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/folder.hpp"
#include "base/parse.hpp"
#include "base/uninterrupted.hpp"

namespace substrata::perf {
namespace {

bool ends_with(std::string_view text, std::string_view end) { return text.ends_with(end); }

}  // namespace

std::optional<std::string> read_file(const std::string& path, size_t limit) {
  struct Open {
    int descriptor;
    ~Open() {
      if (descriptor >= 0) ::close(descriptor);
    }
  };
  const Open file{static_cast<int>(
      uninterrupted([&] { return result_or_error(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); }))};
  if (file.descriptor < 0) return std::nullopt;
  std::string text;
  char block[4096];
  while (text.size() < limit) {
    const ssize_t got =
        uninterrupted([&] { return result_or_error(::read(file.descriptor, block, sizeof block)); });
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(block, std::min(static_cast<size_t>(got), limit - text.size()));
  }
  return text;
}

std::optional<std::string> read_line(const std::string& path) {
  std::optional<std::string> text = read_file(path, 65536);
  if (!text) return std::nullopt;
  if (const size_t end = text->find('\n'); end != std::string::npos) text->resize(end);
  return text;
}

std::optional<FormatField> parse_format(std::string_view text) {
  text = trimmed(text);
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  FormatField field;
  const std::string_view word = text.substr(0, colon);
  if (word == "config")
    field.word = 0;
  else if (word == "config1")
    field.word = 1;
  else if (word == "config2")
    field.word = 2;
  else
    return std::nullopt;
  text.remove_prefix(colon + 1);
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view range = text.substr(0, comma);
    const size_t dash = range.find('-');
    FormatField::Range bits{0, 0};
    if (!parse_number(range.substr(0, dash), &bits.low)) return std::nullopt;
    bits.high = bits.low;
    if (dash != std::string_view::npos && !parse_number(range.substr(dash + 1), &bits.high))
      return std::nullopt;
    if (bits.high < bits.low || bits.high > 63) return std::nullopt;
    field.ranges.push_back(bits);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  if (field.ranges.empty()) return std::nullopt;
  return field;
}

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  text = trimmed(text);
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view range = text.substr(0, comma);
    const size_t dash = range.find('-');
    int low = 0;
    if (!parse_number(range.substr(0, dash), &low) || low < 0) return {};
    int high = low;
    if (dash != std::string_view::npos && !parse_number(range.substr(dash + 1), &high)) return {};
    if (high < low || high > 65535) return {};
    for (int cpu = low; cpu <= high; ++cpu) cpus.push_back(cpu);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return cpus;
}

std::vector<Pmu> read_pmus(const std::string& root) {
  const std::string base = root + "/sys/bus/event_source/devices";
  std::vector<Pmu> pmus;
  for (const std::string& name : names_in(base)) {
    const std::string folder = base + "/" + name;
    Pmu pmu;
    pmu.name = name;
    if (!parse_number(std::string_view(read_line(folder + "/type").value_or("")), &pmu.type)) continue;
    pmu.model = read_line(folder + "/caps/pmu_name").value_or("");
    const std::optional<std::string> cpus = read_line(folder + "/cpus");
    if (cpus) pmu.cpus = parse_cpu_list(*cpus);
    if (const auto mask = read_line(folder + "/cpumask")) pmu.cpumask = parse_cpu_list(*mask);
    pmu.core =
        name == "cpu" || cpus.has_value() || name.starts_with("armv8_pmu") || name.starts_with("armv7_");
    for (const std::string& term : names_in(folder + "/format"))
      if (const auto field = parse_format(read_line(folder + "/format/" + term).value_or("")))
        pmu.format.emplace(term, *field);
    for (const std::string& file : names_in(folder + "/events")) {
      if (ends_with(file, ".snapshot") || ends_with(file, ".per-pkg")) continue;
      const std::string text(trimmed(read_line(folder + "/events/" + file).value_or("")));
      if (text.empty()) continue;
      if (ends_with(file, ".unit"))
        pmu.units.emplace(file.substr(0, file.size() - 5), text);
      else if (ends_with(file, ".scale"))
        pmu.scales.emplace(file.substr(0, file.size() - 6), text);
      else
        pmu.events.emplace(file, text);
    }
    pmus.push_back(std::move(pmu));
  }
  return pmus;
}

std::optional<X86Model> x86_model(const std::string& root) {
  const std::string text = read_file(root + "/proc/cpuinfo", 4096).value_or("");
  X86Model found;
  found.vendor = value_of_key(text, "vendor_id");
  if (found.vendor.empty() || !parse_number(value_of_key(text, "cpu family"), &found.family) ||
      !parse_number(value_of_key(text, "model"), &found.model))
    return std::nullopt;
  return found;
}

namespace {

std::optional<ConfigWords> encode(const Pmu& pmu, std::string_view terms, std::string* error, int depth) {
  ConfigWords words;
  while (!terms.empty()) {
    const size_t comma = terms.find(',');
    const std::string_view term = trimmed(terms.substr(0, comma));
    const size_t equals = term.find('=');
    const std::string key(trimmed(term.substr(0, equals)));
    const auto known_event = pmu.events.find(key);
    const auto known_field = pmu.format.find(key);
    if (equals == std::string_view::npos && known_event != pmu.events.end() && depth == 0) {
      const auto inner = encode(pmu, known_event->second, error, 1);
      if (!inner) return std::nullopt;
      for (int i = 0; i < 3; ++i) words.word[i] |= inner->word[i];
    } else {
      uint64_t value = 1;  // a bare flag, as in "cpu/event=0x3c,any/"
      if (equals != std::string_view::npos && !parse_number(trimmed(term.substr(equals + 1)), &value)) {
        *error = "the term '" + std::string(term) + "' of PMU " + pmu.name + " has no number";
        return std::nullopt;
      }
      if (key == "config" || key == "config1" || key == "config2") {
        words.word[key == "config" ? 0 : key.back() - '0'] |= value;
      } else if (known_field != pmu.format.end()) {
        uint64_t rest = value;
        for (const FormatField::Range& bits : known_field->second.ranges) {
          const uint32_t width = bits.high - bits.low + 1;
          const uint64_t mask = width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
          words.word[known_field->second.word] |= (rest & mask) << bits.low;
          rest = width >= 64 ? 0 : rest >> width;
        }
        if (rest != 0) {
          *error = "the value of '" + std::string(term) + "' does not fit into its field of PMU " + pmu.name;
          return std::nullopt;
        }
      } else {
        *error = "PMU " + pmu.name + " has neither an event nor a format term '" + key + "'; see " +
                 "/sys/bus/event_source/devices/" + pmu.name;
        return std::nullopt;
      }
    }
    if (comma == std::string_view::npos) break;
    terms.remove_prefix(comma + 1);
  }
  return words;
}

}  // namespace

std::optional<ConfigWords> encode_terms(const Pmu& pmu, std::string_view terms, std::string* error) {
  if (trimmed(terms).empty()) {
    *error = "PMU " + pmu.name + " was asked for no event; write " + pmu.name + "/event=.../";
    return std::nullopt;
  }
  return encode(pmu, terms, error, 0);
}

}  // namespace substrata::perf
