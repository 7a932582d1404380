// The C interface of libsde, both sides: checks what callers give, keeps exceptions in, and does the rest
// elsewhere.
#include "sde_lib.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "base/environment.hpp"
#include "base/guard.hpp"
#include "papi/sde/registry.hpp"
#include "papi/sde/tool_interface.h"
#include "papi/sde/totals.hpp"

using substrata::sde::Counter;
using substrata::sde::CountingSet;
using substrata::sde::Library;
using substrata::sde::Registry;
using substrata::sde::Source;

int _sde_be_verbose = 0;
int _sde_debug = 0;

namespace {

// Longer names are invalid.
constexpr std::size_t kLongestName = 1023;

// Whether to speak. Read once, before the first call does anything; the program may set the two words itself
// later.
void heed_environment() {
  static const bool done = [] {
    if (substrata::environment("PAPI_VERBOSE") != nullptr) _sde_be_verbose = 1;
    const char* debug = substrata::environment("PAPI_DEBUG");
    if (debug != nullptr &&
        (std::strstr(debug, "SUBSTRATE") != nullptr || std::strstr(debug, "ALL") != nullptr))
      _sde_debug = 1;
    return true;
  }();
  static_cast<void>(done);
}

bool is_name(const char* name) {
  return name != nullptr && *name != '\0' && ::strnlen(name, kLongestName + 1) <= kLongestName;
}

Library* library_of(papi_handle_t handle) {
  auto* library = static_cast<Library*>(handle);
  return library->mark == Library::kMark ? library : nullptr;
}

Counter* counter_of(void* handle) {
  auto* counter = static_cast<Counter*>(handle);
  return counter->marked() ? counter : nullptr;
}

int refuse(const char* call, const char* why) {
  SDE_ERROR("%s: %s", call, why);
  return SDE_EINVAL;
}

// Runs one call; what it throws becomes an error.
template <typename Call>
int run(const char* name, Call&& call) noexcept {
  const int result = substrata::guarded([&]() -> int {
    heed_environment();
    return call();
  });
  if (result != SDE_OK) SDE_ERROR("%s: refused with %d", name, result);
  return result;
}

// A call on an event of a library, named by the program: success without effect when there is no library.
template <typename Call>
int on_event(const char* name, papi_handle_t handle, const char* event, Call&& call) noexcept {
  if (handle == nullptr) return SDE_OK;
  Library* const library = library_of(handle);
  if (library == nullptr) return refuse(name, "the handle is not one of papi_sde_init");
  if (!is_name(event)) return refuse(name, "an event name of 1 to 1023 characters is needed");
  SDEDBG("%s: %s::%s\n", name, library->name.c_str(), event);
  return run(name, [&] { return call(*library); });
}

// A call on what stands behind a handle, if it is of the class asked for.
template <typename Call>
int on_handle(const char* name, void* handle, int event_class, Call&& call) noexcept {
  if (handle == nullptr) return SDE_OK;
  Counter* const counter = counter_of(handle);
  if (counter == nullptr) return refuse(name, "the handle is not one of libsde");
  return run(name, [&]() -> int {
    const Counter::Pin source(*counter);
    if (!source || source->event_class != event_class)
      return refuse(name, "the event was unregistered or is of another class");
    return call(*source);
  });
}

template <typename Call>
int on_number(const char* name, std::uint32_t id, Call&& call) noexcept {
  Counter* const counter = Registry::instance().at(id);
  if (counter == nullptr) return SDE_EINVAL;
  return run(name, [&] { return call(*counter); });
}

int publish(const char* name, papi_handle_t handle, const char* event, std::unique_ptr<Source> source,
            void** counter_handle) noexcept {
  return on_event(name, handle, event, [&](Library& library) {
    Counter* counter = nullptr;
    const int result = Registry::instance().publish(library, event, std::move(source), &counter);
    if (result == SDE_OK && counter_handle != nullptr) *counter_handle = counter;
    return result;
  });
}

template <typename T>
int compare(const void* a, const void* b) {
  const T x = *static_cast<const T*>(a);
  const T y = *static_cast<const T*>(b);
  return (x > y) - (x < y);
}

std::unique_ptr<Source> new_source(int event_class, int type, int mode) noexcept {
  std::unique_ptr<Source> source(new (std::nothrow) Source);
  if (source != nullptr) {
    source->event_class = event_class;
    source->type = type;
    source->mode = mode;
  }
  return source;
}

bool known(int type) { return type >= PAPI_SDE_long_long && type <= PAPI_SDE_float; }

}  // namespace

extern "C" {

papi_handle_t papi_sde_init(const char* name_of_library) {
  if (!is_name(name_of_library)) {
    refuse("papi_sde_init", "a library name of 1 to 1023 characters is needed");
    return nullptr;
  }
  papi_handle_t handle = nullptr;
  run("papi_sde_init", [&] {
    SDEDBG("papi_sde_init: %s\n", name_of_library);
    handle = Registry::instance().open_library(name_of_library);
    return SDE_OK;
  });
  return handle;
}

int papi_sde_shutdown(papi_handle_t handle) {
  if (handle == nullptr) return SDE_OK;
  Library* const library = library_of(handle);
  if (library == nullptr) return refuse("papi_sde_shutdown", "the handle is not one of papi_sde_init");
  return run("papi_sde_shutdown", [&] {
    substrata::sde::write_totals(*library);
    return Registry::instance().close_library(*library);
  });
}

int papi_sde_register_counter(papi_handle_t handle, const char* event_name, int cntr_mode, int cntr_type,
                              void* counter) {
  if (handle == nullptr) return SDE_OK;
  if (counter == nullptr || !known(cntr_type))
    return refuse("papi_sde_register_counter", "a variable of a known type is needed");
  std::unique_ptr<Source> source = new_source(SUBSTRATA_SDE_VARIABLE, cntr_type, cntr_mode);
  if (source == nullptr) return SDE_ENOMEM;
  source->variable = counter;
  return publish("papi_sde_register_counter", handle, event_name, std::move(source), nullptr);
}

int papi_sde_register_counter_cb(papi_handle_t handle, const char* event_name, int cntr_mode, int cntr_type,
                                 papi_sde_fptr_t callback, void* param) {
  if (handle == nullptr) return SDE_OK;
  if (callback == nullptr || !known(cntr_type))
    return refuse("papi_sde_register_counter_cb", "a function of a known type is needed");
  std::unique_ptr<Source> source = new_source(SUBSTRATA_SDE_CALLBACK, cntr_type, cntr_mode);
  if (source == nullptr) return SDE_ENOMEM;
  source->callback = callback;
  source->parameter = param;
  return publish("papi_sde_register_counter_cb", handle, event_name, std::move(source), nullptr);
}

int papi_sde_unregister_counter(void* handle, const char* event_name) {
  return on_event("papi_sde_unregister_counter", handle, event_name, [&](Library& library) {
    if (Counter* counter = Registry::instance().find(library, event_name); counter != nullptr)
      substrata::sde::write_totals(*counter);
    return Registry::instance().unpublish(library, event_name);
  });
}

int papi_sde_describe_counter(papi_handle_t handle, const char* event_name, const char* event_description) {
  return on_event("papi_sde_describe_counter", handle, event_name, [&](Library& library) {
    if (event_description == nullptr) return SDE_EINVAL;
    return Registry::instance().describe(library, event_name, event_description);
  });
}

int papi_sde_add_counter_to_group(papi_handle_t handle, const char* event_name, const char* group_name,
                                  uint32_t group_flags) {
  return on_event("papi_sde_add_counter_to_group", handle, event_name, [&](Library& library) {
    if (!is_name(group_name) || group_flags > PAPI_SDE_MIN) return SDE_EINVAL;
    return Registry::instance().add_to_group(library, event_name, group_name, group_flags);
  });
}

int papi_sde_create_counter(papi_handle_t handle, const char* event_name, int cntr_mode, void** cntr_handle) {
  if (handle == nullptr) return SDE_OK;
  std::unique_ptr<Source> source = new_source(SUBSTRATA_SDE_CREATED, PAPI_SDE_long_long, cntr_mode);
  if (source == nullptr) return SDE_ENOMEM;
  return publish("papi_sde_create_counter", handle, event_name, std::move(source), cntr_handle);
}

int papi_sde_inc_counter(void* cntr_handle, long long int increment) {
  auto* counter = static_cast<Counter*>(cntr_handle);
  if (counter == nullptr) return SDE_OK;
  if (!counter->marked()) return refuse("papi_sde_inc_counter", "the handle is not one of libsde");
  return counter->add(increment);
}

int papi_sde_reset_counter(void* cntr_handle) {
  auto* counter = static_cast<Counter*>(cntr_handle);
  if (counter == nullptr) return SDE_OK;
  if (!counter->marked()) return refuse("papi_sde_reset_counter", "the handle is not one of libsde");
  return counter->clear();
}

int papi_sde_create_recorder(papi_handle_t handle, const char* event_name, size_t typesize,
                             int (*cmpr_func_ptr)(const void* p1, const void* p2), void** record_handle) {
  return on_event("papi_sde_create_recorder", handle, event_name, [&](Library& library) {
    if (typesize == 0) return SDE_EINVAL;
    Counter* counter = nullptr;
    const int result =
        Registry::instance().publish_recorder(library, event_name, typesize, cmpr_func_ptr, &counter);
    if (result == SDE_OK && record_handle != nullptr) *record_handle = counter;
    return result;
  });
}

int papi_sde_record(void* record_handle, size_t typesize, const void* value) {
  return on_handle("papi_sde_record", record_handle, SUBSTRATA_SDE_RECORDER, [&](Source& source) {
    if (value == nullptr || typesize != source.recorder->value_size())
      return refuse("papi_sde_record", "the value is not of the recorder's size");
    source.recorder->record(value);
    return SDE_OK;
  });
}

int papi_sde_reset_recorder(void* record_handle) {
  return on_handle("papi_sde_reset_recorder", record_handle, SUBSTRATA_SDE_RECORDER, [](Source& source) {
    source.recorder->reset();
    return SDE_OK;
  });
}

int papi_sde_create_counting_set(papi_handle_t handle, const char* cset_name, void** cset_handle) {
  if (handle == nullptr) return SDE_OK;
  std::unique_ptr<Source> source =
      new_source(SUBSTRATA_SDE_COUNTING_SET, PAPI_SDE_long_long, PAPI_SDE_INSTANT);
  if (source != nullptr) source->set.reset(new (std::nothrow) CountingSet);
  if (source == nullptr || source->set == nullptr) return SDE_ENOMEM;
  return publish("papi_sde_create_counting_set", handle, cset_name, std::move(source), cset_handle);
}

int papi_sde_counting_set_insert(void* cset_handle, size_t element_size, size_t hashable_size,
                                 const void* element, uint32_t type_id) {
  return on_handle(
      "papi_sde_counting_set_insert", cset_handle, SUBSTRATA_SDE_COUNTING_SET, [&](Source& source) {
        if (element == nullptr || hashable_size > element_size)
          return refuse("papi_sde_counting_set_insert", "the hashable part must lie in the element");
        source.set->insert(std::string_view(static_cast<const char*>(element), element_size), hashable_size,
                           type_id);
        return SDE_OK;
      });
}

int papi_sde_counting_set_remove(void* cset_handle, size_t hashable_size, const void* element,
                                 uint32_t type_id) {
  return on_handle(
      "papi_sde_counting_set_remove", cset_handle, SUBSTRATA_SDE_COUNTING_SET, [&](Source& source) {
        if (element == nullptr) return refuse("papi_sde_counting_set_remove", "an element is needed");
        source.set->remove(std::string_view(static_cast<const char*>(element), hashable_size), type_id);
        return SDE_OK;
      });
}

void* papi_sde_get_counter_handle(papi_handle_t handle, const char* event_name) {
  void* counter = nullptr;
  on_event("papi_sde_get_counter_handle", handle, event_name, [&](Library& library) {
    counter = Registry::instance().find(library, event_name);
    return SDE_OK;
  });
  return counter;
}

int papi_sde_compare_long_long(const void* p1, const void* p2) { return compare<long long>(p1, p2); }
int papi_sde_compare_int(const void* p1, const void* p2) { return compare<int>(p1, p2); }
int papi_sde_compare_double(const void* p1, const void* p2) { return compare<double>(p1, p2); }
int papi_sde_compare_float(const void* p1, const void* p2) { return compare<float>(p1, p2); }

int sde_ti_get_num_reg_events(void) { return static_cast<int>(Registry::instance().count()); }

// PAPI's own declaration returns char*; nobody may write there.
char* sde_ti_get_event_name(int event_id) {
  const Counter* counter = Registry::instance().at(static_cast<uint32_t>(event_id));
  return counter == nullptr || counter->gone() ? nullptr : const_cast<char*>(counter->name());
}

char* sde_ti_get_event_description(int event_id) {
  const Counter* counter = Registry::instance().at(static_cast<uint32_t>(event_id));
  return counter == nullptr || counter->gone() ? nullptr : const_cast<char*>(counter->description());
}

int sde_ti_name_to_code(const char* event_name, uint32_t* event_code) {
  if (event_name == nullptr || event_code == nullptr) return SDE_EINVAL;
  if (::strnlen(event_name, 2 * kLongestName + 3) > 2 * kLongestName + 2) return SDE_ENOEVNT;
  return run("sde_ti_name_to_code", [&] {
    Counter* counter = nullptr;
    const int result = Registry::instance().find_or_await(event_name, &counter);
    if (result == SDE_OK) *event_code = counter->id();
    return result;
  });
}

int sde_ti_read_counter(uint32_t counter_id, long long* value) {
  if (value == nullptr) return SDE_EINVAL;
  return on_number("sde_ti_read_counter", counter_id,
                   [&](Counter& counter) { return counter.read(value, nullptr, {.last_reset = true}); });
}

int sde_ti_write_counter(uint32_t counter_id, long long value) {
  return on_number("sde_ti_write_counter", counter_id,
                   [&](Counter& counter) { return counter.write(value); });
}

int sde_ti_reset_counter(uint32_t counter_id) {
  return on_number("sde_ti_reset_counter", counter_id, [](Counter& counter) { return counter.reset(); });
}

int sde_ti_is_simple_counter(uint32_t counter_id) {
  substrata_sde_nature nature;
  if (substrata_sde_nature_of(counter_id, &nature) != SDE_OK) return 0;
  return nature.event_class == SUBSTRATA_SDE_VARIABLE || nature.event_class == SUBSTRATA_SDE_RECORDER_COUNT;
}

int sde_ti_is_counter_set_to_overflow(uint32_t counter_id) {
  const Counter* counter = Registry::instance().at(counter_id);
  return counter != nullptr && counter->overflow_wanted();
}

int sde_ti_set_counter_overflow(uint32_t counter_id, int threshold) {
  Counter* const counter = Registry::instance().at(counter_id);
  if (counter == nullptr) return SDE_EINVAL;
  substrata::sde::find_tool_words();
  const Counter::Pin source(*counter);
  counter->want_overflow(false);
  if (source) {
    switch (source->event_class) {
      case SUBSTRATA_SDE_CREATED:
        if (threshold > 0) counter->watch();
        return SDE_OK;
      case SUBSTRATA_SDE_RECORDER:
      case SUBSTRATA_SDE_QUARTILE:
      case SUBSTRATA_SDE_COUNTING_SET:
        return SDE_EINVAL;
      default:
        return 0xFF;
    }
  }
  if (counter->gone()) return SDE_EINVAL;
  if (threshold <= 0) return 0xFF;
  counter->want_overflow(true);
  return SDE_OK;
}

int sde_ti_shutdown(void) {
  substrata::sde::forget_tool_words();
  return SDE_OK;
}

int substrata_sde_nature_of(uint32_t counter_id, substrata_sde_nature* nature) {
  Counter* const counter = Registry::instance().at(counter_id);
  if (counter == nullptr || nature == nullptr) return SDE_EINVAL;
  const Counter::Pin source(*counter);
  if (source)
    *nature = {source->event_class, source->type, source->mode};
  else
    *nature = {counter->gone() ? SUBSTRATA_SDE_GONE : SUBSTRATA_SDE_WAITING, PAPI_SDE_long_long,
               PAPI_SDE_DELTA};
  return SDE_OK;
}

int substrata_sde_read(uint32_t counter_id, long long* value, substrata_sde_nature* nature) {
  return substrata_sde_read_from(counter_id, nullptr, value, nature);
}

int substrata_sde_read_from(uint32_t counter_id, const substrata_sde_start* start, long long* value,
                            substrata_sde_nature* nature) {
  if (value == nullptr || nature == nullptr) return SDE_EINVAL;
  return on_number("substrata_sde_read_from", counter_id,
                   [&](Counter& counter) { return counter.read(value, nature, {.start = start}); });
}

int substrata_sde_mark_start(uint32_t group_id, substrata_sde_start** start) {
  if (start == nullptr) return SDE_EINVAL;
  *start = nullptr;
  return on_number("substrata_sde_mark_start", group_id, [&](Counter& counter) {
    auto marked = std::make_unique<substrata_sde_start>();
    const int result = counter.add_to(marked.get());
    if (result != SDE_OK) return result;
    std::sort(marked->stands.begin(), marked->stands.end(),
              [](const auto& a, const auto& b) { return std::less<>()(a.counter, b.counter); });
    *start = marked.release();
    return result;
  });
}

void substrata_sde_free_start(substrata_sde_start* start) { delete start; }

}  // extern "C"
