// Sources and probe points by name, and patterns of names.
#include "feed/registry.hpp"

#include <substrata/result.hpp>

#include "base/callers_size.hpp"
#include "base/glob.hpp"
#include "base/guard.hpp"
#include "base/immortal.hpp"
#include "feed/built_in.hpp"

namespace substrata::feed {
namespace {

bool valid_name(const char* name, std::string_view punctuation) noexcept {
  if (name == nullptr || *name == '\0') return false;
  size_t length = 0;
  for (const char* at = name; *at != '\0'; ++at, ++length) {
    const char c = *at;
    const bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!alphanumeric && punctuation.find(c) == std::string_view::npos) return false;
  }
  return length <= 255;
}

Source* find_source(Registry& all, std::string_view name) noexcept {
  for (Source& source : all.sources) {
    if (source.name == name) return &source;
  }
  return nullptr;
}

Probe* find_probe(Registry& all, std::string_view name) noexcept {
  for (Probe& probe : all.probes) {
    if (probe.name == name) return &probe;
  }
  return nullptr;
}

}  // namespace

Registry& registry() noexcept {
  static Immortal<Registry> all;
  return *all;
}

// Made while the library is loaded: a flush must not be what finds no memory for it.
[[maybe_unused]] static const Registry& made = registry();

bool has_wildcard(std::string_view patterns) noexcept {
  return patterns.find_first_of("*?") != std::string_view::npos;
}

}  // namespace substrata::feed

using namespace substrata;
using namespace substrata::feed;

extern "C" {

uint32_t substrata_feed_abi(void) { return SUBSTRATA_FEED_ABI; }

const char* substrata_feed_error(void) { return substrata::last_refusal(); }

int substrata_source_add(const substrata_source_info* info) {
  return guarded([&] {
    if (info == nullptr || info->struct_size < sizeof(substrata_source_info)) {
      return fail(Code::kInvalid, "substrata_source_add needs an info whose struct_size is set");
    }
    if (!valid_name(info->name, "_-")) {
      return fail(Code::kInvalid, "a source was named '%s'; use 1 to 255 letters, digits, '_' and '-'",
                  info->name != nullptr ? info->name : "(null)");
    }
    if (info->kind > SUBSTRATA_SOURCE_TEST || info->time_base > SUBSTRATA_TIME_SIMULATED) {
      return fail(Code::kInvalid,
                  "source '%s' has kind %u and time base %u; the kinds are 0 to 3, the time bases 0 to 3",
                  info->name, info->kind, info->time_base);
    }
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    Source* source = find_source(all, info->name);
    if (source == nullptr) {
      source = &all.sources.emplace_back();
      source->name = info->name;
      source->summary = info->summary != nullptr ? info->summary : "";
      source->kind = info->kind;
    }
    source->time_base = info->time_base;
    source->ticks_per_second = info->ticks_per_second;
    if (info->why_not == nullptr) {
      source->why_not = nullptr;
    } else if (source->why_not == nullptr || *source->why_not != info->why_not) {
      static std::deque<std::string>* const messages = new std::deque<std::string>;
      source->why_not = &messages->emplace_back(info->why_not);
    }
    return 0;
  });
}

uint32_t substrata_source_count(void) {
  add_built_in();  // machines have sources
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  return static_cast<uint32_t>(all.sources.size());
}

int substrata_source_at(uint32_t index, substrata_source_info* out) {
  return guarded([&] {
    add_built_in();
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    if (out == nullptr || index >= all.sources.size()) {
      return fail(Code::kInvalid, "source %u was asked for; there are %zu", index, all.sources.size());
    }
    const Source& source = all.sources[index];
    auto info = substrata::client::sized<substrata_source_info>();
    info.kind = source.kind;
    info.name = source.name.c_str();
    info.summary = source.summary.c_str();
    info.why_not = source.why_not != nullptr ? source.why_not->c_str() : nullptr;
    info.time_base = source.time_base;
    info.probe_count = source.probe_count;
    info.ticks_per_second = source.ticks_per_second;
    hand_out(info, out);
    return 0;
  });
}

int substrata_probe_add(const substrata_probe_info* info, uint32_t* number) {
  return guarded([&] {
    if (info == nullptr || number == nullptr ||
        info->struct_size < offsetof(substrata_probe_info, publishers)) {
      return fail(Code::kInvalid,
                  "substrata_probe_add needs an info whose struct_size is set, and a place for the number");
    }
    if (!valid_name(info->name, "_.-")) {
      return fail(Code::kInvalid,
                  "a probe point was named '%s'; use 1 to 255 letters, digits, '_', '-' and '.'",
                  info->name != nullptr ? info->name : "(null)");
    }
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    if (const Probe* known = find_probe(all, info->name)) {
      *number = known->number;
      return 0;
    }
    Source* source = info->source != nullptr ? find_source(all, info->source) : nullptr;
    if (source == nullptr) {
      return fail(
          Code::kNoEvent,
          "probe point '%s' names the source '%s', which is not registered; call substrata_source_add first",
          info->name, info->source != nullptr ? info->source : "(null)");
    }
    if (all.probes.size() >= 65535) {
      return fail(Code::kInvalid, "probe point '%s' would be the 65536th; there may be 65535", info->name);
    }
    Probe& probe = all.probes.emplace_back();
    probe.number = static_cast<uint32_t>(all.probes.size() - 1);
    probe.name = info->name;
    probe.text = info->text != nullptr ? info->text : "";
    probe.source = source;
    ++source->probe_count;
    for (const StandingSubscription& standing : all.standing) {
      if (any_glob(standing.patterns, probe.name)) add_observer(probe, standing.observer);
    }
    *number = probe.number;
    return 0;
  });
}

int substrata_probe_find(const char* name, uint32_t* number) {
  return guarded([&] {
    if (name == nullptr || number == nullptr)
      return fail(Code::kInvalid, "substrata_probe_find needs a name and a place for the number");
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    const Probe* probe = find_probe(all, name);
    if (probe == nullptr)
      return fail(Code::kNoEvent, "there is no probe point '%s'; `substrata probes` lists them", name);
    *number = probe->number;
    return 0;
  });
}

uint32_t substrata_probe_count(void) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  return static_cast<uint32_t>(all.probes.size());
}

int substrata_probe_at(uint32_t number, substrata_probe_info* out) {
  return guarded([&] {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    if (out == nullptr || number >= all.probes.size()) {
      return fail(Code::kInvalid, "probe point %u was asked for; there are %zu", number, all.probes.size());
    }
    Probe& probe = all.probes[number];
    auto info = substrata::client::sized<substrata_probe_info>();
    info.number = number;
    info.name = probe.name.c_str();
    info.text = probe.text.c_str();
    info.source = probe.source->name.c_str();
    info.publishers = probe.publisher_count;
    {
      const std::lock_guard list(probe.observers_mutex);
      info.observers = static_cast<uint32_t>(probe.observers->size());
    }
    info.delivered = probe.delivered.load(std::memory_order_relaxed);
    info.refused = probe.refused.load(std::memory_order_relaxed);
    hand_out(info, out);
    return 0;
  });
}

}  // extern "C"
