// Rates: floating-point instructions and operations a second, instructions and events per cycle, for each
// thread.
#include <array>
#include <initializer_list>

#include "core/eventset/event_set.hpp"
#include "core/eventset/measure.hpp"
#include "core/system/timers.hpp"
#include "papi/boundary.hpp"
#include "papi/high_level/regions.hpp"
#include "papi/rates.hpp"

using namespace substrata;
using namespace substrata::capi;

namespace {

enum class RateKind { kNone, kFlips, kFlops, kIpc, kEpc };

// What one thread's rate calls have running. Thread-bound.
class Rates {
 public:
  struct Interval {
    float real_s = 0;
    float process_s = 0;
    std::array<int64_t, 3> counts{};
  };

  // Starts at the first call (all zeros), afterwards gives what happened since the call before.
  // kInvalid when another kind of rate, or another event, is running: PAPI_rate_stop comes first.
  Status advance(RateKind kind, std::initializer_list<int> events, Interval* out) {
    *out = Interval{};
    if (epoch_ != library().epoch()) forget();
    const int first = *events.begin();
    if (kind_ == RateKind::kNone) return start(kind, events);
    if (kind_ != kind || first_event_ != first)
      return refuse(Code::kInvalid, "another rate is being measured; PAPI_rate_stop ends it");
    std::array<int64_t, 3> counts{};
    if (const Status status = read_set(set_, counts.data()); !status.ok()) return status;
    const int64_t real = real_ns(), process = virtual_ns();
    out->real_s = static_cast<float>(real - real_ns_) * 1e-9f;
    out->process_s = static_cast<float>(process - virtual_ns_) * 1e-9f;
    for (size_t i = 0; i < counts.size(); ++i) out->counts[i] = counts[i] - counts_[i];
    real_ns_ = real;
    virtual_ns_ = process;
    counts_ = counts;
    return kSuccess;
  }

  void stop_if_any() {
    if (kind_ != RateKind::kNone && epoch_ == library().epoch()) give_up();
  }
  Status stop() {
    if (epoch_ != library().epoch()) forget();
    if (kind_ == RateKind::kNone) return refuse(Code::kNoEvent, "no rate is being measured in this thread");
    give_up();
    return kSuccess;
  }

 private:
  Status start(RateKind kind, std::initializer_list<int> events) {
    // A rate may be a program's first call.
    if (const Status up = library().initialise(face); !up.ok()) return up;
    epoch_ = library().epoch();
    const Result<int> set = create_event_set(&face);
    if (!set) return set.status();
    set_ = *set;
    const auto fill_and_start = [&] {
      Status status = kSuccess;
      for (const int event : events)
        if (status.ok()) status = add_event(set_, static_cast<uint32_t>(event));
      // As with PAPI, a rate ends the regions that the thread measures.
      if (status.ok()) (void)high_level::Regions::instance().stop();
      if (status.ok()) status = start_set(set_);
      return status;
    };
    const Status status = guarded(fill_and_start, [](const Status& why) { return why; });
    if (!status.ok()) {
      give_up();
      return status;
    }
    kind_ = kind;
    first_event_ = *events.begin();
    counts_ = {};
    real_ns_ = real_ns();
    virtual_ns_ = virtual_ns();
    return kSuccess;
  }

  void give_up() {
    if (set_ >= 0) {
      stop_set(set_, nullptr);
      cleanup_event_set(set_);
      destroy_event_set(set_);
    }
    forget();
  }
  void forget() noexcept {
    set_ = -1;
    kind_ = RateKind::kNone;
  }

  RateKind kind_ = RateKind::kNone;
  int first_event_ = 0;
  int set_ = -1;
  uint64_t epoch_ = 0;
  int64_t real_ns_ = 0, virtual_ns_ = 0;
  std::array<int64_t, 3> counts_{};
};

thread_local Rates rates __attribute__((tls_model("initial-exec")));

// Counts a microsecond of process time: millions a second.
float millions_a_second(int64_t count, float seconds) noexcept {
  return seconds > 0 ? static_cast<float>(count) / seconds * 1e-6f : 0.0f;
}

float ratio(int64_t a, int64_t b) noexcept {
  return b > 0 ? static_cast<float>(a) / static_cast<float>(b) : 0.0f;
}

int floating_rate(RateKind kind, int event, float* rtime, float* ptime, long long* count, float* rate) {
  return answered([&] {
    if (rtime == nullptr || ptime == nullptr || count == nullptr || rate == nullptr)
      return answer(refuse(Code::kInvalid, "a place for each of the four values"));
    Rates::Interval interval;
    if (const Status status = rates.advance(kind, {event}, &interval); !status.ok()) return answer(status);
    *rtime = interval.real_s;
    *ptime = interval.process_s;
    *count = interval.counts[0];
    *rate = millions_a_second(interval.counts[0], interval.process_s);
    return PAPI_OK;
  });
}

}  // namespace

CAPI int PAPI_flips_rate(int event, float* rtime, float* ptime, long long* flpins, float* mflips) {
  if (event != PAPI_FP_INS && event != PAPI_VEC_SP && event != PAPI_VEC_DP)
    return answer(refuse(Code::kInvalid, "PAPI_FP_INS, PAPI_VEC_SP or PAPI_VEC_DP"));
  return floating_rate(RateKind::kFlips, event, rtime, ptime, flpins, mflips);
}

CAPI int PAPI_flops_rate(int event, float* rtime, float* ptime, long long* flpops, float* mflops) {
  if (event != PAPI_FP_OPS && event != PAPI_SP_OPS && event != PAPI_DP_OPS)
    return answer(refuse(Code::kInvalid, "PAPI_FP_OPS, PAPI_SP_OPS or PAPI_DP_OPS"));
  return floating_rate(RateKind::kFlops, event, rtime, ptime, flpops, mflops);
}

CAPI int PAPI_ipc(float* rtime, float* ptime, long long* ins, float* ipc) {
  return answered([&] {
    if (rtime == nullptr || ptime == nullptr || ins == nullptr || ipc == nullptr)
      return answer(refuse(Code::kInvalid, "a place for each of the four values"));
    Rates::Interval interval;
    const Status status = rates.advance(RateKind::kIpc, {PAPI_TOT_INS, PAPI_TOT_CYC}, &interval);
    if (!status.ok()) return answer(status);
    *rtime = interval.real_s;
    *ptime = interval.process_s;
    *ins = interval.counts[0];
    *ipc = ratio(interval.counts[0], interval.counts[1]);
    return PAPI_OK;
  });
}

CAPI int PAPI_epc(int event, float* rtime, float* ptime, long long* ref, long long* core, long long* evt,
                  float* epc) {
  return answered([&] {
    if (rtime == nullptr || ptime == nullptr || ref == nullptr || core == nullptr || evt == nullptr ||
        epc == nullptr)
      return answer(refuse(Code::kInvalid, "a place for each of the six values"));
    const int counted = event == 0 ? PAPI_TOT_INS : event;
    Rates::Interval interval;
    const Status status = rates.advance(RateKind::kEpc, {counted, PAPI_REF_CYC, PAPI_TOT_CYC}, &interval);
    if (!status.ok()) return answer(status);
    *rtime = interval.real_s;
    *ptime = interval.process_s;
    *evt = interval.counts[0];
    *ref = interval.counts[1];
    *core = interval.counts[2];
    *epc = ratio(interval.counts[0], interval.counts[2]);
    return PAPI_OK;
  });
}

void substrata::capi::end_rate() { rates.stop_if_any(); }

CAPI int PAPI_rate_stop(void) {
  return answered([] { return answer(rates.stop()); });
}
