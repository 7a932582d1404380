// System calls that fail under the script, and transfers that are short or interrupted.
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <sstream>

#include "script.hpp"
#include "torture.hpp"
#include "watch.hpp"

namespace substrata::torture {
namespace {

// A pass whose calls are answered, and one more.
std::string watched_passes(int* descriptors, std::vector<Call>* met, std::vector<Call>* after) {
  Script script;
  arm_faults(true);
  *met = script.pass();
  arm_faults(false);
  const std::string wrong = script.put_right();
  *after = script.pass();
  *descriptors = open_descriptors();
  return wrong;
}

struct Expected {
  std::vector<Call> met, after;
  int descriptors = 0;
  std::vector<long> calls;  // the system calls of the first pass
};

std::string expect(Expected* expected) {
  const auto body = [] {
    std::vector<Call> met, after;
    int descriptors = 0;
    const std::string wrong = watched_passes(&descriptors, &met, &after);
    if (!wrong.empty()) return wrong;
    std::ostringstream out;
    out << "= " << descriptors;
    for (const std::vector<Call>* calls : {&met, &after})
      for (const Call& call : *calls) out << ' ' << call.code;
    return out.str();
  };
  const std::string text = watched(body, [&](const seccomp_notif& call, int) {
    expected->calls.push_back(call.data.nr);
    return 0;
  });
  std::istringstream in(text);
  std::string mark;
  in >> mark >> expected->descriptors;
  if (mark != "=" || !in) return text;
  std::vector<int> codes;
  for (int code = 0; in >> code;) codes.push_back(code);
  for (size_t i = 0; i < codes.size(); ++i)
    (i < codes.size() / 2 ? expected->met : expected->after).push_back({"", codes[i]});
  return {};
}

constexpr const char* kLeftOpen = "descriptors are left open:";

std::string judged(const Expected& expected, bool all_go_well) {
  std::vector<Call> met, after;
  int descriptors = 0;
  if (const std::string wrong = watched_passes(&descriptors, &met, &after); !wrong.empty())
    return "afterwards " + wrong;
  if (all_go_well) {
    if (const std::string wrong = difference(expected.met, met); !wrong.empty()) return wrong;
  } else if (const std::string wrong = not_an_answer(expected.met, met); !wrong.empty()) {
    return wrong;
  }
  if (const std::string wrong = difference(expected.after, after); !wrong.empty())
    return "afterwards " + wrong;
  if (descriptors > expected.descriptors)
    return std::to_string(descriptors - expected.descriptors) + " " + kLeftOpen +
           last_descriptors(descriptors - expected.descriptors);
  return {};
}

// False: `outcome` says why there is nothing to compare with.
bool passes_without_a_fault(Expected* expected, Outcome* outcome) {
  const std::string wrong = expect(expected);
  if (wrong == kNoNotifications)
    outcome->skipped = wrong;
  else if (!wrong.empty())
    outcome->failures.push_back("without a fault: " + wrong);
  return wrong.empty();
}

}  // namespace

Outcome failing_system_calls(const Options& options) {
  Outcome outcome;
  Expected expected;
  if (!passes_without_a_fault(&expected, &outcome)) return outcome;
  struct Fault {
    std::int64_t place;
    int error;
  };
  std::vector<Fault> faults;
  std::map<long, std::int64_t> kinds;
  for (size_t i = 0; i < expected.calls.size(); ++i) {
    ++kinds[expected.calls[i]];
    for (const int error : find_call(expected.calls[i])->errors)
      faults.push_back({static_cast<std::int64_t>(i), error});
  }
  const size_t possible = faults.size();
  choose(options, options.iterations > 0 ? static_cast<size_t>(options.iterations) : 40, &faults);
  if (options.only >= 0) {
    faults.clear();
    for (const int error : find_call(expected.calls.at(static_cast<std::size_t>(options.only)))->errors)
      faults.push_back({options.only, error});
  }
  const Deadline deadline(options);
  for (const Fault& fault : faults) {
    if (deadline.over()) break;
    std::int64_t seen = 0;
    long failed = -1;
    std::string wrong = watched(
        [&] { return judged(expected, false); },
        [&](const seccomp_notif& call, int) -> std::int64_t {
          if (seen++ != fault.place || left_to_hwloc() || left_to_libpfm()) return 0;
          failed = call.data.nr;
          const std::vector<int>& errors = find_call(failed)->errors;
          return std::find(errors.begin(), errors.end(), fault.error) != errors.end() ? -fault.error : 0;
        });
    ++outcome.tried;
    // What was not closed is open.
    if (failed == SYS_close && wrong.find(kLeftOpen) != std::string::npos) wrong.clear();
    if (!wrong.empty())
      outcome.failures.push_back("system call " + std::to_string(fault.place) + ", " +
                                 (failed >= 0 ? find_call(failed)->name : "none") + ", fails with " +
                                 strerrorname_np(fault.error) + ": " + wrong);
    if (options.verbose && outcome.tried % 100 == 0)
      std::fprintf(stderr, "%lld of %zu, %zu failures\n", static_cast<long long>(outcome.tried),
                   faults.size(), outcome.failures.size());
  }
  outcome.figures.emplace_back("system calls of the script", std::to_string(expected.calls.size()));
  outcome.figures.emplace_back("kinds of system calls", std::to_string(kinds.size()));
  outcome.figures.emplace_back("faults possible", std::to_string(possible));
  outcome.figures.emplace_back("faults left to hwloc", std::to_string(faults_left_to_hwloc()));
  outcome.figures.emplace_back("faults left to libpfm", std::to_string(faults_left_to_libpfm()));
  return outcome;
}

Outcome short_transfers(const Options& options) {
  Outcome outcome;
  Expected expected;
  if (!passes_without_a_fault(&expected, &outcome)) return outcome;
  std::int64_t touched = 0;
  const auto tried = [&](const std::string& what, const Answer& answer) {
    const std::string wrong = watched([&] { return judged(expected, true); }, answer);
    ++outcome.tried;
    if (!wrong.empty()) outcome.failures.push_back(what + ": " + wrong);
  };
  tried(
      "every read and write of a file is short", [&](const seccomp_notif& call, int process) -> std::int64_t {
        const std::int64_t result = transfers(call.data.nr) && !left_to_linker() ? part_of(call, process) : 0;
        touched += result > 0;
        return result;
      });
  bool interrupted = false;
  tried("every read and write is interrupted once",
        [&](const seccomp_notif& call, int process) -> std::int64_t {
          if (!transfers(call.data.nr) || left_to_linker() || !interruptible(call, process)) return 0;
          interrupted = !interrupted;
          touched += interrupted;
          return interrupted ? -EINTR : 0;
        });
  // Each by itself.
  std::vector<std::int64_t> places;
  for (size_t i = 0; i < expected.calls.size(); ++i)
    if (transfers(expected.calls[i])) places.push_back(static_cast<std::int64_t>(i));
  choose(options, options.iterations > 0 ? static_cast<size_t>(options.iterations) : 20, &places);
  for (const std::int64_t place : places)
    for (const bool cut : {true, false}) {
      std::int64_t seen = 0;
      tried((cut ? "a short transfer, system call " : "an interrupted transfer, system call ") +
                std::to_string(place),
            [&](const seccomp_notif& call, int process) -> std::int64_t {
              if (seen++ != place || !transfers(call.data.nr) || left_to_linker()) return 0;
              ++touched;
              if (cut) return part_of(call, process);
              return interruptible(call, process) ? -EINTR : 0;
            });
    }
  outcome.figures.emplace_back("reads and writes cut or interrupted", std::to_string(touched));
  return outcome;
}

}  // namespace substrata::torture
