// The script by itself, three times: what a checker of memory follows.
#include <cstdio>

#include "script.hpp"

int main() {
  using namespace substrata::torture;
  Script script;
  script.pass();
  const std::vector<Call> expected = script.pass();
  const std::string wrong = difference(expected, script.pass());
  if (!wrong.empty()) std::fprintf(stderr, "%s\n", wrong.c_str());
  return wrong.empty() ? 0 : 1;
}
