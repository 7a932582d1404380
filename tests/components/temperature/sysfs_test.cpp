// Files of sysfs and procfs: numbers, names and their order.
#include "sysfs/sysfs.hpp"
#include "base/parse.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support/recorded_trees/recorded_tree.hpp"
#include "sysfs/catalogue.hpp"

namespace {

using namespace substrata;
using namespace substrata::sysfs;
using ::testing::ElementsAre;

// PA-30
TEST(ParseInteger, TakesWhatTheKernelWritesUpToBothEndsOfTheRange) {
  int64_t value = 0;
  EXPECT_TRUE(parse_integer("45000\n", &value));
  EXPECT_EQ(value, 45000);
  EXPECT_TRUE(parse_integer("-5 \n", &value));
  EXPECT_EQ(value, -5);
  EXPECT_TRUE(parse_integer("+0007", &value));
  EXPECT_EQ(value, 7);
  EXPECT_TRUE(parse_integer("9223372036854775807", &value));
  EXPECT_EQ(value, INT64_MAX);
  EXPECT_TRUE(parse_integer("-9223372036854775808", &value));
  EXPECT_EQ(value, INT64_MIN);
}

// PA-30
TEST(ParseInteger, RefusesAnythingElseAndLeavesTheValue) {
  for (const char* text : {"", " ", "\n", "-", "+", "+-1", "1 2", "0x10", " 5", "9223372036854775808",
                           "-9223372036854775809", "99999999999999999999999", "1.5", "N/A"}) {
    int64_t value = 42;
    EXPECT_FALSE(parse_integer(text, &value)) << text;
    EXPECT_EQ(value, 42) << text;
  }
}

// PA-30
TEST(ParseInteger, ReadsBackEveryNumberThatWasWritten) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    const int64_t number = static_cast<int64_t>(random()) >> (random() % 64);
    int64_t value = 0;
    ASSERT_TRUE(parse_integer(std::to_string(number) + "\n", &value));
    ASSERT_EQ(value, number);
  }
}

// PA-30
TEST(NaturalOrder, ComparesNumbersInsideNamesByValue) {
  std::vector<std::string> names = {"hwmon10", "hwmon2", "hwmon", "hwmon2a", "hwmon02", "a"};
  std::stable_sort(names.begin(), names.end(), natural_less);
  EXPECT_THAT(names, ElementsAre("a", "hwmon", "hwmon2", "hwmon02", "hwmon2a", "hwmon10"));
}

// PA-16
TEST(PlainName, KeepsLettersDigitsAndAFewSigns) {
  EXPECT_EQ(plain_name("Package id 0"), "Package_id_0");
  EXPECT_EQ(plain_name("+3.3V (A:B)"), "+3.3V_A_B_");
  EXPECT_EQ(plain_name(""), "");
}

// PA-30
TEST(KeptFileRead, SeesWhatTheFileHoldsNow) {
  substrata::testing::RecordedTree tree;
  tree.write("/a", "1\n");
  KeptFile file;
  int64_t value = 0;
  EXPECT_EQ(file.read_integer(&value), EBADF);
  EXPECT_EQ(file.open(tree.root() + "/none"), ENOENT);
  ASSERT_EQ(file.open(tree.root() + "/a"), 0);
  EXPECT_EQ(file.read_integer(&value), 0);
  EXPECT_EQ(value, 1);
  tree.write("/a", "23\n");
  EXPECT_EQ(file.read_integer(&value), 0);
  EXPECT_EQ(value, 23);
  tree.write("/a", "");
  EXPECT_EQ(file.read_integer(&value), EINVAL);
  EXPECT_EQ(value, 23);
}

// PA-30
TEST(KeptFileRead, WholeFilesFitOrAreRefusedAndFrontsAreCut) {
  substrata::testing::RecordedTree tree;
  tree.write("/a", "0123456789");
  KeptFile file;
  ASSERT_EQ(file.open(tree.root() + "/a"), 0);
  char buffer[16];
  EXPECT_EQ(file.read_all(buffer, 11), 10);
  EXPECT_EQ(file.read_all(buffer, 10), -EFBIG);
  EXPECT_EQ(file.read_front(buffer, 4), 4);
  EXPECT_EQ(std::string(buffer, 4), "0123");
}

// PA-16: two events of one name are both reachable; names come before aliases
TEST(EventCatalogue, DistinguishesEqualNamesAndPutsNamesBeforeAliases) {
  Catalogue catalogue;
  CatalogueEntry entry;
  entry.name = "a";
  entry.aliases = {"b", "c"};
  catalogue.add(entry);
  catalogue.add(entry);
  entry.name = "b";
  catalogue.add(entry);
  catalogue.index_aliases();
  uint32_t index = 9;
  ASSERT_TRUE(catalogue.find("a#2", &index).ok());
  EXPECT_EQ(index, 1u);
  ASSERT_TRUE(catalogue.find("b", &index).ok());
  EXPECT_EQ(index, 2u);
  ASSERT_TRUE(catalogue.find("c", &index).ok());
  EXPECT_EQ(index, 0u);
}

}  // namespace
