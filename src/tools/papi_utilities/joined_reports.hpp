// What papi_hl_output_writer makes of the high-level interface's reports of all ranks.
#pragma once

#include <cstddef>
#include <functional>
#include <istream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace substrata::utilities {

// nlohmann::ordered_map looks through all entries for a key, which in a report of a hundred thousand passes takes
// minutes: this one has an index once it is large. Nothing is ever erased.
template <class Key, class Value, class Less = std::less<Key>,
          class Allocator = std::allocator<std::pair<const Key, Value>>>
class IndexedMap : public nlohmann::ordered_map<Key, Value, Less, Allocator> {
 public:
  using Base = nlohmann::ordered_map<Key, Value, Less, Allocator>;
  using Base::Base;
  using typename Base::const_iterator;
  using typename Base::iterator;

  template <class Name>
  std::pair<iterator, bool> emplace(Name&& name, Value&& value) {
    const std::size_t at = place(name);
    if (at != this->size()) return {this->begin() + static_cast<std::ptrdiff_t>(at), false};
    this->emplace_back(std::forward<Name>(name), std::move(value));
    if (this->size() > kFew)
      for (std::size_t i = index_.size(); i < this->size(); ++i) index_.emplace(hash(name_at(i)), i);
    return {this->end() - 1, true};
  }
  template <class Name>
  Value& operator[](Name&& name) {
    return emplace(std::forward<Name>(name), Value{}).first->second;
  }
  template <class Name>
  iterator find(Name&& name) {
    return this->begin() + static_cast<std::ptrdiff_t>(place(name));
  }
  template <class Name>
  const_iterator find(Name&& name) const {
    return this->begin() + static_cast<std::ptrdiff_t>(place(name));
  }
  template <class Name>
  std::size_t count(Name&& name) const {
    return place(name) != this->size() ? 1 : 0;
  }

 private:
  static constexpr std::size_t kFew = 16;
  static std::size_t hash(std::string_view name) { return std::hash<std::string_view>()(name); }
  const Key& name_at(std::size_t at) const {
    return (this->begin() + static_cast<std::ptrdiff_t>(at))->first;
  }
  std::size_t place(std::string_view name) const {
    if (index_.empty()) {
      std::size_t at = 0;
      while (at < this->size() && name_at(at) != name) ++at;
      return at;
    }
    for (auto [at, end] = index_.equal_range(hash(name)); at != end; ++at)
      if (name_at(at->second) == name) return at->second;
    return this->size();
  }
  std::unordered_multimap<std::size_t, std::size_t> index_;  // of the names' hashes: places
};

using Json = nlohmann::basic_json<IndexedMap>;

struct RankReport {
  unsigned long number = 0;
  Json report;
};

// The report of one rank. Throws a std::exception with the reason where the text is none; lists within lists deeper
// than a report's are none.
Json read_report(std::istream& text);

enum class Joining { kDetail, kSummary };

// Every passage, or sums by region, of all ranks; derived: times in seconds, rates and IPC in place of what was
// counted. JSON. Throws a std::exception where a report lacks something or a number is none.
std::string join_reports(const std::vector<RankReport>& ranks, Joining how, bool derived);

}  // namespace substrata::utilities
