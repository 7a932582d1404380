// Reads the attachment "mpi-summary".
#include "recording/phases.hpp"

#include <set>
#include <string_view>

#ifdef SUBSTRATA_JSON
#include <nlohmann/json.hpp>
#endif

namespace substrata::recording {
namespace {

#ifdef SUBSTRATA_JSON
using nlohmann::json;

bool number(const json& object, const char* name, double* value) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return false;
  *value = found->get<double>();
  return true;
}
bool text(const json& object, const char* name, std::string* value) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return false;
  *value = found->get<std::string>();
  return true;
}
json list(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_array() ? *found : json::array();
}

// Of the one summary of the recording: what of(entry, rank, &part) makes of each object in the ranks' lists of that
// name; nothing where it does not like one.
template <typename Part, typename Of>
std::vector<Part> parts_of(const Recording& recording, const char* name, const Of& of) {
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
  std::vector<Part> out;
  for (const json& rank : list(json::parse(summary->content, nullptr, false), "ranks")) {
    double rank_number = 0;
    if (!rank.is_object() || !number(rank, "rank", &rank_number)) return {};
    for (const json& entry : list(rank, name)) {
      Part one;
      one.rank = static_cast<std::int64_t>(rank_number);
      if (!entry.is_object() || !of(entry, &one)) return {};
      out.push_back(std::move(one));
    }
  }
  return out;
}
#endif

}  // namespace

#ifdef SUBSTRATA_JSON
std::vector<PhaseCount> phase_counts(const Recording& recording) {
  return parts_of<PhaseCount>(recording, "phases", [](const json& phase, PhaseCount* one) {
    return text(phase, "name", &one->name) && number(phase, "messages_sent", &one->messages) &&
           number(phase, "bytes_sent", &one->bytes);
  });
}

std::vector<BlasCount> blas_counts(const Recording& recording) {
  return parts_of<BlasCount>(recording, "blas", [](const json& entry, BlasCount* one) {
    double ns = 0;
    const bool whole = text(entry, "phase", &one->phase) && text(entry, "function", &one->function) &&
                       number(entry, "calls", &one->calls) && number(entry, "operations", &one->operations) &&
                       number(entry, "ns", &ns);
    one->seconds = 1e-9 * ns;
    return whole;
  });
}
#else
std::vector<PhaseCount> phase_counts(const Recording&) { return {}; }
std::vector<BlasCount> blas_counts(const Recording&) { return {}; }
#endif

}  // namespace substrata::recording
