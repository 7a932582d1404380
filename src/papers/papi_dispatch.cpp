// papi-dispatch: what the table of function pointers adds to a call (Dongarra et al., section 2).
#include <substrata/substrate.h>

#include <chrono>
#include <limits>
#include <map>
#include <ostream>
#include <stdexcept>
#include <string>

#include "papers/claims.hpp"
#include "recording/sampler/measuring.hpp"

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

constexpr int kCalls = 1000;  // in one timed batch
// Mutant.
constexpr char kByName[] = "call=by name";

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
double read_ns(const char* event, std::uint64_t batches) {
  int set = PAPI_NULL;
  double ns = -1;
  if (PAPI_create_eventset(&set) != PAPI_OK) return ns;
  if (PAPI_add_named_event(set, event) == PAPI_OK && PAPI_start(set) == PAPI_OK) {
    Shortest shortest;
    long long value = 0;
    int status = PAPI_OK;
    for (std::uint64_t i = 0; i < batches; ++i) shortest.batch([&] { status |= PAPI_read(set, &value); });
    if (status == PAPI_OK) ns = shortest.ns();
    PAPI_stop(set, &value);
  }
  PAPI_cleanup_eventset(set);
  PAPI_destroy_eventset(&set);
  return ns;
}

struct Times {
  double direct;
  double dispatched;
};

// Batches of both kinds are taken in turn, so that both see the same machine.
Times time_calls(const Case& one) {
  Host host;
  SubstrateTable table;
  if (publish(kTable, &host, &table) != 0) throw std::runtime_error("the substrate cannot be published");
  const SubstrateTable* through = &table;
  __asm__ volatile("" : "+r"(through));  // else the compiler sees which function it is
  const std::map<std::string, const SubstrateTable*> by_name{
      {"coretemp", through}, {"dispatch", through}, {"net", through}, {"perf", through}};

  Shortest direct;
  Shortest dispatched;
  std::int64_t value = 0;
  for (std::uint64_t i = 0; i < one.size.amount; ++i) {
    direct.batch([&] {
      (void)read(nullptr, &value);
      __asm__ volatile("" ::: "memory");
    });
    if (one.setting == kByName) {
      dispatched.batch([&] {
        (void)by_name.find("dispatch")->second->read(nullptr, &value);
        __asm__ volatile("" ::: "memory");
      });
    } else {
      dispatched.batch([&] {
        (void)through->read(nullptr, &value);
        __asm__ volatile("" ::: "memory");
      });
    }
  }
  return {direct.ns(), dispatched.ns()};
}

// A value in the process's own memory is the least that a read can fetch, as a counter's register is. System calls
// would be in the comparison otherwise: where those are slow, a look-up by name is hidden in them, too.
constexpr const char* kInMemory = "example:::constant";

Reading share_of_read(double added, std::uint64_t batches) {
  const double whole = read_ns(kInMemory, batches);
  if (whole <= 0) throw std::runtime_error(std::string(kInMemory) + " cannot be read here");
  std::string shown = digits(added, 2) + " ns of " + digits(whole, 1) + " ns, a read of a value in memory";
  // What the paper read, or the kernel's own counters of the processor.
  for (const char* event : {"PAPI_TOT_CYC", "perf::TASK-CLOCK", "net:::lo:rx:packets"})
    if (const double other = read_ns(event, batches); other > 0) {
      shown +=
          "; of " + digits(other, 1) + " ns, one of " + event + ", " + digits(100 * added / other, 3) + " %";
      break;
    }
  return {added / whole, shown};
}

Readings measure(const Case& one) {
  start_library();
  const Times times = time_calls(one);
  const double added = times.dispatched - times.direct;
  Readings found;
  found["call"] = {added, digits(times.dispatched, 2) + " ns through the table, " + digits(times.direct, 2) +
                              " ns directly" + (added > 0 ? "" : "; no cost is seen here")};
  if (one.wants("read")) found["read"] = share_of_read(added, one.size.amount / 10);
  return found;
}

void figures(const Setting& setting) {
  start_library();
  const Size size{"", 3000, 1};
  const Times times = time_calls({size, 1, "", {}});
  setting.write("papi-dispatch.csv", [&](std::ostream& file) {
    file << "what,ns\ndirect call," << times.direct << "\nthrough the table," << times.dispatched << "\n";
    for (const char* event : {"PAPI_TOT_CYC", "perf::TASK-CLOCK", kInMemory})
      if (const double ns = read_ns(event, 300); ns > 0)
        file << "PAPI_read of " << event << "," << ns << "\n";
  });
}

}  // namespace

extern const Reproduction papi_dispatch = stated(
    "papi-dispatch", "Dongarra et al., section 2: calls through the table of a substrate", measure, figures);

}  // namespace substrata::papers
