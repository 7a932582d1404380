// The numbers at the head of the page of a recording.
#include <gmock/gmock.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "recorded_pages.hpp"
#include "recording/text_report.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using nlohmann::json;
using testing::HasSubstr;

TEST(ReportPage, ItsHeadHasTheNumbersOfTheRun) {
  const Browsed job = browse_job(1200, R"(
    for (const one of document.querySelectorAll('#overview .tile'))
      out[one.dataset.name] = [one.querySelector('strong').textContent, one.querySelector('.note').textContent,
        one.querySelector('.badge') !== null];
    out.longest = document.querySelector('.longest li').textContent;
    out.command = document.querySelector('.command code').textContent;
    out.first = document.querySelector('main section').id;)");
  SKIP_WITHOUT_BROWSER(job);
  ASSERT_TRUE(job.found.is_object()) << job.said;
  const auto tile = [&](const char* name) { return job.found.value(name, json()); };
  EXPECT_EQ(tile("Wall time"), json::parse(R"(["10 s","",false])"));
  EXPECT_EQ(tile("CPUs busy"), json::parse(R"(["1.5","of 4",false])"));
  EXPECT_EQ(tile("Processor time"), json::parse(R"(["15 s","20 % in the kernel",false])"));
  EXPECT_EQ(tile("Peak memory"), json::parse(R"(["2.1 GB","largest process",false])"));
  EXPECT_EQ(tile("MPI messages"), json::parse(R"(["500","100 MB in all",false])"));
  EXPECT_EQ(tile("Network"), json::parse(R"(["100 kB","in and out, whole node",false])"));
  EXPECT_EQ(tile("Hottest"), json::parse(R"(["55.0 °C","thermal_model:::package0:temperature",true])"));
  EXPECT_EQ(tile("Ranks"), json::parse(R"(["3","on one node",false])"));
  EXPECT_EQ(job.found.at("longest"), "solve4 s, 40.0 %");
  EXPECT_EQ(job.found.at("command"), "mpirun -n 3 solver");
  EXPECT_EQ(job.found.at("first"), "overview");
}

// Ten seconds in which each of these counters of energy grew evenly, and levels stayed: the number of the head, as the
// page has it.
std::string power_of(const std::vector<std::pair<SeriesInfo, std::int64_t>>& energies,
                     const std::string& tile_name = "Power") {
  MemorySink sink(machine("node1", "boot"));
  std::vector<SeriesInfo> series;
  for (const auto& [info, each] : energies) series.push_back(info);
  const std::uint32_t set = sink.declare(series);
  for (int i = 0; i <= 100; ++i) {
    std::vector<std::int64_t> values;
    for (const auto& [info, each] : energies) values.push_back(info.kind == Kind::kGauge ? each : each * i);
    const std::vector<std::uint8_t> flags(values.size(), 0);
    sink.sample(set, kSecond + i * kSecond / 10, 1000, values.data(), flags.data());
  }
  sink.end(11 * kSecond, {});
  std::ostringstream out;
  write_html_report(out, lay_out(sink.recording()), "run.sub");
  const std::string page = out.str(), begin = "{\"name\":\"" + tile_name + "\",";
  const std::size_t at = page.find(begin);
  if (at == std::string::npos) return "";
  const json tile = json::parse(page.substr(at, page.find('}', at) + 1 - at));
  const std::string also =
      tile.at("also").is_null() ? "" : std::to_string(std::lround(tile.at("also").get<double>())) + " J, ";
  return std::to_string(std::lround(tile.at("value").get<double>())) + " " +
         tile.at("unit").get<std::string>() + ", " + also + tile.at("note").get<std::string>();
}

SeriesInfo energy_series(const char* name, const char* unit, const char* text) {
  SeriesInfo info = in_component(count_series(name, unit),
                                 std::string(name).substr(0, std::string(name).find(':')), "node");
  info.text = text;
  return info;
}

// Parts of a package are in it, and a machine's zone has the packages in it, too.
TEST(ReportPage, ItsHeadHasThePowerOfTheZonesOfPackages) {
  EXPECT_EQ(
      power_of({{energy_series("powercap:::ENERGY_UJ:ZONE0", "uJ", "energy used by psys (intel-rapl:0)"),
                 90'000'000},
                {energy_series("powercap:::ENERGY_UJ:ZONE1", "uJ", "energy used by package-0 (intel-rapl:1)"),
                 20'000'000},
                {energy_series("powercap:::ENERGY_UJ:ZONE1_SUBZONE0", "uJ",
                               "energy used by package-0/dram (intel-rapl:1:0)"),
                 5'000'000},
                {energy_series("powercap:::ENERGY_UJ:ZONE2", "uJ", "energy used by package-1 (intel-rapl:2)"),
                 10'000'000}}),
      "300 W, 3000 J, processors");
}

TEST(ReportPage, ItsHeadHasThePowerOfAWholeNodeBeforeThatOfItsProcessors) {
  EXPECT_EQ(power_of({{energy_series("rapl:::PACKAGE_ENERGY:PACKAGE0", "nJ",
                                     "energy used by the whole of PACKAGE0"),
                       20'000'000'000},
                      {energy_series("cray_pm:::PM_ENERGY:NODE", "J", "energy used by NODE"), 90}}),
            "900 W, 9000 J, whole node");
}

// As on a recorded machine, whose files do not change.
TEST(ReportPage, EnergyThatStandsStillIsNotShownAsAPowerOf0W) {
  const std::pair<SeriesInfo, std::int64_t> still = {
      energy_series("cray_pm:::PM_ENERGY:NODE", "J", "energy used by NODE"), 0};
  const std::pair<SeriesInfo, std::int64_t> package = {
      energy_series("rapl:::PACKAGE_ENERGY:PACKAGE0", "nJ", "energy used by the whole of PACKAGE0"),
      20'000'000'000};
  SeriesInfo level = energy_series("cray_pm:::PM_POWER:NODE", "W", "power used by NODE");
  level.kind = Kind::kGauge;
  EXPECT_EQ(power_of({still}), "");
  EXPECT_EQ(power_of({still}, "Energy"), "0 J, its counter stands still");
  EXPECT_EQ(power_of({still, package}), "200 W, 2000 J, processors");
  EXPECT_EQ(power_of({still, {level, 1234}}), "1234 W, whole node");
}

TEST(ReportPage, EnergyThatStandsStillHasNoValueInTables) {
  const Properties properties = machine("a", "boot");
  MemorySink sink(properties);
  const std::uint32_t set = sink.declare(
      {energy_series("powercap:::ENERGY_UJ:ZONE0", "uJ", "energy used by package-0 (intel-rapl:0)")});
  for (int second = 0; second <= 4; ++second) {
    const std::int64_t value = 0;
    const std::uint8_t flags = 0;
    sink.sample(set, kSecond + second * kSecond, 0, &value, &flags);
  }
  for (const auto& [kind, at] : {std::pair{MarkKind::kBegin, 2}, std::pair{MarkKind::kEnd, 4}})
    sink.mark({kind, at * kSecond, -1, "solve"});
  sink.end(6 * kSecond, {});
  const Timeline timeline = lay_out(sink.recording());
  std::ostringstream text, page;
  write_text_report(text, timeline, "job");
  EXPECT_THAT(text.str(), testing::ContainsRegex("ENERGY_UJ:ZONE0 +J +- +- +- +- .*, still\n"));
  EXPECT_THAT(text.str(), HasSubstr("Nothing was counted in any region of: powercap:::ENERGY_UJ:ZONE0"));
  write_html_report(page, timeline, "job");
  EXPECT_THAT(page.str(), HasSubstr("\"total\":null,\"mean\":null,\"min\":null,\"max\":null"));
}

// In words of 4 bytes; the events with _ext read the same files again.
TEST(ReportPage, ItsHeadHasTheBytesOfAFabric) {
  const std::string page = page_of(
      {in_component(count_series("infiniband:::mlx5_0_1:port_xmit_data", "words"), "infiniband", "node"),
       in_component(count_series("infiniband:::mlx5_0_1:port_rcv_data", "words"), "infiniband", "node"),
       in_component(count_series("infiniband:::mlx5_0_1_ext:port_rcv_data", "words"), "infiniband", "node"),
       in_component(count_series("cxi:::cxi0:hni_sts_tx_ok_octets", "bytes"), "cxi", "node")},
      101, [](int i) {
        return Row{1000 * i, 2000 * i, 2000 * i, 500 * i};
      });
  EXPECT_THAT(page, HasSubstr(R"({"name":"Fabric","value":1250000,"unit":"bytes")"));
}

}  // namespace
