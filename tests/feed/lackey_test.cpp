// The importer of valgrind lackey's text.
#include "feed/lackey.hpp"

#include <substrata/result.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "feed_fixture.hpp"
#include "support/temporary_folder.hpp"

namespace substrata::feed::test {
namespace {

namespace fs = std::filesystem;

// FE-8
TEST(LackeyLineParser, DistinguishesTransactionsFromMessagesAndNonsense) {
  substrata_transaction t;
  ASSERT_EQ(parse_lackey_line("I  04015e6a,3", &t), LackeyLine::kTransaction);
  EXPECT_EQ(t.kind, SUBSTRATA_FETCH);
  EXPECT_EQ(t.address, 0x4015e6au);
  EXPECT_EQ(t.size, 3u);
  ASSERT_EQ(parse_lackey_line(" L 1ffefff948,8", &t), LackeyLine::kTransaction);
  EXPECT_EQ(t.kind, SUBSTRATA_READ);
  EXPECT_EQ(t.address, 0x1ffefff948u);
  ASSERT_EQ(parse_lackey_line(" S 1ffefff948,16\r", &t), LackeyLine::kTransaction);
  EXPECT_EQ(t.kind, SUBSTRATA_WRITE);
  EXPECT_EQ(t.size, 16u);
  ASSERT_EQ(parse_lackey_line(" M ffffffffffffffff,4", &t), LackeyLine::kTransaction);
  EXPECT_EQ(t.kind, SUBSTRATA_ATOMIC);
  for (const char* line : {"", "==12== Lackey, an example Valgrind tool", "--12-- REDIR"}) {
    EXPECT_EQ(parse_lackey_line(line, &t), LackeyLine::kIgnored) << line;
  }
  for (const char* line : {" L 12", " L ,8", " L 12,", " L 12,8 ", " X 12,8", "L 12,8",
                           " L 11112222333344445,1", " L 12,99999999999", "hello", " L zz,1"}) {
    EXPECT_EQ(parse_lackey_line(line, &t), LackeyLine::kMalformed) << line;
  }
}

class LackeyImport : public testing::Test {
 protected:
  int import(const std::string& text) {
    std::ofstream(folder_ / "text", std::ios::binary) << text;
    summary_ = {};
    summary_.struct_size = sizeof summary_;
    return substrata_import_lackey((folder_ / "text").c_str(), (folder_ / "trace").c_str(), &summary_);
  }
  const substrata::tests::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
  substrata_import_summary summary_{};
};

// FE-8
TEST_F(LackeyImport, MakesATraceThatReplaysTheTextsAccesses) {
  ASSERT_EQ(import("==1== Lackey\nI  0400,3\n L 1000,8\n S 1008,8\nI  0403,5\n M 1010,4\n==1== end"), 0)
      << substrata_feed_error();
  EXPECT_EQ(summary_.lines, 7u);
  EXPECT_EQ(summary_.ignored_lines, 2u);
  EXPECT_EQ(summary_.transactions, 5u);
  Collector accesses("mem.cpu*.accesses");
  Collector fetches("mem.cpu*.fetches");
  ASSERT_EQ(substrata_replay((folder_ / "trace").c_str(), nullptr, nullptr), 0);
  ASSERT_EQ(accesses.seen.size(), 3u);
  EXPECT_EQ(accesses.seen[0].time, 1u);
  EXPECT_EQ(accesses.seen[2].kind, SUBSTRATA_ATOMIC);
  EXPECT_EQ(accesses.seen[2].address, 0x1010u);
  ASSERT_EQ(fetches.seen.size(), 2u);
  EXPECT_EQ(fetches.seen[1].size, 5u);
}

// FE-8
TEST_F(LackeyImport, StopsAtAForeignLineWithItsNumberAndOffset) {
  EXPECT_EQ(import(" L 1000,8\n S 1008,8\nwhat is this\n L 1000,8\n"), -1);
  const std::string error = substrata_feed_error();
  EXPECT_NE(error.find("line 3, byte offset 20"), std::string::npos) << error;
  EXPECT_EQ(summary_.transactions, 2u);
  auto reported = client::sized<substrata_replay_summary>();
  EXPECT_EQ(substrata_replay((folder_ / "trace").c_str(), nullptr, &reported), 0);
  EXPECT_EQ(reported.transactions, 2u);
  EXPECT_EQ(import(std::string(" L 1000,8\n L 10\0,8\n", 18)), -1) << "a zero byte";
  EXPECT_EQ(import(" L 1000,8\n L " + std::string(10000, '0') + ",8\n"), -1) << "an endless line";
  EXPECT_EQ(substrata_import_lackey((folder_ / "none").c_str(), (folder_ / "trace").c_str(), nullptr), -3);
}

}  // namespace
}  // namespace substrata::feed::test
