// Exports: they parse in their format, hold every sample, and say what is modelled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "exporting.hpp"
#include "openmetrics_grammar.hpp"
#include "page_data.hpp"
#include "recording/exports.hpp"
#include "recording/html_report.hpp"
#include "support/program.hpp"
#include "synthetic.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using nlohmann::json;

TEST(RecordExport, JsonHoldsEverySampleExactly) {
  const json all = json::parse(exported(export_json, sample_record()));
  EXPECT_EQ(all.at("complete"), true);
  const json& writer = all.at("writers").at(0);
  EXPECT_EQ(writer.at("properties").at("host"), "host \"a\"");
  ASSERT_EQ(writer.at("series").size(), 3u);
  EXPECT_EQ(writer.at("series")[0].at("values").size(), 11u);
  EXPECT_EQ(writer.at("series")[0].at("values")[10], 1000);
  EXPECT_EQ(writer.at("series")[1].at("origin"), "modelled");
  EXPECT_EQ(writer.at("series")[2].at("values"), json::parse("[18446744073709551613, 18446744073709551615]"));
  EXPECT_EQ(writer.at("series")[2].at("seconds").size(), 2u);
  ASSERT_EQ(all.at("regions").size(), 1u);
  EXPECT_NEAR(all.at("regions")[0].at("end").get<double>(), 0.65, 1e-9);
}

// Fields of one line, as RFC 4180 has them.
std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      out.back() += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      out.emplace_back();
    } else {
      out.back() += line[i];
    }
  }
  return out;
}

TEST(RecordExport, CsvHasARowASampleAndEveryColumnIsDescribed) {
  Recording recording = sample_record();
  recording.writers[0]
      .series.pop_back();  // its name has a line break, which the reader of this test does not take
  recording.writers[0].sets.pop_back();
  const std::string text = exported(export_csv, recording);
  EXPECT_THAT(text, testing::HasSubstr("# column heat: unit mdegC; gauge; modelled; per node"));
  EXPECT_THAT(text, testing::HasSubstr("# region solve, fast: 0.2 s to 0.65 s"));
  std::istringstream lines(text);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(lines, line);)
    if (line[0] != '#') rows.push_back(fields(line));
  ASSERT_EQ(rows.size(), 12u);
  EXPECT_EQ(rows[0],
            (std::vector<std::string>{"time_s", "skew_ns", "host", "rank", "region", "work", "heat"}));
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  EXPECT_EQ(rows[11][0], "1.000000000");
  EXPECT_EQ(rows[11][2], "host \"a\"");
  EXPECT_EQ(rows[11][5], "1000");
  EXPECT_EQ(rows[4][4], "solve, fast");
  EXPECT_EQ(rows[1][4], "");
}

// A spreadsheet calculates a cell that begins like a formula.
TEST(RecordExport, CsvCellsThatBeginLikeAFormulaAreText) {
  for (const std::string name : {"=HYPERLINK(\"http://a\")", "@SUM(1)", "+1+1", "-cmd", "\t=1"}) {
    Recording recording = sample_record();
    recording.writers[0].series.pop_back();  // its name has a line break
    recording.writers[0].sets.pop_back();
    for (Mark& mark : recording.writers[0].marks)
      if (mark.name == "solve, fast") mark.name = name;
    const std::string text = exported(export_csv, recording);
    std::istringstream lines(text);
    bool found = false;
    for (std::string line; std::getline(lines, line);) {
      if (line[0] == '#' || line.starts_with("time_s")) continue;
      const std::string cell = fields(line).at(4);
      EXPECT_NE(cell, name);
      found = found || cell == "'" + name;
    }
    EXPECT_TRUE(found) << text;
  }
}

TEST(RecordExport, CsvCellsThatAreNumbersStayNumbers) {
  Recording recording = sample_record();
  for (Mark& mark : recording.writers[0].marks)
    if (mark.name == "solve, fast") mark.name = "-1.5e3";
  EXPECT_THAT(exported(export_csv, recording), testing::HasSubstr(",-1.5e3,"));
}

TEST(RecordExport, CsvLeavesTheCellOfAGapEmpty) {
  const std::string text = exported(export_csv, sample_record());
  EXPECT_EQ(count_of(text, "18446744073709551613"), 1u);
  EXPECT_EQ(count_of(text, "18446744073709551614"), 0u) << "the absent row";
}

// Oracle: the reader of the OTF2 project.
TEST(RecordExport, Otf2IsReadByItsOwnTools) {
  const TemporaryFolder folder;
  const Recording recording = sample_record();
  const std::string archive = folder.file("archive");
  if (!otf2_is_built_in()) {
    EXPECT_THROW(export_otf2(archive, lay_out(recording)), std::runtime_error);
    GTEST_SKIP() << "OTF2 is not built in (package libopen-trace-format2-dev)";
  }
  export_otf2(archive, lay_out(recording));
  EXPECT_THROW(export_otf2(archive, lay_out(recording)), std::runtime_error) << "nothing is written over";
  if (shell("command -v otf2-print").status != 0)
    GTEST_SKIP() << "otf2-print is missing (package otf2-tools)";
  const Ran events = shell("otf2-print " + archive + "/traces.otf2");
  EXPECT_EQ(events.status, 0) << events.errors;
  EXPECT_EQ(events.errors, "");
  EXPECT_EQ(count_of(events.out, "METRIC "), 11u + 11u + 2u);
  EXPECT_EQ(count_of(events.out, "ENTER "), 1u);
  EXPECT_EQ(count_of(events.out, "LEAVE "), 1u);
  EXPECT_THAT(events.out, testing::ContainsRegex("ENTER +[0-9]+ +200000000 .*solve, fast"));
  EXPECT_THAT(events.out, testing::ContainsRegex("LEAVE +[0-9]+ +650000000 .*solve, fast"));
  EXPECT_THAT(events.out, testing::HasSubstr("18446744073709551613"));
  const Ran definitions = shell("otf2-print -G " + archive + "/traces.otf2");
  EXPECT_EQ(definitions.status, 0) << definitions.errors;
  EXPECT_THAT(definitions.out, testing::HasSubstr("heat (modelled)"));
  EXPECT_THAT(definitions.out, testing::HasSubstr("mdegC"));
  EXPECT_THAT(definitions.out, testing::HasSubstr("ACCUMULATED_START"));
}

// Of OTF2 regions lie within each other, whatever the marks did.
TEST(RecordExport, Otf2NestsRegionsThatCross) {
  if (!otf2_is_built_in()) GTEST_SKIP() << "OTF2 is not built in (package libopen-trace-format2-dev)";
  if (shell("command -v otf2-print").status != 0)
    GTEST_SKIP() << "otf2-print is missing (package otf2-tools)";
  MemorySink sink(machine("a", "boot"));
  const auto mark = [&](MarkKind kind, std::int64_t ms, const char* name) {
    sink.mark({kind, kSecond + ms * 1'000'000, -1, name});
  };
  mark(MarkKind::kBegin, 100, "outer");
  mark(MarkKind::kBegin, 200, "crossing");
  mark(MarkKind::kEnd, 300, "outer");
  mark(MarkKind::kBegin, 350, "nothing");
  mark(MarkKind::kEnd, 350, "nothing");
  mark(MarkKind::kEnd, 400, "crossing");
  sink.end(kSecond + 500'000'000, {});
  const TemporaryFolder folder;
  export_otf2(folder.file("archive"), lay_out(sink.recording()));
  const Ran events = shell("otf2-print " + folder.file("archive") + "/traces.otf2");
  EXPECT_EQ(events.status, 0) << events.errors;
  // Its definitions stand in the order of their numbers: the reader warned of each that did not.
  EXPECT_EQ(events.errors, "");
  std::vector<std::string> inside, steps;
  std::istringstream lines(events.out);
  for (std::string line; std::getline(lines, line);) {
    const bool enter = line.starts_with("ENTER");
    if (!enter && !line.starts_with("LEAVE")) continue;
    const std::size_t begin = line.find('"') + 1;
    const std::string name = line.substr(begin, line.find('"', begin) - begin);
    steps.push_back((enter ? "+" : "-") + name);
    if (enter) {
      inside.push_back(name);
    } else {
      ASSERT_FALSE(inside.empty());
      EXPECT_EQ(inside.back(), name);
      inside.pop_back();
    }
  }
  EXPECT_TRUE(inside.empty());
  EXPECT_EQ(steps, (std::vector<std::string>{"+outer", "+crossing", "-crossing", "-outer", "+crossing",
                                             "+nothing", "-nothing", "-crossing"}));
}

// The grammar of OpenMetrics 1.0, line by line.
TEST(RecordExport, OpenMetricsFollowsItsGrammar) {
  const std::string text = exported(export_openmetrics, sample_record());
  ASSERT_GE(text.size(), 6u);
  EXPECT_EQ(text.substr(text.size() - 6), "# EOF\n");
  EXPECT_THAT(faults_of_openmetrics(text), testing::IsEmpty());
  std::size_t samples = 0, modelled = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line[0] != '#') {
      ++samples;
      modelled += line.find("origin=\"modelled\"") != std::string::npos;
    }
  EXPECT_EQ(samples, 11u + 11u + 2u);
  EXPECT_EQ(modelled, 11u);
}

// Oracle: the program that takes such files into Prometheus.
TEST(RecordExport, PromtoolTakesTheOpenMetricsText) {
  if (shell("command -v promtool").status != 0) GTEST_SKIP() << "promtool is missing (package prometheus)";
  const TemporaryFolder folder;
  std::ofstream(folder.file("metrics")) << exported(export_openmetrics, sample_record());
  const Ran ran = shell("promtool tsdb create-blocks-from openmetrics " + folder.file("metrics") + " " +
                        folder.file("blocks"));
  EXPECT_EQ(ran.status, 0) << ran.errors;
}

TEST(RecordExport, OpenMetricsReportsFromWhereOnValuesAreExtrapolated) {
  MemorySink sink(machine("a", "boot"));
  const std::uint32_t set = sink.declare({count_series("work")});
  for (int row = 0; row < 4; ++row) {
    const std::int64_t value = row;
    const std::uint8_t flags = row >= 2 ? std::uint8_t{kScaled} : std::uint8_t{0};
    sink.sample(set, kSecond + row * kSecond, 0, &value, &flags);
  }
  sink.end(9 * kSecond, {});
  const std::string text = exported(export_openmetrics, sink.recording());
  EXPECT_THAT(faults_of_openmetrics(text), testing::IsEmpty());
  EXPECT_EQ(count_of(text, "substrata_event_scaled{"), 2u) << text;
  EXPECT_THAT(text, testing::ContainsRegex("substrata_event_scaled\\{[^\n]*\\} 0 1700000000.0"));
  EXPECT_THAT(text, testing::ContainsRegex("substrata_event_scaled\\{[^\n]*\\} 1 1700000002.0"));
  EXPECT_THAT(exported(export_openmetrics, sample_record()), testing::Not(testing::HasSubstr("_scaled")));
}

// The check itself must find what is wrong.
TEST(OpenMetricsGrammar, MistakesAreFound) {
  for (const char* wrong : {"# EOF",
                            "a 1\n",
                            "a 1\n# EOF\n",
                            "# TYPE a counter\na 1\n# EOF\n",
                            "# TYPE a counter\na_total NaN\n# EOF\n",
                            "# TYPE a counter\na_total -1\n# EOF\n",
                            "# TYPE a gauge\na one\n# EOF\n",
                            "# TYPE a gauge\na{b=\"\\q\"} 1\n# EOF\n",
                            "# TYPE a gauge\na{b=\"\"\"} 1\n# EOF\n",
                            "# TYPE a gauge\na 1\na 2\n# EOF\n",
                            "# TYPE a gauge\na 1 5\na 2 5\n# EOF\n",
                            "# TYPE a gauge\na 1\n# TYPE a gauge\na{b=\"c\"} 1\n# EOF\n",
                            "# TYPE a gauge\n# UNIT a bytes\na 1\n# EOF\n",
                            "# TYPE a gauge\na 1\n# HELP a late\n# EOF\n",
                            "# TYPE a gauge\na  1\n# EOF\n",
                            "# TYPE a gauge\na 1\n\n# EOF\n",
                            "# TYPE a gauge\na{b=\"c\",b=\"d\"} 1\n# EOF\n",
                            "# TYPE a gauge\na 1\n# EOF\na 2\n",
                            "# TYPE a info\na_info 2\n# EOF\n",
                            "# TYPE a gauge\na{b=\"\xff\"} 1\n# EOF\n"})
    EXPECT_THAT(faults_of_openmetrics(wrong), testing::Not(testing::IsEmpty())) << wrong;
  EXPECT_THAT(faults_of_openmetrics(
                  "# TYPE a_s counter\n# UNIT a_s s\n# HELP a_s \\\"x\\\"\na_s_total{b=\"\\n\\\"\"} "
                  "1.5e+3 1\na_s_total{b=\"\\n\\\"\"} 2 1.25\n# TYPE b info\nb_info 1\n# EOF\n"),
              testing::IsEmpty());
}

std::string page_of(const Recording& recording) {
  std::ostringstream out;
  write_html_report(out, lay_out(recording), "a <b> & \"c\"");
  return out.str();
}

// CO-4, CO-9
TEST(RecordHtml, IsOneFileWithEverySeriesAndSaysWhatIsModelled) {
  const std::string page = page_of(sample_record());
  EXPECT_THAT(page, testing::Not(testing::ContainsRegex("(src|href)=\"?(https?:|//)")));
  EXPECT_THAT(page, testing::Not(testing::HasSubstr("<link")));
  EXPECT_THAT(page, testing::HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, testing::HasSubstr("<title>a &lt;b> &amp; \"c\"</title>"));
  EXPECT_EQ(count_of(page, "<script"), 3u) << "a text of the recording must not open a script";
  EXPECT_LT(page.size(), 2'000'000u);
  const json data = data_of(page);
  ASSERT_EQ(data.at("series").size(), 3u);
  EXPECT_EQ(data.at("series")[0].at("v"), json(std::vector<double>(11, 1000)))
      << "a count is drawn as its rate";
  EXPECT_EQ(data.at("series")[1].at("modelled"), true);
  EXPECT_EQ(data.at("series")[1].at("origin"), "modelled");
  EXPECT_EQ(data.at("regions").size(), 1u);
  EXPECT_NEAR(data.at("region_totals").at("rows")[0].at("cells")[0].at("rate").get<double>(), 1000, 1e-6);
}

// CO-7: constant in writers, bounded in samples.
TEST(RecordHtml, ItsSizeDoesNotGrowWithWritersAndSamples) {
  const auto page_size = [](std::size_t writers, std::size_t rows) {
    Recording all;
    for (std::size_t w = 0; w < writers; ++w) {
      MemorySink sink(machine("a", "boot"));
      sample_functions(
          sink, rows, 0.01, [&](double t) { return t * 100; }, [](double) { return 5; });
      sink.end(kSecond, {});
      all.writers.push_back(sink.recording().writers[0]);
    }
    const std::string data = data_text_of(page_of(all));
    EXPECT_EQ(json::parse(data).at("series").size(), 2u);
    return data.size();
  };
  EXPECT_LT(page_size(256, 20), page_size(64, 20) * 3 / 2);
  EXPECT_LT(page_size(1, 60000), page_size(1, 2500) * 3 / 2);
}

// The page of a long recording of many series was 1.8 MB, most of it the same times again and again.
TEST(RecordHtml, SeriesThatAreSampledTogetherShareTheirTimes) {
  MemorySink sink(machine("a", "boot"));
  const std::uint32_t set = sink.declare({count_series("a"), count_series("b"), count_series("c")});
  for (int i = 0; i < 100; ++i) {
    const std::int64_t values[3] = {i, i * i, 7 * i};
    const std::uint8_t flags[3] = {0, 0, 0};
    sink.sample(set, kSecond + i * kSecond, 0, values, flags);
  }
  sink.end(101 * kSecond, {});
  const json data = data_of(page_of(sink.recording()));
  EXPECT_EQ(data.at("times").size(), 1u);
  for (const json& one : data.at("series")) EXPECT_EQ(one.at("t"), 0);
}

// Two milliseconds before the end, in which a clock that is updated every ten moved on.
TEST(RecordHtml, TheRestOfAnIntervalAtTheEndIsNoSpike) {
  MemorySink sink(machine("a", "boot"));
  const std::uint32_t set = sink.declare({count_series("work")});
  const std::uint8_t flag = 0;
  std::int64_t value = 0;
  for (int i = 0; i <= 10; ++i, value += 100) sink.sample(set, kSecond + i * kSecond / 10, 0, &value, &flag);
  sink.sample(set, 2 * kSecond + 2'000'000, 0, &value, &flag);
  sink.end(2 * kSecond + 2'000'000, {});
  const json data = data_of(page_of(sink.recording()));
  const json& rates = data.at("series")[0].at("v");
  ASSERT_GT(rates.size(), 9u);
  for (const json& rate : rates) EXPECT_LT(rate, 2100);
}

// Ranks came in the order of their first samples: 2, 0, 1, 3.
TEST(RecordHtml, RowsOfRanksAreInTheirOrder) {
  MemorySink sink(machine("a", "boot"));
  std::vector<SeriesInfo> ranks;
  for (const int rank : {10, 2, 0, 1}) {
    ranks.push_back(count_series("mpi:::rank:bytes", "bytes"));
    ranks.back().scope = rank_scope(rank);
  }
  const std::uint32_t set = sink.declare(ranks);
  for (int i = 0; i < 5; ++i) {
    const std::int64_t values[4] = {i, i, i, i};
    const std::uint8_t flags[4] = {0, 0, 0, 0};
    sink.sample(set, kSecond + i * kSecond, 0, values, flags);
  }
  sink.end(6 * kSecond, {});
  EXPECT_EQ(data_of(page_of(sink.recording())).at("series")[0].at("rows").at("names"),
            json::parse(R"(["a rank 0","a rank 1","a rank 2","a rank 10"])"));
}

TEST(RecordHtml, ALongSeriesKeepsItsPeaks) {
  MemorySink sink(machine("a", "boot"));
  sample_functions(
      sink, 30000, 0.001, [](double) { return 0; },
      [](double t) { return t > 14.9995 && t < 15.0005 ? 77000 : 100; });
  sink.end(40 * kSecond, {});
  const json data = data_of(page_of(sink.recording()));
  double high = 0;
  for (const json& value : data.at("series")[1].at("hi"))
    if (value.is_number()) high = std::max(high, value.get<double>());
  EXPECT_EQ(high, 77) << "77000 mdegC";
  EXPECT_LE(data.at("series")[1].at("t").size(), 1001u);
}

TEST(RecordExport, TextsSurviveAsValidJson) {
  EXPECT_EQ(json::parse(json_text("plain \"\\\n\t\x01 ä€😀")), "plain \"\\\n\t\x01 ä€😀");
  for (int first = 0; first < 256; ++first)
    for (const char* rest : {"", "\x80", "\xbf\xbf", "a"})
      EXPECT_TRUE(json::accept(json_text(std::string(1, static_cast<char>(first)) + rest))) << first;
  EXPECT_EQ(json_number(NAN), "null");
  EXPECT_EQ(std::stod(json_number(0.1)), 0.1);
}

}  // namespace
