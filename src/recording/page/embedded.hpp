// The texts of this folder, as the build embeds them.
#ifndef SUBSTRATA_RECORDING_PAGE_EMBEDDED_HPP
#define SUBSTRATA_RECORDING_PAGE_EMBEDDED_HPP

namespace substrata::recording {

extern const char* const kPage;
extern const char* const kPageStyle;
extern const char* const kPageScript;

}  // namespace substrata::recording

#endif
