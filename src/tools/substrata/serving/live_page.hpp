// The page of `substrata serve` and the values that it asks for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "recording/recording.hpp"

namespace substrata::tool {

std::string live_page(const std::string& title, const std::string& host, std::int64_t interval_ns);

// The newest value of each series as JSON, in base units. Thread-compatible.
class LiveValues {
 public:
  // Times of one server count from any one moment. `ended`: they will stay as they are.
  LiveValues(double seconds, bool ended);
  // NaN: it has no value now.
  void add(const recording::SeriesInfo& about, std::string_view scope, double value);
  std::string text() const { return text_ + "]}"; }

 private:
  std::string text_;
  bool first_ = true;
};

}  // namespace substrata::tool
