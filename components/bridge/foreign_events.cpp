// Lists, describes and tries out the events of another PAPI.
#include "bridge/foreign_events.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "bridge/companion.hpp"
#include "sysfs/sysfs.hpp"

namespace substrata::bridge {
namespace {

// A field of characters that need not end.
template <size_t kSize>
std::string text_of(const char (&field)[kSize]) {
  return std::string(field, strnlen(field, kSize));
}

ValueType type_of(int data_type) noexcept {
  switch (data_type) {
    case PAPI_DATATYPE_UINT64:
    case PAPI_DATATYPE_BIT64:
      return ValueType::kUint64;
    case PAPI_DATATYPE_FP64:
      return ValueType::kDouble;
    default:
      return ValueType::kInt64;
  }
}

// Components whose counts are those of the thread that asks. What they ask is the kernel or the program itself.
constexpr std::string_view kCountTheirCaller[] = {"perf_event", "topdown", "appio", "sde"};

}  // namespace

int ForeignEvents::call_for(int component, std::shared_ptr<void> given, int (*call)(void* given)) {
  if (papi_.lost(component)) return kNeverCame;
  const auto at = static_cast<size_t>(component);
  if (at < counts_its_caller_.size() && counts_its_caller_[at]) return call(given.get());
  if (const auto gave = call_beside(settings_.seconds, std::move(given), call)) return *gave;
  papi_.lose(component);
  return kNeverCame;
}

Suspect::Suspect() noexcept {
  void* const shared = ::mmap(nullptr, kCapacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  name_ = shared == MAP_FAILED ? nullptr : static_cast<char*>(shared);
}

Suspect::~Suspect() {
  if (name_ != nullptr) ::munmap(name_, kCapacity);
}

void Suspect::is(std::string_view component) noexcept {
  if (name_ == nullptr) return;
  const size_t length = std::min(component.size(), kCapacity - 1);
  std::memcpy(name_, component.data(), length);
  name_[length] = '\0';
}

std::string Suspect::component() const {
  return name_ == nullptr ? std::string() : std::string(name_, strnlen(name_, kCapacity));
}

bool ForeignEvents::scan(const Settings& settings, std::string* why, Suspect* suspect) {
  const std::lock_guard guard(lock_);
  settings_ = settings;
  std::string reasons;
  for (int component = 0; component < papi_.num_components(); ++component) {
    counts_its_caller_.resize(static_cast<size_t>(component));
    const PAPI_component_info_t* info = papi_.get_component_info(component);
    if (info == nullptr) continue;
    const std::string name = text_of(info->name);
    counts_its_caller_.push_back(std::find(std::begin(kCountTheirCaller), std::end(kCountTheirCaller),
                                           name) != std::end(kCountTheirCaller));
    if (!reasons.empty()) reasons += "; ";
    reasons += name + ": ";
    const char* const harm = settings_.harm_of(name);
    if (harm != nullptr) offered_ += (offered_.empty() ? "" : ",") + name;
    if (!settings_.chose(name)) {
      reasons += harm != nullptr                ? harm
                 : settings_.components.empty() ? "substrata has it itself"
                                                : "not asked for";
      continue;
    }
    if (suspect != nullptr) suspect->is(name);
    // Also asked of a component that waits for its first use: the question is the use.
    int code = PAPI_NATIVE_MASK;
    const bool waits = info->disabled == PAPI_EDELAY_INIT;
    if (info->disabled == 0 || waits) {
      const size_t before = events_.size();
      int more = papi_.enum_cmp_event(&code, PAPI_ENUM_FIRST, component);
      for (; more == PAPI_OK; more = papi_.enum_cmp_event(&code, PAPI_ENUM_EVENTS, component)) {
        uint32_t index = 0;
        enter(code, {}, &index);
      }
      if (events_.size() > before) offered_ += (offered_.empty() ? "" : ",") + name;
    }
    info = papi_.get_component_info(component);
    const std::string reason = info == nullptr || info->disabled == 0 ? "" : text_of(info->disabled_reason);
    reasons += !reason.empty() ? reason : "no event";
  }
  if (!events_.empty()) return true;
  *why = "PAPI " + papi_.version_text() + " at " + papi_.path() +
         " has no event to offer (SUBSTRATA_BRIDGE_COMPONENTS chooses its components): " +
         (reasons.empty() ? "it has no component" : reasons);
  return false;
}

void ForeignEvents::try_reading(Suspect* suspect) const {
  const std::lock_guard guard(lock_);
  int read = -1;  // the component that was last read: events are listed one component after another
  for (const ForeignEvent& event : events_) {
    if (event.component == read) continue;
    const PAPI_component_info_t* const of = papi_.get_component_info(event.component);
    suspect->is(of == nullptr ? std::string() : text_of(of->name));
    int set = PAPI_NULL;
    if (papi_.create_eventset(&set) != PAPI_OK) continue;
    if (papi_.add_event(set, event.code) == PAPI_OK) {
      read = event.component;
      long long value = 0;
      if (papi_.start(set) == PAPI_OK) {
        papi_.read(set, &value);
        papi_.stop(set, &value);
      }
    }
    papi_.cleanup_eventset(set);
    papi_.destroy_eventset(&set);
  }
}

bool ForeignEvents::enter(int code, const std::string& asked, uint32_t* index) {
  // The longer of the two generations' structures: that PAPI fills as much of it as it knows.
  const auto info = std::make_unique<PAPI_event_info_t>();
  if (papi_.get_event_info(code, info.get()) != PAPI_OK) return false;
  const int component = papi_.get_event_component(code);
  const PAPI_component_info_t* of = component < 0 ? nullptr : papi_.get_component_info(component);
  if (of == nullptr || !settings_.chose(text_of(of->name))) return false;
  const std::string name = asked.empty() ? text_of(info->symbol) : asked;
  if (name.empty()) return false;
  const uint32_t next = static_cast<uint32_t>(events_.size());
  const auto [place, fresh] = by_name_.emplace(name, next);
  *index = place->second;
  if (!fresh) return true;
  ForeignEvent event;
  event.code = code;
  event.component = component;
  event.name = name;
  event.text = text_of(info->long_descr);
  if (event.text.empty()) event.text = text_of(info->short_descr);
  event.unit = text_of(info->units);
  const bool level = info->timescope == PAPI_TIMESCOPE_POINT || info->value_type == PAPI_VALUETYPE_ABSOLUTE;
  event.kind = level ? ValueKind::kGauge : ValueKind::kCount;
  event.type = type_of(info->data_type);
  events_.push_back(std::move(event));
  size_.store(next + 1, std::memory_order_release);
  return true;
}

void ForeignEvents::try_out(ForeignEvent* event) {
  struct Question {
    const ForeignPapi* papi;
    int code;
  };
  const int error =
      call_for(event->component, std::make_shared<Question>(Question{&papi_, event->code}), [](void* given) {
        const Question& asked = *static_cast<Question*>(given);
        int set = PAPI_NULL;
        int gave = asked.papi->create_eventset(&set);
        if (gave == PAPI_OK) {
          gave = asked.papi->add_event(set, asked.code);
          asked.papi->cleanup_eventset(set);
          asked.papi->destroy_eventset(&set);
        }
        return gave;
      });
  if (error != PAPI_OK && error != kNeverCame)
    event->why = "PAPI " + papi_.version_text() + " refuses it: " + papi_.error_text(error);
  event->tried = true;
}

Status ForeignEvents::at(uint32_t index, Event* out) {
  const std::lock_guard guard(lock_);
  if (index >= events_.size()) return {Code::kNoEvent, 0, "the bridge has no event of this number"};
  ForeignEvent& event = events_[index];
  if (!event.tried) try_out(&event);
  if (papi_.lost(event.component))
    event.why = "its component did not come back when it was asked, and is left out";
  *out = Event{};
  out->name = event.name.c_str();
  out->text = event.text.c_str();
  out->unit = event.unit.c_str();
  out->kind = event.kind;
  out->type = event.type;
  if (!event.why.empty()) {
    out->why = event.why.c_str();
    out->flags = kEventUnavailable;
  }
  return kSuccess;
}

Status ForeignEvents::find(const char* name, uint32_t* index) {
  if (name == nullptr) return {Code::kInvalid, 0, "an event name is needed"};
  const std::lock_guard guard(lock_);
  if (const auto known = by_name_.find(name); known != by_name_.end()) {
    *index = known->second;
    return kSuccess;
  }
  const std::string_view asked = name;
  if (const char* harm = settings_.harm_of(asked.substr(0, asked.find(":::"))); harm != nullptr)
    return refuse(Code::kNoSupport, "%.200s is left out: %s", name, harm);
  int code = PAPI_NATIVE_MASK;
  const int error = papi_.event_name_to_code(name, &code);
  if (error != PAPI_OK) {
    return refuse(error == PAPI_EATTR ? Code::kAttribute : Code::kNoEvent, "PAPI %s does not know %.200s: %s",
                  papi_.version_text().c_str(), name, papi_.error_text(error));
  }
  if (!enter(code, name, index))
    return refuse(Code::kNoEvent, "%.200s is of a component that the bridge does not offer", name);
  return kSuccess;
}

const ForeignEvent& ForeignEvents::event(uint32_t index) const {
  const std::lock_guard guard(lock_);
  return events_[index];
}

}  // namespace substrata::bridge
