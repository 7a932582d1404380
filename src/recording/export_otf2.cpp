// A recording as an OTF2 archive, by the library that Score-P writes its traces with.
#ifdef SUBSTRATA_OTF2
#include <otf2/otf2.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

#include "recording/exports.hpp"

namespace substrata::recording {
namespace {

void check(OTF2_ErrorCode code, const char* what) {
  if (code != OTF2_SUCCESS)
    throw std::runtime_error(std::string("the OTF2 archive: ") + what + ": " +
                             OTF2_Error_GetDescription(code));
}

OTF2_FlushType flush_always(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }
// The archive has one clock, and its stamps are made here.
OTF2_TimeStamp after_flush(void*, OTF2_FileType, OTF2_LocationRef) { return 0; }

// Nanoseconds since the start.
OTF2_TimeStamp ticks(double seconds) {
  return seconds > 0 ? static_cast<OTF2_TimeStamp>(std::llround(seconds * 1e9)) : 0;
}

OTF2_Type type_of(Type type) {
  return type == Type::kDouble   ? OTF2_TYPE_DOUBLE
         : type == Type::kUint64 ? OTF2_TYPE_UINT64
                                 : OTF2_TYPE_INT64;
}

class Strings {
 public:
  OTF2_StringRef operator()(std::string_view text) {
    const auto [at, fresh] =
        numbers_.try_emplace(std::string(text), static_cast<OTF2_StringRef>(numbers_.size()));
    if (fresh) texts_.push_back(&at->first);
    return at->second;
  }
  void write(OTF2_GlobalDefWriter* to) const {
    for (std::size_t i = 0; i < texts_.size(); ++i)
      check(OTF2_GlobalDefWriter_WriteString(to, static_cast<OTF2_StringRef>(i), texts_[i]->c_str()),
            "a text");
  }

 private:
  std::map<std::string, OTF2_StringRef> numbers_;
  std::vector<const std::string*> texts_;
};

// An Enter or Leave.
struct Step {
  OTF2_TimeStamp time;
  bool enter;
  OTF2_RegionRef region;
};

// Regions may end in another order than that in which they began; in OTF2 they lie within each other. One
// that is left by another's end is entered again at once.
std::vector<Step> nested(std::vector<const Region*> regions, std::map<std::string, OTF2_RegionRef>* numbers) {
  struct Border {
    OTF2_TimeStamp time;
    int phase;  // at the same time: ends, begins, ends of what has no length
    std::size_t region;
  };
  std::vector<Border> borders;
  // The longer of two that begin together is the outer one.
  std::stable_sort(regions.begin(), regions.end(), [](const Region* a, const Region* b) {
    return ticks(a->begin) != ticks(b->begin) ? ticks(a->begin) < ticks(b->begin)
                                              : ticks(a->end) > ticks(b->end);
  });
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const OTF2_TimeStamp begin = ticks(regions[i]->begin), end = ticks(regions[i]->end);
    borders.push_back({begin, 1, i});
    borders.push_back({end, end == begin ? 2 : 0, i});
  }
  std::stable_sort(borders.begin(), borders.end(), [](const Border& a, const Border& b) {
    return a.time != b.time ? a.time < b.time : a.phase < b.phase;
  });
  std::vector<Step> steps;
  std::vector<std::size_t> inside;
  const auto number = [&](std::size_t region) {
    return numbers->try_emplace(regions[region]->name, static_cast<OTF2_RegionRef>(numbers->size()))
        .first->second;
  };
  for (const Border& border : borders) {
    if (border.phase == 1) {
      inside.push_back(border.region);
      steps.push_back({border.time, true, number(border.region)});
      continue;
    }
    const auto at = std::find(inside.begin(), inside.end(), border.region);
    for (auto left = inside.end(); left != at;) steps.push_back({border.time, false, number(*--left)});
    for (auto again = inside.erase(at); again != inside.end(); ++again)
      steps.push_back({border.time, true, number(*again)});
  }
  return steps;
}

struct Location {
  OTF2_LocationRef number;
  std::size_t writer;
  std::string name;
  OTF2_LocationType type;
  std::uint64_t events = 0;
};

// What is closed with the object, whatever happens before.
struct CloseArchive {
  void operator()(OTF2_Archive* archive) const { OTF2_Archive_Close(archive); }
};
struct DeleteList {
  void operator()(OTF2_AttributeList* list) const { OTF2_AttributeList_Delete(list); }
};

OTF2_ErrorCode throw_error(void*, const char*, uint64_t, const char*, OTF2_ErrorCode code, const char*,
                           va_list) {
  return code;
}

constexpr OTF2_AttributeRef kScaledAttribute = 0;

}  // namespace

bool otf2_is_built_in() noexcept { return true; }

void export_otf2(const std::string& folder, const Timeline& timeline) {
  const Recording& recording = *timeline.recording;
  std::error_code ignored;
  if (std::filesystem::exists(folder, ignored) && !std::filesystem::is_empty(folder, ignored))
    throw std::runtime_error("'" + folder + "' is not empty; an OTF2 archive is a folder of its own");
  OTF2_Error_RegisterCallback(throw_error, nullptr);
  const std::unique_ptr<OTF2_Archive, CloseArchive> owned(
      OTF2_Archive_Open(folder.c_str(), "traces", OTF2_FILEMODE_WRITE, 1024 * 1024, 4 * 1024 * 1024,
                        OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE));
  OTF2_Archive* const archive = owned.get();
  if (archive == nullptr) throw std::runtime_error("the OTF2 archive '" + folder + "' cannot be made");
  static constexpr OTF2_FlushCallbacks kFlush = {flush_always, after_flush};
  check(OTF2_Archive_SetFlushCallbacks(archive, &kFlush, nullptr), "its callbacks");
  check(OTF2_Archive_SetSerialCollectiveCallbacks(archive), "its callbacks");
  check(OTF2_Archive_SetCreator(archive, "substrata export"), "its creator");
  check(OTF2_Archive_OpenEvtFiles(archive), "its events");

  std::vector<Location> locations;
  const auto finish = [&](OTF2_EvtWriter* writer) {
    check(OTF2_EvtWriter_GetNumberOfEvents(writer, &locations.back().events), "its events");
    check(OTF2_Archive_CloseEvtWriter(archive, writer), "its events");
  };
  const auto begin = [&](std::size_t writer, const std::string& name, OTF2_LocationType type) {
    locations.push_back({locations.size(), writer, name, type});
    OTF2_EvtWriter* const events = OTF2_Archive_GetEvtWriter(archive, locations.back().number);
    if (events == nullptr) throw std::runtime_error("the OTF2 archive '" + folder + "' takes no events");
    return events;
  };
  // A writer has at least one location for regions, which viewers expect of a process.
  std::map<std::pair<std::size_t, std::int32_t>, std::vector<const Region*>> places;
  for (std::size_t w = 0; w < recording.writers.size(); ++w) places[{w, -1}];
  for (const Region& region : timeline.regions) places[{region.writer, region.rank}].push_back(&region);
  std::map<std::string, OTF2_RegionRef> regions;
  for (const auto& [place, passed] : places) {
    OTF2_EvtWriter* const events =
        begin(place.first, place.second < 0 ? "regions" : "rank " + std::to_string(place.second),
              OTF2_LOCATION_TYPE_CPU_THREAD);
    for (const Step& step : nested(passed, &regions))
      check(step.enter ? OTF2_EvtWriter_Enter(events, nullptr, step.time, step.region)
                       : OTF2_EvtWriter_Leave(events, nullptr, step.time, step.region),
            "a region");
    finish(events);
  }
  // A series is a location that records metrics only: series of different sets are not sampled together.
  const std::size_t first_metric = locations.size();
  const std::unique_ptr<OTF2_AttributeList, DeleteList> attributes(OTF2_AttributeList_New());
  for (std::size_t t = 0; t < timeline.traces.size(); ++t) {
    const Trace& trace = timeline.traces[t];
    const Series& series = *trace.series;
    OTF2_EvtWriter* const events = begin(trace.writer, series.name, OTF2_LOCATION_TYPE_METRIC);
    const OTF2_Type type = type_of(series.type);
    const auto metric = static_cast<OTF2_MetricRef>(2 * t + 1);
    for (std::size_t row = 0, at = 0; row < series.values.size(); ++row) {
      if (!series.present_at(row)) continue;
      OTF2_MetricValue value{};
      std::memcpy(&value, &series.values[row], sizeof value);
      if ((series.flags[row] & kScaled) != 0)
        check(OTF2_AttributeList_AddUint8(attributes.get(), kScaledAttribute, 1), "a value");
      check(OTF2_EvtWriter_Metric(events, attributes.get(), ticks(trace.seconds[at++]), metric, 1, &type,
                                  &value),
            "a value");
    }
    finish(events);
  }
  check(OTF2_Archive_CloseEvtFiles(archive), "its events");
  check(OTF2_Archive_OpenDefFiles(archive), "its definitions");
  for (const Location& location : locations) {
    OTF2_DefWriter* const writer = OTF2_Archive_GetDefWriter(archive, location.number);
    check(OTF2_Archive_CloseDefWriter(archive, writer), "its definitions");
  }
  check(OTF2_Archive_CloseDefFiles(archive), "its definitions");

  // Every text is numbered before the first is written.
  Strings strings;
  const OTF2_StringRef empty = strings(""), machine = strings("machine"), node = strings("node"),
                       scaled = strings("extrapolated"),
                       scaled_text =
                           strings("1: the counter ran part of the time, its value is extrapolated");
  const auto about = [](const Series& series) {
    return std::string(origin_name(series)) + ", per " + series.scope + ": " + series.text;
  };
  const auto called = [](const Series& series) {
    return series.name + (series.modelled ? " (modelled)" : "");
  };
  for (const Location& location : locations) strings(location.name);
  for (const auto& [name, number] : regions) strings(name);
  for (const Writer& writer : recording.writers) {
    strings(writer_name(writer));
    strings(property(writer.properties, "host"));
  }
  for (const Trace& trace : timeline.traces) {
    strings(called(*trace.series));
    strings(about(*trace.series));
    strings(trace.series->unit);
  }
  OTF2_GlobalDefWriter* const to = OTF2_Archive_GetGlobalDefWriter(archive);
  if (to == nullptr) throw std::runtime_error("the OTF2 archive '" + folder + "' takes no definitions");
  check(OTF2_GlobalDefWriter_WriteClockProperties(to, 1'000'000'000, 0, ticks(timeline.seconds) + 1,
                                                  static_cast<std::uint64_t>(timeline.real_ns)),
        "its clock");
  strings.write(to);
  check(OTF2_GlobalDefWriter_WriteAttribute(to, kScaledAttribute, scaled, scaled_text, OTF2_TYPE_UINT8),
        "its texts");
  check(OTF2_GlobalDefWriter_WriteSystemTreeNode(to, 0, machine, machine, OTF2_UNDEFINED_SYSTEM_TREE_NODE),
        "its machine");
  std::map<std::string, OTF2_SystemTreeNodeRef, std::less<>> hosts;
  for (std::size_t w = 0; w < recording.writers.size(); ++w) {
    const std::string host(property(recording.writers[w].properties, "host"));
    const auto [at, fresh] = hosts.try_emplace(host, static_cast<OTF2_SystemTreeNodeRef>(hosts.size() + 1));
    if (fresh)
      check(OTF2_GlobalDefWriter_WriteSystemTreeNode(to, at->second, strings(host), node, 0), "its nodes");
    check(OTF2_GlobalDefWriter_WriteLocationGroup(
              to, static_cast<OTF2_LocationGroupRef>(w), strings(writer_name(recording.writers[w])),
              OTF2_LOCATION_GROUP_TYPE_PROCESS, at->second, OTF2_UNDEFINED_LOCATION_GROUP),
          "its processes");
  }
  for (const Location& location : locations)
    check(OTF2_GlobalDefWriter_WriteLocation(to, location.number, strings(location.name), location.type,
                                             location.events,
                                             static_cast<OTF2_LocationGroupRef>(location.writer)),
          "its locations");
  // Readers expect definitions by their numbers.
  std::vector<const std::string*> region_names(regions.size());
  for (const auto& [name, number] : regions) region_names[number] = &name;
  for (std::size_t number = 0; number < region_names.size(); ++number)
    check(OTF2_GlobalDefWriter_WriteRegion(to, static_cast<OTF2_RegionRef>(number),
                                           strings(*region_names[number]), strings(*region_names[number]),
                                           empty, OTF2_REGION_ROLE_CODE, OTF2_PARADIGM_USER,
                                           OTF2_REGION_FLAG_NONE, empty, 0, 0),
          "its regions");
  for (std::size_t t = 0; t < timeline.traces.size(); ++t) {
    const Series& series = *timeline.traces[t].series;
    const auto member = static_cast<OTF2_MetricMemberRef>(t);
    const auto kind = static_cast<OTF2_MetricRef>(2 * t);
    check(OTF2_GlobalDefWriter_WriteMetricMember(
              to, member, strings(called(series)), strings(about(series)), OTF2_METRIC_TYPE_OTHER,
              series.kind == Kind::kGauge ? OTF2_METRIC_ABSOLUTE_POINT : OTF2_METRIC_ACCUMULATED_START,
              type_of(series.type), OTF2_BASE_DECIMAL, 0, strings(series.unit)),
          "its metrics");
    check(OTF2_GlobalDefWriter_WriteMetricClass(to, kind, 1, &member, OTF2_METRIC_ASYNCHRONOUS,
                                                OTF2_RECORDER_KIND_ABSTRACT),
          "its metrics");
    check(OTF2_GlobalDefWriter_WriteMetricInstance(to, static_cast<OTF2_MetricRef>(2 * t + 1), kind,
                                                   locations[first_metric + t].number,
                                                   OTF2_SCOPE_LOCATION_GROUP, timeline.traces[t].writer),
          "its metrics");
  }
  check(OTF2_Archive_CloseGlobalDefWriter(archive, to), "its definitions");
}

}  // namespace substrata::recording

#else

#include <stdexcept>

#include "recording/exports.hpp"

namespace substrata::recording {

bool otf2_is_built_in() noexcept { return false; }

void export_otf2(const std::string&, const Timeline&) {
  throw std::runtime_error(
      "this build has no OTF2; it is built in where its headers are (Debian package "
      "libopen-trace-format2-dev)");
}

}  // namespace substrata::recording

#endif
