// Random calls of the C interface, right and wrong ones, by several threads, each compared with a small model of what
// PAPI's documentation says of eventsets: what it answers, and what state it leaves.
#include <papi.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "torture.hpp"

namespace substrata::torture {
namespace {

constexpr const char* kEvents[] = {"example:::zero", "example:::constant", "example:::reads",
                                   "example:::ticks", "sysdetect:::nothing"};
constexpr int kKnownEvents = 4;
constexpr int kNoSuchEvent = 0x4fffffff;

struct ModelSet {
  int handle = PAPI_NULL;
  bool bound = false;  // to the component of the example
  bool running = false;
  std::vector<int> events;
};

// One thread's eventsets and what it expects of them.
class Model {
 public:
  Model(std::uint64_t seed, bool alone) : random_(seed), alone_(alone) {
    for (int i = 0; i < kKnownEvents; ++i) PAPI_event_name_to_code(kEvents[i], &codes_[i]);
    component_ = PAPI_get_component_index("example");
  }
  // One random call. "" or what was wrong with its answer.
  std::string step();
  // Ends what is left.
  std::string finish();
  std::int64_t refused() const { return refused_; }

 private:
  unsigned dice(unsigned sides) { return static_cast<unsigned>(random_() % sides); }
  std::string expect(const char* what, int expected, int found) {
    if (expected < 0) ++refused_;
    if (expected == found) return {};
    return std::string(what) + " gives " + std::to_string(found) + ", the model " + std::to_string(expected);
  }
  // What calls that need a running library and an eventset answer without it; PAPI_OK with it.
  int absent() const {
    if (!up_) return PAPI_ENOINIT;
    return set_ == nullptr ? PAPI_ENOEVST : PAPI_OK;
  }
  // The same, and the set must stand still.
  int changeable() const {
    if (const int missing = absent(); missing != PAPI_OK) return missing;
    return set_->running ? PAPI_EISRUN : PAPI_OK;
  }
  // The same, and the set must have a component.
  int measurable(const void* values) const {
    if (const int missing = absent(); missing != PAPI_OK) return missing;
    if (!set_->bound) return PAPI_ENOCMP;
    return values == nullptr ? PAPI_EINVAL : PAPI_OK;
  }
  bool another_runs() const {
    return std::any_of(sets_.begin(), sets_.end(),
                       [&](const ModelSet& one) { return &one != set_ && one.running; });
  }
  int any_code() {
    const unsigned which = dice(kKnownEvents + 2);
    return which < kKnownEvents ? codes_[which] : which == kKnownEvents ? 0 : kNoSuchEvent;
  }
  bool holds(int code) const {
    return std::find(set_->events.begin(), set_->events.end(), code) != set_->events.end();
  }
  int added(int code) {
    if (const int wrong = changeable(); wrong != PAPI_OK) return wrong;
    if (code == 0) return PAPI_EINVAL;
    if (code == kNoSuchEvent) return PAPI_ENOCMP;
    if (holds(code)) return PAPI_ECNFLCT;
    set_->events.push_back(code);
    set_->bound = true;
    return PAPI_OK;
  }
  std::string create();
  std::string start_or_stop();
  std::string change();
  std::string measure();
  std::string ask();
  std::string take_apart();
  std::string up_and_down();

  std::mt19937_64 random_;
  bool alone_;
  bool up_ = true;
  int component_ = -1;
  int codes_[kKnownEvents] = {};
  std::vector<ModelSet> sets_ = std::vector<ModelSet>(4);
  ModelSet* set_ = nullptr;  // that of this step; null: a handle that is none
  int handle_ = PAPI_NULL;
  std::int64_t refused_ = 0;
};

std::string Model::create() {
  ModelSet& place = sets_[dice(4)];
  if (place.handle != PAPI_NULL) {
    int used = place.handle;
    return expect("PAPI_create_eventset of a handle in use", up_ ? PAPI_EINVAL : PAPI_ENOINIT,
                  PAPI_create_eventset(&used));
  }
  if (dice(50) == 0)
    return expect("PAPI_create_eventset(NULL)", up_ ? PAPI_EINVAL : PAPI_ENOINIT,
                  PAPI_create_eventset(nullptr));
  const int found = PAPI_create_eventset(&place.handle);
  std::string wrong = expect("PAPI_create_eventset", up_ ? PAPI_OK : PAPI_ENOINIT, found);
  if (wrong.empty() && up_ && place.handle == PAPI_NULL) wrong = "PAPI_create_eventset leaves no handle";
  return wrong;
}

std::string Model::start_or_stop() {
  if (dice(2) == 0) {
    int expected = absent();
    if (expected == PAPI_OK && !set_->bound) expected = PAPI_ENOCMP;
    if (expected == PAPI_OK && set_->running) expected = PAPI_EISRUN;
    if (expected == PAPI_OK && set_->events.empty()) expected = PAPI_EINVAL;
    if (expected == PAPI_OK && another_runs()) expected = PAPI_EISRUN;
    if (expected == PAPI_OK) set_->running = true;
    return expect("PAPI_start", expected, PAPI_start(handle_));
  }
  long long values[8];
  int expected = absent();
  if (expected == PAPI_OK && !set_->bound) expected = PAPI_ENOCMP;
  if (expected == PAPI_OK && !set_->running) expected = PAPI_ENOTRUN;
  if (expected == PAPI_OK) set_->running = false;
  return expect("PAPI_stop", expected, PAPI_stop(handle_, dice(4) == 0 ? nullptr : values));
}

std::string Model::change() {
  const int code = any_code();
  switch (dice(5)) {
    case 0: {
      const unsigned which = dice(kKnownEvents + 1);
      int expected = changeable();
      if (expected == PAPI_OK && which == kKnownEvents) expected = PAPI_ENOEVNT;
      if (expected == PAPI_OK) expected = added(codes_[which]);
      return expect("PAPI_add_named_event", expected, PAPI_add_named_event(handle_, kEvents[which]));
    }
    case 1:
    case 2: {
      const int expected = added(code);
      return expect("PAPI_add_event", expected, PAPI_add_event(handle_, code));
    }
    case 3: {
      int expected = changeable();
      if (expected == PAPI_OK && !holds(code)) expected = PAPI_EINVAL;
      if (expected == PAPI_OK) std::erase(set_->events, code);
      return expect("PAPI_remove_event", expected, PAPI_remove_event(handle_, code));
    }
    default: {
      const bool good = dice(2) == 0;
      int expected = changeable();
      if (expected == PAPI_OK && !good) expected = PAPI_ENOCMP;
      if ((expected == PAPI_OK && set_->bound) || expected == PAPI_EISRUN) expected = PAPI_EINVAL;
      if (expected == PAPI_OK) set_->bound = true;
      return expect("PAPI_assign_eventset_component", expected,
                    PAPI_assign_eventset_component(handle_, good ? component_ : 9999));
    }
  }
}

std::string Model::measure() {
  long long values[8] = {}, cycles = 0;
  long long* const place = dice(20) == 0 ? nullptr : values;
  const int expected = measurable(place);
  switch (dice(5)) {
    case 0:
    case 1: {
      std::string wrong = expect("PAPI_read", expected, PAPI_read(handle_, place));
      if (wrong.empty() && expected == PAPI_OK && set_->running)
        for (size_t i = 0; i < set_->events.size(); ++i)
          if (set_->events[i] == codes_[1] && values[i] != 42)
            wrong = "example:::constant is " + std::to_string(values[i]);
      return wrong;
    }
    case 2:
      return expect("PAPI_read_ts", expected, PAPI_read_ts(handle_, place, &cycles));
    case 3:
      return expect("PAPI_accum", expected, PAPI_accum(handle_, place));
    default:
      if (dice(2) == 0) return expect("PAPI_reset", measurable(values), PAPI_reset(handle_));
      return expect("PAPI_write", expected, PAPI_write(handle_, place));
  }
}

std::string Model::ask() {
  const int missing = absent();
  switch (dice(4)) {
    case 0: {
      int state = -1;
      std::string wrong = expect("PAPI_state", missing, PAPI_state(handle_, &state));
      if (wrong.empty() && missing == PAPI_OK)
        wrong = expect("the state", set_->running ? PAPI_RUNNING : PAPI_STOPPED, state);
      return wrong;
    }
    case 1:
      return expect("PAPI_num_events", missing != PAPI_OK ? missing : static_cast<int>(set_->events.size()),
                    PAPI_num_events(handle_));
    case 2: {
      int codes[8] = {}, number = 8;
      std::string wrong = expect("PAPI_list_events", missing, PAPI_list_events(handle_, codes, &number));
      if (wrong.empty() && missing == PAPI_OK && set_->events != std::vector<int>(codes, codes + number))
        wrong = "PAPI_list_events lists other events than those added";
      return wrong;
    }
    default: {
      int expected = missing;
      if (expected == PAPI_OK) expected = set_->bound ? component_ : PAPI_ENOCMP;
      return expect("PAPI_get_eventset_component", expected, PAPI_get_eventset_component(handle_));
    }
  }
}

std::string Model::take_apart() {
  if (dice(2) == 0) {
    const int expected = changeable();
    if (expected == PAPI_OK) {
      set_->events.clear();
      set_->bound = false;
    }
    return expect("PAPI_cleanup_eventset", expected, PAPI_cleanup_eventset(handle_));
  }
  int expected = changeable();
  if (expected == PAPI_ENOINIT) expected = PAPI_ENOEVST;  // there can be no such set
  if (expected == PAPI_OK && !set_->events.empty()) expected = PAPI_EINVAL;
  std::string wrong = expect("PAPI_destroy_eventset", expected, PAPI_destroy_eventset(&handle_));
  if (wrong.empty() && expected == PAPI_OK) {
    if (handle_ != PAPI_NULL) wrong = "PAPI_destroy_eventset leaves the handle";
    *set_ = ModelSet{};
  }
  return wrong;
}

std::string Model::up_and_down() {
  if (up_) {
    PAPI_shutdown();
    sets_.assign(4, ModelSet{});
    up_ = false;
    return {};
  }
  up_ = true;
  std::string wrong = expect("PAPI_library_init", PAPI_VER_CURRENT, PAPI_library_init(PAPI_VER_CURRENT));
  for (int i = 0; i < kKnownEvents; ++i) PAPI_event_name_to_code(kEvents[i], &codes_[i]);
  return wrong;
}

std::string Model::step() {
  if (alone_ && dice(up_ ? 2000 : 10) == 0) return up_and_down();
  set_ = dice(20) == 0 ? nullptr : &sets_[dice(4)];
  if (set_ != nullptr && set_->handle == PAPI_NULL) set_ = nullptr;
  handle_ = set_ != nullptr ? set_->handle : dice(2) == 0 ? PAPI_NULL : 0x7ffffff0;
  switch (dice(12)) {
    case 0:
      return create();
    case 1:
    case 2:
    case 3:
      return start_or_stop();
    case 4:
    case 5:
    case 6:
      return change();
    case 7:
      return take_apart();
    case 8:
      return ask();
    default:
      return measure();
  }
}

std::string Model::finish() {
  std::string wrong;
  if (!up_) wrong = up_and_down();
  for (ModelSet& one : sets_) {
    if (one.handle == PAPI_NULL || !wrong.empty()) continue;
    if (one.running) wrong = expect("the last PAPI_stop", PAPI_OK, PAPI_stop(one.handle, nullptr));
    if (wrong.empty())
      wrong = expect("the last PAPI_cleanup_eventset", PAPI_OK, PAPI_cleanup_eventset(one.handle));
    if (wrong.empty())
      wrong = expect("the last PAPI_destroy_eventset", PAPI_OK, PAPI_destroy_eventset(&one.handle));
  }
  return wrong;
}

// All calls of so many threads; the first wrong answer ends its thread.
std::string random_calls(std::uint64_t seed, unsigned threads, std::int64_t calls) {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return "PAPI_library_init failed";
  PAPI_thread_init(reinterpret_cast<unsigned long (*)()>(pthread_self));
  std::mutex lock;
  std::string wrong;
  std::atomic<std::int64_t> refused{0};
  const auto one = [&](unsigned number) {
    Model model(seed * 1000 + number, threads == 1);
    std::string mine;
    std::int64_t i = 0;
    for (; i < calls && mine.empty(); ++i) mine = model.step();
    if (!mine.empty()) mine += " (thread " + std::to_string(number) + ", call " + std::to_string(i) + ")";
    if (mine.empty()) mine = model.finish();
    refused += model.refused();
    const std::lock_guard guard(lock);
    if (wrong.empty()) wrong = mine;
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i) others.emplace_back(one, i);
  one(0);
  for (std::thread& other : others) other.join();
  PAPI_shutdown();
  return wrong.empty() ? "=" + std::to_string(refused.load()) : wrong;
}

}  // namespace

Outcome states_of_eventsets(const Options& options) {
  Outcome outcome;
  const std::int64_t calls = options.iterations > 0 ? options.iterations : 400'000;
  std::int64_t refused = 0;
  for (const unsigned threads : {1u, 4u}) {
    const std::string text =
        in_a_process([&] { return random_calls(options.seed, threads, calls / 2 / threads); },
                     100 + static_cast<int>(calls / 200'000));
    outcome.tried += calls / 2;
    if (text.empty() || text[0] != '=')
      outcome.failures.push_back(std::to_string(threads) + " threads, seed " + std::to_string(options.seed) +
                                 ": " + text);
    else
      refused += std::atoll(text.c_str() + 1);
  }
  outcome.figures.emplace_back("refusals expected", std::to_string(refused));
  return outcome;
}

}  // namespace substrata::torture
