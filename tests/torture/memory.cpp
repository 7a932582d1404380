// Allocations that fail under the script: one of them, and all from one on; in a thread that has used the library
// before and in one that has not.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <sstream>
#include <thread>

#include "allocations.hpp"
#include "script.hpp"
#include "torture.hpp"

namespace substrata::torture {
namespace {

struct Passes {
  std::vector<Call> met, after;
  std::int64_t allocations = 0;  // of the pass with the fault
  std::int64_t blocks = 0;       // more than before, at the end
  int descriptors = 0;
  std::string not_put_right;
};

// A pass in which allocations fail, then two in which none does: what the last one answers and leaves is the same
// whatever the first met.
Passes run_passes(std::int64_t n, Failing how, bool warm, int faults = 1) {
  Passes result;
  Script script;
  const std::int64_t before = living_blocks();
  if (warm) script.pass();
  const auto pass = [&] {
    fail_allocation(n, how);
    result.met = script.pass();
    result.allocations = allow_allocations();
    result.not_put_right = script.put_right();
  };
  for (int i = 0; i < faults; ++i) {
    if (warm)
      pass();
    else
      std::thread(pass).join();
  }
  script.pass();
  result.after = script.pass();
  result.descriptors = open_descriptors();
  result.blocks = living_blocks() - before;
  return result;
}

const std::string kPerhapsLost = "perhaps lost";

std::string what_is_wrong(const Passes& expected, const Passes& found) {
  if (!found.not_put_right.empty()) return "afterwards " + found.not_put_right;
  if (std::string wrong = not_an_answer(expected.met, found.met); !wrong.empty()) return wrong;
  if (std::string wrong = difference(expected.after, found.after); !wrong.empty())
    return "afterwards " + wrong;
  if (found.descriptors > expected.descriptors)
    return std::to_string(found.descriptors - expected.descriptors) + " descriptors are left open";
  return found.blocks > expected.blocks ? kPerhapsLost : std::string();
}

// Whether every fault loses memory: what is kept once, such as the reason of a failure, is not lost.
std::string what_is_lost(const Passes& expected, std::int64_t n, Failing how, bool warm) {
  constexpr int kFaults = 6;
  const std::int64_t more = run_passes(n, how, warm, kFaults).blocks - expected.blocks;
  return more >= kFaults
             ? std::to_string(more) + " blocks of memory are lost by " + std::to_string(kFaults) + " faults"
             : std::string();
}

// The same without a fault, in a process of its own: this one never uses the library.
std::string expect(bool warm, Passes* expected) {
  const std::string text = in_a_process([&] {
    const Passes passes = run_passes(INT64_MAX, Failing::kNone, warm);
    if (!passes.not_put_right.empty()) return passes.not_put_right;
    std::ostringstream out;
    out << "= " << passes.allocations << ' ' << passes.blocks << ' ' << passes.descriptors;
    for (const std::vector<Call>* calls : {&passes.met, &passes.after})
      for (const Call& call : *calls) out << ' ' << call.code;
    return out.str();
  });
  std::istringstream in(text);
  std::string mark;
  in >> mark >> expected->allocations >> expected->blocks >> expected->descriptors;
  if (mark != "=" || !in) return "without a fault: " + text;
  std::vector<int> codes;
  for (int code = 0; in >> code;) codes.push_back(code);
  const size_t half = codes.size() / 2;
  for (size_t i = 0; i < codes.size(); ++i)
    (i < half ? expected->met : expected->after).push_back({"", codes[i]});
  return {};
}

Outcome fail_some(const Options& options, Failing how) {
  Outcome outcome;
  show_failing_allocation(options.verbose);
  for (const bool warm : {true, false}) {
    Passes expected;
    if (const std::string wrong = expect(warm, &expected); !wrong.empty()) {
      outcome.failures.push_back(wrong);
      return outcome;
    }
    std::vector<std::int64_t> places(static_cast<size_t>(expected.allocations));
    std::iota(places.begin(), places.end(), 0);
    choose(options, options.iterations > 0 ? static_cast<size_t>(options.iterations) / 2 : 30, &places);
    if (options.only >= 0) places = {options.only};
    const char* const thread = warm ? "a warm thread" : "a cold thread";
    for (const std::int64_t n : places) {
      std::string wrong = in_a_process([&] { return what_is_wrong(expected, run_passes(n, how, warm)); });
      if (wrong == kPerhapsLost) wrong = in_a_process([&] { return what_is_lost(expected, n, how, warm); });
      ++outcome.tried;
      if (!wrong.empty())
        outcome.failures.push_back("allocation " + std::to_string(n) +
                                   (how == Failing::kFromThen ? " and all after it" : "") + " in " + thread +
                                   ": " + wrong);
    }
    outcome.figures.emplace_back(std::string("allocations of ") + thread,
                                 std::to_string(expected.allocations));
  }
  outcome.figures.emplace_back("allocations left to hwloc", std::to_string(faults_left_to_hwloc()));
  return outcome;
}

}  // namespace

Outcome failing_allocations(const Options& options) { return fail_some(options, Failing::kOnce); }
Outcome exhausted_memory(const Options& options) { return fail_some(options, Failing::kFromThen); }

}  // namespace substrata::torture
