// Numbers, sizes, lists, patterns and quoting: what is taken, what is refused.
#include <fnmatch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "base/glob.hpp"
#include "base/json.hpp"
#include "base/parse.hpp"
#include "support/decimal_comma.hpp"

namespace {

using namespace substrata;
using ::testing::ElementsAre;

TEST(ParseNumber, TakesDecimalAndHexadecimal) {
  uint64_t value = 0;
  EXPECT_TRUE(parse_number("18446744073709551615", &value) && value == ~uint64_t{0});
  EXPECT_TRUE(parse_number("0xFf", &value) && value == 255);
  EXPECT_TRUE(parse_number("0X10", &value) && value == 16);
}

TEST(ParseNumber, TakesANegativeSignedNumber) {
  int value = 0;
  EXPECT_TRUE(parse_number("-1", &value) && value == -1);
}

TEST(ParseNumber, RefusesWhatIsNotWhollyANumberAndLeavesTheValue) {
  for (const char* text : {"", " 1", "1 ", "-1", "+1", "0x", "0xg", "0x-1", "1k", "18446744073709551616"}) {
    uint64_t value = 7;
    EXPECT_FALSE(parse_number(text, &value)) << text;
    EXPECT_EQ(value, 7u) << text;
  }
  uint8_t small = 7;
  EXPECT_FALSE(parse_number("256", &small));
}

TEST(ParseNumber, TakesARealNumberWhateverTheLocale) {
  const substrata::tests::DecimalComma locale;
  double value = 0;
  EXPECT_TRUE(parse_number("-2.5", &value) && value == -2.5);
  EXPECT_TRUE(parse_number("1e3", &value) && value == 1000);
  for (const char* text : {"", "2,5", "2.5 ", " 2.5", "+2.5", "inf", "nan", "1e999", "0x10"}) {
    value = 7;
    EXPECT_FALSE(parse_number(text, &value)) << text;
    EXPECT_EQ(value, 7) << text;
  }
}

TEST(LeadingNumber, IsTakenUpToWhatFollowsIt) {
  int number = 0;
  EXPECT_EQ(leading_number("12.node", &number), 2u);
  EXPECT_EQ(number, 12);
  double real = 0;
  EXPECT_EQ(leading_number("1.5ms", &real), 3u);
  EXPECT_EQ(real, 1.5);
  uint8_t byte = 0;
  EXPECT_EQ(leading_number("fF+", &byte, 16), 2u);
  EXPECT_EQ(byte, 255);
}

TEST(LeadingNumber, LeavesTheValueWhereThereIsNoneOrItDoesNotFit) {
  for (const char* text : {"", "x1", " 1", "+1", "-", "256"}) {
    uint8_t value = 7;
    EXPECT_EQ(leading_number(text, &value), 0u) << text;
    EXPECT_EQ(value, 7u) << text;
  }
}

TEST(ParseSize, ScalesByPowersOfTwo) {
  uint64_t value = 0;
  EXPECT_TRUE(parse_size("32K", &value) && value == 32768);
  EXPECT_TRUE(parse_size("3m", &value) && value == 3u << 20);
  EXPECT_TRUE(parse_size("0x2G", &value) && value == uint64_t{2} << 30);
}

TEST(ParseSize, RefusesWhatDoesNotFit) {
  for (const char* text : {"", "k", "1kk", "1T", "18446744073709551615k", "17179869184G"}) {
    uint64_t value = 7;
    EXPECT_FALSE(parse_size(text, &value)) << text;
    EXPECT_EQ(value, 7u) << text;
  }
}

TEST(Lists, EmptyPiecesAreKeptOrLeftOut) {
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split_list(":a,:b", ",:"), ElementsAre("a", "b"));
}

TEST(Lists, BlanksOnBothSidesAreTrimmed) {
  EXPECT_EQ(trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(trimmed(" \n"), "");
}

TEST(Lists, ValueOfAKeyIsThatOfTheWholeKeyInTheFirstLineThatHasIt) {
  const std::string text =
      "processor\t: 0\nmodel name\t: A CPU: fast\nmodel\t\t: 17\nflags\t:\nVmRSS:\t  12 kB\nmodel\t: 18";
  EXPECT_EQ(value_of_key(text, "model"), "17");
  EXPECT_EQ(value_of_key(text, "model name"), "A CPU: fast");
  EXPECT_EQ(value_of_key(text, "flags"), "");
  EXPECT_EQ(value_of_key(text, "name"), "") << "which is not at the beginning of a line";
  EXPECT_EQ(value_of_key("", "model"), "");
  EXPECT_EQ(number_of_key(text, "VmRSS", -1), 12);
  EXPECT_EQ(number_of_key(text, "flags", -1), -1);
  EXPECT_EQ(number_of_key(text, "VmPeak", 0), 0);
}

TEST(Glob, MatchesAsFnmatchDoesOnEveryShortPattern) {
  const std::string letters = "ab*?";
  for (int pattern_number = 0; pattern_number < 4 * 4 * 4 * 4 * 4; ++pattern_number) {
    for (size_t length = 0; length <= 5; ++length) {
      std::string pattern;
      for (int rest = pattern_number; pattern.size() < length; rest /= 4)
        pattern += letters[static_cast<size_t>(rest % 4)];
      for (const char* name : {"", "a", "b", "ab", "ba", "aab", "abab", "bbbab", "aaaaaab"})
        ASSERT_EQ(glob(pattern, name), fnmatch(pattern.c_str(), name, 0) == 0) << pattern << " and " << name;
    }
  }
}

TEST(Glob, TakesSetsAndEscapes) {
  EXPECT_TRUE(glob("cpu[0-3].*", "cpu2.misses"));
  EXPECT_FALSE(glob("cpu[!0-3]", "cpu2"));
  EXPECT_TRUE(glob("[]a]", "]"));
  EXPECT_TRUE(glob("a\\*", "a*"));
  EXPECT_FALSE(glob("a\\*", "ab"));
  EXPECT_TRUE(glob("a[b", "a[b"));
}

TEST(Glob, AnyOfAListMayHaveBlanksAround) {
  EXPECT_TRUE(any_glob("mem.*, bus?", "bus1"));
  EXPECT_FALSE(any_glob("mem.*, bus?", "bus12"));
}

TEST(Json, QuotesAndControlCharactersAreEscaped) {
  EXPECT_EQ(json_quoted("a\"b\\c\n\x7f"), "\"a\\\"b\\\\c\\u000a\\u007f\"");
}

TEST(Json, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(json_quoted("\xC3\xA9 \xFF \xED\xA0\x80"),
            "\"\xC3\xA9 \xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

}  // namespace
