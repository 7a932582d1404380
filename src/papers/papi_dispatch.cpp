// papi-dispatch: what the table of function pointers adds to a call (Dongarra et al., section 2).
#include <substrata/substrate.h>

#include <chrono>
#include <cstdio>
#include <limits>
#include <ostream>
#include <stdexcept>

#include "papers/reproduction.hpp"
#include "sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

// A substrate as small as one can be, published as every substrate is.
std::int64_t counter = 0;
std::uint32_t count(Device*) noexcept { return 1; }
Status at(Device*, std::uint32_t, Event* out) noexcept {
  out->name = "counter";
  return kSuccess;
}
Status create(Device*, Thread*, Set** out) noexcept {
  *out = nullptr;
  return kSuccess;
}
void destroy(Set*) noexcept {}
Status program(Set*, const std::uint32_t*, std::uint32_t) noexcept { return kSuccess; }
Status nothing(Set*) noexcept { return kSuccess; }
__attribute__((noinline)) Status read(Set*, std::int64_t* values) noexcept {
  values[0] = ++counter;
  return kSuccess;
}
constexpr SubstrateTable kTable{.name = "dispatch",
                                .event_count = count,
                                .event_at = at,
                                .create_set = create,
                                .destroy_set = destroy,
                                .program = program,
                                .start = nothing,
                                .stop = nothing,
                                .read = read,
                                .reset = nothing};

constexpr int kCalls = 1000;    // in one timed batch
constexpr int kBatches = 3000;  // of each kind, taken in turn so that both see the same machine
constexpr double kNegligibleNs = 2;
constexpr double kNegligibleShare = 0.01;

// Nanoseconds a call of the shortest of the batches: what others do to the machine only makes batches longer.
class Shortest {
 public:
  template <class Call>
  void batch(Call&& call) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    if (taken.count() / kCalls < ns_) ns_ = taken.count() / kCalls;
  }
  double ns() const { return ns_; }

 private:
  double ns_ = std::numeric_limits<double>::max();
};

// Shortest PAPI_read of a running set with this one event; a negative number when it cannot be counted.
double read_ns(const char* event) {
  int set = PAPI_NULL;
  double ns = -1;
  if (PAPI_create_eventset(&set) != PAPI_OK) return ns;
  if (PAPI_add_named_event(set, event) == PAPI_OK && PAPI_start(set) == PAPI_OK) {
    Shortest shortest;
    long long value = 0;
    int status = PAPI_OK;
    for (int i = 0; i < kBatches / 10; ++i) shortest.batch([&] { status |= PAPI_read(set, &value); });
    if (status == PAPI_OK) ns = shortest.ns();
    PAPI_stop(set, &value);
  }
  PAPI_cleanup_eventset(set);
  PAPI_destroy_eventset(&set);
  return ns;
}

std::vector<Observation> run_dispatch(const Setting& setting) {
  start_library();
  Host host;
  SubstrateTable table;
  if (publish(kTable, &host, &table) != 0) throw std::runtime_error("the substrate cannot be published");
  const SubstrateTable* through = &table;
  __asm__ volatile("" : "+r"(through));  // else the compiler sees which function it is

  Shortest direct;
  Shortest dispatched;
  std::int64_t value = 0;
  for (int i = 0; i < kBatches; ++i) {
    direct.batch([&] {
      (void)read(nullptr, &value);
      __asm__ volatile("" ::: "memory");
    });
    dispatched.batch([&] {
      (void)through->read(nullptr, &value);
      __asm__ volatile("" ::: "memory");
    });
  }
  const double added = dispatched.ns() - direct.ns();
  std::vector<Observation> claims;
  claims.push_back({"the extra level of indirection adds a negligible overhead to the call time",
                    "negligible (no figure given; taken here as below 2 ns)",
                    digits(added, 2) + " ns: " + digits(dispatched.ns(), 2) + " ns through the table, " +
                        digits(direct.ns(), 2) + " ns directly",
                    added < kNegligibleNs,
                    "shortest of " + std::to_string(kBatches) + " batches of " + std::to_string(kCalls) +
                        " calls each, taken in turn in one process"});
  // The two differ by less than the batches of one kind do.
  const Observation::Kind kind = added < 0 ? Observation::Kind::kUnresolved : Observation::Kind::kTested;
  claims.back().kind = kind;

  // Hardware counters are what the paper read; where none opens, the kernel's own counters of the processor.
  const char* counted = nullptr;
  double whole = -1;
  for (const char* event : {"PAPI_TOT_CYC", "perf::TASK-CLOCK", "net:::lo:rx:packets"}) {
    whole = read_ns(event);
    counted = event;
    if (whole > 0) break;
  }
  Observation share{"this holds even in time-critical routines such as reading counter values",
                    "negligible (no figure given; taken here as below 1 % of the call)",
                    {},
                    false,
                    {},
                    kind};
  if (whole > 0) {
    share.ours = digits(100 * added / whole, 3) + " % of a PAPI_read: " + digits(added, 2) + " ns of " +
                 digits(whole, 1) + " ns";
    share.holds = added / whole < kNegligibleShare;
    share.note = std::string("read of ") + counted;
  } else {
    share.ours = "not measured";
    share.note = "no counter of the processor or the network opens here; `substrata doctor` shows why";
  }
  const double least = read_ns("example:::constant");
  if (least > 0)
    share.note += "; a PAPI_read that needs no system call (example:::constant) takes " + digits(least, 1) +
                  " ns in all";
  claims.push_back(share);

  setting.write("papi-dispatch.csv", [&](std::ostream& file) {
    file << "what,ns\ndirect call," << direct.ns() << "\nthrough the table," << dispatched.ns() << "\n";
    if (whole > 0) file << "PAPI_read of " << counted << "," << whole << "\n";
    if (least > 0) file << "PAPI_read of example:::constant," << least << "\n";
  });
  return claims;
}

}  // namespace

extern const Reproduction papi_dispatch{
    "papi-dispatch", "Dongarra et al., section 2: calls through the table of a substrate", run_dispatch};

}  // namespace substrata::papers
