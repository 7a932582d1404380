// Finds the names most like an unknown one, for error messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace substrata {

// Keeps the best few of the names offered to it. Thread-compatible.
class NearNames {
 public:
  explicit NearNames(std::string_view wanted, size_t how_many = 3);
  // Whether offer() would keep it, were it not there already.
  bool takes(std::string_view name) const { return distance_to(name) <= limit(); }
  void offer(std::string_view name);
  // Best first; empty when nothing is close.
  std::vector<std::string> best() const;

 private:
  size_t limit() const noexcept;
  size_t distance_to(std::string_view name) const;  // above the limit: any number above it

  std::string wanted_;
  size_t how_many_;
  std::vector<std::pair<size_t, std::string>> kept_;
};

// Number of single-character insertions, deletions and changes between two words, ignoring case; stops
// counting above `limit`.
size_t edit_distance(std::string_view a, std::string_view b, size_t limit);

}  // namespace substrata
