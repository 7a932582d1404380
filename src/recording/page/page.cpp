// The skeleton with its gaps filled.
#include "recording/page/page.hpp"

#include <ostream>

#include "recording/exports.hpp"
#include "recording/page/embedded.hpp"
#include "recording/timeline.hpp"

// What the build fetched, as it is: 600 kB, which no compiler needs to read.
extern "C" {
extern const char substrata_page_charts_begin[];
extern const char substrata_page_charts_end[];
}
__asm__(
    ".section .rodata\n"
    ".hidden substrata_page_charts_begin\n"
    ".global substrata_page_charts_begin\n"
    "substrata_page_charts_begin:\n"
    ".incbin \"" SUBSTRATA_CHARTS_FILE
    "\"\n"
    ".hidden substrata_page_charts_end\n"
    ".global substrata_page_charts_end\n"
    "substrata_page_charts_end:\n"
    ".byte 0\n"
    ".previous\n");

namespace substrata::recording {
namespace {

std::string_view charts() noexcept {
  return {substrata_page_charts_begin,
          static_cast<std::size_t>(substrata_page_charts_end - substrata_page_charts_begin)};
}

void write_escaped(std::ostream& out, std::string_view text) {
  for (const char c : text) {
    if (c == '&')
      out << "&amp;";
    else if (c == '<')
      out << "&lt;";
    else
      out << (static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c);
  }
}

}  // namespace

bool page_has_charts() noexcept { return !charts().empty(); }

void write_page(std::ostream& out, PageKind kind, const std::string& title, std::string_view data) {
  std::string_view rest = kPage;
  // Marks of the skeleton, in their order.
  const auto up_to = [&](std::string_view mark) {
    const std::size_t at = rest.find(mark);
    out << rest.substr(0, at);
    rest.remove_prefix(at + mark.size());
  };
  up_to("<!--connect-->");
  out << (kind == PageKind::kLive ? "connect-src 'self'" : "connect-src 'none'");
  up_to("<!--title-->");
  write_escaped(out, title);
  up_to("<!--style-->");
  out << kPageStyle;
  up_to("<!--data-->");
  out << data;
  up_to("<!--charts-->");
  out << charts();
  up_to("<!--script-->");
  out << kPageScript << rest;
}

void write_facts(std::ostream& out, const SeriesInfo& about, std::string_view scope) {
  out << "\"name\":" << json_text(about.name) << ",\"unit\":" << json_text(about.unit)
      << ",\"text\":" << json_text(about.text) << ",\"component\":" << json_text(about.component)
      << ",\"kind\":\"" << kind_name(about.kind) << "\",\"modelled\":" << (about.modelled ? "true" : "false")
      << ",\"scope\":" << json_text(scope);
}

}  // namespace substrata::recording
