// Work that is tried in a child process first, so that what crashes, ends a process or never returns harms nobody.
#pragma once

#include <functional>
#include <string>

namespace substrata {

struct Trial {
  enum Outcome {
    kPassed,
    kRefused,   // the work said why, `reason`
    kFatal,     // it crashed, ended the process or took too long: `reason`, to go behind "loading it"
    kNotTried,  // there was no pipe or no process: `reason`
  };
  Outcome outcome = kNotTried;
  std::string reason;
};

// Runs the work in a child process for at most so many seconds. It answers with the empty text, or what is wrong. Its
// output goes nowhere, and the child ends with it.
Trial try_in_child(unsigned seconds, const std::function<std::string()>& work);

}  // namespace substrata
