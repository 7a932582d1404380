// The substrate `appio`: calls of read, write, open, lseek, select and recv of each thread, their bytes and their time,
// as the preloaded libsubstrata_appio.so counts them.
#include <dlfcn.h>
#include <substrata/substrate.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "appio/counters.hpp"
#include "base/guard.hpp"
#include "sysfs/sampled_slots.hpp"

namespace {

using namespace substrata;
using appio::Counters;
using appio::Table;

// How a value is made of counters.
enum class Making : uint8_t {
  kTotal,      // grows
  kTime,       // grows; ns, shown in us
  kMean,       // a level: of `counter` by the calls in `calls`, since the start
  kOpenFiles,  // a level of the process
};
struct Known {
  const char* name;
  const char* unit;
  const char* text;
  Making making;
  uint32_t counter;
  uint32_t calls;
};

#define SUBSTRATA_TRANSFERS(NAME, kind, verb)                                                    \
  {NAME "_BYTES", "bytes", "bytes " verb, Making::kTotal, kind + appio::kBytes, 0},              \
      {NAME "_CALLS", "calls", "calls that " verb, Making::kTotal, kind + appio::kCalls, 0},     \
      {NAME "_ERR",           "calls", "calls that failed, of those that " verb, Making::kTotal, \
       kind + appio::kErrors, 0},                                                                \
      {NAME "_SHORT",                                                                            \
       "calls",                                                                                  \
       "calls that moved less than asked for, of those that " verb,                              \
       Making::kTotal,                                                                           \
       kind + appio::kShort,                                                                     \
       0},                                                                                       \
      {NAME "_WOULD_BLOCK",                                                                      \
       "calls",                                                                                  \
       "calls that found nothing ready, of those that " verb,                                    \
       Making::kTotal,                                                                           \
       kind + appio::kWouldBlock,                                                                \
       0},                                                                                       \
  {                                                                                              \
    NAME "_USEC", "us", "time in calls that " verb, Making::kTime, kind + appio::kTime, 0        \
  }
#define SUBSTRATA_CALLS(NAME, kind, verb)                                                          \
  SUBSTRATA_TRANSFERS(NAME, kind, verb), {NAME "_INTERRUPTED",                                     \
                                          "calls",                                                 \
                                          "calls that a signal interrupted, of those that " verb,  \
                                          Making::kTotal,                                          \
                                          kind + appio::kInterrupted,                              \
                                          0},                                                      \
  {                                                                                                \
    NAME "_BLOCK_SIZE", "bytes", "mean of the bytes asked for by calls that " verb, Making::kMean, \
        kind + appio::kWanted, kind + appio::kCalls                                                \
  }

constexpr Known kKnown[] = {
    SUBSTRATA_CALLS("READ", appio::kRead, "read"),
    {"READ_EOF", "calls", "calls that found the end of what they read", Making::kTotal,
     appio::kRead + appio::kEnds, 0},
    SUBSTRATA_CALLS("WRITE", appio::kWrite, "wrote"),
    {"OPEN_CALLS", "calls", "calls of open", Making::kTotal, appio::kOpenCalls, 0},
    {"OPEN_ERR", "calls", "calls of open that failed", Making::kTotal, appio::kOpenErrors, 0},
    {"OPEN_FDS", "files", "files that the process has opened and not closed", Making::kOpenFiles, 0, 0},
    {"SELECT_USEC", "us", "time in select", Making::kTime, appio::kSelectTime, 0},
    SUBSTRATA_CALLS("RECV", appio::kReceive, "received"),
    {"RECV_EOF", "calls", "calls of recv that found the end", Making::kTotal, appio::kReceive + appio::kEnds,
     0},
    SUBSTRATA_TRANSFERS("SOCK_READ", appio::kSocketRead, "read from sockets"),
    SUBSTRATA_TRANSFERS("SOCK_WRITE", appio::kSocketWrite, "wrote to sockets"),
    {"SEEK_CALLS", "calls", "calls of lseek", Making::kTotal, appio::kSeekCalls, 0},
    {"SEEK_ABS_STRIDE_SIZE", "bytes", "mean distance of lseek, forwards or backwards", Making::kMean,
     appio::kSeekDistance, appio::kSeekCalls},
    {"SEEK_USEC", "us", "time in lseek", Making::kTime, appio::kSeekTime, 0},
};
static_assert(std::size(kKnown) == 45);

const Table* table_of_preload() noexcept {
  const auto* table = static_cast<const Table*>(::dlsym(RTLD_DEFAULT, appio::kTableSymbol));
  return table != nullptr && table->version == appio::kVersion ? table : nullptr;
}

// The counters of the thread that starts the set.
class Sampler {
 public:
  Sampler() = default;
  Sampler(const Table* table, std::vector<uint32_t> selected)
      : table_(table),
        selected_(std::move(selected)),
        base_(selected_.size()),
        base_calls_(selected_.size()) {}

  uint32_t size() const noexcept { return static_cast<uint32_t>(selected_.size()); }
  bool counts(uint32_t i) const noexcept { return is_count(kKnown[selected_[i]]); }
  static bool is_count(const Known& known) noexcept {
    return known.making == Making::kTotal || known.making == Making::kTime;
  }
  Status growth(uint32_t, int64_t from, int64_t to, int64_t* out) const noexcept {
    *out = to - from;
    return kSuccess;
  }

  Status begin(int64_t* raw) noexcept {
    if (size() == 0) return kSuccess;
    counters_ = table_->mine();
    if (counters_ == nullptr) return {Code::kNoMemory, 0, "no memory for the counters of this thread"};
    for (uint32_t i = 0; i < size(); ++i) {
      const Known& known = kKnown[selected_[i]];
      base_[i] = total(known.counter);
      base_calls_[i] = total(known.calls);
    }
    return sample(raw);
  }

  Status sample(int64_t* raw) noexcept {
    if (size() == 0) return kSuccess;
    if (counters_ == nullptr) return begin(raw);
    for (uint32_t i = 0; i < size(); ++i) raw[i] = value(i);
    return kSuccess;
  }

 private:
  int64_t total(uint32_t counter) const noexcept {
    return counters_->of[counter].load(std::memory_order_relaxed);
  }
  int64_t value(uint32_t i) const noexcept {
    const Known& known = kKnown[selected_[i]];
    switch (known.making) {
      case Making::kTotal:
        return total(known.counter);
      case Making::kTime:
        return total(known.counter) / 1000;
      case Making::kMean: {
        const int64_t calls = total(known.calls) - base_calls_[i];
        return calls == 0 ? 0 : (total(known.counter) - base_[i]) / calls;
      }
      case Making::kOpenFiles:
        break;
    }
    return table_->open_files->load(std::memory_order_relaxed);
  }

  const Table* table_ = nullptr;
  Counters* counters_ = nullptr;
  std::vector<uint32_t> selected_;
  std::vector<int64_t> base_, base_calls_;  // where means begin
};

class Calls : public sysfs::SampledDevice {
 public:
  using SampledDevice::SampledDevice;

  static Status detect(const Host&) {
    if (table_of_preload() != nullptr) return kSuccess;
    return {
        Code::kNoSupport, 0,
        "the program's calls are not counted: start it with LD_PRELOAD=libsubstrata_appio.so (the library is "
        "installed beside libsubstrata.so)"};
  }

  Status scan() {
    for (const Known& known : kKnown) {
      sysfs::CatalogueEntry entry;
      entry.name = known.name;
      entry.text = known.text;
      entry.unit = known.unit;
      entry.kind = Sampler::is_count(known) ? ValueKind::kCount : ValueKind::kGauge;
      entry.flags = known.making == Making::kOpenFiles ? kEventScopeProcess : kEventScopeThread;
      catalogue_.add(std::move(entry));
    }
    return kSuccess;
  }

  Status select(const uint32_t* events, uint32_t count, Sampler* out) const {
    *out = Sampler(table_, std::vector<uint32_t>(events, events + count));
    return kSuccess;
  }

 private:
  const Table* const table_ = table_of_preload();
};

constexpr SubstrateTable kTable = sysfs::SampledSlots<Calls, Sampler>::table({
    .name = "appio",
    .summary = "Calls of read, write, open, lseek, select and recv of a thread, by a preloaded library",
    .max_events = std::size(kKnown),
    .max_multiplexed = std::size(kKnown),
    .default_granularity = kGranularityThread,
    .granularities = kGranularityThread,
    .event_names = "READ_*,WRITE_*,OPEN_*,RECV_*,SOCK_*,SEEK_*,SELECT_USEC",
});

}  // namespace

SUBSTRATA_PUBLISH(appio, kTable);
