// The parser of /proc/net/dev against made-up tables, whole and broken.
#include "net/interface_table.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using substrata::net::InterfaceLine;
using substrata::net::next_interface;

const std::string kHeading =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls "
    "carrier compressed\n";

std::vector<std::string> names_in(const std::string& table, bool* bad) {
  std::string_view text = table;
  InterfaceLine line;
  std::vector<std::string> names;
  *bad = false;
  while (next_interface(&text, &line, bad)) names.emplace_back(line.name);
  return names;
}

// PA-31
TEST(InterfaceTable, TakesNamesAndAllSixteenCountersInOrder) {
  std::string_view text;
  const std::string table = kHeading + "    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 18446744073709551615\n";
  text = table;
  InterfaceLine line;
  bool bad = false;
  ASSERT_TRUE(next_interface(&text, &line, &bad));
  EXPECT_EQ(line.name, "lo");
  for (uint32_t i = 0; i < 15; ++i) EXPECT_EQ(line.counters[i], i + 1);
  EXPECT_EQ(line.counters[15], UINT64_MAX);
  EXPECT_FALSE(next_interface(&text, &line, &bad));
  EXPECT_FALSE(bad);
}

// PA-31: kernels before 2.6 leave no blank behind the colon; aliases have a colon in the name
TEST(InterfaceTable, TakesTightColonsAndAliasNames) {
  bool bad = false;
  const std::string numbers = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16";
  EXPECT_EQ(names_in("eth0:" + numbers + "\n  eth0:1: " + numbers + "\nwg-a.b: " + numbers, &bad),
            (std::vector<std::string>{"eth0", "eth0:1", "wg-a.b"}));
  EXPECT_FALSE(bad);
}

// PA-31
TEST(InterfaceTable, LinesThatAreNotAsTheyShouldBeAreSkippedAndReported) {
  const std::string numbers = " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16";
  for (const char* broken :
       {"lo: 1 2 3\n", "lo 1 2\n", ": 1 2\n", "lo: a b\n", "lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n",
        "lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 18446744073709551616\n",
        "lo: -1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"}) {
    bool bad = false;
    EXPECT_EQ(names_in(kHeading + broken + "eth0:" + numbers + "\n", &bad), std::vector<std::string>{"eth0"})
        << broken;
    EXPECT_TRUE(bad) << broken;
  }
}

}  // namespace
