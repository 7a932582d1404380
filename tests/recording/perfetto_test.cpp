// The Trace Event Format that Perfetto and Chrome open.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "exporting.hpp"
#include "recording/exports.hpp"
#include "synthetic.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using nlohmann::json;

TEST(RecordExport, PerfettoHasCountersInOrderSlicesAndNames) {
  const json all = json::parse(exported(export_perfetto, sample_record()));
  std::map<std::string, std::vector<double>> times;
  std::size_t slices = 0, names = 0;
  for (const json& event : all.at("traceEvents")) {
    const std::string phase = event.at("ph");
    if (phase == "M") {
      ++names;
      continue;
    }
    // What the Trace Event Format asks of every event.
    EXPECT_TRUE(event.at("ts").is_number());
    EXPECT_TRUE(event.at("pid").is_number());
    EXPECT_TRUE(event.at("name").is_string());
    if (phase == "C") {
      ASSERT_EQ(event.at("args").size(), 1u);
      EXPECT_TRUE(event.at("args").begin().value().is_number());
      times[event.at("name")].push_back(event.at("ts"));
    } else if (phase == "X") {
      ++slices;
      EXPECT_NEAR(event.at("ts").get<double>(), 200000, 1);
      EXPECT_NEAR(event.at("dur").get<double>(), 450000, 1);
    } else {
      EXPECT_EQ(phase, "i");
    }
  }
  EXPECT_GE(names, 1u);
  EXPECT_EQ(slices, 1u);
  EXPECT_EQ(times.at("work").size(), 11u);
  EXPECT_EQ(times.at("heat (modelled)").size(), 11u);
  for (const auto& [name, at] : times) EXPECT_TRUE(std::is_sorted(at.begin(), at.end())) << name;
}

// What the Trace Event Format asks of an event of each phase that is used; what is wrong with one, else
// empty.
std::string fault_of_trace_event(const json& event) {
  const auto number = [&](const char* name) { return event.contains(name) && event.at(name).is_number(); };
  const auto text = [&](const char* name) { return event.contains(name) && event.at(name).is_string(); };
  if (!event.is_object()) return "no object";
  if (!text("ph") || event.at("ph").get<std::string>().size() != 1) return "no phase";
  if (!text("name")) return "no name";
  if (!number("pid") || !event.at("pid").is_number_integer()) return "no process";
  if (!number("tid") || !event.at("tid").is_number_integer()) return "no thread";
  std::set<std::string> allowed = {"ph", "name", "pid", "tid", "cat", "args"};
  const std::string phase = event.at("ph");
  if (phase == "M") {
    if (!event.contains("args") || !event.at("args").is_object()) return "metadata without arguments";
    const std::string what = event.at("name");
    if (what == "process_name" || what == "thread_name") {
      if (!event.at("args").contains("name") || !event.at("args").at("name").is_string())
        return "no name in it";
    } else if (what == "process_sort_index" || what == "thread_sort_index") {
      if (!event.at("args").contains("sort_index") || !event.at("args").at("sort_index").is_number_integer())
        return "no index in it";
    } else if (what == "process_labels") {
      if (!event.at("args").contains("labels") || !event.at("args").at("labels").is_string())
        return "no labels in it";
    } else {
      return "unknown metadata";
    }
  } else {
    if (!number("ts") || event.at("ts") < 0) return "no time stamp";
    if (!text("cat")) return "no category";
    allowed.insert("ts");
    if (phase == "C") {
      if (!event.contains("args") || !event.at("args").is_object() || event.at("args").empty())
        return "no values";
      for (const auto& [name, value] : event.at("args").items())
        if (!value.is_number()) return "a value that is no number";
    } else if (phase == "X") {
      if (!number("dur") || event.at("dur") < 0) return "no duration";
      allowed.insert("dur");
    } else if (phase == "i") {
      const std::string scope = event.value("s", "t");
      if (scope != "g" && scope != "p" && scope != "t") return "no scope";
      allowed.insert("s");
    } else {
      return "a phase that is not used here";
    }
  }
  for (const auto& [name, value] : event.items())
    if (allowed.count(name) == 0) return "a field that the phase has not: " + name;
  return {};
}

TEST(RecordExport, PerfettoKeepsToTheTraceEventFormat) {
  Recording recording = sample_record();
  recording.writers.push_back(recording.writers[0]);
  recording.writers[1].properties = machine("b", "other boot");
  const json all = json::parse(exported(export_perfetto, recording));
  EXPECT_TRUE(all.at("displayTimeUnit") == "ms" || all.at("displayTimeUnit") == "ns");
  EXPECT_TRUE(all.at("otherData").is_object());
  ASSERT_TRUE(all.at("traceEvents").is_array());
  std::set<json> named, used;
  std::map<std::string, std::size_t> phases;
  for (const json& event : all.at("traceEvents")) {
    EXPECT_EQ(fault_of_trace_event(event), "") << event;
    ++phases[event.at("ph")];
    (event.at("name") == "process_name" ? named : used).insert(event.at("pid"));
  }
  EXPECT_EQ(named, used) << "every process has a name";
  for (const char* phase : {"M", "C", "X", "i"}) EXPECT_GE(phases[phase], 2u) << phase;
}

// The ranks that one recorder saw were tracks of one process, and the trace did not say what had run.
TEST(RecordExport, PerfettoHasAProcessForEachRankAndTheCommand) {
  MemorySink sink(machine("a", "boot"));
  SeriesInfo of_rank = count_series("mpi:::rank:bytes", "bytes");
  for (const int rank : {1, 0}) {
    of_rank.scope = rank_scope(rank);
    const std::uint32_t set = sink.declare({of_rank});
    for (int row = 0; row < 3; ++row) {
      const std::int64_t value = row;
      const std::uint8_t flag = 0;
      sink.sample(set, kSecond + row * kSecond, 0, &value, &flag);
    }
  }
  sink.mark({MarkKind::kBegin, kSecond, 1, "solve"});
  sink.mark({MarkKind::kEnd, 2 * kSecond, 1, "solve"});
  const json all = json::parse(exported(export_perfetto, sink.recording()));
  EXPECT_EQ(all.at("otherData").at("command"), "synthetic");
  std::map<std::string, int> processes;
  std::map<std::string, std::set<int>> used;
  for (const json& event : all.at("traceEvents")) {
    EXPECT_EQ(fault_of_trace_event(event), "") << event;
    if (event.at("name") == "process_name") processes[event.at("args").at("name")] = event.at("pid");
    if (event.at("ph") != "M") used[event.at("name")].insert(event.at("pid").get<int>());
  }
  EXPECT_EQ(processes.size(), 3u) << "the recorder's and two ranks'";
  EXPECT_EQ(used["mpi:::rank:bytes"], (std::set<int>{processes["a rank 0"], processes["a rank 1"]}));
  EXPECT_EQ(used["solve"], std::set<int>{processes["a rank 1"]});
}

TEST(TraceEventRules, MistakesAreFound) {
  for (const char* wrong :
       {R"([])", R"({"ph":"X","name":"a","pid":1,"tid":1,"cat":"c","ts":1})",
        R"({"ph":"C","name":"a","pid":1,"tid":1,"cat":"c","ts":1,"args":{"v":"1"}})",
        R"({"ph":"C","name":"a","pid":1,"tid":1,"cat":"c","ts":1,"args":{}})",
        R"({"ph":"C","name":"a","pid":"1","tid":1,"cat":"c","ts":1,"args":{"v":1}})",
        R"({"ph":"i","name":"a","pid":1,"tid":1,"cat":"c","ts":1,"s":"q"})",
        R"({"ph":"i","name":"a","pid":1,"tid":1,"cat":"c","ts":1,"dur":1})",
        R"({"ph":"M","name":"process_name","pid":1,"tid":1,"args":{}})",
        R"({"ph":"Z","name":"a","pid":1,"tid":1,"cat":"c","ts":1})", R"({"ph":"X","pid":1,"tid":1})"})
    EXPECT_NE(fault_of_trace_event(json::parse(wrong)), "") << wrong;
}

}  // namespace
