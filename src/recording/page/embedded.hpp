// The texts of this folder, as the build embeds them.
#pragma once

namespace substrata::recording {

extern const char* const kPage;
extern const char* const kPageStyle;
extern const char* const kPageScript;

}  // namespace substrata::recording
