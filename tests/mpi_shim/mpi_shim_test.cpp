// The MPI shims on an unmodified program under Open MPI and MPICH: its own count is the oracle.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Folder {
  fs::path path;
  Folder() {
    char name[] = "/tmp/substrata-mpi-test-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const char* name) const { return (path / name).string(); }
};

struct Outcome {
  int status;
  std::string output;
};
Outcome run(const std::string& command) {
  Outcome outcome{-1, ""};
  FILE* pipe = popen((command + " 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  while (const size_t size = fread(buffer, 1, sizeof buffer, pipe)) outcome.output.append(buffer, size);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return outcome;
}

bool is_there(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

const std::string kLib = std::string(SUBSTRATA_BUILD_DIR) + "/lib/";
const std::string kSource = std::string(SUBSTRATA_SOURCE_DIR) + "/tests/mpi_shim/messages.c";
constexpr int kRanks = 4;

struct Mpi {
  const char* name;
  const char* compiler;
  std::string run;  // up to the environment
  std::string set;  // NAME=VALUE is put behind it
};
Mpi open_mpi() {
  return {"openmpi", "mpicc.openmpi",
          "timeout 200 mpirun.openmpi --allow-run-as-root --oversubscribe --mca btl self,vader,tcp -n " +
              std::to_string(kRanks),
          " -x "};
}
Mpi mpich() {
  return {"mpich", "mpicc.mpich", "timeout 200 mpiexec.mpich -n " + std::to_string(kRanks), " -env "};
}

class MpiShim : public testing::Test {
 protected:
  // Builds the program and runs it under the shim; skips where that MPI is not installed.
  void measure(const Mpi& mpi, const std::string& settings = "") {
    const std::string launcher = mpi.name == std::string("mpich") ? "mpiexec.mpich" : "mpirun.openmpi";
    if (!is_there(mpi.compiler) || !is_there(launcher)) GTEST_SKIP() << mpi.name << " is not installed";
    const Outcome built =
        run(std::string(mpi.compiler) + " -O1 -o " + (folder_ / "messages") + " " + kSource);
    ASSERT_EQ(built.status, 0) << built.output;
    const auto variable = [&](const std::string& name, const std::string& value) {
      return mpi.set + name + (mpi.name == std::string("mpich") ? " " : "=") + value;
    };
    const std::string file = folder_ / "summary.json";
    const std::string command = "OMPI_MCA_mpi_yield_when_idle=1 " + mpi.run +
                                variable("LD_PRELOAD", kLib + "libsubstrata_mpi_" + mpi.name + ".so") +
                                variable("SUBSTRATA_MPI_SUMMARY", file) +
                                (settings.empty() ? ""
                                                  : variable(settings.substr(0, settings.find('=')),
                                                             settings.substr(settings.find('=') + 1))) +
                                " " + (folder_ / "messages");
    const Outcome ran = run(command);
    if (ran.status != 0 && ran.output.find("Begin of Ring") == std::string::npos)
      GTEST_SKIP() << mpi.name << " cannot start a program here: " << ran.output.substr(0, 300);
    ASSERT_EQ(ran.status, 0) << ran.output;
    std::istringstream lines(ran.output);
    for (std::string line; std::getline(lines, line);) {
      long messages = 0;
      long bytes = 0;
      if (std::sscanf(line.c_str(), "sent %ld %ld", &messages, &bytes) == 2)
        own_.push_back({messages, bytes});
    }
    ASSERT_EQ(own_.size(), static_cast<size_t>(kRanks)) << ran.output;
    std::ifstream stream(file);
    summary_ = Json::parse(stream, nullptr, false);
    ASSERT_TRUE(summary_.is_object()) << "no summary";
    ASSERT_EQ(summary_["ranks"].size(), static_cast<size_t>(kRanks));
  }
  const Json* phase(int rank, const std::string& name) {
    for (const Json& item : summary_["ranks"][static_cast<size_t>(rank)]["phases"])
      if (item["name"] == name) return &item;
    return nullptr;
  }
  // Messages of the sizes the program's own point-to-point messages have, in its phase of them.
  std::pair<long, long> of_the_ring(int rank) {
    long messages = 0;
    long bytes = 0;
    if (const Json* ring = phase(rank, "Ring"))
      for (const auto& [size, count] : (*ring)["sizes_sent"].items()) {
        if (size != "40" && size != "800" && size != "1600" && size != "2400") continue;
        messages += count.get<long>();
        bytes += count.get<long>() * std::stol(size);
      }
    return {messages, bytes};
  }
  void expect_conservation() {
    long sent = 0;
    long received = 0;
    long bytes_sent = 0;
    long bytes_received = 0;
    for (const Json& rank : summary_["ranks"]) {
      sent += rank["messages_sent"].get<long>();
      received += rank["messages_received"].get<long>();
      bytes_sent += rank["bytes_sent"].get<long>();
      bytes_received += rank["bytes_received"].get<long>();
    }
    EXPECT_EQ(sent, received);
    EXPECT_EQ(bytes_sent, bytes_received);
  }

  Folder folder_;
  std::vector<std::pair<long, long>> own_;
  Json summary_;
};

TEST_F(MpiShim, UnderOpenMpiCountsTheProgramsOwnMessages) {  // FE-4
  measure(open_mpi());
  if (IsSkipped()) return;
  for (int rank = 0; rank < kRanks; ++rank)
    EXPECT_EQ(of_the_ring(rank), own_[static_cast<size_t>(rank)]) << rank;
  expect_conservation();
}

TEST_F(MpiShim, UnderOpenMpiSeesTheRealMessagesOfAnAlltoall) {  // FE-4
  measure(open_mpi());
  if (IsSkipped()) return;
  if (summary_["ranks"][0]["level"] != 2)
    GTEST_SKIP() << "another series of Open MPI than the shim was built for";
  for (int rank = 0; rank < kRanks; ++rank) {
    const Json* exchange = phase(rank, "Exchange");
    ASSERT_NE(exchange, nullptr);
    EXPECT_EQ((*exchange)["sizes_sent"]["65536"], 2 * (kRanks - 1)) << rank;
  }
}

TEST_F(MpiShim, AtLevelOneExpandsAnAlltoallToTheSameCount) {  // FE-4
  measure(open_mpi(), "SUBSTRATA_MPI_LEVEL=1");
  if (IsSkipped()) return;
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(summary_["ranks"][static_cast<size_t>(rank)]["level"], 1);
    EXPECT_EQ(of_the_ring(rank), own_[static_cast<size_t>(rank)]) << rank;
    const Json* exchange = phase(rank, "Exchange");
    ASSERT_NE(exchange, nullptr);
    EXPECT_EQ((*exchange)["sizes_sent"]["65536"], 2 * (kRanks - 1)) << rank;
  }
  expect_conservation();
}

TEST_F(MpiShim, UnderMpichCountsTheProgramsOwnMessages) {  // FE-4
  measure(mpich());
  if (IsSkipped()) return;
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(summary_["ranks"][static_cast<size_t>(rank)]["level"], 1);
    EXPECT_EQ(of_the_ring(rank), own_[static_cast<size_t>(rank)]) << rank;
  }
  expect_conservation();
}

TEST_F(MpiShim, RecordsATraceForEachRank) {  // FE-5, FE-8
  measure(open_mpi(), "SUBSTRATA_MPI_TRACE=" + (folder_ / "trace.%r"));
  if (IsSkipped()) return;
  for (int rank = 0; rank < kRanks; ++rank)
    EXPECT_GT(fs::file_size(folder_ / ("trace." + std::to_string(rank)).c_str()), 100u) << rank;
}

TEST(MpiShimPreloaded, DoesNoHarmToAProgramWithoutMpi) {
  for (const char* name : {"openmpi", "mpich"}) {
    const std::string shim = kLib + "libsubstrata_mpi_" + name + ".so";
    if (!fs::exists(shim)) continue;
    const Outcome ran = run("LD_PRELOAD=" + shim + " echo whole");
    EXPECT_EQ(ran.status, 0) << ran.output;
    EXPECT_EQ(ran.output, "whole\n");
  }
}

}  // namespace
