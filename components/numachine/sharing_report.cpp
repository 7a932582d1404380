// Sums lines up by object and finds the pattern behind each.
#include "numachine/sharing_report.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "numachine/last_run.hpp"

namespace substrata::numachine {
namespace {

// Below so many misses a line shows no pattern.
constexpr std::uint32_t kLeastSharing = 8;
// Misses beyond the first on a line that make it a conflict rather than a second visit.
constexpr std::uint64_t kLeastRepeats = 8;

Cause cause_of_line(const LineProfile& line, bool has_lock) {
  const std::uint32_t sharing = line.invalidation_misses + line.ownership_misses;
  if (sharing < kLeastSharing || sharing < line.other_misses) return Cause::kCapacity;
  // Ownership of one's own data is not sharing.
  if (std::popcount(line.readers | line.writers) < 2) return Cause::kCapacity;
  unsigned touched = 0;
  bool overlapping = false;
  for (const std::uint64_t word : line.words) {
    touched += word != 0 ? 1 : 0;
    overlapping = overlapping || std::popcount(word) > 1;
  }
  // Different processors miss on different words: nothing but the line is shared.
  if (!overlapping && touched > 1) return Cause::kFalseSharing;
  if (has_lock) return Cause::kLock;
  // One write takes several readers' copies away, or there is one writer only.
  const std::uint32_t acquired = std::max<std::uint32_t>(1, line.writes);
  if (std::popcount(line.writers) == 1 || line.invalidations >= 2 * acquired) return Cause::kProducerConsumer;
  // One copy at a time goes from one processor to the next: entered at one place it is a record that moves as
  // a whole, entered at several it holds data that all of them work on.
  return touched == 1 ? Cause::kMigratory : Cause::kTrueSharing;
}

// A place in the line that was missed on: its first byte may belong to another object.
std::uint64_t address_in(const LineProfile& line, std::uint64_t line_bytes) {
  std::uint64_t word = 0;
  while (word < line.words.size() - 1 && line.words[word] == 0) ++word;
  return Protocol::physical(line.line) * line_bytes + word * line_bytes / line.words.size();
}

}  // namespace

const char* name_of(Cause cause) noexcept {
  constexpr const char* kNames[] = {
      "compulsory or capacity misses", "conflict misses", "false sharing", "true sharing", "migratory data",
      "producer and consumers",        "hot spot",        "lock"};
  return kNames[static_cast<std::size_t>(cause)];
}

std::vector<ObjectMisses> explain_misses(Model& model, const NameAt& name_at,
                                         std::span<const std::uint64_t> locks) {
  struct Sum {
    ObjectMisses object;
    std::map<Cause, std::uint64_t> causes;  // misses of the lines with each
    std::uint64_t conflicting = 0;          // misses on spikes of the cache profile
    std::uint64_t homes = 0;                // stations whose memory holds it
    std::uint64_t users = 0;                // processors (modulo 64)
    std::uint64_t requests = 0;
  };
  const std::uint64_t line_bytes = model.parameters().shape.line_bytes;
  std::vector<std::uint64_t> spikes(model.protocol().shape().cache_lines, 0);
  for (const Spike& spike : find_spikes(model, kSpikeThreshold, nullptr)) spikes[spike.index] = 1;
  std::unordered_set<std::uint64_t> lock_lines;
  for (const std::uint64_t lock : locks) lock_lines.insert(model.protocol().line_of(lock));
  std::map<std::string, Sum> sums;
  auto last = sums.end();  // many lines in a row are the same object's
  for (const LineProfile& line : model.lines()) {
    std::string name = name_at ? name_at(address_in(line, line_bytes)) : std::string();
    if (last == sums.end() || last->first != name) last = sums.try_emplace(name).first;
    Sum& sum = last->second;
    ObjectMisses& o = sum.object;
    o.name = std::move(name);
    ++o.lines;
    o.other += line.other_misses;
    o.invalidation += line.invalidation_misses;
    o.ownership += line.ownership_misses;
    o.invalidations += line.invalidations;
    o.nacks += line.nacks;
    o.queue_cycles += line.queue_cycles;
    const std::uint64_t misses =
        std::uint64_t{line.other_misses} + line.invalidation_misses + line.ownership_misses;
    sum.causes[cause_of_line(line, lock_lines.contains(line.line))] += misses;
    if (spikes[model.protocol().index_of(line.line)] != 0 && line.other_misses > kLeastRepeats)
      sum.conflicting += line.other_misses;
    sum.homes |= std::uint64_t{1} << model.protocol().home_of(line.line);
    sum.users |= line.readers | line.writers;
    sum.requests += misses;
  }
  std::vector<ObjectMisses> all;
  for (auto& [name, sum] : sums) {
    ObjectMisses& o = sum.object;
    if (o.misses() == 0) continue;
    const auto most = std::max_element(sum.causes.begin(), sum.causes.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    o.cause = most->first;
    if (o.cause == Cause::kCapacity && sum.conflicting * 2 > o.other) o.cause = Cause::kConflict;
    // Many processors read what one memory must serve, and find it busy more often than not.
    const std::uint32_t crowd = std::min(64U, model.processors());
    const bool one_home = std::has_single_bit(sum.homes) && model.parameters().shape.stations > 1;
    const bool shared = o.cause == Cause::kProducerConsumer || o.cause == Cause::kTrueSharing;
    if (one_home && shared && o.lines > 1 &&
        static_cast<std::uint32_t>(std::popcount(sum.users)) * 2 > crowd &&
        o.queue_cycles + o.nacks * model.parameters().retry_cycles > sum.requests) {
      o.cause = Cause::kHotSpot;
    }
    all.push_back(o);
  }
  std::sort(all.begin(), all.end(), [](const ObjectMisses& a, const ObjectMisses& b) {
    return a.misses() != b.misses() ? a.misses() > b.misses() : a.name < b.name;
  });
  return all;
}

std::vector<Spike> find_spikes(Model& model, std::uint64_t threshold, const NameAt& name_at) {
  std::vector<Spike> found;
  for (std::uint32_t cpu = 0; cpu < model.processors(); ++cpu) {
    const std::vector<std::uint32_t>& profile = model.profile(cpu);
    std::uint64_t all = 0;
    for (const std::uint32_t misses : profile) all += misses;
    // "shifting the count by log2(n) bits, where n is the number of cache lines"
    const std::uint64_t average = all / profile.size();
    for (std::uint32_t index = 0; index < profile.size(); ++index) {
      if (profile[index] > average + threshold) {
        found.push_back(
            {cpu, index, profile[index], static_cast<double>(all) / static_cast<double>(profile.size()), {}});
      }
    }
  }
  std::sort(found.begin(), found.end(), [](const Spike& a, const Spike& b) {
    if (a.misses != b.misses) return a.misses > b.misses;
    return a.cpu != b.cpu ? a.cpu < b.cpu : a.index < b.index;
  });
  if (!name_at || found.empty()) return found;
  std::vector<bool> is_spike(model.protocol().shape().cache_lines, false);
  for (const Spike& spike : found) is_spike[spike.index] = true;
  std::unordered_map<std::uint64_t, std::map<std::string, std::uint64_t>> by_index;
  for (const LineProfile& line : model.lines()) {
    if (line.other_misses == 0 || !is_spike[model.protocol().index_of(line.line)]) continue;
    by_index[model.protocol().index_of(line.line)]
            [name_at(address_in(line, model.parameters().shape.line_bytes))] += line.other_misses;
  }
  for (Spike& spike : found) {
    std::vector<std::pair<std::uint64_t, std::string>> order;
    for (const auto& [name, misses] : by_index[spike.index]) order.emplace_back(misses, name);
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (const auto& [misses, name] : order) spike.objects.push_back(name);
  }
  return found;
}

}  // namespace substrata::numachine
