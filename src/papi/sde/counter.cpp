// One published event: what stands behind its name now, and how it is read while the program changes its
// mind.
#include "papi/sde/counter.hpp"

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <type_traits>

// A program's variable is changed by the program's plain stores while we read it; that race is the
// interface's, so these few loads and stores are kept out of the thread sanitizer's sight. Aligned, they are
// single instructions.
#define SUBSTRATA_SDE_PROGRAMS_MEMORY __attribute__((no_sanitize("thread"), noinline))

// Where libpapi.a is part of the program its functions have no name that the dynamic linker knows.
extern "C" {
[[gnu::weak]] int papi_sde_check_overflow_status(unsigned int counter, long long value);
[[gnu::weak]] int papi_sde_set_timer_for_overflow();
}

namespace substrata::sde {
namespace {

thread_local const Counter::Pin* reading = nullptr;

using CheckOverflow = int (*)(unsigned int, long long);
using SetTimer = int (*)();
std::atomic<CheckOverflow> check_overflow{nullptr};
std::atomic<SetTimer> set_timer{nullptr};

template <typename Function>
Function find(Function within, const char* name) noexcept {
  return within != nullptr ? within : reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

long long bits_of(double number) { return std::bit_cast<long long>(number); }
double number_of(long long bits) { return std::bit_cast<double>(bits); }

// A number of any of the types as libsde hands it over: as it is, or the bits of a double.
template <typename T>
long long to_word(T number) {
  if constexpr (std::is_floating_point_v<T>)
    return bits_of(static_cast<double>(number));
  else
    return number;
}
template <typename T>
T from_word(long long word) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(number_of(word));
  else
    return static_cast<T>(word);
}

// Calls `on` with a null pointer to the type; false where there is no such type.
template <typename On>
bool with_type(int type, const On& on) {
  switch (type) {
    case PAPI_SDE_long_long:
      on(static_cast<long long*>(nullptr));
      return true;
    case PAPI_SDE_int:
      on(static_cast<int*>(nullptr));
      return true;
    case PAPI_SDE_double:
      on(static_cast<double*>(nullptr));
      return true;
    case PAPI_SDE_float:
      on(static_cast<float*>(nullptr));
      return true;
    default:
      return false;
  }
}

template <typename T>
SUBSTRATA_SDE_PROGRAMS_MEMORY T load_as(const volatile void* variable) {
  return *static_cast<const volatile T*>(variable);
}
template <typename T>
SUBSTRATA_SDE_PROGRAMS_MEMORY void store_as(volatile void* variable, T number) {
  *static_cast<volatile T*>(variable) = number;
}

bool load(const volatile void* variable, int type, long long* value) {
  return with_type(type, [&]<typename T>(T*) { *value = to_word(load_as<T>(variable)); });
}

bool store(volatile void* variable, int type, long long value) {
  return with_type(type, [&]<typename T>(T*) { store_as(variable, from_word<T>(value)); });
}

// The callback as what the program said it returns. (Through void(*)(), the one type GCC lets function
// pointers pass.)
template <typename T>
T call_as(const Source& source) {
  const auto any = reinterpret_cast<void (*)()>(source.callback);
  return reinterpret_cast<T (*)(void*)>(any)(source.parameter);
}

bool call(const Source& source, long long* value) {
  return with_type(source.type, [&]<typename T>(T*) { *value = to_word(call_as<T>(source)); });
}

long long difference(bool floating, long long value, long long baseline) {
  if (floating) return bits_of(number_of(value) - number_of(baseline));
  return static_cast<long long>(static_cast<unsigned long long>(value) -
                                static_cast<unsigned long long>(baseline));
}

template <typename T>
T combine(std::uint32_t flags, T so_far, T next) {
  if (flags == PAPI_SDE_MAX) return next > so_far ? next : so_far;
  if (flags == PAPI_SDE_MIN) return next < so_far ? next : so_far;
  return so_far + next;
}

long long at_address(const void* memory) {
  return static_cast<long long>(reinterpret_cast<std::intptr_t>(memory));
}

}  // namespace
}  // namespace substrata::sde

const substrata_sde_start::Stand* substrata_sde_start::of(
    const substrata::sde::Counter* counter) const noexcept {
  const auto found =
      std::lower_bound(stands.begin(), stands.end(), counter,
                       [](const Stand& stand, const auto* key) { return std::less<>()(stand.counter, key); });
  return found != stands.end() && found->counter == counter ? &*found : nullptr;
}

namespace substrata::sde {

// A reader registers, then looks; a writer takes the source away, then waits for the registered ones. Both
// orders must be seen alike by all, hence sequentially consistent.
Counter::Pin::Pin(Counter& counter) noexcept : counter_(counter) {
  counter_.readers_.fetch_add(1, std::memory_order_seq_cst);
  source_ = counter_.source_.load(std::memory_order_seq_cst);
  outer_ = reading;
  reading = this;
}

Counter::Pin::~Pin() {
  reading = outer_;
  counter_.readers_.fetch_sub(1, std::memory_order_release);
}

Source* Counter::replace(std::unique_ptr<Source> source) noexcept {
  created_.store(source != nullptr && source->event_class == SUBSTRATA_SDE_CREATED,
                 std::memory_order_release);
  return source_.exchange(source.release(), std::memory_order_seq_cst);
}

void Counter::release(Source* former) noexcept {
  if (former == nullptr) return;
  for (const Pin* pin = reading; pin != nullptr; pin = pin->outer_) {
    if (&pin->counter_ != this) continue;
    Source* before = kept_.exchange(nullptr, std::memory_order_acq_rel);
    former->abandoned.reset(before);
    before = kept_.exchange(former, std::memory_order_acq_rel);
    if (before != nullptr) release(before);
    return;
  }
  while (readers_.load(std::memory_order_seq_cst) != 0) sched_yield();
  delete former;
}

Source* Counter::retire() noexcept {
  gone_.store(true, std::memory_order_release);
  Source* const former = replace(nullptr);
  value_.store(0, std::memory_order_relaxed);
  baseline_.store(0, std::memory_order_relaxed);
  watched_.store(false, std::memory_order_relaxed);
  want_overflow(false);
  return former;
}

int Counter::read_number(const Source& source, long long* value) noexcept {
  switch (source.event_class) {
    case SUBSTRATA_SDE_VARIABLE:
      return load(source.variable, source.type, value) ? SDE_OK : SDE_EINVAL;
    case SUBSTRATA_SDE_CALLBACK:
      return call(source, value) ? SDE_OK : SDE_EINVAL;
    case SUBSTRATA_SDE_CREATED:
      *value = value_.load(std::memory_order_relaxed);
      return SDE_OK;
    case SUBSTRATA_SDE_RECORDER_COUNT:
      *value = source.recorder->count();
      return SDE_OK;
    default:
      return SDE_EINVAL;
  }
}

int Counter::read_group(const Source& source, long long* value, const Origin& origin) {
  bool first = true;
  long long result = 0;
  for (Counter* member : source.members) {
    long long next = 0;
    const int outcome = member->read(&next, nullptr, origin);
    if (outcome == SDE_ENOEVNT) continue;  // taken back at this moment
    if (outcome != SDE_OK) return outcome;
    if (first)
      result = next;
    else if (source.floating())
      result = bits_of(combine(source.group_flags, number_of(result), number_of(next)));
    else
      result = combine(source.group_flags, result, next);
    first = false;
  }
  *value = result;
  return SDE_OK;
}

int Counter::read(long long* value, substrata_sde_nature* nature, const Origin& origin) {
  const Pin source(*this);
  if (nature != nullptr) {
    if (source)
      *nature = {source->event_class, source->type, source->mode};
    else
      *nature = {gone() ? SUBSTRATA_SDE_GONE : SUBSTRATA_SDE_WAITING, PAPI_SDE_long_long, PAPI_SDE_DELTA};
  }
  if (!source) {
    if (gone()) return SDE_ENOEVNT;
    *value = -1;
    return SDE_OK;
  }
  switch (source->event_class) {
    case SUBSTRATA_SDE_GROUP:
      return read_group(*source, value, origin);
    case SUBSTRATA_SDE_RECORDER:
      *value = at_address(source->recorder->copy());
      return SDE_OK;
    case SUBSTRATA_SDE_QUARTILE:
      *value = at_address(source->recorder->quartile(source->quarter));
      return SDE_OK;
    case SUBSTRATA_SDE_COUNTING_SET:
      *value = at_address(source->set->list());
      return SDE_OK;
    default:
      break;
  }
  long long now = 0;
  const int outcome = read_number(*source, &now);
  if (outcome != SDE_OK) return outcome;
  if (source->delta()) {
    const bool floating = source->floating();
    if (origin.last_reset) now = difference(floating, now, baseline_.load(std::memory_order_relaxed));
    const substrata_sde_start::Stand* const stand =
        origin.start != nullptr ? origin.start->of(this) : nullptr;
    if (stand != nullptr && stand->floating == floating) now = difference(floating, now, stand->value);
  }
  *value = now;
  return SDE_OK;
}

int Counter::add_to(substrata_sde_start* start) {
  const Pin source(*this);
  if (!source) return gone() ? SDE_ENOEVNT : SDE_OK;
  if (source->event_class == SUBSTRATA_SDE_GROUP) {
    for (Counter* member : source->members)
      if (const int outcome = member->add_to(start); outcome != SDE_OK && outcome != SDE_ENOEVNT)
        return outcome;
    return SDE_OK;
  }
  if (!source->delta()) return SDE_OK;
  long long now = 0;
  const int outcome = read_number(*source, &now);
  if (outcome == SDE_OK) start->stands.push_back({this, now, source->floating()});
  return outcome;
}

int Counter::write(long long value) noexcept {
  const Pin source(*this);
  if (!source) return gone() ? SDE_ENOEVNT : SDE_EINVAL;
  if (source->event_class == SUBSTRATA_SDE_VARIABLE)
    return store(source->variable, source->type, value) ? SDE_OK : SDE_EINVAL;
  if (source->event_class != SUBSTRATA_SDE_CREATED) return SDE_EINVAL;
  value_.store(value, std::memory_order_relaxed);
  return SDE_OK;
}

int Counter::reset() noexcept {
  const Pin source(*this);
  if (!source) return gone() ? SDE_ENOEVNT : SDE_OK;
  if (source->event_class >= SUBSTRATA_SDE_GROUP || !source->delta()) {
    const bool known_type = source->type >= PAPI_SDE_long_long && source->type <= PAPI_SDE_float;
    return known_type ? SDE_OK : SDE_EINVAL;
  }
  long long now = 0;
  const int outcome = read_number(*source, &now);
  if (outcome == SDE_OK) baseline_.store(now, std::memory_order_relaxed);
  return outcome;
}

void Counter::report_to_overflow_check(long long value) noexcept {
  const CheckOverflow word = check_overflow.load(std::memory_order_acquire);
  if (word != nullptr) word(id_, value);
}

void find_tool_words() noexcept {
  check_overflow.store(find(&papi_sde_check_overflow_status, "papi_sde_check_overflow_status"),
                       std::memory_order_release);
  set_timer.store(find(&papi_sde_set_timer_for_overflow, "papi_sde_set_timer_for_overflow"),
                  std::memory_order_release);
}

void forget_tool_words() noexcept {
  check_overflow.store(nullptr, std::memory_order_release);
  set_timer.store(nullptr, std::memory_order_release);
}

void ask_tool_for_timer() noexcept {
  const SetTimer word = set_timer.load(std::memory_order_acquire);
  if (word != nullptr) word();
}

}  // namespace substrata::sde
