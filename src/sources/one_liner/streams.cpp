// Opens, collects, closes.
#include "streams.hpp"

#include <dlfcn.h>
#include <papi.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/glob.hpp"
#include "base/parse.hpp"
#include "transfers.hpp"

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
  decltype(&PAPI_strerror) strerror = nullptr;
  bool is_whole = false;

  Papi() {
    Dl_info own{};
    if (dladdr(reinterpret_cast<const void*>(&now_ns), &own) == 0) return;
    const std::string file = own.dli_fname;
    void* const library =
        dlopen((file.substr(0, file.rfind('/') + 1) + "libpapi.so.7.2").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    is_whole = find(library, "PAPI_library_init", &library_init) &&
               find(library, "PAPI_create_eventset", &create_eventset) &&
               find(library, "PAPI_add_named_event", &add_named_event) &&
               find(library, "PAPI_start", &start) && find(library, "PAPI_read", &read) &&
               find(library, "PAPI_strerror", &strerror);
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
  if (any_glob(patterns, "os.switches")) {
    if (const std::string why = switches_.open(); !why.empty()) refuse("switches", why.c_str());
  }
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
    auto opened = kCounters.publisher(probe_of(name).c_str(),
                                      "A counter; detail is its growth since the last time", 16);
    if (!opened) return refuse(name, substrata_feed_error());
    counters_.push_back(std::move(opened).value());
  }
  last_.resize(counters_.size());
  if (status == PAPI_OK) status = papi().start(set);
  if (status != PAPI_OK) return refuse("counters", papi().strerror(status));
  set_ = set;
}

void Streams::read_counters() {
  std::vector<long long> values(counters_.size());
  if (papi().read(set_, values.data()) != PAPI_OK) return;
  for (size_t i = 0; i < counters_.size(); ++i) {
    substrata_transaction sample{};
    sample.time = now_ns();
    sample.kind = SUBSTRATA_SAMPLE;
    sample.phase = substrata_phase();
    sample.detail = static_cast<uint64_t>(values[i] - std::exchange(last_[i], values[i]));
    sample.address = static_cast<uint64_t>(values[i]);
    counters_[i].publish(sample);
    counters_[i].deliver();
  }
}

void Streams::collect() {
  if (faults_ != nullptr) substrata_page_faults_collect(faults_, &lost_faults_);
  if (samples_ != nullptr) substrata_samples_collect(samples_, &lost_samples_);
  if (switches_.is_open()) switches_.collect();
  if (set_ >= 0) read_counters();
}

void Streams::close() {
  publish_transfers(false);
  collect();
  substrata_page_faults_stop(std::exchange(faults_, nullptr));
  substrata_samples_stop(std::exchange(samples_, nullptr));
  counters_.clear();
}

}  // namespace substrata::one_liner
