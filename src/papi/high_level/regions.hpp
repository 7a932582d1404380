// Named regions of a program, measured by thread with the events that PAPI_EVENTS names.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fork_lock.hpp"
#include "base/immortal.hpp"
#include "base/result.hpp"
#include "base/visibility.hpp"
#include "papi/high_level/report.hpp"

namespace substrata {
struct Face;
}

namespace substrata::high_level {

// One per process. Every call may be the first one, from any thread; the library is brought up when it is
// not. Events that do not open here are left out; where PAPI_EVENTS names none that does, the usual processor
// presets are taken, without a PMU the kernel's software events, and in the last resort time alone.
// Thread-safe.
class Regions {
 public:
  SUBSTRATA_PRIVATE_API static Regions& instance();

  // Opens a region in the calling thread; regions nest, also within one of the same name. kRunning while the
  // thread measures with an eventset of the same substrate, as for any second set of it.
  // Brings the library up for that libpapi. kMisc once the process exits.
  SUBSTRATA_PRIVATE_API Status begin(std::string_view region, Face& face);
  // Notes the values within an open region. kMisc when the thread has begun no region, kInvalid when not this
  // one.
  SUBSTRATA_PRIVATE_API Status read(std::string_view region);
  // Closes the innermost region of that name; refusals as read.
  SUBSTRATA_PRIVATE_API Status end(std::string_view region);
  // Stops the calling thread's eventsets until its next begin. kNoEvent when nothing runs.
  SUBSTRATA_PRIVATE_API Status stop();
  // Frees the calling thread's eventsets, before the library forgets the thread.
  SUBSTRATA_PRIVATE_API void leave_thread();
  enum class End { kShutdown, kExit };
  // Writes the report, if any region was ended, and forgets everything. Later regions are planned anew after a
  // shutdown, and refused once the process exits. Other threads may be in any call meanwhile: what they measure then is
  // in no report.
  SUBSTRATA_PRIVATE_API void finish(End why);

  // How the report names the interface's version ("7.3.0.0"); the last one set counts.
  SUBSTRATA_PRIVATE_API void set_interface_version(std::string_view version);

 private:
  struct PlannedSet {
    int component = -1;
    std::vector<uint32_t> codes;
    std::vector<size_t> columns;
  };
  struct Plan {
    std::vector<Column> columns;
    std::vector<PlannedSet> sets;
    std::shared_ptr<MetricPlan> metrics;
    bool multiplex = false;
  };
  struct Thread;
  struct ThisThread;

  friend class Immortal<Regions>;
  Regions() = default;
  Status prepare();
  void make_plan();
  void plan_event(const std::string& spec, Plan* plan, bool asked_for);
  void plan_metrics(std::string_view spec, Plan* plan);
  Thread* own_thread() const noexcept;
  Result<Thread*> join();
  static Status make_sets(Thread* thread);
  static void free_sets(Thread* thread) noexcept;
  static Status start_sets(Thread* thread);
  static void stop_sets(Thread* thread) noexcept;
  static Status take(Thread* thread, bool clock_last);
  static Result<size_t> measure_open(Thread* thread, std::string_view region);
  void forget();

  ForkLock lock_;  // of everything below; a thread's own data has its own lock
  bool planned_ = false;
  bool exiting_ = false;
  bool exit_registered_ = false;
  bool verbose_ = false;
  bool only_sums_ = false;
  std::atomic<uint64_t> generation_{1};  // raised by finish(): threads then begin anew
  pid_t pid_ = 0;
  Destination to_;
  std::shared_ptr<const Plan> plan_;
  std::vector<std::shared_ptr<Thread>> threads_;
  std::string interface_version_ = "7.3.0.0";
};

}  // namespace substrata::high_level
