// The filters of the access tracer: what they take, and the messages for what they cannot read.
#include "sources/access_tracer/filter.hpp"

#include <gtest/gtest.h>

namespace substrata::access_tracer {
namespace {

TEST(MemoryFilter, EmptyTextTakesEverything) {
  Filter filter;
  EXPECT_EQ(parse_filter("", filter), "");
  EXPECT_TRUE(filter.takes_function("any"));
  EXPECT_TRUE(filter.takes_object("any"));
  EXPECT_TRUE(filter.takes_address(0));
}

TEST(MemoryFilter, PatternsOfOneKindAreAlternatives) {
  Filter filter;
  ASSERT_EQ(parse_filter("function=sort*,function=main", filter), "");
  EXPECT_TRUE(filter.takes_function("sort_pass"));
  EXPECT_TRUE(filter.takes_function("main"));
  EXPECT_FALSE(filter.takes_function("fft"));
}

TEST(MemoryFilter, ARangeIsHalfOpen) {
  Filter filter;
  ASSERT_EQ(parse_filter("range=0x1000-0x2000", filter), "");
  EXPECT_FALSE(filter.takes_address(0xfff));
  EXPECT_TRUE(filter.takes_address(0x1000));
  EXPECT_TRUE(filter.takes_address(0x1fff));
  EXPECT_FALSE(filter.takes_address(0x2000));
}

TEST(MemoryFilter, WhatIsWrongIsNamedAndTheFilterUnchanged) {
  Filter filter;
  ASSERT_EQ(parse_filter("object=keys", filter), "");
  for (const char* text :
       {"colour=red", "function", "function=", "range=5", "range=9-3", "range=x-y", "range=0x-0x5"})
    EXPECT_NE(parse_filter(text, filter), "") << text;
  EXPECT_TRUE(filter.takes_object("keys"));
  EXPECT_FALSE(filter.takes_object("other"));
}

TEST(MemoryBurst, NeedsTwoPositiveNumbers) {
  Burst burst;
  EXPECT_EQ(parse_burst("1000/9000", burst), "");
  EXPECT_EQ(burst.on, 1000u);
  EXPECT_EQ(burst.off, 9000u);
  for (const char* text : {"", "5", "0/5", "5/0", "a/b", "5/6/7", "-1/5"})
    EXPECT_NE(parse_burst(text, burst), "") << text;
}

}  // namespace
}  // namespace substrata::access_tracer
