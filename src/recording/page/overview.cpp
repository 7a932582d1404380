// Each number from the first of its sources that the recording has.
#include "recording/page/overview.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <set>

#include "recording/statistics.hpp"

namespace substrata::recording {
namespace {

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

class Overview {
 public:
  Overview(const Timeline& timeline, const std::vector<Group>& groups)
      : timeline_(timeline), groups_(groups) {}

  std::vector<OverviewNumber> all() {
    add("Wall time", timeline_.seconds, "s");
    processors();
    memory();
    messages();
    network();
    heat();
    energy();
    ranks();
    return out_;
  }

 private:
  void add(const char* name, double value, const char* unit, std::string note = {},
           const SeriesInfo* about = nullptr) {
    if (!std::isfinite(value)) return;
    out_.push_back({name, value, unit, std::move(note), NAN, {}, about != nullptr && about->modelled});
    if (about != nullptr) out_.back().origin = origin_name(*about);
  }
  // Beside the number that was added last.
  void also(double value, const char* unit) {
    out_.back().also = value;
    out_.back().also_unit = unit;
  }
  // The first of these series with values, which may be several traces.
  const Group* group(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names)
      for (const Group& one : groups_)
        if (one.about->name == name && total_of(one) >= 0) return &one;
    return nullptr;
  }
  // Of all writers; NaN without values.
  static double total_of(const Group& group) {
    double sum = NAN;
    for (const Trace* trace : group.traces)
      if (trace->values.size() > 1) sum = (std::isnan(sum) ? 0 : sum) + summarize(*trace).total;
    return sum;
  }
  // A property that every writer may have: the sum, or the largest; NaN where none has it.
  double of_ends(std::string_view name, bool largest) const {
    double out = NAN;
    for (const Writer& writer : timeline_.recording->writers) {
      if (property(writer.end_properties, name).empty()) continue;
      const double one = property_real(writer.end_properties, name);
      out = std::isnan(out) ? one : largest ? std::max(out, one) : out + one;
    }
    return out;
  }

  void processors() {
    const std::string machine{
        property(timeline_.recording->writers.front().properties, "machine.processors")};
    const std::string note = machine.empty() || timeline_.hosts > 1 ? "" : "of " + machine;
    const Group* clock = group({"perf::TASK-CLOCK", "process:::cpu:time", "machine:busy"});
    if (clock != nullptr && timeline_.seconds > 0)
      add("CPUs busy", total_of(*clock) / timeline_.seconds, "", note, clock->about);
    // Of the whole command, and so not of a part of the recording that was cut out.
    const double system = of_ends("command.system_s", false), user = of_ends("command.user_s", false);
    if (timeline_.cut || !(system + user > 0)) return;
    char share[40];
    std::snprintf(share, sizeof share, "%.0f %% in the kernel", 100 * system / (system + user));
    add("Processor time", system + user, "s", share);
  }
  void memory() {
    const double peak = of_ends("command.max_resident_kib", true),
                 floor = of_ends("command.max_resident_floor_kib", true);
    // What the command needs less than the recorder before it cannot be seen.
    if (!timeline_.cut && !(peak <= floor)) add("Peak memory", 1024 * peak, "bytes", "largest process");
  }
  void messages() {
    if (const Group* count = group({"mpi:::messages", "mpi:::rank:messages"})) {
      add("MPI messages", total_of(*count), "", {}, count->about);
      if (const Group* bytes = group({"mpi:::bytes", "mpi:::rank:bytes"})) also(total_of(*bytes), "bytes");
    }
  }
  // What all interfaces of a kind received and sent; `counts` says of an event whether it is one of the two.
  void traffic(const char* title, bool (*counts)(const SeriesInfo&)) {
    double sum = NAN;
    const SeriesInfo* about = nullptr;
    for (const Group& one : groups_) {
      if (!counts(*one.about)) continue;
      const double total = total_of(one);
      if (!std::isfinite(total)) continue;
      sum = (std::isnan(sum) ? 0 : sum) + total;
      about = one.about;
    }
    add(title, sum, "bytes", "in and out, whole node", about);
  }
  void network() {
    traffic("Network", [](const SeriesInfo& event) {
      return event.component == "net" && event.name.find(":::lo:") == std::string::npos &&
             (ends_with(event.name, ":rx:bytes") || ends_with(event.name, ":tx:bytes"));
    });
    traffic("Fabric", [](const SeriesInfo& event) {
      // An event with _ext reads the same file as the one without.
      if (event.component == "infiniband")
        return event.name.find("_ext:") == std::string::npos &&
               (ends_with(event.name, ":port_rcv_data") || ends_with(event.name, ":port_xmit_data"));
      return event.component == "cxi" &&
             (ends_with(event.name, "_rx_ok_octets") || ends_with(event.name, "_tx_ok_octets"));
    });
  }
  void heat() {
    const Trace* hottest = nullptr;
    double most = -INFINITY;
    for (const Group& one : groups_) {
      if (one.about->unit != "degC" || one.about->kind != Kind::kGauge) continue;
      // Limits are not temperatures.
      const std::string& name = one.about->name;
      if (ends_with(name, ":max") || ends_with(name, ":crit") || ends_with(name, ":emergency") ||
          ends_with(name, ":min"))
        continue;
      for (const Trace* trace : one.traces) {
        if (trace->values.empty()) continue;
        const double here = *std::max_element(trace->values.begin(), trace->values.end());
        // What was measured comes before a model.
        const bool better = hottest == nullptr || (hottest->series->modelled && !one.about->modelled) ||
                            (hottest->series->modelled == one.about->modelled && here > most);
        if (!better) continue;
        most = here;
        hottest = trace;
      }
    }
    if (hottest != nullptr) add("Hottest", most, "degC", hottest->series->name, hottest->series);
  }
  // Of one scheme, the first that is there: the whole node, or packages, which have all that is in them.
  static bool has_energy(const SeriesInfo& info, int scheme) {
    if (info.unit != "J" || info.kind == Kind::kGauge) return false;
    const std::string& name = info.name;
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    if (scheme == 0) return has("PM_ENERGY:NODE");
    if (scheme == 1) return has("PACKAGE_ENERGY:") || has("ENERGY_PKG") || has("energy-pkg");
    return has("ENERGY_UJ:ZONE") && !has("SUBZONE") && info.text.find("package") != std::string::npos;
  }

  // A counter of energy that stands still does not count, for nothing runs on 0 W.
  void energy() {
    const SeriesInfo* stands_still = nullptr;
    for (int scheme = 0; scheme < 3; ++scheme) {
      double sum = 0;
      const SeriesInfo* about = nullptr;
      for (const Group& one : groups_) {
        const double total = has_energy(*one.about, scheme) ? total_of(one) : NAN;
        if (!std::isfinite(total)) continue;
        sum += total;
        if (about == nullptr || one.about->modelled) about = one.about;
      }
      if (stands_still == nullptr) stands_still = about;
      if (sum == 0 || timeline_.seconds <= 0) continue;
      add("Power", sum / timeline_.seconds, "W", scheme == 0 ? "whole node" : "processors", about);
      return also(sum, "J");
    }
    if (const Group* power = group({"cray_pm:::PM_POWER:NODE"})) {
      double sum = 0;
      for (const Trace* trace : power->traces) sum += summarize(*trace).level.mean;
      return add("Power", sum, "W", "whole node", power->about);
    }
    if (stands_still != nullptr) add("Energy", 0, "J", "its counter stands still", stands_still);
  }
  void ranks() {
    std::size_t count = 0;
    std::set<std::int64_t> own;
    for (const Writer& writer : timeline_.recording->writers)
      if (!property(writer.properties, "mpi.rank").empty())
        own.insert(property_number(writer.properties, "mpi.rank"));
    count = own.size();
    for (const Group& one : groups_) {
      if (one.scope == "rank") count = std::max(count, one.traces.size());
      if (one.about->name != "mpi:::ranks") continue;
      for (const Trace* trace : one.traces)
        for (const double value : trace->values)
          if (value > 0 && value < 1e9) count = std::max(count, static_cast<std::size_t>(value));
    }
    const std::string nodes =
        timeline_.hosts > 1 ? "on " + std::to_string(timeline_.hosts) + " nodes" : "on one node";
    if (count != 0)
      add("Ranks", static_cast<double>(count), "", nodes);
    else if (timeline_.hosts > 1)
      add("Nodes", static_cast<double>(timeline_.hosts), "");
  }

  const Timeline& timeline_;
  const std::vector<Group>& groups_;
  std::vector<OverviewNumber> out_;
};

}  // namespace

std::vector<OverviewNumber> overview_of(const Timeline& timeline, const std::vector<Group>& groups) {
  return Overview(timeline, groups).all();
}

}  // namespace substrata::recording
