// A program that changes signal handlers while overflows are armed, and other PAPIs in the same process: a second copy
// of the library, the other generation, a namespace of its own, and Debian's PAPI.
#include <dlfcn.h>
#include <papi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include "torture.hpp"

namespace substrata::torture {
namespace {

constexpr int kPeriodNs = 500'000;
constexpr const char* kEvent = "perf::TASK-CLOCK";

// ---- One PAPI of several ----

struct Papi {
  decltype(&PAPI_library_init) library_init = PAPI_library_init;
  decltype(&PAPI_shutdown) shutdown = PAPI_shutdown;
  decltype(&PAPI_create_eventset) create_eventset = PAPI_create_eventset;
  decltype(&PAPI_event_name_to_code) event_name_to_code = PAPI_event_name_to_code;
  decltype(&PAPI_add_event) add_event = PAPI_add_event;
  decltype(&PAPI_overflow) overflow = PAPI_overflow;
  decltype(&PAPI_start) start = PAPI_start;
  decltype(&PAPI_stop) stop = PAPI_stop;
};

template <class Function>
bool find(void* library, const char* name, Function* out) {
  *out = reinterpret_cast<Function>(dlsym(library, name));
  return *out != nullptr;
}

bool find_all(void* library, Papi* out) {
  return find(library, "PAPI_library_init", &out->library_init) &&
         find(library, "PAPI_shutdown", &out->shutdown) &&
         find(library, "PAPI_create_eventset", &out->create_eventset) &&
         find(library, "PAPI_event_name_to_code", &out->event_name_to_code) &&
         find(library, "PAPI_add_event", &out->add_event) && find(library, "PAPI_overflow", &out->overflow) &&
         find(library, "PAPI_start", &out->start) && find(library, "PAPI_stop", &out->stop);
}

std::atomic<int> overflows[2];
template <int kWhich>
void count_overflow(int, void*, long long, void*) {
  ++overflows[kWhich];
}
const PAPI_overflow_handler_t kHandlers[2] = {count_overflow<0>, count_overflow<1>};

// One event that overflows, of one of two PAPIs.
struct Counting {
  Papi papi;
  int which = 0, set = PAPI_NULL, code = 0;

  // "" or what refused.
  std::string arm(int version, int flags) {
    if (papi.library_init(version) != version) return "PAPI_library_init fails";
    if (papi.create_eventset(&set) != PAPI_OK || papi.event_name_to_code(kEvent, &code) != PAPI_OK ||
        papi.add_event(set, code) != PAPI_OK)
      return "the event cannot be added";
    const int refused = papi.overflow(set, code, kPeriodNs, flags, kHandlers[which]);
    return refused == PAPI_OK ? "" : "PAPI_overflow gives " + std::to_string(refused);
  }
  std::string start() const {
    const int refused = papi.start(set);
    return refused == PAPI_OK ? "" : "PAPI_start gives " + std::to_string(refused);
  }
  std::string end() {
    long long value = 0;
    if (const int refused = papi.stop(set, &value); refused != PAPI_OK)
      return "PAPI_stop gives " + std::to_string(refused);
    if (value <= 0) return "the count is " + std::to_string(value);
    return papi.overflow(set, code, 0, 0, kHandlers[which]) == PAPI_OK ? ""
                                                                       : "the overflow cannot be disarmed";
  }
};

void burn(long long microseconds) {
  const long long begin = PAPI_get_virt_usec();
  volatile std::uint64_t work = 0;
  while (PAPI_get_virt_usec() - begin < microseconds)
    for (int i = 0; i < 1000; ++i) work = work + 1;
}

// Works until there are more overflows, or for a second at most: a timer that looks for them may come late.
void burn_until_overflow(int which, int before) {
  for (int i = 0; i < 500 && overflows[which] <= before; ++i) burn(2000);
}

using Dispositions = std::array<struct sigaction, NSIG>;
Dispositions dispositions() {
  Dispositions all{};
  for (int number = 1; number < NSIG; ++number)
    sigaction(number, nullptr, &all[static_cast<std::size_t>(number)]);
  return all;
}
std::vector<int> changed(const Dispositions& before) {
  const Dispositions now = dispositions();
  std::vector<int> numbers;
  for (std::size_t i = 1; i < NSIG; ++i)
    if (now[i].sa_handler != before[i].sa_handler) numbers.push_back(static_cast<int>(i));
  return numbers;
}

// Both count and overflow at once; either may end first. Libraries over one layer share its counters: there the second
// is refused while the first runs.
std::string side_by_side(void* library, int version, bool one_layer, int flags, bool second_ends_first) {
  Counting ours, other;
  other.which = 1;
  if (library == nullptr) return "cannot be loaded: " + std::string(dlerror());
  if (!find_all(library, &other.papi)) return "lacks a function of PAPI's";
  if (other.papi.library_init == ours.papi.library_init) return "is the same library";
  const Dispositions before = dispositions();
  if (const std::string wrong = ours.arm(PAPI_VER_CURRENT, flags); !wrong.empty()) return "ours: " + wrong;
  if (const std::string wrong = ours.start(); !wrong.empty()) return "ours: " + wrong;
  const std::vector<int> taken = changed(before);
  if (const std::string wrong = other.arm(version, flags); !wrong.empty()) return "the other: " + wrong;
  if (one_layer) {
    if (const int refused = other.papi.start(other.set); refused != PAPI_EISRUN)
      return "the other's PAPI_start gives " + std::to_string(refused);
  } else if (const std::string wrong = other.start(); !wrong.empty()) {
    return "the other: " + wrong;
  }
  for (const int which : {0, 1})
    if (which == 0 || !one_layer) burn_until_overflow(which, 0);
  std::array<Counting*, 2> order = {&ours, &other};
  if (second_ends_first && !one_layer) std::swap(order[0], order[1]);
  if (const std::string wrong = order[0]->end(); !wrong.empty()) return "the first to end: " + wrong;
  if (one_layer)
    if (const std::string wrong = other.start(); !wrong.empty()) return "the other: " + wrong;
  const int so_far = overflows[order[1]->which];
  burn_until_overflow(order[1]->which, so_far);
  if (overflows[0] == 0 || overflows[order[1]->which] == so_far)
    return std::to_string(overflows[0]) + " overflows of ours, " + std::to_string(overflows[1]) +
           " of the other, " + std::to_string(so_far) + " when the first ended";
  if (const std::string wrong = order[1]->end(); !wrong.empty()) return "the last to end: " + wrong;
  for (const Counting* one : order) one->papi.shutdown();
  const std::vector<int> left = changed(before);
  for (const int number : taken)
    if (std::find(left.begin(), left.end(), number) != left.end())
      return "a handler of signal " + std::to_string(number) + " is left";
  return {};
}

// What keeps a PAPI from counting here where it is alone, such as a processor that its libpfm4 does not know.
std::string alone(void* library, int version) {
  Counting one;
  if (library == nullptr) return "cannot be loaded: " + std::string(dlerror());
  if (!find_all(library, &one.papi)) return "lacks a function of PAPI's";
  return one.arm(version, 0);
}

// ---- The program's own handlers ----

void of_the_program(int) {}

// A random life of one counter, in which the program puts its own handlers in the places of ours, and ours back.
std::string replaced_handlers(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const int flags = random() % 2 == 0 ? 0 : PAPI_OVERFLOW_FORCE_SW;
  const Dispositions before = dispositions();
  Counting one;
  if (const std::string wrong = one.arm(PAPI_VER_CURRENT, flags); !wrong.empty()) return wrong;
  std::map<int, struct sigaction> ours;
  const auto look = [&] {
    for (const int number : changed(before)) {
      struct sigaction now {};
      sigaction(number, nullptr, &now);
      if (now.sa_handler != of_the_program && now.sa_handler != SIG_IGN) ours.try_emplace(number, now);
    }
  };
  std::map<int, bool> programs;  // whose handler the program installed last
  const auto meddle = [&](bool may_bring_back = true) {
    look();
    for (const auto& [number, former] : ours) switch (random() % 5) {
        case 0: {
          struct sigaction own {};
          own.sa_handler = of_the_program;
          own.sa_flags = SA_RESTART;
          sigaction(number, &own, nullptr);
          programs[number] = true;
          break;
        }
        case 1:
          std::signal(number, of_the_program);
          programs[number] = true;
          break;
        case 2:
          std::signal(number, SIG_IGN);
          programs[number] = true;
          break;
        case 3:
          if (!may_bring_back) break;
          sigaction(number, &former, nullptr);
          programs[number] = false;
          break;
        default:
          break;
      }
  };
  meddle();
  if (const std::string wrong = one.start(); !wrong.empty()) return wrong;
  for (int i = 0; i < 4; ++i) {
    burn(2000);
    meddle();
  }
  long long value = 0;
  if (const int refused = one.papi.stop(one.set, &value); refused != PAPI_OK)
    return "PAPI_stop gives " + std::to_string(refused);
  if (value < 8'000'000) return "the count is " + std::to_string(value) + " ns of 8 ms";
  meddle(false);  // what is brought back after its end, the library cannot take away
  if (one.papi.overflow(one.set, one.code, 0, 0, kHandlers[0]) != PAPI_OK)
    return "the overflow cannot be disarmed";
  // The program's handlers are in place, and where it has none, what was there before.
  const Dispositions after = dispositions();
  for (const auto& [number, former] : ours) {
    const auto handler = after[static_cast<std::size_t>(number)].sa_handler;
    if (programs[number] ? handler != of_the_program && handler != SIG_IGN
                         : handler != before[static_cast<std::size_t>(number)].sa_handler)
      return "signal " + std::to_string(number) + " has another handler at the end";
  }
  // The next counter is as the first, once the program has given the signals back.
  for (const auto& [number, former] : ours) std::signal(number, SIG_DFL);
  overflows[0] = 0;
  if (one.papi.overflow(one.set, one.code, kPeriodNs, flags, kHandlers[0]) != PAPI_OK)
    return "the overflow cannot be armed again";
  if (const std::string wrong = one.start(); !wrong.empty()) return "again: " + wrong;
  burn_until_overflow(0, 0);
  if (const std::string wrong = one.end(); !wrong.empty()) return "again: " + wrong;
  return overflows[0] > 0 ? "" : "no overflow comes any more";
}

}  // namespace

Outcome replaced_signal_handlers(const Options& options) {
  Outcome outcome;
  const std::int64_t lives = options.iterations > 0 ? options.iterations : 40;
  for (std::int64_t i = 0; i < lives; ++i) {
    const std::uint64_t seed = options.seed * 1'000'000 + static_cast<std::uint64_t>(i);
    if (options.only >= 0 && i != options.only) continue;
    const std::string wrong = in_a_process([=] { return replaced_handlers(seed); });
    ++outcome.tried;
    if (!wrong.empty()) outcome.failures.push_back("life " + std::to_string(i) + ": " + wrong);
  }
  return outcome;
}

Outcome several_papis(const Options&) {
  Outcome outcome;
  namespace fs = std::filesystem;
  const std::string folder = fs::path(LIBPAPI).parent_path().string();
  const std::string copy = std::string(std::getenv("PAPI_OUTPUT_DIRECTORY")) + "/libpapi-copy.so";
  std::error_code failed;
  fs::copy_file(LIBPAPI, copy, failed);
  // The copy is not where the library that it needs is.
  const auto beside = [&](const std::string& path) {
    return [=] {
      dlopen((folder + "/libsubstrata.so.0").c_str(), RTLD_NOW | RTLD_LOCAL);
      return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    };
  };
  const struct {
    const char* name;
    std::function<void*()> load;
    int version;
    bool one_layer;
  } kOthers[] = {
      {"a copy of the file", beside(copy), PAPI_VER_CURRENT, true},
      {"generation 7.0", beside(folder + "/libpapi.so.7.0"), PAPI_VERSION_NUMBER(7, 0, 0, 0), true},
      {"a namespace of its own", [] { return dlmopen(LM_ID_NEWLM, LIBPAPI, RTLD_NOW | RTLD_LOCAL); },
       PAPI_VER_CURRENT, false},
      {"Debian's PAPI", beside(TORTURE_DEBIAN_PAPI), PAPI_VERSION_NUMBER(7, 0, 0, 0), false},
  };
  std::string left_out;
  for (const auto& other : kOthers) {
    if (std::string(other.name) == "Debian's PAPI") {
      left_out = fs::exists(TORTURE_DEBIAN_PAPI)
                     ? in_a_process([&] { return alone(other.load(), other.version); })
                     : "it is not installed";
      if (!left_out.empty()) {
        left_out = "Debian's PAPI: " + left_out;
        continue;
      }
    }
    for (const int flags : {0, PAPI_OVERFLOW_FORCE_SW})
      for (const bool second_ends_first : {false, true}) {
        const std::string wrong = in_a_process([&] {
          return side_by_side(other.load(), other.version, other.one_layer, flags, second_ends_first);
        });
        ++outcome.tried;
        if (!wrong.empty())
          outcome.failures.push_back(std::string(other.name) + (flags != 0 ? ", overflows of a timer" : "") +
                                     (second_ends_first ? ", which ends first" : "") + ": " + wrong);
      }
  }
  if (!left_out.empty()) outcome.figures.emplace_back("left out", left_out);
  return outcome;
}

}  // namespace substrata::torture
