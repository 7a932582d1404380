// Edit distance, and the best few names by it.
#include "core/events/near_names.hpp"

#include <algorithm>

namespace substrata {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b, size_t limit) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > limit) return limit + 1;
  std::vector<size_t> row(a.size() + 1);
  for (size_t i = 0; i <= a.size(); ++i) row[i] = i;
  for (size_t j = 1; j <= b.size(); ++j) {
    size_t diagonal = row[0];
    row[0] = j;
    size_t least = row[0];
    for (size_t i = 1; i <= a.size(); ++i) {
      const size_t above = row[i];
      const size_t change = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      row[i] = std::min({row[i] + 1, row[i - 1] + 1, diagonal + change});
      diagonal = above;
      least = std::min(least, row[i]);
    }
    if (least > limit) return limit + 1;
  }
  return std::min(row[a.size()], limit + 1);
}

NearNames::NearNames(std::string_view wanted, size_t how_many)
    : wanted_(wanted.substr(0, 256)), how_many_(how_many) {}

// The most that a name may differ by; a third of the letters wrong is still a likely slip of the pen.
size_t NearNames::limit() const noexcept {
  const size_t most = std::max<size_t>(2, wanted_.size() / 3);
  if (kept_.size() < how_many_ || kept_.back().first == 0) return most;
  return std::min(most, kept_.back().first - 1);  // what is no nearer comes too late
}

size_t NearNames::distance_to(std::string_view name) const {
  const size_t most = limit();
  const size_t distance = edit_distance(wanted_, name, most);
  // The end of a name is often what is remembered ("TASK-CLOCK" of "perf::TASK-CLOCK").
  const size_t colon = name.rfind("::");
  if (colon == std::string_view::npos) return distance;
  return std::min(distance, edit_distance(wanted_, name.substr(colon + 2), most));
}

void NearNames::offer(std::string_view name) {
  const size_t distance = distance_to(name);
  if (distance > limit()) return;
  for (const auto& kept : kept_) {
    if (kept.second == name) return;
  }
  const auto place = std::upper_bound(kept_.begin(), kept_.end(), distance,
                                      [](size_t d, const auto& kept) { return d < kept.first; });
  kept_.insert(place, {distance, std::string(name)});
  if (kept_.size() > how_many_) kept_.pop_back();
}

std::vector<std::string> NearNames::best() const {
  std::vector<std::string> names;
  for (const auto& kept : kept_) names.push_back(kept.second);
  return names;
}

}  // namespace substrata
