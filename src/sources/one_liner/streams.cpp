// Opens, collects, closes.
#include "sources/one_liner/streams.hpp"

#include <dlfcn.h>
#include <papi.h>
#include <substrata/values.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ctime>
#include <utility>

#include "base/glob.hpp"
#include "base/parse.hpp"
#include "sources/one_liner/transfers.hpp"

namespace substrata::one_liner {
namespace {

constexpr client::feed::Source kCounters{
    .name = "counters", .summary = "Counters that are read from time to time while a program runs"};

uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// An event's name as that of a probe point.
std::string probe_of(std::string name) {
  for (char& c : name) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-' || c == '.';
    if (!kept) c = '.';
  }
  return "counter." + name;
}

// Loaded where counters are asked for: the program may have a libpapi of its own.
struct Papi {
  decltype(&PAPI_library_init) library_init = nullptr;
  decltype(&PAPI_create_eventset) create_eventset = nullptr;
  decltype(&PAPI_add_named_event) add_named_event = nullptr;
  decltype(&PAPI_start) start = nullptr;
  decltype(&PAPI_read) read = nullptr;
  decltype(&PAPI_event_name_to_code) event_name_to_code = nullptr;
  decltype(&PAPI_get_event_info) get_event_info = nullptr;
  decltype(&PAPI_strerror) strerror = nullptr;
  bool is_whole = false;

  Papi() {
    Dl_info own{};
    if (dladdr(reinterpret_cast<const void*>(&now_ns), &own) == 0) return;
    const std::string file = own.dli_fname;
    void* const library =
        dlopen((file.substr(0, file.rfind('/') + 1) + "libpapi.so.7.2").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    is_whole =
        find(library, "PAPI_library_init", &library_init) &&
        find(library, "PAPI_create_eventset", &create_eventset) &&
        find(library, "PAPI_add_named_event", &add_named_event) && find(library, "PAPI_start", &start) &&
        find(library, "PAPI_read", &read) && find(library, "PAPI_event_name_to_code", &event_name_to_code) &&
        find(library, "PAPI_get_event_info", &get_event_info) && find(library, "PAPI_strerror", &strerror);
  }

 private:
  template <typename Function>
  static bool find(void* library, const char* name, Function** out) {
    *out = reinterpret_cast<Function*>(dlsym(library, name));
    return *out != nullptr;
  }
};
const Papi& papi() {
  static const Papi loaded;
  return loaded;
}

}  // namespace

void Streams::refuse(const std::string& what, const char* why) {
  why_not_ += (why_not_.empty() ? "" : "; ") + what + ": " + why;
}

void Streams::open(const std::string& patterns, const std::string& counters) {
  if (any_glob(patterns, "os.page-faults")) {
    if (substrata_page_faults_start(nullptr, &faults_) != 0) refuse("page faults", substrata_feed_error());
  }
  if (any_glob(patterns, "os.processor-samples")) {
    if (substrata_samples_start(nullptr, &samples_) != 0) refuse("samples", substrata_feed_error());
  }
  if (any_glob(patterns, "os.memory-samples")) {
    auto options = client::sized<substrata_samples_options>();
    options.flags = SUBSTRATA_SAMPLES_MEMORY;
    if (substrata_samples_start(&options, &memory_samples_) != 0)
      refuse("memory samples", substrata_feed_error());
  }
  if (any_glob(patterns, "os.switches")) {
    if (const std::string why = switches_.open(); !why.empty()) refuse("switches", why.c_str());
  }
  if (const std::string why = tracepoints_.open(patterns); !why.empty()) refuse("tracepoints", why.c_str());
  publish_transfers(patterns.find("io.") != std::string::npos);
  if (!counters.empty()) open_counters(counters);
}

void Streams::open_counters(const std::string& names) {
  if (!papi().is_whole) return refuse("counters", "there is no libpapi.so.7.2 beside this library");
  if (papi().library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
    return refuse("counters", "the library is another");
  int set = PAPI_NULL;
  int status = papi().create_eventset(&set);
  for (const std::string& name : split(names, ',')) {
    if (status == PAPI_OK) status = papi().add_named_event(set, name.c_str());
    if (status != PAPI_OK) return refuse(name, papi().strerror(status));
    auto opened =
        kCounters.publisher(probe_of(name).c_str(),
                            "An event's readings: the value is its growth since the last one, of a gauge "
                            "what it shows; address is what was read",
                            16);
    if (!opened) return refuse(name, substrata_feed_error());
    Counter counter{.publisher = std::move(opened).value()};
    int code = 0;
    PAPI_event_info_t info{};
    if (papi().event_name_to_code(name.c_str(), &code) == PAPI_OK &&
        papi().get_event_info(code, &info) == PAPI_OK) {
      counter.is_gauge = info.value_type == PAPI_VALUETYPE_ABSOLUTE;
      counter.is_double = info.data_type == PAPI_DATATYPE_FP64;
    }
    counters_.push_back(std::move(counter));
  }
  if (status == PAPI_OK) status = papi().start(set);
  if (status != PAPI_OK) return refuse("counters", papi().strerror(status));
  set_ = set;
  last_reading_ = now_ns();
}

void Streams::read_counters() {
  std::vector<long long> values(counters_.size());
  if (papi().read(set_, values.data()) != PAPI_OK) return;
  const uint64_t now = now_ns();
  const uint64_t before = std::exchange(last_reading_, now);
  for (size_t i = 0; i < counters_.size(); ++i) {
    Counter& counter = counters_[i];
    const long long value = counter.is_double ? std::llround(std::bit_cast<double>(values[i])) : values[i];
    const long long last = std::exchange(counter.last, value);
    substrata_transaction sample{};
    sample.time = now;
    sample.start = before;
    sample.kind = SUBSTRATA_SAMPLE;
    sample.phase = substrata_phase();
    sample.flags = SUBSTRATA_FLAG_VALUE;
    sample.detail = static_cast<uint64_t>(counter.is_gauge ? value : value - last);
    sample.address = static_cast<uint64_t>(value);
    counter.publisher.publish(sample);
    counter.publisher.deliver();
  }
}

void Streams::collect() {
  if (faults_ != nullptr) substrata_page_faults_collect(faults_, &lost_faults_);
  if (samples_ != nullptr) substrata_samples_collect(samples_, &lost_samples_);
  if (memory_samples_ != nullptr) substrata_samples_collect(memory_samples_, &lost_memory_samples_);
  if (switches_.is_open()) switches_.collect();
  if (tracepoints_.is_open()) tracepoints_.collect();
  if (set_ >= 0) read_counters();
}

void Streams::close() {
  publish_transfers(false);
  collect();
  substrata_page_faults_stop(std::exchange(faults_, nullptr));
  substrata_samples_stop(std::exchange(samples_, nullptr));
  substrata_samples_stop(std::exchange(memory_samples_, nullptr));
  counters_.clear();
}

}  // namespace substrata::one_liner
