// The rules' text, compiled in.
#ifndef SUBSTRATA_RECORDING_ADVICE_RULES_HPP
#define SUBSTRATA_RECORDING_ADVICE_RULES_HPP

namespace substrata::recording {

extern const char* const kAdviceRules;

}  // namespace substrata::recording

#endif
