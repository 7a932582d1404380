// The page of a recording as a browser shows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "recorded_pages.hpp"
#include "recording/comparison.hpp"
#include "recording/html_report.hpp"
#include "recording/timeline.hpp"
#include "synthetic.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// CO-4: it renders, it has the series, zoom works, the console stays silent.
TEST(ReportPage, InHeadlessChromiumItRendersAndZooms) {
  NEEDS_CHARTS();
  const Browsed job = browse_job(1200, R"(
    const page = window.substrataPage, canvas = document.querySelector('#lines canvas');
    const box = canvas.getBoundingClientRect();
    const at = (share) => ({ clientX: box.left + box.width * share, clientY: box.top + 120, button: 0, bubbles: true, view: window });
    out.before = page.view();
    out.inked = (() => {
      const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      let inked = 0;
      for (let i = 3; i < pixels.length; i += 4) inked += pixels[i] !== 0;
      return inked;
    })();
    canvas.dispatchEvent(new MouseEvent('mousedown', at(0.5)));
    canvas.dispatchEvent(new MouseEvent('mousemove', at(0.6)));
    canvas.dispatchEvent(new MouseEvent('mousemove', at(0.7)));
    canvas.dispatchEvent(new MouseEvent('mouseup', at(0.7)));
    out.dragged = page.view();
    canvas.dispatchEvent(new MouseEvent('dblclick', at(0.5)));
    out.reset = page.view();
    out.picture = page.picture().slice(1, 4);
    out.charts = document.querySelectorAll('figure').length;)");
  SKIP_WITHOUT_BROWSER(job);
  ASSERT_TRUE(job.found.is_object()) << job.said;
  EXPECT_THAT(job.said, Not(HasSubstr("CONSOLE")));
  EXPECT_GT(job.found.at("inked"), 2000);
  EXPECT_EQ(job.found.at("before"), json::parse("[0,10]"));
  const auto span = [&](const char* name) {
    return job.found.at(name)[1].get<double>() - job.found.at(name)[0].get<double>();
  };
  EXPECT_LT(span("dragged"), 4);
  EXPECT_GT(span("dragged"), 0.5);
  EXPECT_EQ(job.found.at("reset"), job.found.at("before"));
  EXPECT_EQ(job.found.at("picture"), "svg");
  EXPECT_EQ(job.found.at("charts"), 2) << "signatures, correlations";
}

TEST(ReportPage, AtFirstItShowsWhereTimeBytesAndHeatGo) {
  NEEDS_CHARTS();
  const Browsed job = browse_job(1200, R"(
    out.panels = window.substrataPage.panels().map((one) => one.label);
    out.ranks = window.substrataPage.panels().find((one) => one.kind === 'map').map.names;
    out.constant = document.querySelector('.constant').textContent;
    out.tip = (() => {
      const canvas = document.querySelector('#lines canvas'), box = canvas.getBoundingClientRect();
      const panel = window.substrataPage.panels()[1];
      canvas.dispatchEvent(new MouseEvent('mousemove',
        { clientX: box.left + box.width * 0.3, clientY: box.top + panel.top + 30, bubbles: true, view: window }));
      return Array.from(document.querySelectorAll('#tip > *'), (one) => one.textContent);
    })();
    out.blink = (() => {
      const canvas = document.querySelector('#lines canvas'), box = canvas.getBoundingClientRect();
      const x = window.substrataPage.chart().convertToPixel({ gridIndex: 0 }, [6.0005, 0])[0];
      canvas.dispatchEvent(new MouseEvent('mousemove', { clientX: box.left + x, clientY: box.top + window.substrataPage.panels()[0].top + 8,
        bubbles: true, view: window }));
      return document.getElementById('tip').textContent;
    })();)");
  SKIP_WITHOUT_BROWSER(job);
  ASSERT_TRUE(job.found.is_object()) << job.said;
  EXPECT_EQ(
      job.found.at("panels"),
      json::parse(
          R"(["regions","CPUs busy","MPI bytes","MPI bytes by rank","Page faults","Received by eth0","Sent by eth0",)"
          R"("Temperature of package0"])"));
  EXPECT_EQ(job.found.at("ranks"), json::parse(R"(["rank 0","rank 1","rank 2"])"));
  EXPECT_THAT(job.found.at("constant").get<std::string>(), HasSubstr("mpi:::ranks 3 ranks"));
  ASSERT_EQ(job.found.at("tip").size(), 3u) << "time, region and one value";
  EXPECT_EQ(job.found.at("tip")[1], "solve");
  EXPECT_EQ(job.found.at("tip")[2], "CPUs busy: 3 CPUs");
  EXPECT_THAT(job.found.at("blink").get<std::string>(), HasSubstr("blink")) << "too short for its name";
}

TEST(ReportPage, OfAGpuNodeItShowsFabricHeatAndPowerAtFirst) {
  NEEDS_CHARTS();
  const std::string page = page_of({count_series("infiniband:::mlx5_0_1:port_xmit_data", "words"),
                                    count_series("infiniband:::mlx5_1_1:port_xmit_data", "words"),
                                    gauge_series("nvml:::NVIDIA_H200:device_0:temperature", "degC"),
                                    gauge_series("nvml:::NVIDIA_H200:device_0:power", "mW")},
                                   20, [](int i) {
                                     return Row{i, 1000 * i, 50 + i, 300'000 + 1000 * i};
                                   });
  const Browsed seen =
      browse(page, 1200, "out.panels = window.substrataPage.panels().map((one) => one.label);");
  SKIP_WITHOUT_BROWSER(seen);
  ASSERT_TRUE(seen.found.is_object()) << seen.said;
  EXPECT_EQ(seen.found.at("panels"),
            json::parse(R"(["Sent by mlx5_1_1","Temperature of GPU 0","Power of GPU 0"])"));
}

TEST(ReportPage, OfSensorsItNamesChipAndChannelByWhatTheyMeasure) {
  NEEDS_CHARTS();
  const std::string page = page_of({gauge_series("coretemp:::k10temp-pci-00c3:Tctl", "degC"),
                                    gauge_series("coretemp:::power_meter-acpi-0@A_00:Socket_0:average", "W")},
                                   20, [](int i) {
                                     return Row{50 + i, 300 + i};
                                   });
  const Browsed seen =
      browse(page, 1200, "out.labels = window.substrataPage.panels().map((one) => one.label);");
  SKIP_WITHOUT_BROWSER(seen);
  ASSERT_TRUE(seen.found.is_object()) << seen.said;
  EXPECT_EQ(seen.found.at("labels"),
            json::parse(R"(["Temperature of k10temp, Tctl","Power of power_meter, Socket 0"])"));
}

// Else the end of a recording of 6.19 s had a second label of 6 s.
TEST(ReportPage, AnEndBetweenTwoMarksOfTheTimeAxisHasNoLabel) {
  NEEDS_CHARTS();
  const Browsed job = browse_job(1200, R"(
    const label = window.substrataPage.chart().getOption().xAxis.at(-1).axisLabel.formatter;
    out.labels = [0, 6, 6.19].map(label);)");
  SKIP_WITHOUT_BROWSER(job);
  ASSERT_TRUE(job.found.is_object()) << job.said;
  EXPECT_EQ(job.found.at("labels"), json::parse(R"(["0","6 s",""])"));
}

TEST(ReportPage, KeysZoomAndMoveAndSwitchTheTheme) {
  NEEDS_CHARTS();
  const Browsed job = browse_job(1200, R"(
    const key = (name) => { document.dispatchEvent(new KeyboardEvent('keydown', { key: name })); return window.substrataPage.view(); };
    out.plus = key('+');
    out.right = key('ArrowRight');
    out.all = key('0');
    const paper = () => getComputedStyle(document.body).backgroundColor;
    out.light = paper();
    key('d');
    out.dark = paper();)");
  SKIP_WITHOUT_BROWSER(job);
  ASSERT_TRUE(job.found.is_object()) << job.said;
  EXPECT_EQ(job.found.at("plus"), json::parse("[2.5,7.5]"));
  EXPECT_NEAR(job.found.at("right")[0].get<double>(), 2.5 + 5.0 / 3, 1e-6);
  EXPECT_EQ(job.found.at("all"), json::parse("[0,10]"));
  EXPECT_EQ(job.found.at("light"), "rgb(255, 255, 255)");
  EXPECT_EQ(job.found.at("dark"), "rgb(20, 24, 29)");
}

TEST(ReportPage, IsDarkWhereTheSystemIs) {
  const Browsed job = browse_job(1200, "out.paper = getComputedStyle(document.body).backgroundColor;",
                                 "--blink-settings=preferredColorScheme=0");
  SKIP_WITHOUT_BROWSER(job);
  ASSERT_TRUE(job.found.is_object()) << job.said;
  EXPECT_EQ(job.found.at("paper"), "rgb(20, 24, 29)");
}

// It was 821 pixels wide at 500, and stopped at 1400 on wide screens.
TEST(ReportPage, FitsFrom400To2560Pixels) {
  const char* const measure = R"(out.width = document.documentElement.scrollWidth;
    out.chart = document.getElementById('lines') ? document.getElementById('lines').clientWidth : -1;)";
  const Browsed narrow = browse_job(400, measure);
  SKIP_WITHOUT_BROWSER(narrow);
  ASSERT_TRUE(narrow.found.is_object()) << narrow.said;
  EXPECT_LE(narrow.found.at("width"), 400);
  if (!page_has_charts()) return;
  const Browsed wide = browse_job(2560, measure);
  ASSERT_TRUE(wide.found.is_object()) << wide.said;
  EXPECT_GT(wide.found.at("chart"), 2300);
}

TEST(ReportPage, WithoutItsChartsItHasTablesAndSaysSo) {
  std::string page = page_of_a_job();
  const std::string opening = "<script id=\"library\">";
  const std::size_t begin = page.find(opening) + opening.size();
  page.erase(begin, page.find("</script>", begin) - begin);
  const Browsed job = browse(page, 1200, R"(
    out.without = document.getElementById('without').textContent;
    out.regions = document.querySelectorAll('#region-table tbody tr').length;
    out.series = document.querySelectorAll('#totals tbody tr').length;)");
  SKIP_WITHOUT_BROWSER(job);
  ASSERT_TRUE(job.found.is_object()) << job.said;
  EXPECT_THAT(job.said, Not(HasSubstr("CONSOLE")));
  EXPECT_THAT(job.found.at("without").get<std::string>(), HasSubstr("tables only"));
  EXPECT_EQ(job.found.at("regions"), 2);
  EXPECT_EQ(job.found.at("series"), 10);
}

// It stayed empty, and nothing on the page or in the console said why.
TEST(ReportPage, AChartOfAKindThatIsNotInThePageIsAnErrorInThePage) {
  NEEDS_CHARTS();
  const Browsed job = browse_job(1200, R"(
    const draw = (option) => {
      const place = document.createElement('div'), around = document.createElement('div');
      place.style.cssText = 'width: 200px; height: 100px';
      around.append(place);
      document.body.append(around);
      charts.init(place).setOption(Object.assign({ xAxis: {}, yAxis: {}, grid: {} }, option));
      return around.querySelector('.warn') ? around.querySelector('.warn').textContent : '';
    };
    out.line = draw({ series: [{ type: 'line', data: [1, 2] }] });
    out.bar = draw({ series: [{ type: 'line', data: [1, 2] }, { type: 'bar', data: [1, 2] }] });
    out.legend = draw({ legend: {}, series: [] });)");
  SKIP_WITHOUT_BROWSER(job);
  ASSERT_TRUE(job.found.is_object()) << job.said;
  EXPECT_EQ(job.found.at("line"), "");
  EXPECT_THAT(job.found.at("bar").get<std::string>(), HasSubstr("series bar"));
  EXPECT_THAT(job.found.at("legend").get<std::string>(), HasSubstr("legend"));
  EXPECT_THAT(job.said, HasSubstr("series bar"));
}

// The captions of the figures of a recording that carries `content` by that name.
Browsed captions_with(const char* name, const char* content) {
  MemorySink sink(machine("a", "boot"));
  sample_functions(
      sink, 50, 0.1, [](double t) { return 1000 * t * t; }, [](double t) { return 40000 + 500 * t; });
  sink.end(6 * kSecond, {});
  Recording recording = sink.recording();
  recording.writers[0].attachments.push_back({name, "application/json", content});
  std::ostringstream page;
  write_html_report(page, lay_out(recording), name);
  return browse(
      page.str(), 1200,
      "out.captions = Array.from(document.querySelectorAll('figcaption'), (one) => one.textContent);");
}

TEST(ReportPage, ARooflineInTheRecordingIsAPanel) {
  NEEDS_CHARTS();
  const Browsed seen = captions_with(
      "roofline", R"({"processor":"a processor","flops_per_second":[{"name":"AVX2","one":1e10,"all":2e10}],)"
                  R"("bytes_per_second":[{"name":"memory","one":1e10,"all":1e10}],)"
                  R"("points":[{"name":"solve","flops_per_second":1e9,"flops_per_byte":0.25}]})");
  SKIP_WITHOUT_BROWSER(seen);
  ASSERT_TRUE(seen.found.is_object()) << seen.said;
  EXPECT_THAT(seen.said, Not(HasSubstr("CONSOLE")));
  EXPECT_THAT(seen.found.at("captions").back().get<std::string>(), HasSubstr("peaks of a processor"));
}

TEST(ReportPage, AHistogramOfAModelledMonitorIsAPanel) {
  NEEDS_CHARTS();
  const Browsed seen = captions_with(
      "histograms",
      R"({"histograms":[{"title":"senders by size","modelled":true,"columns":["0","16"],"rows":["rank 0","rank 1"],)"
      R"("counts":[[0,7],[3,0]]},{"title":"nothing","modelled":true,"columns":["0"],"rows":[],"counts":[]}]})");
  SKIP_WITHOUT_BROWSER(seen);
  ASSERT_TRUE(seen.found.is_object()) << seen.said;
  EXPECT_THAT(seen.said, Not(HasSubstr("CONSOLE")));
  EXPECT_THAT(seen.found.at("captions").back().get<std::string>(), HasSubstr("senders by size, modelled"));
}

TEST(ReportPage, AQueryInTheRecordingIsATableWithSharesAndBars) {
  MemorySink sink(machine("a", "boot"));
  sink.end(6 * kSecond, {});
  Recording recording = sink.recording();
  recording.writers[0].attachments.push_back(
      {"owl", "application/json",
       R"json({"query":"io: count by kind","tables":[{"keys":["kind"],"values":["count","hist(size)"],"all":40,)json"
       R"json("left_out":7,"rows":[{"keys":["<b>"],"values":[30,[{"from":1,"count":9},{"from":2,"count":1}]]},)json"
       R"json({"keys":["read"],"values":[10,[]]}]}],"processes":2,"transactions":40,"dropped":3,"messages":[]})json"});
  std::ostringstream page;
  write_html_report(page, lay_out(recording), "query");
  const Browsed seen =
      browse(page.str(), 1200,
             "const box = document.getElementById('queries');"
             "out.rows = Array.from(box.querySelectorAll('tr'), (one) => Array.from(one.children, (cell) => "
             "cell.textContent).join('|'));"
             "out.powers = box.querySelectorAll('.powers i').length;"
             "out.width = box.querySelector('.share i').style.width; out.text = box.textContent;");
  SKIP_WITHOUT_BROWSER(seen);
  ASSERT_TRUE(seen.found.is_object()) << seen.said;
  EXPECT_THAT(seen.said, Not(HasSubstr("CONSOLE")));
  // As text, which the browser writes so; an element would have none.
  EXPECT_EQ(seen.found.at("rows"),
            (nlohmann::json{"count|hist(size)|share|kind", "30||75.0 %|&lt;b&gt;", "10||25.0 %|read"}));
  EXPECT_EQ(seen.found.at("powers"), 2);
  EXPECT_EQ(seen.found.at("width"), "75%");
  for (const char* part :
       {"io: count by kind", "7 more rows", "3 rows were lost", "40 transactions in 2 processes"})
    EXPECT_THAT(seen.found.at("text").get<std::string>(), HasSubstr(part));
}

TEST(ReportPage, BinsOfAHistogramAreOneHeatMap) {
  NEEDS_CHARTS();
  MemorySink sink(machine("a", "boot"));
  std::vector<SeriesInfo> bins;
  for (const int bin : {10, 9, 8}) {
    bins.push_back(count_series("shrimp:::BIN:latency=" + std::to_string(bin), "packets"));
    bins.back().kind = Kind::kBin;
  }
  const std::uint32_t set = sink.declare(bins);
  for (int i = 0; i < 20; ++i) {
    const std::int64_t values[3] = {i, 2 * i * i, 3 * i};
    const std::uint8_t flags[3] = {0, 0, 0};
    sink.sample(set, kSecond + i * kSecond / 10, 0, values, flags);
  }
  sink.end(3 * kSecond, {});
  std::ostringstream page;
  write_html_report(page, lay_out(sink.recording()), "bins");
  const Browsed seen = browse(page.str(), 1200,
                              "out.maps = window.substrataPage.panels().filter((one) => one.kind === 'map')"
                              ".map((one) => one.map.names);");
  SKIP_WITHOUT_BROWSER(seen);
  ASSERT_TRUE(seen.found.is_object()) << seen.said;
  EXPECT_EQ(seen.found.at("maps"), json::parse(R"([["8","9","10"]])"));
}

// A correlation grid without cells, and dashed lines at zero.
TEST(ReportPage, WhatIsEmptyIsSaidInWords) {
  MemorySink sink(machine("a", "boot"));
  const std::uint32_t set = sink.declare({count_series("nothing")});
  const std::int64_t value = 0;
  const std::uint8_t flag = 0;
  for (int i = 0; i < 5; ++i) sink.sample(set, kSecond + i * kSecond, 0, &value, &flag);
  sink.end(6 * kSecond, {});
  std::ostringstream out;
  write_html_report(out, lay_out(sink.recording()), "empty");
  const Browsed seen = browse(out.str(), 1200, "out.text = document.querySelector('main').textContent;");
  SKIP_WITHOUT_BROWSER(seen);
  ASSERT_TRUE(seen.found.is_object()) << seen.said;
  EXPECT_THAT(seen.said, Not(HasSubstr("CONSOLE")));
  const std::string text = seen.found.at("text");
  EXPECT_THAT(text, HasSubstr("The program marked no regions"));
  if (!page_has_charts()) return;
  EXPECT_THAT(text, HasSubstr("there is nothing to correlate"));
  EXPECT_THAT(text, HasSubstr("0 throughout: nothing"));
}

// Ten seconds with `work` and a heat of so many degrees; `solve` takes `seconds`.
Recording run_of(double work, double heat, double seconds) {
  MemorySink sink(machine("a", "boot"));
  sample_functions(
      sink, 11, 1, [&](double t) { return work * t / 10; }, [&](double) { return 1000 * heat; });
  sink.mark({MarkKind::kBegin, 2 * kSecond, -1, "solve"});
  sink.mark({MarkKind::kEnd, static_cast<std::int64_t>((2 + seconds) * 1e9), -1, "solve"});
  sink.end(11 * kSecond, {});
  return sink.recording();
}

TEST(ComparisonPage, ShowsWhatChangedAndTheRestOnRequest) {
  const Recording before = run_of(4e6, 89, 4), after = run_of(3e6, 91, 2);
  const Timeline old_line = lay_out(before), new_line = lay_out(after);
  std::ostringstream page;
  write_comparison_page(page, compare({{"old.sub", &old_line}}, {{"new.sub", &new_line}}, 0.05));
  for (const int width : {400, 1200}) {
    const Browsed seen = browse(page.str(), width, R"(
    const cells = (row) => Array.from(row.querySelectorAll('td'), (one) => one.textContent);
    const rows = (table) => Array.from(document.querySelectorAll(table + ' tbody tr'), cells);
    out.about = document.getElementById('about').textContent;
    out.finding = document.querySelector('#findings article').dataset.state;
    out.wall = document.querySelector('[data-name="Wall time"] .note').textContent;
    out.whole = rows('#compared-whole').find((row) => row[0] === 'work');
    out.bar = document.querySelector('#compared-whole .ratio .less') !== null;
    out.changed = rows('#compared-regions').length;
    document.querySelector('#regions button').click();
    out.all = rows('#compared-regions').length;
    out.width = document.documentElement.scrollWidth;)");
    SKIP_WITHOUT_BROWSER(seen);
    ASSERT_TRUE(seen.found.is_object()) << seen.said;
    EXPECT_THAT(seen.said, Not(HasSubstr("CONSOLE")));
    EXPECT_EQ(seen.found.at("about"), "old: old.sub · new: new.sub");
    EXPECT_EQ(seen.found.at("finding"), "new");
    EXPECT_EQ(seen.found.at("wall"), "was 10 s, 0 %: no change");
    EXPECT_EQ(seen.found.at("whole"), json::parse(R"(["work","4M","3M","0.750","less","–",""])"));
    EXPECT_TRUE(seen.found.at("bar"));
    EXPECT_EQ(seen.found.at("changed"), 2) << "time and work of solve";
    EXPECT_EQ(seen.found.at("all"), 3) << "and its heat";
    EXPECT_LE(seen.found.at("width"), width);
  }
}

}  // namespace
