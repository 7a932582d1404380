// Parsing of qualified event names.
#include "models/counting/event_names.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/parse.hpp"

namespace substrata::counting {
namespace {

// The whole text is one of the names.
bool parse_name(const char* names, std::string_view text, uint64_t least, uint64_t* out) noexcept {
  std::string_view rest = names != nullptr ? names : "";
  for (uint64_t value = least; !rest.empty() && !text.empty(); ++value) {
    const std::string_view name = rest.substr(0, rest.find('|'));
    if (name == text) {
      *out = value;
      return true;
    }
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
  }
  return false;
}

std::string allowed_keys(std::span<const Qualifier> qualifiers, uint64_t allowed) {
  std::string keys;
  for (size_t i = 0; i < qualifiers.size(); ++i) {
    if ((allowed >> i & 1) == 0) continue;
    if (!keys.empty()) keys += ", ";
    keys += qualifiers[i].key;
  }
  return keys.empty() ? "none" : keys;
}

}  // namespace

Status parse_event_name(std::span<const EventDescription> events, std::span<const Qualifier> qualifiers,
                        std::string_view name, Request* out) {
  const std::string_view base = name.substr(0, name.find(':'));
  Request request;
  while (request.event < events.size() && base != events[request.event].name) ++request.event;
  if (request.event == events.size()) {
    return refuse(Code::kNoEvent, "there is no event '%.*s'; papi_native_avail lists what there is",
                  static_cast<int>(base.substr(0, 200).size()), base.data());
  }
  const EventDescription& event = events[request.event];
  request.qualifiers.resize(qualifiers.size());
  std::string_view rest = name.substr(base.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);  // ':'
    const std::string_view item = rest.substr(0, rest.find(':'));
    rest.remove_prefix(item.size());
    const std::string shown(item.substr(0, 100));
    const size_t equals = item.find('=');
    const std::string_view key = item.substr(0, equals);
    size_t index = 0;
    while (index < qualifiers.size() && key != qualifiers[index].key) ++index;
    if (index == qualifiers.size() || (event.qualifiers >> index & 1) == 0) {
      return refuse(Code::kAttribute, "event %s takes no qualifier '%s'; it takes: %s", event.name,
                    shown.c_str(), allowed_keys(qualifiers, event.qualifiers).c_str());
    }
    const Qualifier& qualifier = qualifiers[index];
    QualifierValue& value = request.qualifiers[index];
    if (value.given) {
      return refuse(Code::kAttribute, "qualifier '%s' of event %s is given twice", qualifier.key, event.name);
    }
    const std::string_view text =
        equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1);
    const size_t dash = qualifier.range ? text.find('-') : std::string_view::npos;
    const bool named = parse_name(qualifier.names, text, qualifier.least, &value.low);
    const bool parsed =
        named || (parse_size(text.substr(0, dash), &value.low) &&
                  (dash == std::string_view::npos || parse_size(text.substr(dash + 1), &value.high)));
    if (!parsed) {
      return refuse(Code::kAttribute, "'%s' of event %s is not understood; write %s=NUMBER%s%s",
                    shown.c_str(), event.name, qualifier.key, qualifier.range ? " or LOW-HIGH" : "",
                    qualifier.names != nullptr ? (std::string(" or one of ") + qualifier.names).c_str() : "");
    }
    if (dash == std::string_view::npos) value.high = value.low;
    if (value.low < qualifier.least || value.high > qualifier.most || value.low > value.high) {
      return refuse(Code::kAttribute, "'%s' of event %s is out of bounds; %s goes from %llu to %llu",
                    shown.c_str(), event.name, qualifier.key,
                    static_cast<unsigned long long>(qualifier.least),
                    static_cast<unsigned long long>(qualifier.most));
    }
    value.given = true;
  }
  *out = std::move(request);
  return kSuccess;
}

std::string canonical_name(std::span<const EventDescription> events, std::span<const Qualifier> qualifiers,
                           const Request& request) {
  std::string name = events[request.event].name;
  for (size_t i = 0; i < qualifiers.size(); ++i) {
    const QualifierValue& value = request.qualifiers[i];
    if (!value.given) continue;
    name += ':';
    name += qualifiers[i].key;
    name += '=';
    name += std::to_string(value.low);
    if (value.high != value.low) name += '-' + std::to_string(value.high);
  }
  return name;
}

}  // namespace substrata::counting
