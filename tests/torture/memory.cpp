// Allocations that fail under the script: one of them, and all from one on; in a thread that has used the library
// before and in one that has not. A process that has come as far as all faults have in common is copied for each.
#include <sys/mman.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <set>
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

// What the calls answer without a fault, and the call stack of each allocation by a number.
struct Expected : Passes {
  std::vector<std::uint64_t> stacks;
};

// Passes in which allocations fail, and one in which none does: what that one answers and leaves is the same whatever
// the others met. In a process of its own, whose calling thread is warm or has not used the library.
Passes run_passes(std::int64_t n, Failing how, bool warm, int faults = 1) {
  Passes result;
  Script script;
  const std::int64_t before = living_blocks();
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

constexpr std::int64_t kMostAllocations = 1'000'000;

std::string expect(bool warm, Expected* expected) {
  void* const at = mmap(nullptr, kMostAllocations * sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return "no memory for the call stacks";
  std::uint64_t* const stacks = static_cast<std::uint64_t*>(at);
  const std::string text = in_a_process([&] {
    Passes passes = run_passes(INT64_MAX, Failing::kNone, warm);
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
  std::string wrong;
  if (mark != "=" || !in) wrong = "without a fault: " + text;
  std::vector<int> codes;
  for (int code = 0; in >> code;) codes.push_back(code);
  const size_t half = codes.size() / 2;
  for (size_t i = 0; i < codes.size(); ++i)
    (i < half ? expected->met : expected->after).push_back({"", codes[i]});
  if (wrong.empty())
    wrong = in_a_process([&] {
      const auto pass = [&] {
        Script script;
        number_call_stacks(stacks, kMostAllocations);
        fail_allocation(INT64_MAX, Failing::kNone);
        script.pass();
        number_call_stacks(nullptr, 0);
        return std::string();
      };
      if (warm) return pass();
      std::thread(pass).join();
      return std::string();
    });
  if (wrong.empty())
    expected->stacks.assign(stacks, stacks + std::min(expected->allocations, kMostAllocations));
  munmap(at, kMostAllocations * sizeof(std::uint64_t));
  return wrong;
}

// The allocations to fail, in this order: first one for each call stack that asks for any.
std::vector<std::int64_t> places_to_fail(const Options& options, const Expected& expected,
                                         size_t* call_stacks) {
  std::vector<std::int64_t> all(expected.stacks.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  std::shuffle(all.begin(), all.end(), std::mt19937_64(options.seed));
  std::set<std::uint64_t> seen;
  std::vector<std::int64_t> first, again;
  for (const std::int64_t place : all)
    (seen.insert(expected.stacks[static_cast<size_t>(place)]).second ? first : again).push_back(place);
  std::copy(again.begin(), again.end(), std::copy(first.begin(), first.end(), all.begin()));
  *call_stacks = seen.size();
  if (options.only >= 0) return {options.only};
  if (options.stacks) all.resize(seen.size());
  if (!options.stacks && !options.all)
    all.resize(
        std::min(all.size(), options.iterations > 0 ? static_cast<size_t>(options.iterations) / 2 : 30));
  std::vector<std::int64_t> part;
  for (std::size_t i = options.part; i < all.size(); i += options.parts) part.push_back(all[i]);
  return part;
}

// In the process that is copied for each fault. Failures go to the file, a line each, then what was tried.
std::string fail_in_thread(const Options& options, const Deadline& deadline, Failing how, bool warm,
                           std::FILE* lines) {
  if (warm) Script().pass();
  Expected expected;
  if (const std::string wrong = expect(warm, &expected); !wrong.empty()) return wrong;
  size_t call_stacks = 0;
  const std::vector<std::int64_t> places = places_to_fail(options, expected, &call_stacks);
  size_t tried = 0;
  for (; tried < places.size() && !deadline.over(); ++tried) {
    const std::int64_t n = places[tried];
    std::string wrong = in_a_process([&] { return what_is_wrong(expected, run_passes(n, how, warm)); });
    if (wrong == kPerhapsLost) wrong = in_a_process([&] { return what_is_lost(expected, n, how, warm); });
    if (wrong.empty()) continue;
    std::replace(wrong.begin(), wrong.end(), '\n', ' ');
    std::fprintf(lines, "allocation %lld%s in a %s thread: %s\n", static_cast<long long>(n),
                 how == Failing::kFromThen ? " and all after it" : "", warm ? "warm" : "cold", wrong.c_str());
  }
  std::fprintf(lines, "= %zu %lld %zu\n", tried, static_cast<long long>(expected.allocations), call_stacks);
  std::fflush(lines);
  return {};
}

void read_lines(std::FILE* lines, const std::string& thread, Outcome* outcome) {
  std::rewind(lines);
  std::unique_ptr<char[]> line(new char[20000]);
  while (std::fgets(line.get(), 20000, lines) != nullptr) {
    long long tried = 0, allocations = 0, stacks = 0;
    if (std::sscanf(line.get(), "= %lld %lld %lld", &tried, &allocations, &stacks) != 3) {
      const std::string text = line.get();
      outcome->failures.push_back(text.substr(0, text.find('\n')));
      continue;
    }
    outcome->tried += tried;
    outcome->figures.emplace_back("allocations of " + thread, std::to_string(allocations));
    outcome->figures.emplace_back("call stacks of " + thread, std::to_string(stacks));
    outcome->figures.emplace_back("failed in " + thread, std::to_string(tried));
  }
}

Outcome fail_some(const Options& options, Failing how) {
  Outcome outcome;
  show_failing_allocation(options.verbose);
  Options half = options;
  half.seconds = (options.seconds + 1) / 2;
  for (const bool warm : {true, false}) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> lines(std::tmpfile(), std::fclose);
    if (lines == nullptr) {
      outcome.failures.emplace_back("no temporary file");
      return outcome;
    }
    const Deadline deadline(half);
    const std::string wrong =
        in_a_process([&] { return fail_in_thread(options, deadline, how, warm, lines.get()); }, INT_MAX);
    if (!wrong.empty()) outcome.failures.push_back(wrong);
    read_lines(lines.get(), warm ? "a warm thread" : "a cold thread", &outcome);
  }
  outcome.figures.emplace_back("left to hwloc", std::to_string(faults_left_to_hwloc()));
  return outcome;
}

}  // namespace

Outcome failing_allocations(const Options& options) { return fail_some(options, Failing::kOnce); }
Outcome exhausted_memory(const Options& options) { return fail_some(options, Failing::kFromThen); }

}  // namespace substrata::torture
