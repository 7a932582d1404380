// Records read through the C interface and by Python, against what was written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <substrata/recording.h>
#include <substrata/result.hpp>

#include <fstream>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/sanitized.hpp"
#include "synthetic.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using testing::HasSubstr;

// Two ranks on one node, 11 rows each; the second is cut off. One region.
std::string two_ranks(const TemporaryFolder& folder) {
  const std::string path = folder.file("r.sub");
  for (const char* rank : {"0", "1"}) {
    Properties properties = machine("a", "boot");
    properties.emplace_back("mpi.rank", rank);
    FileWriter writer(path, FileWriter::Mode::kAppend, properties);
    const std::uint32_t set = writer.declare({count_series("perf::TASK-CLOCK", "ns"), gauge_series("heat"),
                                              count_series("mpi:::rank:bytes", "bytes")});
    for (int row = 0; row < 11; ++row) {
      const std::int64_t values[3] = {row * 1000LL, 40000 + row, row * row};
      const std::uint8_t flags[3] = {0, kModelled, 0};
      writer.sample(set, kSecond + row * (kSecond / 2), 0, values, flags);
    }
    writer.mark({MarkKind::kBegin, 2 * kSecond, -1, "solve"});
    writer.mark({MarkKind::kEnd, 3 * kSecond, -1, "solve"});
    if (*rank == '0')
      writer.end(6 * kSecond, {{"exit", "exit status 0"}});
    else
      writer.flush();
  }
  return path;
}

TEST(RecordingC, GivesWhatWasWritten) {
  const TemporaryFolder folder;
  const std::string path = two_ranks(folder);
  const char* const name = path.c_str();
  char why[200] = "";
  substrata_recording* const recording = substrata_recording_open(&name, 1, why, sizeof why);
  ASSERT_NE(recording, nullptr) << why;
  EXPECT_EQ(substrata_recording_seconds(recording), 5);
  EXPECT_EQ(substrata_recording_start(recording), 1'700'000'000'000'000'000);
  EXPECT_EQ(substrata_recording_writers(recording), 2u);
  EXPECT_STREQ(substrata_recording_property(recording, 1, "mpi.rank"), "1");
  EXPECT_STREQ(substrata_recording_property(recording, 0, "exit"), "exit status 0");
  EXPECT_EQ(substrata_recording_property(recording, 0, "nonsense"), nullptr);
  EXPECT_EQ(substrata_recording_property(recording, 2, "host"), nullptr);
  EXPECT_THAT(substrata_recording_problem(recording, 0), HasSubstr("CUT OFF"));
  EXPECT_EQ(substrata_recording_problem(recording, 1), nullptr);
  ASSERT_EQ(substrata_recording_series_count(recording), 6u);
  substrata_recording_series series{};
  EXPECT_EQ(substrata_recording_series_at(recording, 4, &series), -1) << "struct_size is not set";
  series.struct_size = sizeof series;
  EXPECT_EQ(substrata_recording_series_at(recording, 6, &series), -1);
  ASSERT_EQ(substrata_recording_series_at(recording, 4, &series), 0);
  EXPECT_STREQ(series.name, "heat");
  EXPECT_STREQ(series.unit, "mdegC");
  EXPECT_EQ(series.kind, 1);
  EXPECT_EQ(series.modelled, 1);
  EXPECT_EQ(series.writer, 1u);
  EXPECT_EQ(series.rank, 1);
  ASSERT_EQ(series.samples, 11u);
  std::vector<double> seconds(4, -1), values(4, -1);
  EXPECT_EQ(substrata_recording_samples(recording, 5, seconds.data(), values.data(), 3), 11u);
  EXPECT_THAT(seconds, testing::ElementsAre(0, 0.5, 1, -1));
  EXPECT_THAT(values, testing::ElementsAre(0, 1, 4, -1));
  ASSERT_EQ(substrata_recording_region_count(recording), 2u);
  auto region = substrata::client::sized<substrata_recording_region>();
  ASSERT_EQ(substrata_recording_region_at(recording, 1, &region), 0);
  EXPECT_STREQ(region.name, "solve");
  EXPECT_EQ(region.begin, 1);
  EXPECT_EQ(region.end, 2);
  EXPECT_EQ(region.rank, 1);
  EXPECT_EQ(substrata_recording_region_at(recording, 2, &region), -1);
  substrata_recording_close(recording);
  substrata_recording_close(nullptr);
}

TEST(RecordingC, RefusesWithAMessage) {
  char why[200] = "";
  EXPECT_EQ(substrata_recording_open(nullptr, 0, why, sizeof why), nullptr);
  EXPECT_STRNE(why, "");
  const char* const name = "/no/such/file";
  EXPECT_EQ(substrata_recording_open(&name, 1, why, sizeof why), nullptr);
  EXPECT_THAT(why, HasSubstr("/no/such/file"));
  EXPECT_EQ(substrata_recording_open(&name, 1, nullptr, 0), nullptr);
}

#define NEEDS_PYTHON()                                                                            \
  if (substrata::tests::kSanitized)                                                               \
    GTEST_SKIP() << "a library with a sanitizer cannot be loaded into python3";                   \
  if (shell("command -v python3").status != 0 || shell("python3 -c 'import ctypes'").status != 0) \
  GTEST_SKIP() << "python3 is not installed (Debian package python3)"

const std::string kPython = "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" PYTHON_MODULE_FOLDER " python3 ";

TEST(RecordingPython, GivesWhatWasWritten) {
  NEEDS_PYTHON();
  const TemporaryFolder folder;
  const std::string path = two_ranks(folder);
  std::ofstream(folder.file("t.py")) << R"(
import sys, substrata_recording
with substrata_recording.open(sys.argv[1]) as r:
    print(r.seconds, r.start, r.writers, len(r.problems), r.property("mpi.rank", 1), r.property("nonsense"))
    for s in r.series[3:]:
        print(s.name, s.unit, s.kind, s.modelled, s.rank, len(s.samples()), s.samples()[-1])
    print(r.series[5].rates()[-1])
    for g in r.regions:
        print(g.name, g.begin, g.end, g.rank, g.open)
try:
    r.property("host")
except ValueError as error:
    print(error)
try:
    substrata_recording.open("/no/such/file")
except OSError as error:
    print("refused", "/no/such/file" in str(error))
)";
  const Ran ran = shell(kPython + folder.file("t.py") + " " + path);
  ASSERT_EQ(ran.status, 0) << ran.errors;
  EXPECT_EQ(ran.out,
            "5.0 1700000000000000000 2 1 1 None\n"
            "perf::TASK-CLOCK ns count False 1 11 (5.0, 10000.0)\n"
            "heat mdegC gauge True 1 11 (5.0, 40010.0)\n"
            "mpi:::rank:bytes bytes count False 1 11 (5.0, 100.0)\n"
            "(4.5, 5.0, 38.0)\n"
            "solve 1.0 2.0 0 False\n"
            "solve 1.0 2.0 1 False\n"
            "the recording is closed\n"
            "refused True\n");
}

TEST(RecordingPython, GivesTablesOfPandas) {
  NEEDS_PYTHON();
  // Debian's package is of Debian's interpreter, which need not be the first.
  std::string python;
  for (const char* const one : {"/usr/bin/python3", "python3"})
    if (shell(std::string(one) + " -c 'import pandas'").status == 0) python = one;
  if (python.empty()) GTEST_SKIP() << "pandas is not installed (Debian package python3-pandas)";
  const TemporaryFolder folder;
  const std::string path = two_ranks(folder);
  std::ofstream(folder.file("t.py")) << R"py(
import sys, substrata_recording
with substrata_recording.open(sys.argv[1]) as r:
    print(r, r.series[5], r.regions[1])
    frame, rates, passes = r.frame(), r.frame(rates=True), r.regions_frame()
column = "mpi:::rank:bytes (rank 1)"
print(frame.shape, frame.index.name, frame[column].iloc[-1], frame.attrs["unit"][column])
print(rates[column].loc[5.0], rates[column].isna().sum(), rates.attrs["unit"][column])
print(rates["heat (rank 0)"].loc[5.0], rates.attrs["unit"]["heat (rank 0)"], rates.attrs["modelled"]["heat (rank 0)"])
print(passes[["name", "seconds", "rank"]].values.tolist())
)py";
  const Ran ran = shell("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" PYTHON_MODULE_FOLDER " " + python + " " +
                        folder.file("t.py") + " " + path);
  ASSERT_EQ(ran.status, 0) << ran.errors;
  EXPECT_EQ(ran.out,
            "<recording of 5 s: 2 writers, 6 series, 2 passes of regions> "
            "<measured count mpi:::rank:bytes [bytes], rank 1, 11 samples> <region solve, rank 1: 1 to 2 s>\n"
            "(11, 6) seconds 100.0 bytes\n"
            "38.0 1 bytes/s\n"
            "40010.0 mdegC True\n"
            "[['solve', 1.0, 0], ['solve', 1.0, 1]]\n");
}

// The paper's figure 1 from a recording, without a compiler.
TEST(RecordingPython, Figure1HasComputationCommunicationAndTemperatureOfEachRank) {
  NEEDS_PYTHON();
  const TemporaryFolder folder;
  const std::string path = two_ranks(folder);
  const Ran ran = shell(kPython + FIGURE1 " " + folder.file("f.txt") + " " + path);
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const std::string text = contents(folder.file("f.txt"));
  for (const char* part :
       {"$work0 << EOD\n0.000000 2000\n", "$talk1 << EOD\n0.000000 2\n0.500000 2\n",
        "$heat << EOD\n0.000000 40.0000\n", "heat (modelled)", "'rank 1: perf::TASK-CLOCK"})
    EXPECT_THAT(text, HasSubstr(part));
  if (shell("command -v gnuplot").status != 0)
    GTEST_SKIP() << "gnuplot is not installed: the picture is not drawn";
  const Ran drawn = shell(kPython + FIGURE1 " " + folder.file("f.png") + " " + path);
  EXPECT_EQ(drawn.status, 0) << drawn.errors;
  EXPECT_EQ(contents(folder.file("f.png")).substr(1, 3), "PNG");
}

}  // namespace
