// The script and the style of the HTML report, from page/.
#ifndef SUBSTRATA_RECORDING_PAGE_HPP
#define SUBSTRATA_RECORDING_PAGE_HPP

namespace substrata::recording {

extern const char* const kReportScript;
extern const char* const kReportStyle;

}  // namespace substrata::recording

#endif
