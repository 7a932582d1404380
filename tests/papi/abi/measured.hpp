// One measured fact of papi.h beside what the compiler says, for both generations.
#pragma once

#include <string>
#include <vector>

struct Fact {
  std::string what;
  long long expected;  // the table
  long long found;     // the compiler
};

std::vector<Fact> facts_7_0();
std::vector<Fact> facts_7_3();
