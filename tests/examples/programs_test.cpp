// Runs the instrumented examples under MPI on small inputs and checks verdicts and the shape of their
// records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/temporary_folder.hpp"

namespace {

using testing::HasSubstr;

struct Outcome {
  int status = -1;
  std::string output;
  std::vector<std::string> header;             // lines with '#'
  std::vector<std::string> names;              // columns
  std::vector<std::vector<std::string>> rows;  // cells
};

// A program on two ranks that talk over TCP on the loopback interface.
Outcome run(const std::string& program, const std::string& arguments) {
  const substrata::tests::TemporaryFolder folder;
  Outcome result;
  const std::string csv = folder.path() + "/record.csv";
  const std::string log = folder.path() + "/log";
  // Open MPI by its own settings, so that the same command also suits another MPI. It does not free all it
  // allocates.
  const std::string command =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
      "OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo "
      "PAPI_NET_REFRESH_LATENCY=0 ASAN_OPTIONS=detect_leaks=0 " MPI_LAUNCHER " " MPI_COUNT_FLAG " 2 '" +
      program + "' " + arguments + " --csv '" + csv + "' < /dev/null > '" + log + "' 2>&1";
  const int status = std::system(command.c_str());
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  std::stringstream text;
  text << std::ifstream(log).rdbuf();
  result.output = text.str();
  std::ifstream file(csv);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) {
      result.header.push_back(line);
      continue;
    }
    std::vector<std::string> cells;
    std::istringstream in(line + ",");
    for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
    if (result.names.empty()) {
      result.names = cells;
    } else {
      result.rows.push_back(cells);
    }
  }
  return result;
}

long long number(const std::string& cell) { return std::strtoll(cell.c_str(), nullptr, 10); }

// The place of the column whose name ends so; the number of columns if there is none.
std::size_t column(const Outcome& run, const std::string& ending) {
  for (std::size_t i = 0; i < run.names.size(); ++i) {
    if (run.names[i].ends_with(ending)) return i;
  }
  return run.names.size();
}

void expect_record(const Outcome& run, std::size_t iterations) {
  ASSERT_GE(run.names.size(), 7U) << run.output;
  EXPECT_EQ((std::vector<std::string>(run.names.begin(), run.names.begin() + 4)),
            (std::vector<std::string>{"time_ns", "rank", "region", "iteration"}));
  // Every column has a line: unit and origin, or why it is empty.
  for (const std::string& name : run.names) {
    bool reported = false;
    for (const std::string& line : run.header)
      reported = reported || line.starts_with("# column " + name + ":");
    EXPECT_TRUE(reported) << name;
  }
  EXPECT_EQ(run.rows.size(), 2 * 2 * iterations);
  // Each rank passes from compute to communicate and back, and its time does not go backwards.
  std::map<std::string, std::vector<std::vector<std::string>>> by_rank;
  for (const auto& row : run.rows) {
    ASSERT_EQ(row.size(), run.names.size());
    by_rank[row[1]].push_back(row);
  }
  EXPECT_EQ(by_rank.size(), 2U);
  for (const auto& entry : by_rank) {
    long long before = 0;
    for (std::size_t i = 0; i < entry.second.size(); ++i) {
      const auto& row = entry.second[i];
      EXPECT_EQ(row[2], i % 2 == 0 ? "compute" : "communicate");
      EXPECT_EQ(number(row[3]), static_cast<long long>(i / 2));
      EXPECT_GE(number(row[0]), before);
      before = number(row[0]);
    }
  }
}

// The sum of a column over one region, of both ranks; -1 when a cell is empty.
long long total(const Outcome& run, std::size_t index, const std::string& region) {
  long long sum = 0;
  for (const auto& row : run.rows) {
    if (row[2] != region) continue;
    if (row[index].empty()) return -1;
    sum += number(row[index]);
  }
  return sum;
}

// PA-7, CO-1: what the program publishes of itself, read back through PAPI.
void expect_published_events(const Outcome& run) {
  const std::size_t operations = column(run, "::FLOP");
  const std::size_t messages = column(run, "::MESSAGES");
  ASSERT_LT(operations, run.names.size());
  ASSERT_LT(messages, run.names.size());
  EXPECT_GT(total(run, operations, "compute"), 0) << run.output;
  EXPECT_EQ(total(run, operations, "communicate"), 0);
  EXPECT_GT(total(run, messages, "communicate"), 0);
  EXPECT_EQ(total(run, messages, "compute"), 0);
}

// PA-7: the messages of the program are packets on the loopback interface.
void expect_packets(const Outcome& run) {
  const std::size_t packets = column(run, ":tx:packets");
  ASSERT_LT(packets, run.names.size());
  EXPECT_GT(total(run, packets, "communicate"), 0) << run.output;
}

TEST(Hpl, SolvesTheSystemAndRecordsEveryBlockColumn) {
  const Outcome result = run(HPL_PROGRAM, "--size 130 --block 16");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output, testing::ContainsRegex("residual .* PASSED"));
  expect_record(result, 10);  // nine block columns, and the last update
  if (HasFatalFailure()) return;
  expect_published_events(result);
  expect_packets(result);
}

TEST(Fft, TransformsForthAndBackAndRecordsEveryExchange) {
  const Outcome result = run(FFT_PROGRAM, "--rows 24 --columns 20 --edge 12 --repeat 2");
  EXPECT_EQ(result.status, 0) << result.output;
  for (const char* name : {"1-D", "3-D"}) {
    EXPECT_THAT(result.output,
                testing::ContainsRegex("FFT " + std::string(name) + ", 2 ranks: inverse residual .* PASSED"));
  }
  EXPECT_THAT(result.output, testing::Not(HasSubstr("FAILED")));
  expect_record(result,
                2 * (2 * 3 + 2 * 2));  // repeats, forth and back, exchanges in one and three dimensions
  if (HasFatalFailure()) return;
  expect_published_events(result);
  expect_packets(result);
}

TEST(Hpl, ModelledTemperatureIsCalledModelled) {
  // Where there is a real sensor, it is preferred, and nothing is modelled.
  setenv("SUBSTRATA_THERMAL_MODEL", "1", 1);
  const Outcome result = run(HPL_PROGRAM, "--size 40 --block 8");
  unsetenv("SUBSTRATA_THERMAL_MODEL");
  EXPECT_EQ(result.status, 0) << result.output;
  int temperatures = 0;
  for (const std::string& line : result.header) {
    if (line.find("domain temperature") == std::string::npos) continue;
    ++temperatures;
    const bool of_model = line.starts_with("# column thermal_model:::");
    EXPECT_EQ(line.find("; modelled;") != std::string::npos, of_model) << line;
  }
  EXPECT_GT(temperatures, 0) << result.output;
}

TEST(Fft, WrongArgumentsAreRefusedWithAMessage) {
  const Outcome result = run(FFT_PROGRAM, "--rows 14 --columns 20 --edge 12");
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.output, HasSubstr("--rows is 14, wanted a product of 2, 3 and 5"));
}

#ifdef HPL_ON_INSTALLED_PAPI
// The same source against an installed PAPI: what its substrates lack is absent, the rest is there.
TEST(Hpl, RunsOnAnInstalledPapi) {
  const Outcome result = run(HPL_ON_INSTALLED_PAPI, "--size 60 --block 8");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output, testing::ContainsRegex("residual .* PASSED"));
  expect_record(result, 9);
  if (HasFatalFailure()) return;
  expect_published_events(result);
}
#endif

}  // namespace
