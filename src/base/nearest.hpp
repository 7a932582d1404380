// What a misspelt word may have meant.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace substrata {

// The candidate that takes fewest letters to change, of those that take at most two and not all; empty: none.
template <typename Names>
std::string_view nearest(std::string_view word, const Names& candidates) {
  std::string_view best;
  std::size_t least = 3;
  for (const std::string_view name : candidates) {
    if (word.size() > name.size() + 2 || name.size() > word.size() + 2) continue;
    std::vector<std::size_t> row(name.size() + 1);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = i;
    for (std::size_t w = 0; w < word.size(); ++w) {
      std::size_t diagonal = row[0];
      row[0] = w + 1;
      for (std::size_t n = 1; n < row.size(); ++n) {
        const std::size_t changed = diagonal + (word[w] != name[n - 1] ? 1 : 0);
        diagonal = row[n];
        row[n] = std::min({row[n] + 1, row[n - 1] + 1, changed});
      }
    }
    if (row.back() >= least || row.back() >= name.size()) continue;
    least = row.back();
    best = name;
  }
  return best;
}

}  // namespace substrata
