// One measured fact of papi.h beside what the compiler says, for both generations.
#ifndef TESTS_ABI_MEASURED_HPP
#define TESTS_ABI_MEASURED_HPP

#include <string>
#include <vector>

struct Fact {
  std::string what;
  long long expected;  // the table
  long long found;     // the compiler
};

std::vector<Fact> facts_7_0();
std::vector<Fact> facts_7_3();

#endif
