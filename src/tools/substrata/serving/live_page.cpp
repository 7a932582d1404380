// The same page as that of a recording, without data of its own.
#include "tools/substrata/serving/live_page.hpp"

#include <algorithm>
#include <sstream>

#include "recording/base_unit.hpp"
#include "recording/exports.hpp"
#include "recording/page/page.hpp"

namespace substrata::tool {

std::string live_page(const std::string& title, const std::string& host, std::int64_t interval_ns) {
  // A page that asks more often than ten times a second would show its own cost.
  const std::int64_t milliseconds = std::max<std::int64_t>(100, interval_ns / 1'000'000);
  std::ostringstream out;
  recording::write_page(out, recording::PageKind::kLive, title,
                        "{\"live\":true,\"title\":" + recording::json_text(title) +
                            ",\"host\":" + recording::json_text(host) +
                            ",\"interval_ms\":" + std::to_string(milliseconds) + "}");
  return out.str();
}

LiveValues::LiveValues(double seconds, bool ended)
    : text_("{\"seconds\":" + recording::json_number(seconds) + ",\"ended\":" + (ended ? "true" : "false") +
            ",\"series\":[") {}

void LiveValues::add(const recording::SeriesInfo& about, std::string_view scope, double value) {
  const recording::BaseUnit base = recording::base_unit(about.unit);
  recording::SeriesInfo named = about;
  named.unit = base.unit;
  std::ostringstream out;
  out << (first_ ? "{" : ",\n{");
  recording::write_facts(out, named, scope);
  out << ",\"origin\":" << recording::json_text(recording::origin_name(about))
      << ",\"value\":" << recording::json_number(base.factor * value) << '}';
  text_ += out.str();
  first_ = false;
}

}  // namespace substrata::tool
