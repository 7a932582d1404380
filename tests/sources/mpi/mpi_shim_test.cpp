// The MPI shims on an unmodified program under Open MPI and MPICH: its own count is the oracle.
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shimmed_program.hpp"

const std::string substrata::tests::kLib = std::string(SUBSTRATA_BUILD_DIR) + "/lib/";
const std::string substrata::tests::kSources = std::string(SUBSTRATA_SOURCE_DIR) + "/tests/sources/mpi/";

namespace {

using namespace substrata::tests;
namespace fs = std::filesystem;

TEST_F(MpiShim, UnderOpenMpiCountsTheProgramsOwnMessages) {  // FE-4
  measure(open_mpi());
  if (IsSkipped()) return;
  for (int rank = 0; rank < kRanks; ++rank)
    EXPECT_EQ(of_the_ring(rank), own_[static_cast<size_t>(rank)]) << rank;
  expect_conservation();
}

// FE-4
TEST_F(MpiShim, ComesToTheTotalsOfAPlainPmpiCounterBehindIt) {
  const std::string counter = folder_ / "counter.so";
  if (!is_there("mpicc.openmpi")) GTEST_SKIP() << "mpicc.openmpi is not installed";
  const Ran built = run("mpicc.openmpi -O1 -shared -fPIC -o " + counter + " " + SUBSTRATA_SOURCE_DIR +
                        "/examples/hpcc/pmpi_counter.c");
  ASSERT_EQ(built.status, 0) << built.out;
  launch(open_mpi(), "receives.c",
         {{"LD_PRELOAD", kLib + "libsubstrata_mpi_openmpi.so:" + counter},
          {"PMPI_COUNTER", folder_ / "counter"}});
  if (IsSkipped() || HasFatalFailure()) return;
  for (int rank = 0; rank < kRanks; ++rank) {
    std::ifstream file(folder_ / ("counter." + std::to_string(rank)));
    long messages = -1;
    long bytes = -1;
    file >> messages >> bytes;
    long own_messages = 0;
    long own_bytes = 0;
    for (const Json& each : summary_["ranks"][static_cast<size_t>(rank)]["phases"]) {
      own_messages += each["own_messages_sent"].get<long>();
      own_bytes += each["own_bytes_sent"].get<long>();
    }
    EXPECT_GE(messages, 20);
    EXPECT_EQ(own_messages, messages) << rank;
    EXPECT_EQ(own_bytes, bytes) << rank;
  }
}

TEST_F(MpiShim, ShowsTheFirstBytesOfMessagesWhereTheyAreObserved) {
  fs::create_directory(folder_ / "rows");
  launch(open_mpi(2), "contents.c",
         {{"LD_PRELOAD", kLib + "libsubstrata_mpi_openmpi.so:" + kLib + "libsubstrata_owl.so"},
          {"SUBSTRATA_OWL_QUERY", "'mpi.contents: count by initiator, target, size, valued, value'"},
          {"SUBSTRATA_OWL_OUT", folder_ / "rows"}});
  if (IsSkipped() || HasFatalFailure()) return;
  std::set<std::string> rows;
  for (const auto& file : fs::directory_iterator(std::string(folder_ / "rows"))) {
    std::ifstream lines(file.path());
    for (std::string line; std::getline(lines, line);)
      if (line[0] == '[') rows.insert(line.substr(3));
  }
  const std::string half = std::to_string(std::bit_cast<uint64_t>(0.5));
  EXPECT_EQ(rows, (std::set<std::string>{"[0,1,0,0,0],[1]]",        // of no bytes
                                         "[0,1,16,0,0],[1]]",       // of a type that the program made
                                         "[0,1,3,1,6513249],[1]]",  // "abc"
                                         "[0,1,4,1,1234],[1]]", "[0,1,8,1," + half + "],[1]]"}));
}

TEST_F(MpiShim, CountsTheOperationsOfBlasByPhaseAndEachCallOnce) {
  if (!is_there("cc")) GTEST_SKIP() << "there is no C compiler";
  link_own_blas();
  if (HasFatalFailure()) return;
  launch(open_mpi(1), "blas.c");
  if (IsSkipped() || HasFatalFailure()) return;
  Json work;
  for (const Json& one : summary_["ranks"][0]["blas"])
    if (one["phase"] == "Work") work.push_back(one);
  ASSERT_EQ(work.size(), 1u) << summary_.dump(1);
  EXPECT_EQ(work[0]["function"], "dgemm");
  EXPECT_EQ(work[0]["calls"], 4) << "C's function calls Fortran's";
  EXPECT_EQ(work[0]["operations"], 3 * 2 * 10 * 20 * 30 + 2 * 2 * 3 * 4);
}

TEST_F(MpiShim, UnderOpenMpiSeesTheRealMessagesOfAnAlltoall) {  // FE-4
  measure(open_mpi());
  if (IsSkipped()) return;
  if (run("mpirun.openmpi --version").out.find(") 4.1.") == std::string::npos)
    GTEST_SKIP() << "another series of Open MPI than 4.1";
  EXPECT_EQ(summary_["ranks"][0]["level"], 2);
  for (int rank = 0; rank < kRanks; ++rank) {
    const Json* exchange = phase(rank, "Exchange");
    ASSERT_NE(exchange, nullptr);
    EXPECT_EQ((*exchange)["sizes_sent"]["65536"], 2 * (kRanks - 1)) << rank;
  }
}

TEST_F(MpiShim, AtLevelOneExpandsAnAlltoallToTheSameCount) {  // FE-4
  measure(open_mpi(), {{"SUBSTRATA_MPI_LEVEL", "1"}});
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

// FE-4, FE-5
TEST_F(MpiShim, CountsTheMessagesOfThreadsThatCallMpiAtOnce) {
  launch(open_mpi(), "threads.c");
  if (IsSkipped() || HasFatalFailure()) return;
  if (output_.find("one thread") != std::string::npos)
    GTEST_SKIP() << "this MPI library lets one thread call it";
  for (const Json& rank : summary_["ranks"]) {
    const Json& sizes = rank["phases"][0]["sizes_sent"];
    EXPECT_EQ(sizes["40"], 500) << rank.dump();
    EXPECT_EQ(sizes["48"], 500) << rank.dump();
    EXPECT_EQ(rank["latencies"]["unknown"], 0);
  }
  expect_conservation();
}

TEST_F(MpiShim, TheTimeOfARankThatWaitsIsNoComputing) {
  launch(open_mpi(), "waiting.c");
  if (IsSkipped() || HasFatalFailure()) return;
  constexpr int64_t kMillisecond = 1'000'000;
  for (const Json& rank : summary_["ranks"]) {
    const int64_t computed = rank["computed_ns"], elapsed = rank["elapsed_ns"];
    EXPECT_GE(elapsed, 300 * kMillisecond) << rank.dump();
    if (rank["rank"] == 0)
      EXPECT_GE(computed, 295 * kMillisecond) << rank.dump();
    else
      EXPECT_LT(computed, 100 * kMillisecond) << rank.dump();
  }
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

// FE-5, FE-8
TEST_F(MpiShim, GivesReceiversTheSendersVirtualTimeAlsoUnderCollectives) {
  launch(open_mpi(), "receives.c", {{"SUBSTRATA_MPI_TRACE", folder_ / "trace.%r"}});
  if (IsSkipped() || HasFatalFailure()) return;
  expect_both_ends(SUBSTRATA_TIME_VIRTUAL);
  EXPECT_EQ(summary_["time"]["default"], "virtual");
  for (const Json& rank : summary_["ranks"]) {
    EXPECT_EQ(rank["latencies"]["unknown"], 0);
    EXPECT_EQ(rank["latencies"]["real"]["messages"], rank["messages_received"]);
    // Not below overhead, latency and overhead of the default network.
    EXPECT_GE(rank["latencies"]["virtual"]["least_ns"], 12000);
  }
}

TEST_F(MpiShim, GivesReceiversTheSendersRealTimeAtLevelOne) {  // FE-5
  launch(open_mpi(), "receives.c",
         {{"SUBSTRATA_MPI_TRACE", folder_ / "trace.%r"},
          {"SUBSTRATA_MPI_LEVEL", "1"},
          {"SUBSTRATA_MPI_TIME", "real"}});
  if (IsSkipped() || HasFatalFailure()) return;
  expect_both_ends(SUBSTRATA_TIME_REAL);
  EXPECT_EQ(summary_["time"]["default"], "real");
}

TEST_F(MpiShim, GivesReceiversTheSendersTimeUnderMpich) {  // FE-5
  launch(mpich(), "receives.c",
         {{"SUBSTRATA_MPI_TRACE", folder_ / "trace.%r"}, {"SUBSTRATA_MPI_NETWORK", "latency=50000:byte=10"}});
  if (IsSkipped() || HasFatalFailure()) return;
  expect_both_ends(SUBSTRATA_TIME_VIRTUAL);
  EXPECT_EQ(summary_["time"]["virtual"], "factor=1:overhead=1000:latency=50000:byte=10");
  for (const Json& rank : summary_["ranks"]) EXPECT_GE(rank["latencies"]["virtual"]["least_ns"], 52000);
}

TEST_F(MpiShim, ReportsTheReceivesBetweenThoseThatTheProgramGivesUp) {  // FE-5
  launch(open_mpi(), "given_up.c", {{"SUBSTRATA_MPI_TRACE", folder_ / "trace.%r"}});
  if (IsSkipped() || HasFatalFailure()) return;
  expect_both_ends(SUBSTRATA_TIME_VIRTUAL, kRanks / 2 * 3 * 2);
}

constexpr const char* kBoth[] = {"openmpi", "mpich"};
Mpi named(const std::string& name) { return name == "mpich" ? mpich() : open_mpi(); }

// Each message has both its ends, under each of the two libraries.
class MpiShimUnder : public MpiShim, public testing::WithParamInterface<const char*> {
 protected:
  void expect_both_ends_of(const std::string& source) {
    launch(named(GetParam()), source, {{"SUBSTRATA_MPI_TRACE", folder_ / "trace.%r"}});
    if (IsSkipped() || HasFatalFailure()) return;
    expect_both_ends(SUBSTRATA_TIME_VIRTUAL);
    for (const Json& rank : summary_["ranks"]) EXPECT_EQ(rank["latencies"]["unknown"], 0) << rank.dump();
  }
};
INSTANTIATE_TEST_SUITE_P(, MpiShimUnder, testing::ValuesIn(kBoth),
                         [](const auto& name) { return name.param; });

TEST_P(MpiShimUnder, MessagesBehindACancelledReceiveKeepTheirStamps) { expect_both_ends_of("cancelled.c"); }
TEST_P(MpiShimUnder, ReceivesAfterPersistentOnesFromAnybodyKeepTheirOrder) {
  expect_both_ends_of("persistent.c");
}
TEST_P(MpiShimUnder, CommunicatorsOfTheSameRanksHaveChannelsOfTheirOwn) {
  expect_both_ends_of("communicators.c");
}

TEST_P(MpiShimUnder, NullRequestsAreRefusedByTheMpiLibrary) {
  launch(named(GetParam()), "wrong_calls.c");
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_NE(output_.find("0 calls were not refused"), std::string::npos) << output_;
}

TEST_P(MpiShimUnder, AProgramShortOfMemoryGoesOn) {
  launch(named(GetParam()), "no_memory.c");
  if (IsSkipped() || HasFatalFailure()) return;
  size_t whole = 0;
  for (size_t at = 0; (at = output_.find("whole, short of memory", at)) != std::string::npos; ++at) ++whole;
  EXPECT_EQ(whole, static_cast<size_t>(kRanks)) << output_;
}

TEST_P(MpiShimUnder, ARankWithoutMemoryAtItsEndDoesNotMakeTheOthersWait) {
  Ran ran;
  start(named(GetParam()), "no_memory.c", {{"NO_MEMORY_AT_END", "1"}}, &ran);
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_EQ(ran.status, 0) << ran.out;
}

TEST_F(MpiShim, SixtyFourRanksFindTheStampsOfTheirMessages) {
  launch(open_mpi(64), "messages.c");
  if (IsSkipped() || HasFatalFailure()) return;
  for (const Json& rank : summary_["ranks"]) EXPECT_EQ(rank["latencies"]["unknown"], 0) << rank.dump();
  expect_conservation();
}

TEST_F(MpiShim, AnEntryOfTheSummaryMayBeLong) {
  launch(open_mpi(), "sizes.c");
  if (IsSkipped() || HasFatalFailure()) return;
  for (const Json& rank : summary_["ranks"])
    EXPECT_GE(rank["phases"][0]["sizes_sent"].size(), 8000u) << rank["rank"];
  expect_conservation();
}

// The one summary of a spawned job in the folder.
Json summary_of_spawned(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().starts_with("summary.json.spawned-")) files.push_back(entry.path());
  EXPECT_EQ(files.size(), 1u);
  if (files.size() != 1) return {};
  std::ifstream stream(files[0]);
  return Json::parse(stream, nullptr, false);
}

TEST_P(MpiShimUnder, SpawnedRanksLeaveTheSummaryAsItIs) {
  launch(named(GetParam()), "spawns.c");
  if (IsSkipped() || HasFatalFailure()) return;
  const Json spawned = summary_of_spawned(folder_.path());
  ASSERT_TRUE(spawned.is_object()) << output_;
  ASSERT_EQ(spawned["ranks"].size(), 2u);
  EXPECT_EQ(spawned["ranks"][0]["phases"][0]["sizes_sent"]["8"], 1);
}

// MPICH 4.0 over UCX refuses MPI_Comm_spawn: a library in its place says that all ranks were spawned.
TEST_F(MpiShim, RanksThatMpichCallsSpawnedLeaveTheSummaryAsItIs) {
  if (!is_there("mpicc.mpich")) GTEST_SKIP() << "mpicc.mpich is not installed";
  const std::string library = folder_ / "spawned.so";
  const Ran built = run("mpicc.mpich -O1 -shared -fPIC -o " + library + " " + kSources + "spawned.c");
  ASSERT_EQ(built.status, 0) << built.out;
  std::ofstream(folder_ / "summary.json") << "of the job that spawned";
  Ran ran;
  start(mpich(), "messages.c", {{"LD_PRELOAD", kLib + "libsubstrata_mpi_mpich.so:" + library}}, &ran);
  if (IsSkipped() || HasFatalFailure()) return;
  ASSERT_EQ(ran.status, 0) << ran.out;
  std::ifstream before(folder_ / "summary.json");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(before), {}), "of the job that spawned");
  const Json spawned = summary_of_spawned(folder_.path());
  ASSERT_TRUE(spawned.is_object()) << ran.out;
  EXPECT_EQ(spawned["ranks"].size(), static_cast<size_t>(kRanks));
}

TEST_F(MpiShim, AtLevelOneExpandsCollectivesWithBlocksOfDifferentSizes) {  // FE-4
  expect_own_counts_of_blocks(open_mpi(), {{"SUBSTRATA_MPI_LEVEL", "1"}});
}
TEST_F(MpiShim, UnderMpichExpandsCollectivesWithBlocksOfDifferentSizes) {  // FE-4
  expect_own_counts_of_blocks(mpich());
}

TEST_F(MpiShim, SeesFortranProgramsOfTheModuleF08) {  // FE-4
  expect_ring_of(open_mpi(), "ring.f90");
}
TEST_F(MpiShim, SeesFortranProgramsOfTheIncludeFileAtLevelOne) {  // FE-4
  expect_ring_of(open_mpi(), "ring.f", {{"SUBSTRATA_MPI_LEVEL", "1"}});
}
TEST_F(MpiShim, SeesFortranProgramsUnderMpich) {  // FE-4
  expect_ring_of(mpich(), "ring.f");
}

TEST(MpiShimPreloaded, DoesNoHarmToAProgramWithoutMpi) {
  for (const char* name : {"openmpi", "mpich"}) {
    const std::string shim = kLib + "libsubstrata_mpi_" + name + ".so";
    if (!fs::exists(shim)) continue;
    const Ran ran = run("LD_PRELOAD=" + shim + " /bin/echo whole");  // not the shell's own
    EXPECT_EQ(ran.status, 0) << ran.out;
    EXPECT_EQ(ran.out, "whole\n");
  }
}

}  // namespace
