// The page that a browser shows: of a recording, or of events as they stand.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "recording/recording.hpp"

namespace substrata::recording {

// One HTML file with style, script, the library of the charts and the data, which is a JSON object. It loads nothing;
// where it is live it asks the address that it came from for live.json. Without the library, which the build may lack,
// it shows tables and says so.
enum class PageKind { kRecording, kLive };
void write_page(std::ostream& out, PageKind kind, const std::string& title, std::string_view data);

// Whether the build had the library of the charts.
bool page_has_charts() noexcept;

// What a series is, for the page's script: "name":...,"unit":..., without braces.
void write_facts(std::ostream& out, const SeriesInfo& about, std::string_view scope);

}  // namespace substrata::recording
