// The example that counts an unmodified MPI program's messages as SHRIMP packets, on a program whose messages
// are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/program.hpp"

namespace {

using namespace substrata::tests;

// What the example prints of an MPI program, built from this file and run by four ranks; empty: not possible here.
// `kept` gets what it leaves for the report.
std::string sizes_of(const std::string& source, std::string* kept = nullptr) {
  for (const char* needed : {"mpicc.openmpi", "mpirun.openmpi", "awk"})
    if (run(std::string("command -v ") + needed).status != 0) return {};
  const TemporaryFolder folder;
  const std::string program = folder.path() + "/messages";
  const Ran built = run("mpicc.openmpi -O1 -o " + program + " " + source);
  EXPECT_EQ(built.status, 0) << built.out;
  const std::string out =
      folder.path() + "/made/here";  // a folder that is not there yet, too, is written into
  const Ran ran = run("SHRIMP_LIVE_OUT=" + out +
                      " timeout 200 " SENDER_BY_SIZE
                      " mpirun.openmpi --allow-run-as-root --oversubscribe --mca btl self,vader,tcp -n 4 " +
                      program);
  EXPECT_EQ(ran.status, 0) << ran.out;
  if (kept != nullptr) *kept = contents(out + "/histograms.json");
  return ran.out;
}

// The rows of a table that begin with a size of 96 bytes or more: the size and the packets of each rank, which all
// have as many.
std::vector<unsigned long long> rows_of(const std::string& table) {
  std::istringstream lines(table);
  std::vector<unsigned long long> found;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    unsigned long long size = 0;
    unsigned long long ranks[4] = {};
    if (!(words >> size >> ranks[0] >> ranks[1] >> ranks[2] >> ranks[3]) || size < 96) continue;
    for (const unsigned long long count : ranks) EXPECT_EQ(count, ranks[0]) << line;
    found.push_back(size);
    found.push_back(ranks[0]);
  }
  return found;
}

TEST(LiveMessages, BecomePacketsBySenderAndSizeThroughPapiCalls) {  // SH-21, SH-30
  const std::string printed = sizes_of(MESSAGES);
  if (printed.empty() && !HasFailure()) GTEST_SKIP() << "Open MPI's mpicc and mpirun, and awk, are needed";
  // 1000 bytes are 4 x 224 and 104, three times; 65536 are 292 x 224 and 128, to three others.
  EXPECT_EQ(rows_of(printed), (std::vector<unsigned long long>{96, 3, 128, 3, 224, 3 * 4 + 3 * 292}))
      << printed;
}

TEST(LiveMessages, LeaveTheirHistogramForTheReport) {
  std::string kept;
  const std::string printed = sizes_of(MESSAGES, &kept);
  if (printed.empty() && !HasFailure()) GTEST_SKIP() << "Open MPI's mpicc and mpirun, and awk, are needed";
  const nlohmann::json all = nlohmann::json::parse(kept).at("histograms").at(0);
  const auto& columns = all.at("columns");
  const auto at = std::find(columns.begin(), columns.end(), "224");
  ASSERT_NE(at, columns.end()) << kept;
  for (const auto& row : all.at("counts"))
    EXPECT_EQ(row.at(size_t(at - columns.begin())), 3 * 4 + 3 * 292) << kept;
  EXPECT_EQ(all.at("rows"), (nlohmann::json{"rank 0", "rank 1", "rank 2", "rank 3"}));
}

// Sections were no category: all packets had 0.
TEST(LiveMessages, HaveTheSectionsOfTheProgramAsCategories) {  // SH-21
  const std::string printed = sizes_of(SECTIONS);
  if (printed.empty() && !HasFailure()) GTEST_SKIP() << "Open MPI's mpicc and mpirun, and awk, are needed";
  const size_t begin = printed.find(": Exchange\n");
  ASSERT_NE(begin, std::string::npos) << printed;
  const std::string exchange = printed.substr(begin, printed.find("category", begin) - begin);
  // Two exchanges of 65536 bytes with each of three others.
  EXPECT_EQ(rows_of(exchange), (std::vector<unsigned long long>{128, 2 * 3, 224, 2 * 3 * 292})) << printed;
  EXPECT_NE(printed.find(": Ring\n"), std::string::npos) << printed;
}

}  // namespace
