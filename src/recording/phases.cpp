// Reads the attachment "mpi-summary".
#include "recording/phases.hpp"

#include <set>
#include <string_view>

#ifdef SUBSTRATA_JSON
#include <nlohmann/json.hpp>
#endif

namespace substrata::recording {

std::vector<PhaseCount> phase_counts(const Recording& recording) {
  std::vector<PhaseCount> out;
#ifdef SUBSTRATA_JSON
  // Only the ranks of the node that printed a section's mark know that they are in it.
  std::set<std::string_view> hosts;
  const Attachment* summary = nullptr;
  for (const Writer& writer : recording.writers) {
    hosts.insert(property(writer.properties, "host"));
    for (const Attachment& attachment : writer.attachments) {
      if (attachment.name != "mpi-summary") continue;
      if (summary != nullptr) return {};  // of several jobs
      summary = &attachment;
    }
  }
  if (summary == nullptr || hosts.size() > 1) return {};
  using nlohmann::json;
  const json content = json::parse(summary->content, nullptr, false);
  const auto number = [](const json& object, const char* name, double* value) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_number()) return false;
    *value = found->get<double>();
    return true;
  };
  const auto list = [](const json& object, const char* name) {
    const auto found = object.is_object() ? object.find(name) : object.end();
    return found != object.end() && found->is_array() ? *found : json::array();
  };
  for (const json& rank : list(content, "ranks")) {
    double rank_number = 0;
    if (!rank.is_object() || !number(rank, "rank", &rank_number)) return {};
    for (const json& phase : list(rank, "phases")) {
      PhaseCount one;
      one.rank = static_cast<std::int64_t>(rank_number);
      const auto name = phase.is_object() ? phase.find("name") : phase.end();
      if (name == phase.end() || !name->is_string() || !number(phase, "messages_sent", &one.messages) ||
          !number(phase, "bytes_sent", &one.bytes))
        return {};
      one.name = name->get<std::string>();
      out.push_back(std::move(one));
    }
  }
#else
  static_cast<void>(recording);
#endif
  return out;
}

}  // namespace substrata::recording
