// The MPI shims on an unmodified program under Open MPI and MPICH: its own count is the oracle.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <substrata/feed.h>
#include <sys/wait.h>
#include <substrata/result.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "support/program.hpp"

namespace {

using namespace substrata::tests;

namespace fs = std::filesystem;
using Json = nlohmann::json;

bool is_there(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

const std::string kLib = std::string(SUBSTRATA_BUILD_DIR) + "/lib/";
const std::string kSources = std::string(SUBSTRATA_SOURCE_DIR) + "/tests/sources/mpi/";
constexpr int kRanks = 4;

struct Mpi {
  const char* name;
  std::string run;  // up to the environment
  std::string set;  // NAME=VALUE is put behind it
  int ranks = kRanks;
};
Mpi open_mpi(int ranks = kRanks) {
  return {"openmpi",
          "timeout 200 mpirun.openmpi --allow-run-as-root --oversubscribe --mca btl self,vader,tcp -n " +
              std::to_string(ranks),
          " -x ", ranks};
}
Mpi mpich() { return {"mpich", "timeout 200 mpiexec.mpich -n " + std::to_string(kRanks), " -env "}; }

class MpiShim : public testing::Test {
 protected:
  using Settings = std::vector<std::pair<std::string, std::string>>;

  // Builds the program and runs it under the shim; skips where that MPI is not installed.
  void start(const Mpi& mpi, const std::string& source, const Settings& settings, Ran* ran) {
    const bool is_mpich = mpi.name == std::string("mpich");
    const std::string compiler = std::string(source.ends_with(".c") ? "mpicc." : "mpifort.") + mpi.name;
    const std::string launcher = is_mpich ? "mpiexec.mpich" : "mpirun.openmpi";
    if (!is_there(compiler) || !is_there(launcher))
      GTEST_SKIP() << compiler << " or " << launcher << " is not installed";
    const Ran built = run(compiler + " -O1 -o " + (folder_ / "program") + " " + kSources + source + link_);
    if (built.status != 0 && !source.ends_with(".c"))
      GTEST_SKIP() << "the Fortran binding is not usable with this compiler: " << built.out.substr(0, 300);
    ASSERT_EQ(built.status, 0) << built.out;
    std::string variables;
    const auto set = [&](const std::string& name, const std::string& value) {
      variables += mpi.set + name + (is_mpich ? " " : "=") + value;
    };
    set("LD_PRELOAD", kLib + "libsubstrata_mpi_" + mpi.name + ".so");
    set("SUBSTRATA_MPI_SUMMARY", folder_ / "summary.json");
    for (const auto& [name, value] : settings) set(name, value);
    const Ran plain = run("OMPI_MCA_mpi_yield_when_idle=1 " + mpi.run + " " + (folder_ / "program"));
    if (plain.status != 0)
      GTEST_SKIP() << mpi.name << " cannot start a program here: " << plain.out.substr(0, 300);
    *ran = run("OMPI_MCA_mpi_yield_when_idle=1 " + mpi.run + variables + " " + (folder_ / "program"));
  }
  // The same for a program that ends well and leaves a summary.
  void launch(const Mpi& mpi, const std::string& source, const Settings& settings = {}) {
    Ran ran;
    start(mpi, source, settings, &ran);
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_EQ(ran.status, 0) << ran.out;
    output_ = ran.out;
    std::ifstream stream(folder_ / "summary.json");
    summary_ = Json::parse(stream, nullptr, false);
    ASSERT_TRUE(summary_.is_object()) << "no summary";
    ASSERT_EQ(summary_["ranks"].size(), static_cast<size_t>(mpi.ranks));
  }
  // messages.c, with its own count.
  void measure(const Mpi& mpi, const Settings& settings = {}) {
    launch(mpi, "messages.c", settings);
    if (IsSkipped() || HasFatalFailure()) return;
    std::istringstream lines(output_);
    for (std::string line; std::getline(lines, line);) {
      long messages = 0;
      long bytes = 0;
      if (std::sscanf(line.c_str(), "sent %ld %ld", &messages, &bytes) == 2)
        own_.push_back({messages, bytes});
    }
    ASSERT_EQ(own_.size(), static_cast<size_t>(kRanks)) << output_;
  }
  // All transactions of a rank's trace, with the name of their probe point and the source's time base.
  struct Traced {
    std::vector<std::pair<std::string, substrata_transaction>> all;
    uint32_t time_base = 0;
  };
  Traced trace_of(int rank) {
    Traced out;
    substrata_trace* trace = nullptr;
    const std::string file = folder_ / ("trace." + std::to_string(rank));
    EXPECT_EQ(substrata_trace_open(file.c_str(), &trace), 0) << substrata_feed_error();
    if (trace == nullptr) return out;
    auto source = substrata::client::sized<substrata_source_info>();
    EXPECT_EQ(substrata_trace_source(trace, 0, &source), 0);
    out.time_base = source.time_base;
    const substrata_transaction* batch = nullptr;
    size_t count = 0;
    while (substrata_trace_next(trace, &batch, &count) == 0 && count != 0) {
      for (size_t i = 0; i < count; ++i) {
        auto probe = substrata::client::sized<substrata_probe_info>();
        substrata_trace_probe(trace, batch[i].probe, &probe);
        out.all.emplace_back(probe.name, batch[i]);
      }
    }
    substrata_trace_close(trace);
    return out;
  }
  // Every message has both ends, with one number, one size, and the sender's stamp at the receiver; the
  // program's own receives are the ones it printed, in their order. So many messages the program gave up.
  void expect_both_ends(uint32_t time_base, size_t given_up = 0) {
    std::map<std::tuple<uint32_t, uint32_t, uint64_t>, substrata_transaction> sent;  // from, to, number
    std::vector<Traced> traces;
    for (int rank = 0; rank < kRanks; ++rank) {
      traces.push_back(trace_of(rank));
      EXPECT_EQ(traces.back().time_base, time_base);
      for (const auto& [probe, t] : traces.back().all) {
        if (t.kind != SUBSTRATA_SEND) continue;
        EXPECT_EQ(probe, "mpi.rank" + std::to_string(rank) + ".send");
        EXPECT_TRUE(sent.emplace(std::tuple(t.initiator, t.target, t.detail), t).second);
      }
    }
    size_t received = 0;
    std::vector<std::string> published(kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      for (const auto& [probe, t] : traces[static_cast<size_t>(rank)].all) {
        if (t.kind != SUBSTRATA_RECEIVE) continue;
        ++received;
        EXPECT_EQ(probe, "mpi.rank" + std::to_string(rank) + ".receive");
        EXPECT_EQ(t.target, static_cast<uint32_t>(rank));
        const auto found = sent.find({t.initiator, t.target, t.detail});
        ASSERT_NE(found, sent.end()) << t.initiator << " to " << rank << " number " << t.detail;
        EXPECT_EQ(t.start, found->second.time);
        EXPECT_EQ(t.size, found->second.size);
        EXPECT_EQ(t.flags, found->second.flags);
        EXPECT_GE(t.time, t.start);
        if ((t.flags & SUBSTRATA_FLAG_COLLECTIVE) == 0)
          published[static_cast<size_t>(rank)] += "got " + std::to_string(rank) + " " +
                                                  std::to_string(t.initiator) + " " + std::to_string(t.size) +
                                                  "\n";
      }
    }
    EXPECT_EQ(received + given_up, sent.size());
    std::vector<std::string> printed(kRanks);
    std::istringstream lines(output_);
    for (std::string line; std::getline(lines, line);) {
      int rank = 0;
      if (std::sscanf(line.c_str(), "got %d", &rank) == 1 && rank < kRanks)
        printed[static_cast<size_t>(rank)] += line + "\n";
    }
    EXPECT_EQ(published, printed);
  }
  void expect_own_counts_of_blocks() {
    std::istringstream lines(output_);
    int compared = 0;
    for (std::string line; std::getline(lines, line);) {
      int rank = 0;
      long messages = 0;
      long bytes = 0;
      if (std::sscanf(line.c_str(), "sent %d %ld %ld", &rank, &messages, &bytes) != 3) continue;
      const Json& counted = summary_["ranks"][static_cast<size_t>(rank)];
      EXPECT_EQ(counted["level"], 1);
      EXPECT_EQ(counted["messages_sent"], messages) << rank;
      EXPECT_EQ(counted["bytes_sent"], bytes) << rank;
      ++compared;
    }
    EXPECT_EQ(compared, kRanks) << output_;
    expect_conservation();
  }
  void expect_fortran_ring() {
    for (const Json& rank : summary_["ranks"]) {
      const Json& sizes = rank["phases"][0]["sizes_sent"];
      EXPECT_EQ(sizes["80"], 5) << rank.dump();
      EXPECT_GE(sizes["8"], 1) << rank.dump();
      EXPECT_EQ(rank["latencies"]["unknown"], 0);
      EXPECT_EQ(rank["latencies"]["virtual"]["messages"], rank["messages_received"]);
    }
    expect_conservation();
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

  // BLAS of our own, in a library as programs have it.
  void link_own_blas() {
    const std::string library = folder_ / "libown.so";
    const Ran built = run("cc -DLIBRARY -O1 -shared -fPIC -o " + library + " " + kSources + "blas.c");
    ASSERT_EQ(built.status, 0) << built.out;
    link_ = " " + library + " -Wl,-rpath," + folder_.path();
  }
  std::string link_;  // behind the program's source
  TemporaryFolder folder_;
  std::string output_;
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
  if (summary_["ranks"][0]["level"] != 2)
    GTEST_SKIP() << "another series of Open MPI than the shim was built for";
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

TEST_F(MpiShim, TellsTheReceivesBetweenThoseThatTheProgramGivesUp) {  // FE-5
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

TEST_P(MpiShimUnder, SpawnedRanksLeaveTheSummaryAsItIs) {
  launch(named(GetParam()), "spawns.c");
  if (IsSkipped() || HasFatalFailure()) return;
  std::vector<std::string> others;
  for (const auto& entry : fs::directory_iterator(folder_ / ""))
    if (entry.path().filename().string().starts_with("summary.json.spawned-")) others.push_back(entry.path());
  ASSERT_EQ(others.size(), 1u) << output_;
  std::ifstream stream(others[0]);
  const Json spawned = Json::parse(stream, nullptr, false);
  ASSERT_TRUE(spawned.is_object());
  ASSERT_EQ(spawned["ranks"].size(), 2u);
  EXPECT_EQ(spawned["ranks"][0]["phases"][0]["sizes_sent"]["8"], 1);
}

TEST_F(MpiShim, AtLevelOneExpandsCollectivesWithBlocksOfDifferentSizes) {  // FE-4
  launch(open_mpi(), "blocks.c", {{"SUBSTRATA_MPI_LEVEL", "1"}});
  if (IsSkipped() || HasFatalFailure()) return;
  expect_own_counts_of_blocks();
}
TEST_F(MpiShim, UnderMpichExpandsCollectivesWithBlocksOfDifferentSizes) {  // FE-4
  launch(mpich(), "blocks.c");
  if (IsSkipped() || HasFatalFailure()) return;
  expect_own_counts_of_blocks();
}

TEST_F(MpiShim, SeesFortranProgramsOfTheModuleF08) {  // FE-4
  launch(open_mpi(), "ring.f90");
  if (IsSkipped() || HasFatalFailure()) return;
  expect_fortran_ring();
}
TEST_F(MpiShim, SeesFortranProgramsOfTheIncludeFileAtLevelOne) {  // FE-4
  launch(open_mpi(), "ring.f", {{"SUBSTRATA_MPI_LEVEL", "1"}});
  if (IsSkipped() || HasFatalFailure()) return;
  expect_fortran_ring();
}
TEST_F(MpiShim, SeesFortranProgramsUnderMpich) {  // FE-4
  launch(mpich(), "ring.f");
  if (IsSkipped() || HasFatalFailure()) return;
  expect_fortran_ring();
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
