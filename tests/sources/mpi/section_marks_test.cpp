// Section marks in a program's output, and the names that are kept of them.
#include "sources/mpi/section_marks.hpp"

#include <gtest/gtest.h>

#include <string>

namespace substrata::mpi {
namespace {

TEST(SectionMark, BeginNamesTheSectionAndEndLeavesIt) {
  std::string name = "unchanged";
  EXPECT_TRUE(find_section_mark("Begin of MPIFFT section.\n", name));
  EXPECT_EQ(name, "MPIFFT");
  EXPECT_TRUE(find_section_mark("End of MPIFFT section.\n", name));
  EXPECT_EQ(name, "");
}

TEST(SectionMark, OtherLinesChangeNothing) {
  std::string name = "unchanged";
  for (const char* line :
       {"", "a section", "Begin of ", "Begin of  section", "the Beginning of a\nsection", " section"})
    if (find_section_mark(line, name)) ADD_FAILURE() << line;
  EXPECT_EQ(name, "unchanged");
}

TEST(SectionBoard, KeepsSixtyThreeNamesAndThenNone) {
  SectionBoard board{};
  EXPECT_EQ(board.name(), "");
  for (int i = 0; i < 63; ++i) {
    board.enter("s" + std::to_string(i));
    EXPECT_EQ(board.name(), "s" + std::to_string(i));
  }
  board.enter("one too many");
  EXPECT_EQ(board.name(), "");
  board.enter("s5");
  EXPECT_EQ(board.name(), "s5");
  board.enter("");
  EXPECT_EQ(board.name(), "");
}

}  // namespace
}  // namespace substrata::mpi
