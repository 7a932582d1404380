// `substrata roofline`: roofs by width and level, points by what a program publishes, and where each number is from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <thread>
#include <vector>

#include "support/sanitized.hpp"
#include "support/tool.hpp"
#include "tools/roofline/chart.hpp"
#include "tools/roofline/kernels.hpp"
#include "tools/roofline/peaks.hpp"
#include "tools/roofline/points.hpp"

namespace {

using namespace substrata::roofline;
using namespace substrata::tests;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// 100 GFLOP/s and 10 GB/s: the roofs meet at 10 FLOP/byte.
Peaks given_peaks() {
  Peaks out;
  out.processor = "given";
  out.cores = 2;
  out.operations = {{"SSE2", 10e9, 20e9, 0}, {"AVX2", 50e9, 100e9, 0}};
  out.memory = {{"L1d", 100e9, 200e9, 16384}, {"memory", 8e9, 10e9, 1 << 26}};
  return out;
}

std::string given_file(const TemporaryFolder& folder) {
  const std::string path = folder.file("peaks.json");
  std::ofstream(path) << peaks_as_json(given_peaks());
  return path;
}

Point a_point(double flops, double bytes, double seconds) {
  return {"solve",
          seconds,
          {flops, Source::kCounted, "x::FLOP"},
          {bytes, Source::kCounted, "x::MEM_BYTES"},
          false};
}

// The first point of that name.
json point_of(const json& all, const std::string& name) {
  for (const json& one : all["points"])
    if (one["name"] == name) return one;
  ADD_FAILURE() << "no point " << name << " in " << all.dump(1);
  return {};
}

TEST(RooflineKernels, EveryWidthComputesTheSame) {
  const std::vector<Kernels> all = kernels_here();
  ASSERT_FALSE(all.empty());
  std::vector<double> b(64), c(64), a(64);
  for (std::size_t i = 0; i < b.size(); ++i) {
    b[i] = static_cast<double>(i);
    c[i] = 2.0 * static_cast<double>(i);
  }
  for (const Kernels& one : all) {
    std::fill(a.begin(), a.end(), -1.0);
    one.triad(a.data(), b.data(), c.data(), 0.5, a.size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i], 2.0 * static_cast<double>(i)) << one.name;
    // x = x * 1 + 1, twelve chains that begin at 1, 1.01, ...: after r rounds a chain has grown by r.
    const double lanes = one.flops_a_round / 24, before = one.multiply_add(0, 1, 1);
    EXPECT_NEAR(one.multiply_add(1000, 1, 1) - before, 12 * lanes * 1000, 1e-6 * 12000 * lanes) << one.name;
  }
}

TEST(RooflinePoints, TheRoofIsTheLowerOfSlopeAndCeiling) {
  const Peaks peaks = given_peaks();
  EXPECT_DOUBLE_EQ(roof_above(peaks, 0.1, false), 1e9);
  EXPECT_DOUBLE_EQ(roof_above(peaks, 1000, false), 100e9);
  EXPECT_DOUBLE_EQ(roof_above(peaks, 0.1, true), 0.8e9);
  EXPECT_DOUBLE_EQ(roof_above(peaks, 1000, true), 50e9);
}

TEST(RooflinePoints, TotalsOfAllProcessesAreSummed) {
  const auto totals = read_totals("a::FLOP\t5\nb::X\tno\na::FLOP\t7.5\n\nno number\n");
  EXPECT_EQ(totals.size(), 1u);
  EXPECT_DOUBLE_EQ(totals.at("a::FLOP"), 12.5);
}

TEST(RooflinePoints, EventsOfRegionsMakeTheWholeWhereItHasNone) {
  const auto amounts = published_amounts(
      {{"a::one:FLOP", 3}, {"a::two:FLOP", 4}, {"a::one:MEM_BYTES", 8}, {"a::MESSAGES", 9}}, {});
  EXPECT_DOUBLE_EQ(amounts.at("one").flops.value, 3);
  EXPECT_DOUBLE_EQ(amounts.at("one").bytes.value, 8);
  EXPECT_DOUBLE_EQ(amounts.at("").flops.value, 7);
  EXPECT_EQ(amounts.at("two").bytes.source, Source::kNone);
}

TEST(RooflinePoints, AnEventCanBeChosenByName) {
  const auto amounts = published_amounts({{"a::FLOP", 3}, {"a::MINE", 4}}, {"a::MINE", ""});
  EXPECT_DOUBLE_EQ(amounts.at("").flops.value, 4);
}

TEST(RooflineText, APointUnderTheSlopeIsBoundByMemory) {
  std::ostringstream out;
  write_points(out, given_peaks(), {a_point(1e9, 10e9, 2)});
  EXPECT_THAT(out.str(), HasSubstr("bound by memory"));
  EXPECT_THAT(out.str(), HasSubstr("at most 1 GFLOP/s"));
  EXPECT_THAT(out.str(), HasSubstr("it reached 50 %"));
  EXPECT_THAT(out.str(), HasSubstr("counted by the program (x::FLOP)"));
}

TEST(RooflineText, APointOfOneCoreIsComparedWithOneCore) {
  Point point = a_point(1e9, 10e9, 2);
  point.one_core = true;
  std::ostringstream out;
  write_points(out, given_peaks(), {point});
  EXPECT_THAT(out.str(), HasSubstr("at most 800 MFLOP/s of one core; it reached 62.5 %"));
}

TEST(RooflineText, APointUnderTheFlatRoofIsBoundByOperations) {
  std::ostringstream out;
  write_points(out, given_peaks(), {a_point(100e9, 1e9, 2)});
  EXPECT_THAT(out.str(), HasSubstr("bound by operations"));
  EXPECT_THAT(out.str(), HasSubstr("it reached 50 %"));
}

TEST(RooflineText, APointWithoutBytesHasNoPlaceUnderTheSlope) {
  Point point = a_point(1e9, 0, 1);
  point.bytes = {};
  std::ostringstream out;
  write_points(out, given_peaks(), {point});
  EXPECT_THAT(out.str(), HasSubstr("no place under the slope"));
  EXPECT_THAT(out.str(), Not(HasSubstr("bound by")));
}

TEST(RooflinePicture, HasTheRoofsAndThePoints) {
  std::ostringstream out;
  write_svg(out, given_peaks(), {a_point(1e9, 10e9, 2)});
  EXPECT_EQ(count_of(out.str(), "<circle"), 1u);
  EXPECT_EQ(count_of(out.str(), "class=\"roof\""), 2u);
  EXPECT_THAT(out.str(), HasSubstr("AVX2 100 GFLOP/s"));
}

// They did where one core reaches what all reach.
TEST(RooflinePicture, NamesOfRoofsDoNotLieOnEachOther) {
  Peaks peaks = given_peaks();
  peaks.operations = {{"SSE2", 17e9, 25e9, 0}, {"AVX2", 58e9, 59e9, 0}, {"AVX-512", 30e9, 60e9, 0}};
  peaks.memory[1].one = 1.02 * peaks.memory[1].all;
  Point point = a_point(1e9, 10e9, 2);
  point.one_core = true;
  std::ostringstream out;
  write_svg(out, peaks, {point});
  const std::string text = out.str();
  const std::regex name("<text x=\"([0-9.]+)\" y=\"([0-9.]+)\"[^>]*>([^<]+ (?:FLOP|GFLOP|GB|B)/s)<");
  struct Name {
    double x, y;
    std::size_t letters;
  };
  std::vector<Name> names;
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at)
    names.push_back({std::stod((*at)[1]), std::stod((*at)[2]), (*at)[3].str().size()});
  ASSERT_EQ(names.size(), 7u);
  EXPECT_GT(text.find("<text"), text.rfind("<line")) << "a line runs through a name";
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const Name &left = names[i].x < names[j].x ? names[i] : names[j],
                 &right = names[i].x < names[j].x ? names[j] : names[i];
      EXPECT_TRUE(std::abs(left.y - right.y) >= 11 ||
                  left.x + 5.5 * static_cast<double>(left.letters) <= right.x)
          << i << " and " << j << "\n"
          << text;
    }
}

TEST(RooflinePeaks, AFileKeepsThem) {
  EXPECT_EQ(peaks_as_json(peaks_from_json(peaks_as_json(given_peaks()))), peaks_as_json(given_peaks()));
}

TEST(RooflinePeaks, AFileThatHoldsNoneIsRefused) {
  for (const char* text : {"", "{}", "{\"version\":2}", "[1]"})
    EXPECT_THROW(peaks_from_json(text), std::runtime_error) << text;
  Peaks none = given_peaks();
  none.memory[0].all = 0;
  EXPECT_THROW(peaks_from_json(peaks_as_json(none)), std::runtime_error);
}

TEST(RooflineCommand, MeasuresTheRoofsAndKeepsThem) {
  const TemporaryFolder folder;
  const std::string path = folder.file("peaks.json");
  const std::string out = printed(tool("roofline --peaks " + path));
  EXPECT_THAT(out, HasSubstr("memory"));
  const Peaks peaks = peaks_from_json(contents(path));
  ASSERT_EQ(peaks.operations.size(), kernels_here().size());
  ASSERT_FALSE(peaks.memory.empty());
  EXPECT_EQ(peaks.memory.back().name, "memory");
  // Read again, nothing is measured: the numbers are the same.
  EXPECT_EQ(tool("roofline --peaks " + path).out, out);
}

// The triad moves 24 bytes for 2 operations, whatever the machine; a product of blocks of 32 moves
// 2 * 8 * 32^2 for 2 * 32^3, each block of the result twice, and both matrices twice to put them into blocks.
TEST(RooflineCommand, ATriadLiesOnTheSlopeAndAProductToTheRightOfIt) {
  const TemporaryFolder folder;
  const Ran ran =
      tool("roofline --json --peaks " + given_file(folder) + " -- " + KERNELS + " 4000000 4 256 32");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  EXPECT_THAT(ran.out, HasSubstr("triad: 32000000 FLOP, 384000000 bytes"));
  const json all = json::parse(ran.errors.substr(ran.errors.find('{')));
  const json triad = point_of(all, "triad"), product = point_of(all, "product");
  if (triad["flops"]["source"] == "counted by the program" &&
      triad["bytes"]["source"] == "counted by the program") {
    EXPECT_DOUBLE_EQ(triad["flops_per_byte"].get<double>(), 1.0 / 12);
    EXPECT_LT(triad["roof"].get<double>(), 100e9);
    EXPECT_DOUBLE_EQ(product["flops_per_byte"].get<double>(),
                     2.0 * 256 * 256 * 256 / (16.0 * 256 * 256 * 256 / 32 + 48.0 * 256 * 256));
  }
  EXPECT_GT(product["flops_per_byte"].get<double>(), triad["flops_per_byte"].get<double>());
}

// Tasks that want a processor, for each of them, over the last minute.
double machine_load() {
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  return load / static_cast<double>(std::max(1u, std::thread::hardware_concurrency()));
}

// In a container the triad took a quarter of the machine's memory, whatever the container may have.
TEST(RooflinePeaks, NoMoreMemoryIsTakenThanTheContainerMayHave) {
  const TemporaryFolder folder;
  const auto write = [&folder](const std::string& path, const std::string& text) {
    const std::string file = folder.path() + path;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
  };
  EXPECT_EQ(memory_to_use(folder.path()), 0u);
  write("/proc/meminfo", "MemTotal: 4000 kB\nMemFree: 5 kB\nMemAvailable: 2000 kB\n");
  EXPECT_EQ(memory_to_use(folder.path()), 2'048'000u);
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(memory_to_use(folder.path()), 2'048'000u);
  write("/sys/fs/cgroup/memory.max", "1000000\n");
  EXPECT_EQ(memory_to_use(folder.path()), 1'000'000u) << "of the container's own group";
  write("/proc/self/cgroup", "0::/jobs/mine\n");
  write("/sys/fs/cgroup/jobs/memory.max", "500000\n");
  write("/sys/fs/cgroup/jobs/mine/memory.max", "700000\n");
  EXPECT_EQ(memory_to_use(folder.path()), 500'000u) << "of a group above";
  write("/proc/self/cgroup", "5:devices:/x\n4:memory:/job\n0::/\n");
  write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "300000\n");
  EXPECT_EQ(memory_to_use(folder.path()), 300'000u) << "of the first version of control groups";
}

// Where a virtual machine describes 508 MiB of its host's caches as one, 2 GiB were filled twice: half a minute.
TEST(RooflinePeaks, ACacheOfHundredsOfMebibytesIsMeasuredInAPartOfIt) {
  constexpr std::uint64_t kMiB = 1ULL << 20;
  const auto found = [](const std::string& caches, std::uint64_t memory) {
    std::string out;
    for (const Level& one : levels(substrata::topology::load("package:1 " + caches + " core:1 pu:1"), memory))
      out +=
          one.name + " " + std::to_string(one.alone >> 10) + " " + std::to_string(one.together >> 10) + ", ";
    return out;
  };
  // KiB, of one core that is alone. The test's own processors may be any, so that there is one core or two.
  const std::string large =
      found("l3:1(size=532676608) l2:2(size=1048576) l1d:1(size=49152)", 64 * 1024 * kMiB);
  EXPECT_THAT(large, HasSubstr("L1d 24 24, L2 512 512, L3 16384 16384, memory 1048576 ")) << large;
  const std::string usual = found("l3:1(size=8388608) l2:2(size=1048576) l1d:1(size=49152)", 0);
  EXPECT_THAT(usual, HasSubstr("L3 4096 ")) << "half of it";
  EXPECT_THAT(usual, HasSubstr("memory 49152 "));
  EXPECT_THAT(found("l2:2(size=1048576) l1d:1(size=49152)", 40 * kMiB), HasSubstr("memory 10240 "));
}

TEST(RooflineText, AMemorySmallerThanFourCachesIsSaidToBeSo) {
  const auto text = [](std::uint64_t last_cache) {
    Peaks peaks = given_peaks();
    peaks.last_cache = last_cache;
    std::ostringstream out;
    write_roofs(out, peaks_from_json(peaks_as_json(peaks)));
    return out.str();
  };
  EXPECT_THAT(text(16U << 20), Not(HasSubstr("four times")));
  EXPECT_THAT(text(32U << 20), HasSubstr("less than four times the largest cache"));
  EXPECT_THAT(text(32U << 20), HasSubstr("memory, in 64 MiB"));
}

// The rate that the program gives for a second of processor time: "product: 5 FLOP, 7 bytes, 0.5 s of processor time".
double own_rate(const std::string& out, const std::string& name) {
  std::smatch found;
  if (!std::regex_search(out, found, std::regex(name + R"(: (\d+) FLOP, \d+ bytes, ([\d.]+) s)"))) {
    ADD_FAILURE() << out;
    return 0;
  }
  return std::stod(found[1]) / std::stod(found[2]);
}

// The roofs are measured once for the tests of programs below them: it takes most of their time.
// Half of the roof above it is the criterion for "on the slope" and "near the roof", of which the best of a few runs
// counts. Roofs and rates are of processor time, for others use this machine; what they take of memory and its caches
// remains. No run is faster than the machine, with space for one that others use while its roofs are measured.
TEST(RooflineCommand, ATriadReachesTheSlopeAndAProductInBlocksTheFlatRoof) {
  if (kSanitized) GTEST_SKIP() << "a build with a sanitizer computes slowly";
  const TemporaryFolder folder;
  const std::string line = "roofline --json --peaks " + folder.file("peaks.json") + " -- " + KERNELS;
  double triad = 0, product = 0;
  for (int run = 0; run < 5 && (triad < 0.5 || product < 0.5); ++run) {
    const Ran ran = tool(line);
    ASSERT_EQ(ran.status, 0) << ran.errors;
    const json all = json::parse(ran.errors.substr(ran.errors.find('{')));
    const auto reached = [&](const char* name) {
      return own_rate(ran.out, name) / point_of(all, name)["roof"].get<double>();
    };
    triad = std::max(triad, reached("triad"));
    product = std::max(product, reached("product"));
  }
  for (const char* size : {" 8000000 10 8 8", " 8 1 1536 96"}) {  // all but a triad, all but a product
    const Ran ran = tool(line + size);
    ASSERT_EQ(ran.status, 0) << ran.errors;
    const json whole = point_of(json::parse(ran.errors.substr(ran.errors.find('{'))), "whole program");
    EXPECT_GT(whole["flops_per_second"].get<double>(), 0) << size;
    EXPECT_LT(whole["flops_per_second"].get<double>(), 4 * whole["roof"].get<double>()) << size;
  }
  if (const double load = machine_load(); (triad < 0.5 || product < 0.5) && load > 0.6)
    GTEST_SKIP() << "others use this machine: " << load << " tasks a processor; reached " << triad << " and "
                 << product << " of the roofs";
  EXPECT_GE(triad, 0.5);
  EXPECT_GE(product, 0.5);
}

TEST(RooflineCommand, AProgramWithoutCountsIsSaidToHaveNoneAndTheRoofsAreShown) {
  const TemporaryFolder folder;
  const Ran ran = tool("roofline --peaks " + given_file(folder) + " -- sh -c 'exit 3'");
  EXPECT_EQ(ran.status, 3) << "the command's";
  EXPECT_THAT(ran.errors, HasSubstr("AVX2"));
  if (ran.errors.find("FLOP, measured") == std::string::npos) {
    EXPECT_THAT(ran.errors, HasSubstr("the operations of this program are not known"));
    EXPECT_THAT(ran.errors, HasSubstr("-lsde"));
  }
}

TEST(RooflineCommand, WritesAPicture) {
  const TemporaryFolder folder;
  const std::string path = folder.file("roofline.svg");
  ASSERT_EQ(
      tool("roofline --peaks " + given_file(folder) + " --svg " + path + " -- " + KERNELS + " 100000 1 64 32")
          .status,
      0);
  EXPECT_GE(count_of(contents(path), "<circle"), 1u);
  EXPECT_THAT(contents(path), HasSubstr(">whole program<"));
}

TEST(RooflineCommand, AMissingCommandGivesTheStatusOfAShell) {
  const TemporaryFolder folder;
  EXPECT_EQ(tool("roofline --peaks " + given_file(folder) + " -- no-such-command").status, 127);
  std::ofstream(folder.file("other")) << "text";
  EXPECT_EQ(tool("roofline --peaks " + folder.file("other") + " -- true").status, 1);
}

}  // namespace
