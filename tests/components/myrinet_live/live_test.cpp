// An unmodified MPI program whose messages pass the modelled Myrinet interfaces, one node a rank.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/program.hpp"

namespace {

using substrata::tests::Ran;
using substrata::tests::run;

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kRanks = 4;
const std::string kBuild = SUBSTRATA_BUILD_DIR;
const std::string kTests = std::string(SUBSTRATA_SOURCE_DIR) + "/tests/sources/";
const std::string kShim = kBuild + "/lib/libsubstrata_mpi_openmpi.so";

class MyrinetLive : public testing::Test {
 protected:
  using Settings = std::vector<std::pair<std::string, std::string>>;

  void SetUp() override {
    for (const char* needed : {"mpicc.openmpi", "mpirun.openmpi"})
      if (run(std::string("command -v ") + needed).status != 0) GTEST_SKIP() << needed << " is not installed";
  }
  std::string file(const std::string& name) const { return folder_.file(name); }

  // Builds the program and runs it with the shim before `preloads`.
  void launch(const std::string& source, const Settings& settings, const std::string& preloads = "") {
    const Ran built = run("mpicc.openmpi -O1 -I" + std::string(SUBSTRATA_SOURCE_DIR) + "/include -o " +
                          file("program") + " " + kTests + source + " " + kBuild +
                          "/lib/libpapi.so -Wl,--as-needed," + "-rpath," + kBuild + "/lib");
    ASSERT_EQ(built.status, 0) << built.out;
    const std::string mpirun =
        "OMPI_MCA_mpi_yield_when_idle=1 timeout 200 mpirun.openmpi --allow-run-as-root --oversubscribe "
        "--mca btl self,vader,tcp -n " +
        std::to_string(kRanks);
    const Ran trial = run(mpirun + " true");
    if (trial.status != 0) GTEST_SKIP() << "mpirun cannot start a program here: " << trial.out.substr(0, 300);
    std::string variables = " -x LD_PRELOAD=" + kShim + (preloads.empty() ? "" : ":" + preloads) +
                            " -x SUBSTRATA_MPI_SUMMARY=" + file("summary.json");
    for (const auto& [name, value] : settings) variables += " -x " + name + "=" + value;
    const Ran ran = run(mpirun + variables + " " + file("program"));
    ASSERT_EQ(ran.status, 0) << ran.out;
    output_ = ran.out;
    std::ifstream stream(file("summary.json"));
    summary_ = Json::parse(stream, nullptr, false);
    ASSERT_TRUE(summary_.is_object()) << "no summary";
  }
  // Carries the messages that the program left, and reads what came of it.
  void read_cluster() {
    const Ran carried = run(kBuild + "/bin/substrata signature " + file("figures"));
    ASSERT_EQ(carried.status, 0) << carried.out << output_;
    std::ifstream stream(file("figures/cluster.json"));
    cluster_ = Json::parse(stream, nullptr, false);
    ASSERT_TRUE(cluster_.is_object()) << "no cluster.json; " << output_;
    EXPECT_TRUE(cluster_["run_s"].is_number());
    ASSERT_EQ(cluster_["ranks"].size(), static_cast<size_t>(kRanks));
  }
  long sum_of_ranks(const Json& from, const char* key) {
    long sum = 0;
    for (const Json& rank : from["ranks"]) sum += rank[key].get<long>();
    return sum;
  }
  // Everything the shim has counted was carried, and what was sent was received or is counted as lost.
  void expect_conservation() {
    const Json& messages = cluster_["messages"];
    EXPECT_EQ(messages["all"], sum_of_ranks(summary_, "messages_sent"));
    EXPECT_EQ(messages["bytes"], sum_of_ranks(summary_, "bytes_sent"));
    EXPECT_EQ(messages["left_out"], 0);
    EXPECT_EQ(messages["unmatched_receives"], 0);
    EXPECT_EQ(messages["carried"].get<long>() + messages["to_itself"].get<long>(),
              messages["all"].get<long>());
    const Json& carried = cluster_["carried"];
    const auto of = [&](const char* key) { return carried[key].get<long>(); };
    EXPECT_EQ(of("packets_sent"),
              of("packets_received") + of("checksum_errors") + of("dropped") + of("misrouted"));
    EXPECT_EQ(of("bytes_sent"), of("bytes_received") + of("bytes_lost"));
    EXPECT_EQ(of("bytes_received") + messages["to_itself_bytes"].get<long>(), messages["bytes"].get<long>());
    for (const char* key : {"packets_sent", "packets_received", "bytes_sent", "bytes_received"})
      EXPECT_EQ(sum_of_ranks(cluster_, key), of(key)) << key;
  }
  const Json* phase(int rank, const std::string& name) {
    for (const Json& one : cluster_["ranks"][static_cast<size_t>(rank)]["phases"])
      if (one["name"] == name) return &one;
    return nullptr;
  }

  substrata::tests::TemporaryFolder folder_;
  std::string output_;
  Json summary_;
  Json cluster_;
};

TEST_F(MyrinetLive, EachRankReadsItsOwnInterfaceByPapi) {  // MY-21
  launch("../components/myrinet_live/counted.c", {{"SUBSTRATA_MPI_CLUSTER", "myrinet"}});
  if (IsSkipped() || HasFatalFailure()) return;
  std::vector<std::vector<long>> lines;
  std::istringstream output(output_);
  for (std::string line; std::getline(output, line);) {
    char who[8];
    std::vector<long> one(4);
    if (std::sscanf(line.c_str(), "%7s %ld %ld %ld %ld", who, &one[0], &one[1], &one[2], &one[3]) == 5)
      lines.push_back(one);
  }
  ASSERT_EQ(lines.size(), 2u) << output_;
  EXPECT_EQ(lines[0], lines[1]) << output_;
  EXPECT_EQ(lines[0][1], 4L * 500 * (19 * 20 / 2));
  EXPECT_FALSE(fs::exists(file("figures"))) << "no files unless they are asked for";
}

TEST_F(MyrinetLive, TotalsEqualThoseOfAPlainPmpiCounterInTheSameRun) {  // MY-21
  const std::string counter = file("counter.so");
  const Ran built = run("mpicc.openmpi -O1 -shared -fPIC -o " + counter + " " + kTests +
                        "../../examples/hpcc/pmpi_counter.c");
  ASSERT_EQ(built.status, 0) << built.out;
  launch("mpi/receives.c",
         {{"PMPI_COUNTER", file("counter")},
          {"SUBSTRATA_MPI_CLUSTER", "myrinet"},
          {"SUBSTRATA_MPI_CLUSTER_OUT", file("figures")}},
         counter);
  if (IsSkipped() || HasFatalFailure()) return;
  read_cluster();
  if (HasFatalFailure()) return;
  expect_conservation();
  long messages = 0;
  long bytes = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    std::ifstream stream(file("counter." + std::to_string(rank)));
    long rank_messages = -1;
    long rank_bytes = -1;
    stream >> rank_messages >> rank_bytes;
    messages += rank_messages;
    bytes += rank_bytes;
  }
  long own_messages = 0;
  long own_bytes = 0;
  for (const Json& rank : summary_["ranks"])
    for (const Json& one : rank["phases"]) {
      own_messages += one["own_messages_sent"].get<long>();
      own_bytes += one["own_bytes_sent"].get<long>();
    }
  EXPECT_GE(messages, 20);
  EXPECT_EQ(own_messages, messages);
  EXPECT_EQ(own_bytes, bytes);
}

TEST_F(MyrinetLive, LostPacketsAreSentAgainAndCounted) {  // MY-22
  launch("mpi/messages.c",
         {{"SUBSTRATA_MPI_CLUSTER", "myrinet:drop_ppm=100000:corrupt_ppm=100000:misroute_ppm=50000"},
          {"SUBSTRATA_MPI_CLUSTER_OUT", file("figures")}});
  if (IsSkipped() || HasFatalFailure()) return;
  read_cluster();
  if (HasFatalFailure()) return;
  expect_conservation();
  // Of some 400 packets a quarter: none of a kind happens by chance once in 10^8 programs.
  EXPECT_GT(cluster_["carried"]["dropped"], 0);
  EXPECT_GT(cluster_["carried"]["checksum_errors"], 0);
  EXPECT_GT(cluster_["carried"]["misrouted"], 0);
}

TEST_F(MyrinetLive, TheSignatureDistinguishesTheProgramsSections) {  // MY-9
  launch("mpi/messages.c", {{"SUBSTRATA_MPI_CLUSTER", "myrinet"},
                            {"SUBSTRATA_MPI_CLUSTER_OUT", file("figures")},
                            {"SUBSTRATA_MPI_NETWORK", "factor=100"}});
  if (IsSkipped() || HasFatalFailure()) return;
  read_cluster();
  if (HasFatalFailure()) return;
  expect_conservation();
  EXPECT_EQ(cluster_["factor"], 100);
  for (int rank = 0; rank < kRanks; ++rank) {
    const Json* const ring = phase(rank, "Ring");
    const Json* const exchange = phase(rank, "Exchange");
    ASSERT_NE(ring, nullptr);
    ASSERT_NE(exchange, nullptr);
    // 64 KiB to each of three others, twice, in packets of 4 KiB; the ring's longest message has 2400 bytes.
    const auto full = [](const Json& part) {
      long sent = 0;
      for (const Json& point : part["signature"])
        if (point["bytes"][0] <= 4096 && point["bytes"][1] >= 4096) sent += point["sent"].get<long>();
      return sent;
    };
    EXPECT_EQ(full(*exchange), 2 * (kRanks - 1) * 16) << rank;
    EXPECT_EQ(full(*ring), 0) << rank;
    EXPECT_GE((*ring)["packets_sent"], 11) << rank;
    const std::string name = "signature.rank" + std::to_string(rank);
    ASSERT_TRUE(fs::exists(file("figures/" + name + ".dat")));
    if (run("command -v gnuplot").status == 0) {
      const Ran drawn = run("cd " + file("figures") + " && gnuplot " + name + ".gp");
      EXPECT_EQ(drawn.status, 0) << drawn.out;
      EXPECT_TRUE(fs::exists(file("figures/" + name + ".png")));
    }
  }
}

TEST_F(MyrinetLive, TheSameMessagesAreCarriedOnceMoreByAnotherMachine) {  // MY-22
  launch("mpi/messages.c",
         {{"SUBSTRATA_MPI_CLUSTER", "myrinet"}, {"SUBSTRATA_MPI_CLUSTER_OUT", file("figures")}});
  if (IsSkipped() || HasFatalFailure()) return;
  read_cluster();
  if (HasFatalFailure()) return;
  const long bytes = cluster_["carried"]["bytes_received"].get<long>();
  EXPECT_EQ(cluster_["carried"]["dropped"], 0);
  const Ran again = run(kBuild + "/bin/substrata signature " + file("figures") +
                        " --parameters drop_ppm=200000 --out " + file("lossy"));
  ASSERT_EQ(again.status, 0) << again.out;
  std::ifstream stream(file("lossy/cluster.json"));
  const Json lossy = Json::parse(stream, nullptr, false);
  ASSERT_TRUE(lossy.is_object());
  EXPECT_EQ(lossy["parameters"], "drop_ppm=200000");
  EXPECT_GT(lossy["carried"]["dropped"], 0);
  EXPECT_EQ(lossy["carried"]["bytes_received"], bytes);
}

// Its messages belonged to no operation before.
TEST_F(MyrinetLive, EachCollectiveOfAProgramIsOneOperation) {  // MY-42
  for (const char* level : {"1", "2"}) {
    launch("../components/myrinet_live/collectives.c", {{"SUBSTRATA_MPI_CLUSTER", "myrinet"},
                                                        {"SUBSTRATA_MPI_LEVEL", level},
                                                        {"SUBSTRATA_MPI_CLUSTER_OUT", file("figures")}});
    if (IsSkipped() || HasFatalFailure()) return;
    read_cluster();
    if (HasFatalFailure()) return;
    const size_t printed = output_.find("operations ");
    ASSERT_NE(printed, std::string::npos) << output_;
    const int expected = std::atoi(output_.c_str() + printed + sizeof "operations");
    long found = 0;
    for (const Json& one : cluster_["operations"])
      if (one["kind"] == "collective") found = one["number"].get<long>();
    EXPECT_EQ(found, expected) << "level " << level << ": " << cluster_["operations"];
  }
}

TEST_F(MyrinetLive, OneCommandRunsTheProgramAndThenItsCluster) {
  launch("mpi/messages.c", {});
  if (IsSkipped() || HasFatalFailure()) return;
  const Ran ran = run("OMPI_MCA_mpi_yield_when_idle=1 timeout 200 " + kBuild +
                      "/bin/substrata mpirun --cluster myrinet --out " + file("figures") +
                      " --allow-run-as-root --oversubscribe --mca btl self,vader,tcp -n " +
                      std::to_string(kRanks) + " " + file("program"));
  ASSERT_EQ(ran.status, 0) << ran.out;
  EXPECT_NE(ran.out.find(" packets (modelled) in "), std::string::npos) << ran.out;
  EXPECT_TRUE(fs::exists(file("figures/cluster.json")));
  EXPECT_TRUE(fs::exists(file("figures/signature.rank3.gp")));
}

TEST_F(MyrinetLive, ANewProgramsMessagesTakeAwayWhatAnOldClusterCarried) {
  fs::create_directory(file("figures"));
  std::ofstream(file("figures/cluster.json")) << "{}";
  launch("mpi/messages.c",
         {{"SUBSTRATA_MPI_CLUSTER", "myrinet"}, {"SUBSTRATA_MPI_CLUSTER_OUT", file("figures")}});
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_TRUE(fs::exists(file("figures/messages.log")));
  EXPECT_FALSE(fs::exists(file("figures/cluster.json")));
}

TEST_F(MyrinetLive, ASettingThatCannotBeObeyedIsReportedAndTheProgramRuns) {
  launch("mpi/messages.c",
         {{"SUBSTRATA_MPI_CLUSTER", "myrinet:speed=9"}, {"SUBSTRATA_MPI_CLUSTER_OUT", file("figures")}});
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_NE(output_.find("SUBSTRATA_MPI_CLUSTER: "), std::string::npos) << output_;
  EXPECT_NE(output_.find("speed"), std::string::npos) << output_;
  EXPECT_FALSE(fs::exists(file("figures")));
}

}  // namespace
