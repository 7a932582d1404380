// What the experiments share: processes of their own to fail in, and what is reported of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace substrata::torture {

struct Options {
  std::uint64_t seed = 1;
  std::int64_t iterations = 0;      // 0: the experiment's short run
  bool all = false;                 // every fault there is, instead of `iterations` of them
  bool stacks = false;              // of allocations one for each call stack that asks for one
  std::int64_t seconds = 0;         // begin no fault after so long; 0: no limit
  std::size_t part = 0, parts = 1;  // of all of them only this part
  std::int64_t only = -1;           // the faults at this place, as a failure's text names it
  std::string program = {};         // of programs only those with this in their name
  bool verbose = false;
};

// One experiment's figures: how often something was done to the library, and what went wrong.
struct Outcome {
  std::int64_t tried = 0;
  std::vector<std::string> failures;  // each with what is needed to repeat it
  std::vector<std::pair<std::string, std::string>> figures;
  std::string skipped;  // why nothing could be tried
};

// Whether the run's time is over; what is left is counted.
class Deadline {
 public:
  explicit Deadline(const Options& options);
  bool over() const;

 private:
  std::int64_t end_;  // of the monotonic clock, in seconds; 0: none
};

// Runs the body in a process of its own, at most so long. "" when it ended by returning ""; else what it returned, the
// signal that ended it, or that it hung. Reports of regions that it left are removed.
std::string in_a_process(const std::function<std::string()>& body, int seconds = 30);
// What such a process leaves behind, and how it ended (-1: it hung) with its text, in words. The text is shared with
// processes forked later.
char* shared_text();
void leave_text(const std::string& text);
std::string end_in_words(int status, int seconds);

// What of the list this run is to do: `wanted` of it in random order, or its part of all.
template <class T>
void choose(const Options& options, std::size_t wanted, std::vector<T>* list) {
  std::mt19937_64 random(options.seed);
  std::shuffle(list->begin(), list->end(), random);
  if (!options.all) {
    list->resize(std::min(list->size(), wanted));
    return;
  }
  std::size_t kept = 0;
  for (std::size_t i = options.part; i < list->size(); i += options.parts) (*list)[kept++] = (*list)[i];
  list->resize(kept);
}

// Whether a fault here would be hwloc's to bear, because a function of hwloc runs: it is left out, and counted.
bool left_to_hwloc();
std::int64_t faults_left_to_hwloc();  // since the last call
bool left_to_libpfm();                // the same of a system call in pfm_initialize
std::int64_t faults_left_to_libpfm();
bool left_to_linker();  // a short read in dlopen, which does not go on with the rest
void try_hwloc_too();   // from now on none is left out

int open_descriptors();
std::string last_descriptors(int count);  // what those with the highest numbers refer to
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
Outcome exits_among_threads(const Options& options);
Outcome reloaded_library(const Options& options);
Outcome states_of_eventsets(const Options& options);
Outcome many_threads(const Options& options);
Outcome many_eventsets(const Options& options);
Outcome failing_tools(const Options& options);
Outcome failing_shim(const Options& options);
Outcome failing_tracer(const Options& options);
Outcome replaced_signal_handlers(const Options& options);
Outcome several_papis(const Options& options);
Outcome many_ranks(const Options& options);

}  // namespace substrata::torture
