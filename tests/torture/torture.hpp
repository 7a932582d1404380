// What the experiments share: processes of their own to fail in, and what is reported of them.
#ifndef SUBSTRATA_TESTS_TORTURE_TORTURE_HPP
#define SUBSTRATA_TESTS_TORTURE_TORTURE_HPP

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace substrata::torture {

struct Options {
  std::uint64_t seed = 1;
  std::int64_t iterations = 0;  // 0: the experiment's short run
  bool all = false;             // every fault there is, instead of `iterations` of them
  bool verbose = false;
};

// One experiment's figures: how often something was done to the library, and what went wrong.
struct Outcome {
  std::int64_t tried = 0;
  std::vector<std::string> failures;  // each with what is needed to repeat it
  std::vector<std::pair<std::string, std::string>> figures;
  std::string skipped;  // why nothing could be tried
};

// Runs the body in a process of its own, at most so long. "" when it ended by returning ""; else what it returned, the
// signal that ended it, or that it hung.
std::string in_a_process(const std::function<std::string()>& body, int seconds = 30);
// The same for a process that runs already and writes its text to `text` (shared_text()).
std::string end_of(pid_t child, const char* text, int seconds);
// Shared with processes forked later; never unmapped.
char* shared_text();

int open_descriptors();
std::int64_t resident_bytes();

// The experiments.
Outcome failing_allocations(const Options& options);
Outcome exhausted_memory(const Options& options);
Outcome failing_system_calls(const Options& options);
Outcome short_transfers(const Options& options);
Outcome exhausted_limits(const Options& options);
Outcome interrupted_calls(const Options& options);
Outcome forks_among_threads(const Options& options);
Outcome late_calls(const Options& options);
Outcome reloaded_library(const Options& options);
Outcome states_of_eventsets(const Options& options);
Outcome many_threads(const Options& options);
Outcome many_eventsets(const Options& options);

}  // namespace substrata::torture

#endif
