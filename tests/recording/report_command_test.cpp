// `substrata report` and `correlate` as their users meet them, and the page in a browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "recording/timeline.hpp"
#include "support/sanitized.hpp"
#include "synthetic.hpp"
#include "tool.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using nlohmann::json;
using testing::HasSubstr;

// The model is driven by the use of the processors: that both go together was called 'not by chance'.
TEST(CorrelateCommand, RefusesAModelWithItsOwnInput) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  {
    FileWriter writer(path, FileWriter::Mode::kReplace, machine("a", "boot"));
    SeriesInfo clock = count_series("perf::TASK-CLOCK", "ns"), heat = gauge_series("heat");
    clock.component = "perf_event";
    heat.component = "thermal_model";
    const std::uint32_t set = writer.declare({clock, heat});
    for (int i = 0; i < 40; ++i) {
      const std::int64_t values[2] = {i * i % 17, i % 7};
      const std::uint8_t flags[2] = {0, kModelled};
      writer.sample(set, kSecond + i * 100'000'000LL, 0, values, flags);
    }
    writer.end(50 * kSecond, {});
  }
  for (const char* order : {" TASK-CLOCK heat", " heat TASK-CLOCK"}) {
    const Ran ran = tool("correlate " + path + order);
    EXPECT_EQ(ran.status, 1) << order;
    EXPECT_THAT(ran.errors, HasSubstr("the model's own"));
  }
}

// What a user does with the page, and what it then shows, as text that can be found in the page's elements.
constexpr const char* kProbe = R"(<script>
(function () {
  const svg = () => document.querySelector('#lines svg');
  const view = () => [Number(svg().dataset.from), Number(svg().dataset.to)];
  const box = svg().getBoundingClientRect();
  const point = (share) => ({ clientX: box.left + box.width * share, clientY: box.top + 60, button: 0, bubbles: true });
  const out = { width: box.width, height: box.height, before: view() };
  out.series = Array.from(document.querySelectorAll('#lines g.series'), (g) => g.dataset.name);
  out.drawn = Array.from(document.querySelectorAll('#lines g.series path'), (p) => p.getAttribute('d').length);
  out.regions = document.querySelectorAll('#lines g.region').length;
  out.heat = document.querySelectorAll('figure.heat').length;
  svg().dispatchEvent(new PointerEvent('pointerdown', point(0.5)));
  svg().dispatchEvent(new PointerEvent('pointermove', point(0.7)));
  svg().dispatchEvent(new PointerEvent('pointerup', point(0.7)));
  out.dragged = view();
  svg().dispatchEvent(new WheelEvent('wheel', Object.assign(point(0.6), { deltaY: -300, ctrlKey: true })));
  out.wheeled = view();
  svg().dispatchEvent(new PointerEvent('pointermove', point(0.6)));
  out.tip = document.getElementById('tip').textContent;
  svg().dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));
  out.reset = view();
  document.querySelector('#choose input').click();
  out.fewer = document.querySelectorAll('#lines g.series').length;
  const found = document.createElement('pre');
  found.id = 'found';
  found.textContent = JSON.stringify(out);
  document.body.appendChild(found);
}());
</script></body>)";

Ran browse(const TemporaryFolder& folder, const std::string& page) {
  return shell("cd " + folder.path() +
               " && timeout 90 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
               "--user-data-dir=" +
               folder.file("profile") +
               " --enable-logging=stderr --virtual-time-budget=3000 --dump-dom file://" + page);
}

// CO-4: it renders, it has the series, zoom works, the console stays silent.
TEST(ReportPage, InHeadlessChromiumItRendersAndZooms) {
  if (kSanitized) GTEST_SKIP() << "the page is not what a sanitizer looks at";
  const TemporaryFolder folder;
  std::ofstream(folder.file("plain.html")) << "<!DOCTYPE html><title>plain</title><p>works here</p>";
  if (const Ran plain = browse(folder, folder.file("plain.html"));
      plain.out.find("works here") == std::string::npos)
    GTEST_SKIP() << "chromium (Debian package chromium) does not run here: " << plain.errors.substr(0, 300);
  const std::string path = folder.file("r.sub");
  {
    FileWriter writer(path, FileWriter::Mode::kReplace, machine("a", "boot"));
    sample_functions(
        writer, 200, 0.05, [](double t) { return 1000 * t + 300 * (static_cast<int>(t) % 2); },
        [](double t) { return 40000 + 500 * t; });
    writer.mark({MarkKind::kBegin, 2 * kSecond, -1, "solve"});
    writer.mark({MarkKind::kEnd, 6 * kSecond, -1, "solve"});
    writer.mark({MarkKind::kBegin, 6 * kSecond, -1, "check"});
    writer.mark({MarkKind::kEnd, 9 * kSecond, -1, "check"});
    writer.attach(
        {"mpi-summary", "application/json",
         R"({"ranks":[{"rank":0,"phases":[{"name":"HPL","messages_sent":3,"sizes_sent":{"8":1,"65536":2}}]}]})"});
    writer.end(11 * kSecond, {});
  }
  ASSERT_EQ(tool("report --html " + folder.file("r.html") + " " + path).status, 0);
  std::string page = contents(folder.file("r.html"));
  page.replace(page.find("</body>"), 7, kProbe);
  std::ofstream(folder.file("probed.html")) << page;
  const Ran ran = browse(folder, folder.file("probed.html"));
  EXPECT_THAT(ran.errors, testing::Not(HasSubstr("CONSOLE"))) << ran.errors;
  const std::string opening = "<pre id=\"found\">";
  const std::size_t begin = ran.out.rfind(opening);
  ASSERT_NE(begin, std::string::npos) << ran.errors;
  const std::size_t from = begin + opening.size();
  const json found = json::parse(ran.out.substr(from, ran.out.find("</pre>", from) - from));
  EXPECT_EQ(found.at("series"), json::parse(R"(["work","heat"])"));
  for (const json& length : found.at("drawn")) EXPECT_GT(length, 500) << "a line through two hundred samples";
  EXPECT_GT(found.at("width"), 100);
  EXPECT_GT(found.at("height"), 150);
  EXPECT_EQ(found.at("regions"), 2);
  EXPECT_EQ(found.at("heat"), 3) << "signatures, correlations, messages";
  const auto span = [&](const char* name) {
    return found.at(name)[1].get<double>() - found.at(name)[0].get<double>();
  };
  EXPECT_NEAR(span("before"), 10, 1e-6);
  EXPECT_LT(span("dragged"), 5);
  EXPECT_LT(span("wheeled"), span("dragged"));
  EXPECT_GE(found.at("wheeled")[0].get<double>(), found.at("dragged")[0].get<double>());
  EXPECT_EQ(found.at("reset"), found.at("before"));
  EXPECT_EQ(found.at("fewer"), 1);
  EXPECT_THAT(found.at("tip").get<std::string>(), HasSubstr("heat: 4"));
  EXPECT_THAT(found.at("tip").get<std::string>(), HasSubstr("modelled"));
}

// CO-5: a series that follows another by a second with gain 3, through the file and the command.
TEST(ReportCommand, ShowsWhatItReadsOnATerminalOnly) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  {
    FileWriter writer(path, FileWriter::Mode::kReplace, machine("a", "boot"));
    writer.end(kSecond, {});
  }
  EXPECT_EQ(tool("report " + path).errors, "");
  if (shell("command -v script").status != 0) GTEST_SKIP() << "there is no script(1) to make a terminal";
  const Ran seen = shell("script -qec '" SUBSTRATA_TOOL " report " + path + "' /dev/null");
  EXPECT_THAT(seen.out, HasSubstr("reading " + path));
  EXPECT_LT(seen.out.find("reading"), seen.out.rfind("\x1b[K")) << "the line is taken away";
}

TEST(CorrelateCommand, TellsLagAndGain) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  {
    FileWriter writer(path, FileWriter::Mode::kReplace, machine("a", "boot"));
    const std::uint32_t set = writer.declare({gauge_series("load", ""), gauge_series("heat")});
    const auto load = [](int i) { return i * i * 7919 % 1009 + (i / 20 % 2) * 2000; };
    for (int i = 0; i < 400; ++i) {
      const std::int64_t values[2] = {load(i), 5000 + 3 * load(i - 10)};
      const std::uint8_t flags[2] = {0, 0};
      writer.sample(set, kSecond + i * 100'000'000LL, 0, values, flags);
    }
    writer.end(50 * kSecond, {});
  }
  const Ran ran = tool("correlate " + path + " load heat --json");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const json found = json::parse(ran.out);
  EXPECT_NEAR(found.at("lag_s").get<double>(), 1, 0.05);
  EXPECT_NEAR(found.at("gain").get<double>(), 3, 0.1);
  EXPECT_LT(found.at("p").get<double>(), 0.01);
  EXPECT_EQ(found.at("b_origin"), "modelled");
  EXPECT_THAT(tool("correlate " + path + " load heat").out, HasSubstr("s after A"));
  const Ran none = tool("correlate " + path + " load nothing");
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.errors, HasSubstr("heat"));
}

}  // namespace
