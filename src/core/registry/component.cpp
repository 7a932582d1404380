// Lazy detection and opening of one substrate, and its catalogue with defaults.
#include "core/registry/component.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/environment.hpp"
#include "base/glob.hpp"
#include "base/log.hpp"
#include "base/parse.hpp"

namespace substrata {
namespace {

// In a table's lists, which are read when they are asked for: bringing the library up needs none of them.
constexpr std::string_view kBetweenNames = ", ";

}  // namespace

Component::Component(int index, const SubstrateTable& table, const Host* host, SharedLibrary library,
                     std::string origin)
    : index_(index), table_(table), host_(host), library_(std::move(library)), origin_(std::move(origin)) {}

Component::~Component() { close(); }

Status Component::ensure_open() {
  if (state_.load(std::memory_order_acquire) == kOpen) return kSuccess;
  const std::lock_guard guard(lock_);
  if (state_.load(std::memory_order_relaxed) == kUnknown) {
    Status status = kSuccess;
    if (disabled_by_user_) {
      code_ = Code::kDisabled;
      state_.store(kUnavailable, std::memory_order_release);
    } else {
      status = table_.detect(host_);
      if (status.ok()) status = table_.open(host_, &device_);
      if (status.ok()) {
        static std::atomic<uint64_t> openings{0};
        opened_.store(openings.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        state_.store(kOpen, std::memory_order_release);
        log_line(kLogSubstrate, "%s: open", table_.name);
        return kSuccess;
      }
      device_ = nullptr;
      code_ = status.code;
      os_error_ = status.os_error;
      reason_ = status.note != nullptr ? status.note : "";
      if (reason_.empty()) reason_ = std::string(table_.name) + " is not available here";
      log_line(kLogSubstrate, "%s: unavailable (%d): %s", table_.name, static_cast<int>(code_),
               reason_.c_str());
      state_.store(kUnavailable, std::memory_order_release);
    }
  }
  if (state_.load(std::memory_order_relaxed) == kOpen) return kSuccess;
  Status status = refuse(code_, "%s: %s", table_.name, reason_.c_str());
  status.os_error = os_error_;
  return status;
}

int Component::disabled() {
  if (ensure_open().ok()) return 0;
  const std::lock_guard guard(lock_);
  return disabled_by_user_ ? 1 : static_cast<int>(code_);
}

std::string Component::disabled_reason() {
  if (ensure_open().ok()) return "";
  const std::lock_guard guard(lock_);
  return reason_;
}

void Component::disable(std::string reason) {
  const std::lock_guard guard(lock_);
  if (state_.load(std::memory_order_relaxed) == kOpen) return;
  disabled_by_user_ = true;
  code_ = Code::kDisabled;
  reason_ = std::move(reason);
  state_.store(kUnavailable, std::memory_order_release);
}

uint32_t Component::event_count() { return ensure_open().ok() ? table_.event_count(device_) : 0; }

std::vector<std::string> Component::units() {
  if (!ensure_open().ok()) return {};
  return split_list(table_.units(device_), ",");
}

Status Component::event_at(uint32_t index, Event* out) {
  if (const Status status = ensure_open(); !status.ok()) return status;
  if (index >= found_.load(std::memory_order_relaxed) && index >= table_.event_count(device_)) {
    return refuse(Code::kNoEvent, "%s has no event number %u", table_.name, static_cast<unsigned>(index));
  }
  *out = Event{};
  if (const Status status = keep_note(table_.event_at(device_, index, out)); !status.ok()) return status;
  if (out->name == nullptr) return refuse(Code::kBug, "%s: event %u has no name", table_.name, index);
  if (out->text == nullptr) out->text = "";
  if (out->unit == nullptr) out->unit = "";
  return kSuccess;
}

Result<uint32_t> Component::find_event(const char* name) {
  if (const Status status = ensure_open(); !status.ok()) return status;
  if (table_.find_event != nullptr) {
    uint32_t index = 0;
    const Status status = keep_note(table_.find_event(device_, name, &index));
    if (!status.ok()) return status;
    uint32_t found = found_.load(std::memory_order_relaxed);
    while (index >= found && !found_.compare_exchange_weak(found, index + 1, std::memory_order_relaxed)) {
    }
    return index;
  }
  const std::lock_guard guard(lock_);
  const uint32_t count = table_.event_count(device_);
  for (; indexed_ < count; ++indexed_) {
    Event event;
    if (table_.event_at(device_, indexed_, &event).ok() && event.name != nullptr)
      index_by_name_.emplace(event.name, indexed_);
  }
  const auto found = index_by_name_.find(name);
  if (found == index_by_name_.end())
    return refuse(Code::kNoEvent, "%s has no event \"%.200s\"", table_.name, name);
  return found->second;
}

Status Component::recipe(const char* preset, Recipe* out) {
  if (table_.recipe == nullptr) return Status{Code::kNoEvent, 0, "this component forms no presets"};
  if (const Status status = ensure_open(); !status.ok()) return status;
  *out = Recipe{};
  const Status status = keep_note(table_.recipe(device_, preset, out));
  if (!status.ok()) return status;
  if (out->term_count == 0 || out->term_count > kMaxRecipeTerms)
    return refuse(Code::kBug, "%s: the recipe of %s has %u terms", table_.name, preset, out->term_count);
  out->derived[sizeof out->derived - 1] = '\0';
  out->postfix[sizeof out->postfix - 1] = '\0';
  out->note[sizeof out->note - 1] = '\0';
  return kSuccess;
}

bool Component::name_is_complete(std::string_view event) const noexcept {
  // A processor's events are spelled bare, as PAPI does: "INST_RETIRED:ANY_P".
  return has(kProcessor) || (table_.prefixes != nullptr && *table_.prefixes != '\0' &&
                             event.find("::") != std::string_view::npos);
}

std::string Component::full_name(std::string_view event) const {
  if (name_is_complete(event)) return std::string(event);
  std::string name = table_.name;
  name += ":::";
  name += event;
  return name;
}

std::vector<std::string> Component::prefixes() const {
  return table_.prefixes != nullptr ? split_list(table_.prefixes, kBetweenNames) : std::vector<std::string>{};
}

bool Component::may_have(std::string_view event) const {
  if (table_.event_names == nullptr) return true;
  const std::vector<std::string> patterns = split_list(table_.event_names, kBetweenNames);
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return glob(pattern, event); });
}

std::vector<std::string> Component::known_events() const {
  if (table_.event_names == nullptr) return {};
  std::vector<std::string> known = split_list(table_.event_names, kBetweenNames);
  std::erase_if(known,
                [](const std::string& pattern) { return pattern.find_first_of("*?[") != std::string::npos; });
  return known;
}

Configuration Component::default_configuration() const noexcept {
  Configuration configuration;
  configuration.domain = table_.default_domain;
  configuration.granularity = table_.default_granularity;
  return configuration;
}

Status Component::configure(Set* set, const Configuration& configuration) const {
  if (table_.configure != nullptr) return keep_note(table_.configure(set, &configuration));
  if ((configuration.domain & ~table_.domains) != 0)
    return refuse(Code::kComponent, "%s counts in domains 0x%x only; 0x%x was asked for", table_.name,
                  table_.domains, configuration.domain);
  if (configuration.domain != table_.default_domain)
    return refuse(Code::kComponent, "%s cannot count one domain (0x%x) apart from the others", table_.name,
                  configuration.domain);
  if (configuration.granularity != table_.default_granularity)
    return refuse(Code::kComponent, "%s measures with granularity %u only", table_.name,
                  table_.default_granularity);
  if (configuration.target != Target::kSelf)
    return refuse(Code::kComponent, "%s cannot be attached to a thread, process or processor", table_.name);
  if (configuration.inherit != 0)
    return refuse(Code::kComponent, "%s cannot count the children of a process", table_.name);
  if (configuration.multiplex != 0)
    return refuse(Code::kComponent, "%s does not multiplex by itself", table_.name);
  return kSuccess;
}

void Component::close() {
  const std::lock_guard guard(lock_);
  if (state_.load(std::memory_order_relaxed) == kOpen) {
    table_.close(device_);
    device_ = nullptr;
    found_.store(0, std::memory_order_relaxed);
  }
  index_by_name_.clear();
  indexed_ = 0;
  opened_.store(0, std::memory_order_relaxed);
  disabled_by_user_ = false;
  reason_.clear();
  code_ = Code::kOk;
  state_.store(kUnknown, std::memory_order_release);
}

}  // namespace substrata
