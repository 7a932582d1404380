// What a person should know of a run and can act on.
#pragma once

#include <string>

namespace substrata::recording {

struct Finding {
  std::string rule;      // a short name that stays: "shared-core"
  std::string text;      // what is wrong: "ranks 0 and 4 share core 2"
  std::string evidence;  // the numbers that it was seen in
  std::string cure;      // what to do
  std::string limits;    // where the evidence may deceive; may be empty
};

}  // namespace substrata::recording
