// The rules' text, compiled in.
#pragma once

namespace substrata::recording {

extern const char* const kAdviceRules;

}  // namespace substrata::recording
