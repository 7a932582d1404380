// Messages, regions and clocks of MPI programs in the commands that record and count.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "recorded_command.hpp"
#include "recording/timeline.hpp"
#include "synthetic.hpp"

#ifdef MPI_PROGRAM_SOURCE
namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using nlohmann::json;
using testing::HasSubstr;

// Only record did.
TEST(StatCommand, CountsTheMessagesOfAnMpiProgram) {
  const TemporaryFolder folder;
  const std::string program = folder.file("program");
  if (shell("command -v mpicc.openmpi && command -v mpirun.openmpi").status != 0)
    GTEST_SKIP() << "mpicc.openmpi or mpirun.openmpi is not installed";
  ASSERT_EQ(shell("mpicc.openmpi -O1 -o " + program + " " MPI_PROGRAM_SOURCE).status, 0);
  const Ran ran = shell("OMPI_MCA_mpi_yield_when_idle=1 " SUBSTRATA_TOOL
                        " stat -- mpirun.openmpi --allow-run-as-root --oversubscribe -n 4 " +
                        program);
  ASSERT_EQ(ran.status, 0) << ran.errors << ran.out;
  EXPECT_THAT(ran.errors, testing::ContainsRegex(" [1-9][0-9]* messages +mpi:::messages "));
}

// It was refused, though it is for job scripts too.
TEST(RecordCommand, MessagesOfRanksThatAScriptStartsAreSampled) {
  const TemporaryFolder folder;
  const std::string program = folder.file("program"), script = folder.file("job"),
                    path = folder.file("r.sub");
  if (shell("command -v mpicc.openmpi && mpirun --version | grep -q 'Open MPI'").status != 0)
    GTEST_SKIP() << "mpicc.openmpi is not installed, or mpirun is not that of Open MPI";
  ASSERT_EQ(shell("mpicc.openmpi -O1 -o " + program + " " MPI_PROGRAM_SOURCE).status, 0);
  std::ofstream(script) << "mpirun --allow-run-as-root --oversubscribe -n 4 " << program << "\n";
  const Ran run =
      shell("OMPI_MCA_mpi_yield_when_idle=1 " SUBSTRATA_TOOL " record -q --mpi -e 'example:::*' -i 5ms -o " +
            path + " -- sh " + script);
  ASSERT_EQ(run.status, 0) << run.errors << run.out;
  const Recording read = read_file(path);
  std::int64_t messages = 0;
  for (const Series& series : read.writers.at(0).series)
    if (series.name == "mpi:::messages") messages = series.values.back();
  EXPECT_GT(messages, 0);
}

// CO-2, CO-7: the messages of all ranks over time, one recorder for the node, the shim's own summary as the
// oracle.
TEST(RecordCommand, MessagesOfAnMpiProgramAreSampledAndItsSectionsAreRegions) {
  const TemporaryFolder folder;
  const std::string program = folder.file("program"), path = folder.file("r.sub");
  if (shell("command -v mpicc.openmpi && command -v mpirun.openmpi").status != 0)
    GTEST_SKIP() << "mpicc.openmpi or mpirun.openmpi is not installed";
  ASSERT_EQ(shell("mpicc.openmpi -O1 -o " + program + " " MPI_PROGRAM_SOURCE).status, 0);
  const Ran run = shell(
      "OMPI_MCA_mpi_yield_when_idle=1 " SUBSTRATA_TOOL " record -e 'example:::*' -i 5ms -o " + path +
      " -- mpirun.openmpi --allow-run-as-root --oversubscribe --mca btl self,vader,tcp -n 4 " + program);
  ASSERT_EQ(run.status, 0) << run.errors << run.out;
  const Recording read = read_file(path);
  EXPECT_TRUE(read.complete());
  const Writer& writer = read.writers.at(0);
  const auto attached = std::find_if(writer.attachments.begin(), writer.attachments.end(),
                                     [](const auto& one) { return one.name == "mpi-summary"; });
  ASSERT_NE(attached, writer.attachments.end());
  const json summary = json::parse(attached->content);
  long long messages = 0, bytes = 0;
  for (const json& rank : summary.at("ranks")) {
    messages += rank.at("messages_sent").get<long long>();
    bytes += rank.at("bytes_sent").get<long long>();
  }
  EXPECT_GT(messages, 0);
  const auto last = [&](const std::string& name) {
    for (const Series& series : writer.series)
      if (series.name == name && !series.values.empty()) return series.values.back();
    return std::int64_t{-1};
  };
  EXPECT_EQ(last("mpi:::messages"), messages);
  EXPECT_EQ(last("mpi:::bytes"), bytes);
  EXPECT_EQ(last("mpi:::ranks"), 4);
  for (const json& rank : summary.at("ranks")) {
    std::int64_t sent = -1;
    for (const Series& series : writer.series)
      if (series.name == "mpi:::rank:bytes" &&
          series.scope == rank_scope(rank.at("rank").get<std::int64_t>()))
        sent = series.values.back();
    EXPECT_EQ(sent, rank.at("bytes_sent").get<std::int64_t>()) << rank.at("rank");
  }
  // Sums and ranks were read one after the other and did not agree.
  std::map<std::int64_t, std::int64_t> by_rank, in_all;
  for (const Series& series : writer.series) {
    const std::vector<std::int64_t>& times = writer.sets[series.set].times;
    for (std::size_t row = 0; row < times.size(); ++row) {
      if (series.name == "mpi:::bytes") in_all[times[row]] = series.values[row];
      if (series.name == "mpi:::rank:bytes") by_rank[times[row]] += series.values[row];
    }
  }
  EXPECT_EQ(by_rank, in_all);
  EXPECT_THAT(tool("report " + path).out, HasSubstr("total of a rank"));
  EXPECT_THAT(tool("export --to csv " + path).out, HasSubstr("mpi:::rank:bytes (rank 3)"));
  const Timeline timeline = lay_out(read);
  std::vector<std::string> names;
  for (const Region& region : timeline.regions) names.push_back(region.name);
  EXPECT_THAT(names, testing::IsSupersetOf({"Ring", "Exchange"}));
}

// CO-6: two "nodes", one in namespaces of its own with another host name and a clock that is ahead by exactly
// 5000 s.
TEST(RecordCommand, TheClockOfAnotherNodeIsMeasuredOverMpi) {
  if (shell("command -v mpicc.openmpi && command -v mpirun.openmpi").status != 0)
    GTEST_SKIP() << "mpicc.openmpi or mpirun.openmpi is not installed";
  constexpr const char* kNode =
      "unshare -u -T --monotonic 5000 --boottime 5000 --fork sh -c 'hostname node-b; exec \"$@\"' sh ";
  if (const Ran ran = shell(std::string(kNode) + "true"); ran.status != 0)
    GTEST_SKIP() << "no time and host name namespaces here: " << ran.errors;
  const TemporaryFolder folder;
  const std::string program = folder.file("program");
  ASSERT_EQ(shell("mpicc.openmpi -O1 -o " + program + " " MPI_PROGRAM_SOURCE).status, 0);
  const std::string record = SUBSTRATA_TOOL " record -e 'example:::*' -i 5ms -o r.%h.sub -- ";
  const Ran run =
      shell("cd " + folder.path() +
            " && OMPI_MCA_mpi_yield_when_idle=1 mpirun.openmpi --allow-run-as-root --oversubscribe --mca btl "
            "self,vader,tcp -n 2 " +
            record + program + " : -n 2 " + kNode + record + program);
  ASSERT_EQ(run.status, 0) << run.errors << run.out;
  std::string others;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    if (const std::string name = entry.path().filename().string();
        name.rfind("r.", 0) == 0 && name != "r.node-b.sub")
      others = entry.path().string();
  const Recording read = read_files({others, folder.file("r.node-b.sub")});
  ASSERT_EQ(read.writers.size(), 4u) << "one file a node, a writer a rank";
  std::vector<ClockReading> readings;
  for (const Writer& writer : read.writers)
    readings.insert(readings.end(), writer.clocks.begin(), writer.clocks.end());
  ASSERT_EQ(readings.size(), 2u) << "at MPI_Init and at MPI_Finalize, by one rank";
  for (const ClockReading& reading : readings)
    EXPECT_LE(std::abs(reading.offset + 5000 * kSecond), reading.uncertainty);
  const Timeline timeline = lay_out(read);
  EXPECT_EQ(timeline.hosts, 2u);
  EXPECT_EQ(std::count_if(timeline.clocks.begin(), timeline.clocks.end(),
                          [](const WriterClock& clock) { return clock.alignment == Alignment::kMeasured; }),
            2)
      << "the reading of one rank holds for its node";
  EXPECT_LT(timeline.seconds, 2500) << "the 5000 s are gone";
  EXPECT_THAT(tool("report " + folder.file("r.*.sub")).out, HasSubstr("by measured offsets, known within"));
}

}  // namespace
#endif
