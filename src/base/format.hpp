// A number as text.
#pragma once

#include <cstdio>
#include <string>

namespace substrata {

// By a pattern of printf's with one double in it; cut at 63 characters.
inline std::string format(const char* pattern, double number) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, number);
  return text;
}

}  // namespace substrata
