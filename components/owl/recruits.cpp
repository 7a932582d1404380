// What a rule's capsules found, as text with objects by name.
#include "owl/recruits.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "owl/objects.hpp"

namespace substrata::owl {
namespace {

constexpr size_t kMostLines = 10;

std::string name_or_address(uint64_t address) {
  if (const char* const name = object_at(address)) return name;
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

// Takes every packet of three words out of a recruit's ring.
template <typename Take>
void drain(const Recruit& recruit, const Take& take) {
  substrata_owl_reader reader;
  if (reader.open(recruit.capsule->ring_path(), 0) != 0) return;
  substrata_owl_packet packet{};
  std::vector<unsigned char> data(SUBSTRATA_OWL_MOST_PACKET);
  while (reader.peek(&packet, data.data(), data.size()) == 1) {
    uint64_t words[3];
    if (packet.bytes == sizeof words) {
      std::memcpy(words, data.data(), sizeof words);
      take(words);
    }
    reader.consume();
  }
}

using Counts = std::pair<uint64_t, uint64_t>;

// The names with most misses first, at most so many.
std::vector<std::string> by_misses(const std::map<std::string, Counts>& objects) {
  std::vector<std::pair<std::string, Counts>> order(objects.begin(), objects.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.second != b.second.second ? a.second.second > b.second.second : a.first < b.first;
  });
  std::vector<std::string> names;
  for (const auto& [name, counts] : order)
    if (names.size() < kMostLines) names.push_back(name);
  return names;
}

std::string counts_text(const Counts& counts) {
  return std::to_string(counts.first) + " misses " + std::to_string(counts.second);
}

}  // namespace

std::vector<uint64_t> metric_values(const Recruit& recruit) {
  const std::shared_ptr<CapsuleRecord> record = find_record(recruit.name, recruit.module);
  std::vector<uint64_t> values;
  for (uint32_t i = 0; record != nullptr && i < record->entry->module->metric_count; ++i)
    values.push_back(record->values[kStatistics + i].value());
  return values;
}

LevelCounts counts_by_object(const Recruit& recruit) {
  LevelCounts found{recruit.probes, {}};
  drain(recruit, [&](const uint64_t* words) {
    auto& [transactions, misses] = found.objects[name_or_address(words[0])];
    transactions += words[1];
    misses += words[2];
  });
  return found;
}

std::string conflicts_of(const Recruit& recruit) {
  std::map<std::pair<std::string, std::string>, uint64_t> pairs;
  drain(recruit, [&](const uint64_t* words) {
    std::pair<std::string, std::string> names(name_or_address(words[0]), name_or_address(words[1]));
    if (names.second < names.first) std::swap(names.first, names.second);
    pairs[names] += words[2];
  });
  std::vector<std::pair<uint64_t, std::pair<std::string, std::string>>> order;
  for (const auto& [names, count] : pairs) order.emplace_back(count, names);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::string text;
  for (size_t i = 0; i < order.size() && i < kMostLines; ++i) {
    text += "conflict " + order[i].second.first + " " + order[i].second.second + " " +
            std::to_string(order[i].first) + "\n";
  }
  return text;
}

std::string objects_of(const LevelCounts& level) {
  std::string text;
  for (const std::string& name : by_misses(level.objects))
    text += "object " + name + " accesses " + counts_text(level.objects.at(name)) + "\n";
  return text;
}

std::string levels_of(const std::vector<LevelCounts>& levels) {
  std::string text;
  if (levels.empty()) return text;
  for (const std::string& name : by_misses(levels.back().objects)) {
    text += "level " + name;
    for (const LevelCounts& level : levels) {
      const auto found = level.objects.find(name);
      text += " " + level.probes + " " + counts_text(found != level.objects.end() ? found->second : Counts{});
    }
    text += "\n";
  }
  return text;
}

std::string metrics_of(const Recruit& recruit) {
  const std::shared_ptr<CapsuleRecord> record = find_record(recruit.name, recruit.module);
  const std::vector<uint64_t> now = metric_values(recruit);
  if (record == nullptr || recruit.before.size() != now.size()) return {};
  std::string text = "metrics " + recruit.module + " " + recruit.probes;
  for (size_t i = 0; i < now.size(); ++i) {
    const Metric& metric = record->entry->module->metrics[i];
    text += std::string(" ") + metric.name + " " +
            std::to_string(metric.gauge != 0 ? now[i] : now[i] - recruit.before[i]);
  }
  return text + "\n";
}

}  // namespace substrata::owl
