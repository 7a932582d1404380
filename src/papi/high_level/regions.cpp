// Regions: events chosen once for the process, eventsets and passages kept by thread.
#include "papi/high_level/regions.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/parse.hpp"
#include "base/thread_end.hpp"
#include "core/eventset/event_set.hpp"
#include "core/eventset/event_set_object.hpp"
#include "core/eventset/library.hpp"
#include "core/eventset/measure.hpp"
#include "core/eventset/threads.hpp"
#include "core/system/system_info.hpp"
#include "core/system/timers.hpp"
#include "papi/high_level/metric_columns.hpp"
#include "papi/high_level/region_file.hpp"
#include "substrata/feed.h"

namespace substrata::high_level {

struct Regions::Thread {
  ForkLock lock;
  uint64_t generation = 0;
  uint64_t forks = 0;
  uint64_t epoch = 0;  // of the library, when the sets were made
  std::shared_ptr<const Plan> plan;
  std::vector<int> handles;
  bool running = false;
  std::vector<int64_t> raw;  // values of one set
  std::vector<int64_t> now;  // the quantities of Passes as absolute numbers
  Passes passes;
  struct Open {
    uint32_t region;
    int64_t pass;
    std::vector<int64_t> began;  // what `now` was
  };
  std::vector<Open> open;  // the first `depth` ones, outermost first; the others keep their memory
  size_t depth = 0;
  std::vector<uint16_t> phases;  // of the feed, by region
  uint16_t outer_phase = 0;      // before the outermost region
};

namespace {

// PAPI_HL_THREAD_MULTIPLE, when set to anything but 1, shows what all threads measured as one thread's.
bool threads_apart() {
  const char* const setting = environment("PAPI_HL_THREAD_MULTIPLE");
  int number = 0;
  return setting == nullptr || (leading_number(setting, &number) != 0 && number == 1);
}

// SUBSTRATA_HL_SUMMARY: a summary beside the report, or, as "only", instead of it.
bool summary_only() {
  const char* const setting = environment("SUBSTRATA_HL_SUMMARY");
  return setting != nullptr && std::string_view(setting) == "only";
}

}  // namespace

// What the calling thread measures. Its eventsets are stopped when it ends; what it measured stays with the
// process.
struct Regions::ThisThread {
  static inline constinit thread_local std::shared_ptr<Thread>* measured
      __attribute__((tls_model("initial-exec"))) = nullptr;

  static void ended() noexcept {
    const std::unique_ptr<std::shared_ptr<Thread>> mine(std::exchange(measured, nullptr));
    if (mine == nullptr) return;
    const std::lock_guard guard((*mine)->lock);
    free_sets(mine->get());
  }
  static inline constinit thread_local AtThreadEnd duty __attribute__((tls_model("initial-exec"))) = {ended};
};

Regions& Regions::instance() {
  static Immortal<Regions> regions;
  return *regions;
}

void Regions::set_interface_version(std::string_view version) {
  const std::lock_guard guard(lock_);
  interface_version_ = version;
}

// Adds an event to the plan if it opens here beside the ones planned before.
void Regions::plan_event(const std::string& spec, Plan* plan, bool asked_for) {
  std::string name = spec;
  bool instant = false;
  if (const size_t equals = spec.rfind('=');
      equals != std::string::npos && spec.substr(equals) == "=instant") {
    instant = true;
    name = spec.substr(0, equals);
  } else if (equals != std::string::npos && spec.substr(equals) == "=delta") {
    name = spec.substr(0, equals);
  }
  Catalogue& catalogue = Library::instance().catalogue();
  const auto drop = [&](const Status& why) {
    if (verbose_ && asked_for)
      std::printf("PAPI-HL Warning: %s is left out: %s\n", name.c_str(),
                  why.note != nullptr ? why.note : "it does not open here");
  };
  const Result<uint32_t> code = catalogue.find(name);
  if (!code) return drop(code.status());
  const Result<int> number = catalogue.component_of(*code);
  if (!number) return drop(number.status());
  if (!instant) {
    const Result<ValueKind> kind = catalogue.value_kind(*code);
    if (!kind) return drop(kind.status());
    instant = *kind == ValueKind::kGauge;
  }
  for (const Column& column : plan->columns)
    if (column.name == name) return;
  PlannedSet* place = nullptr;
  for (PlannedSet& set : plan->sets)
    if (set.component == *number) place = &set;
  // Tried for real, in a set with those that are planned already (PA-23).
  const Result<int> trial = create_event_set();
  if (!trial) return drop(trial.status());
  Status status = kSuccess;
  if (plan->multiplex && *number == 0) {
    status = assign_component(*trial, 0);
    if (status.ok()) status = set_multiplex(*trial, 0, false);
  }
  if (place != nullptr)
    for (const uint32_t planned : place->codes)
      if (status.ok()) status = add_event(*trial, planned);
  if (status.ok()) status = add_event(*trial, *code);
  if (!status.ok()) drop(status);
  cleanup_event_set(*trial);
  destroy_event_set(*trial);
  if (!status.ok()) return;
  if (place == nullptr) {
    plan->sets.push_back({});
    place = &plan->sets.back();
    place->component = *number;
  }
  place->codes.push_back(*code);
  place->columns.push_back(plan->columns.size());
  Component* const component = Library::instance().registry().at(*number);
  plan->columns.push_back({name, component != nullptr ? component->name() : "", instant});
}

// Adds the events that a group of metrics needs, and the metrics whose events are all there then.
void Regions::plan_metrics(std::string_view spec, Plan* plan) {
  if (plan->metrics == nullptr) plan->metrics = std::make_shared<MetricPlan>();
  std::vector<std::string> refused;
  for (metrics::Bound& bound : bind_spec(spec, plan->metrics.get(), &refused)) {
    MetricColumn metric;
    bool whole = true;
    for (const metrics::Bound::Term& term : bound.terms) {
      std::vector<size_t>& columns = metric.columns.emplace_back();
      for (const std::string& event : term.events) {
        plan_event(event, plan, true);
        const auto column = std::find_if(plan->columns.begin(), plan->columns.end(),
                                         [&](const Column& other) { return other.name == event; });
        whole = whole && column != plan->columns.end();
        columns.push_back(static_cast<size_t>(column - plan->columns.begin()));
      }
    }
    metric.bound = std::move(bound);
    const std::string name = metric.name();
    const bool known = std::any_of(plan->metrics->metrics.begin(), plan->metrics->metrics.end(),
                                   [&](const MetricColumn& other) { return other.name() == name; });
    if (whole && !known) plan->metrics->metrics.push_back(std::move(metric));
  }
  if (!verbose_) return;
  for (const std::string& one : refused) std::printf("PAPI-HL Warning: %s\n", one.c_str());
}

void Regions::make_plan() {
  auto plan = std::make_shared<Plan>();
  plan->multiplex = environment("PAPI_MULTIPLEX") != nullptr;
  const char* const list = environment("PAPI_EVENTS");
  for (std::string spec : split_list(list != nullptr ? list : "", ",")) {
    const size_t begin = spec.find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    spec = spec.substr(begin, spec.find_last_not_of(" \t") - begin + 1);
    if (const std::string_view metric = metric_spec(spec); !metric.empty())
      plan_metrics(metric, plan.get());
    else
      plan_event(spec, plan.get(), true);
  }
  const char* const presets[] = {"PAPI_TOT_CYC", "PAPI_TOT_INS", "PAPI_FP_INS", "PAPI_FP_OPS"};
  if (plan->columns.empty())
    for (const char* name : presets) plan_event(name, plan.get(), false);
  const char* const software[] = {"perf::TASK-CLOCK", "perf::PAGE-FAULTS", "perf::CONTEXT-SWITCHES"};
  if (plan->columns.empty())
    for (const char* name : software) plan_event(name, plan.get(), false);
  if (verbose_) {
    std::printf("PAPI-HL Info: Using the following events:\n");
    for (const Column& column : plan->columns) std::printf("  %s\n", column.name.c_str());
    std::fflush(stdout);
  }
  plan_ = std::move(plan);
}

void Regions::forget() {
  threads_.clear();
  plan_.reset();
  planned_ = false;
  ++generation_;
}

// Chooses the events and the report's place. Under lock_, with the library up.
Status Regions::prepare() {
  if (pid_ != getpid()) {
    // In a forked child: the parent reports what the parent measured.
    if (pid_ != 0) forget();
    pid_ = getpid();
    exiting_ = false;
  }
  if (exiting_) return refuse(Code::kMisc, "regions have ended, because the process exits");
  if (planned_) return kSuccess;
  // As in PAPI, regions make threads known: PAPI_thread_id answers from then on.
  if (!thread_id_function_set())
    if (const Status known = set_thread_id_function(nullptr); !known.ok()) return known;
  verbose_ = environment("PAPI_HL_VERBOSE") != nullptr;
  only_sums_ = summary_only();
  if (verbose_) std::printf("PAPI-HL Info: PAPI has been initiated!\n");
  make_plan();
  to_ = destination();
  if (const Status status = put_old_reports_aside(to_.parent); !status.ok() && verbose_)
    std::printf("PAPI-HL Warning: %s\n", status.note);
  if (!exit_registered_) {
    exit_registered_ = true;
    std::atexit([] {
      try {
        Regions::instance().finish(End::kExit);
      } catch (...) {
        log_line(kLogApi, "the high-level report could not be written");
      }
    });
  }
  planned_ = true;
  return kSuccess;
}

// The calling thread's, if it has begun a region in this life of the library and of the process.
Regions::Thread* Regions::own_thread() const noexcept {
  const std::shared_ptr<Thread>* const mine = ThisThread::measured;
  if (mine == nullptr || (*mine)->forks != fork_count() ||
      (*mine)->generation != generation_.load(std::memory_order_acquire))
    return nullptr;
  return mine->get();
}

// Under one lock from the plan to the thread that uses it: another thread may finish the regions at any moment.
Result<Regions::Thread*> Regions::join() {
  std::shared_ptr<Thread>*& mine = ThisThread::measured;
  const std::lock_guard guard(lock_);
  if (const Status ready = prepare(); !ready.ok()) return ready;
  // Known to the library before the end of the regions is noted, so that their end comes first.
  if (const Status known = register_thread(); !known.ok()) return known;
  if (Thread* const known = own_thread(); known != nullptr) return known;
  delete std::exchange(mine, nullptr);
  auto thread = std::make_unique<std::shared_ptr<Thread>>(std::make_shared<Thread>());
  (*thread)->generation = generation_;
  (*thread)->forks = fork_count();
  (*thread)->plan = plan_;
  (*thread)->passes = Passes(plan_->columns.size(), only_sums_);
  (*thread)->raw.resize(plan_->columns.size());
  (*thread)->now.resize((*thread)->passes.quantities());
  if (!at_thread_end(ThisThread::duty)) throw std::bad_alloc();
  threads_.push_back(*thread);
  mine = thread.release();
  return mine->get();
}

// Handles of an earlier life of the library may belong to other eventsets now.
void Regions::free_sets(Thread* thread) noexcept {
  stop_sets(thread);
  if (thread->epoch == Library::instance().epoch()) {
    for (const int handle : thread->handles) {
      cleanup_event_set(handle);
      destroy_event_set(handle);
    }
  }
  thread->handles.clear();
}

void Regions::stop_sets(Thread* thread) noexcept {
  if (thread->running && thread->epoch == Library::instance().epoch())
    for (const int handle : thread->handles) stop_set(handle, nullptr);
  thread->running = false;
}

Status Regions::make_sets(Thread* thread) {
  thread->handles.clear();
  thread->running = false;
  thread->epoch = Library::instance().epoch();
  Status status = kSuccess;
  for (const PlannedSet& planned : thread->plan->sets) {
    const Result<int> handle = create_event_set();
    if (!handle) {
      status = handle.status();
      break;
    }
    thread->handles.push_back(*handle);
    if (thread->plan->multiplex && planned.component == 0) {
      status = assign_component(*handle, 0);
      if (status.ok()) status = set_multiplex(*handle, 0, false);
    }
    for (const uint32_t code : planned.codes)
      if (status.ok()) status = add_event(*handle, code);
    if (!status.ok()) break;
  }
  if (!status.ok()) free_sets(thread);
  return status;
}

// The sets are kept where they do not start: another set of the thread may run for long, and each region asks.
Status Regions::start_sets(Thread* thread) {
  const bool made =
      thread->epoch == Library::instance().epoch() && thread->handles.size() == thread->plan->sets.size();
  if (thread->running && made) return kSuccess;
  if (!made) {
    if (const Status status = make_sets(thread); !status.ok()) return status;
  }
  for (size_t i = 0; i < thread->handles.size(); ++i) {
    const Status status = start_set(thread->handles[i]);
    if (status.ok()) continue;
    while (i-- > 0) stop_set(thread->handles[i], nullptr);
    return status;
  }
  thread->running = true;
  return kSuccess;
}

Status Regions::take(Thread* thread, bool clock_last) {
  int64_t* const now = thread->now.data();
  const auto clock = [now] {
    now[1] = real_ns();
    now[0] = real_cycles();
  };
  if (!clock_last) clock();
  for (size_t s = 0; s < thread->handles.size(); ++s) {
    const PlannedSet& planned = thread->plan->sets[s];
    if (const Status status = read_set(thread->handles[s], thread->raw.data()); !status.ok()) return status;
    for (size_t i = 0; i < planned.columns.size(); ++i)
      now[Passes::kClocks + planned.columns[i]] = thread->raw[i];
  }
  if (clock_last) clock();
  return kSuccess;
}

Status Regions::begin(std::string_view region, Face& face) {
  Thread* thread = own_thread();
  if (thread == nullptr || !Library::instance().initialised(face) ||
      thread->epoch != Library::instance().epoch()) {
    if (const Status up = Library::instance().initialise(face); !up.ok()) return up;
    const Result<Thread*> joined = join();
    if (!joined) return joined.status();
    thread = *joined;
  }
  const std::lock_guard guard(thread->lock);
  if (const Status started = start_sets(thread); !started.ok()) return started;
  const uint32_t number = thread->passes.region(region);
  for (size_t next = thread->phases.size(); next <= number; ++next)
    thread->phases.push_back(substrata_region(thread->passes.name(static_cast<uint32_t>(next)).c_str()));
  if (thread->open.size() == thread->depth) thread->open.push_back({0, 0, thread->now});
  if (const Status taken = take(thread, true); !taken.ok()) return taken;
  Thread::Open& open = thread->open[thread->depth];
  open.region = number;
  open.pass = thread->passes.begin(thread->depth == 0 ? -1 : thread->open[thread->depth - 1].pass);
  open.began = thread->now;
  const uint16_t old = substrata_set_phase(thread->phases[number]);
  if (thread->depth++ == 0) thread->outer_phase = old;
  write_region_begin(region);
  return kSuccess;
}

// The innermost open pass through a region, with what it measured so far in `now`; kInvalid where none is open.
Result<size_t> Regions::measure_open(Thread* thread, std::string_view region) {
  for (size_t i = thread->depth; i-- > 0;) {
    const Thread::Open& open = thread->open[i];
    if (thread->passes.name(open.region) != region) continue;
    if (const Status taken = take(thread, false); !taken.ok()) return taken;
    for (size_t q = 0; q < thread->now.size(); ++q)
      if (q < Passes::kClocks || !thread->plan->columns[q - Passes::kClocks].instant)
        thread->now[q] -= open.began[q];
    return i;
  }
  return refuse(Code::kInvalid, "region '%.*s' is not open in this thread", static_cast<int>(region.size()),
                region.data());
}

Status Regions::read(std::string_view region) {
  Thread* const thread = own_thread();
  if (thread == nullptr) return refuse(Code::kMisc, "no region was begun in this thread");
  const std::lock_guard guard(thread->lock);
  const Result<size_t> place = measure_open(thread, region);
  if (!place) return place.status();
  thread->passes.read(thread->open[*place].pass, thread->now.data());
  return kSuccess;
}

Status Regions::end(std::string_view region) {
  Thread* const thread = own_thread();
  if (thread == nullptr) return refuse(Code::kMisc, "no region was begun in this thread");
  const std::lock_guard guard(thread->lock);
  const Result<size_t> place = measure_open(thread, region);
  if (!place) return place.status();
  const auto ended = thread->open.begin() + static_cast<std::ptrdiff_t>(*place);
  thread->passes.end(ended->pass, ended->region, thread->now.data());
  write_region_end(region);
  std::rotate(ended, ended + 1, thread->open.begin() + static_cast<std::ptrdiff_t>(thread->depth));
  --thread->depth;
  substrata_set_phase(thread->depth == 0 ? thread->outer_phase
                                         : thread->phases[thread->open[thread->depth - 1].region]);
  return kSuccess;
}

Status Regions::stop() {
  Thread* const thread = own_thread();
  if (thread == nullptr) return refuse(Code::kNoEvent, "no region was begun in this thread");
  const std::lock_guard guard(thread->lock);
  if (!thread->running) return refuse(Code::kNoEvent, "nothing is measured in this thread");
  // Open regions cannot end without their eventsets: they are given up.
  if (thread->depth != 0) substrata_set_phase(thread->outer_phase);
  for (; thread->depth != 0; --thread->depth)
    write_region_end(thread->passes.name(thread->open[thread->depth - 1].region));
  stop_sets(thread);
  return kSuccess;
}

void Regions::leave_thread() {
  Thread* const thread = own_thread();
  if (thread == nullptr) return;
  const std::lock_guard guard(thread->lock);
  free_sets(thread);
}

void Regions::finish(End why) {
  const std::lock_guard guard(lock_);
  if (pid_ != getpid()) return;
  if (why == End::kExit) exiting_ = true;
  if (!planned_) return;
  ProcessReport report;
  report.interface_version = interface_version_;
  report.columns = plan_->columns;
  report.metrics = plan_->metrics;
  report.as_one_thread = !threads_apart();
  bool any = false;
  for (const std::shared_ptr<Thread>& thread : threads_) {
    const std::lock_guard thread_guard(thread->lock);
    any = any || thread->passes.any_ended();
    report.threads.push_back(
        std::exchange(thread->passes, Passes(report.columns.size(), thread->passes.only_sums())));
    thread->phases.clear();
    thread->depth = 0;
  }
  forget();
  if (!any) return;
  if (const HardwareInfo* const machine = hardware_info()) {
    report.processor = machine->model_name;
    report.max_mhz = machine->max_mhz;
    report.min_mhz = machine->min_mhz;
  }
  const auto detailed = [&report](const TextSink& sink) { write_detailed_json(report, sink); };
  const auto summary = [&report](const TextSink& sink) { write_summary_json(report, sink); };
  Status status = kSuccess;
  if (!only_sums_) status = write_report(to_.parent, "papi_hl_output", to_.file, detailed);
  // Beside it, not in it: readers take every file there for a process's report.
  if (status.ok() && environment("SUBSTRATA_HL_SUMMARY") != nullptr)
    status = write_report(to_.parent, "papi_hl_summary", to_.file, summary);
  if (!status.ok()) log_line(kLogApi, "%s", status.note);
  if (!status.ok() && verbose_) std::printf("PAPI-HL Warning: %s\n", status.note);
  if (environment("PAPI_REPORT") != nullptr) {
    const auto print = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
    std::printf("\n\nPAPI-HL Output:\n");
    if (only_sums_)
      summary(print);
    else
      detailed(print);
    std::printf("\n");
    std::fflush(stdout);
  }
}

}  // namespace substrata::high_level
