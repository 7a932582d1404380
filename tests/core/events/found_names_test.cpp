// Names that were found, looked up beside others that are added.
#include "core/events/found_names.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace {

using substrata::FoundNames;

std::string name_of(uint32_t number) { return "component:::event" + std::to_string(number); }

TEST(FoundNames, HaveTheCodesThatTheyWereGivenLastUntilTheyAreCleared) {
  const auto names = std::make_unique<FoundNames>();
  uint32_t code = 7;
  EXPECT_FALSE(names->find("a", &code));
  names->put("a", 1);
  names->put("", 2);
  ASSERT_TRUE(names->find("a", &code));
  EXPECT_EQ(code, 1u);
  ASSERT_TRUE(names->find("", &code));
  EXPECT_EQ(code, 2u);
  names->put("a", 3);
  ASSERT_TRUE(names->find("a", &code));
  EXPECT_EQ(code, 3u);
  names->clear();
  EXPECT_FALSE(names->find("a", &code));
  names->put("a", UINT32_MAX);
  ASSERT_TRUE(names->find("a", &code));
  EXPECT_EQ(code, UINT32_MAX);
  EXPECT_FALSE(names->find("", &code));
}

TEST(FoundNames, KeepSoManyAndNoMore) {
  const auto names = std::make_unique<FoundNames>();
  for (uint32_t i = 0; i < FoundNames::kMost + 2; ++i) names->put(name_of(i), i);
  uint32_t code = 0;
  for (uint32_t i = 0; i < FoundNames::kMost; ++i) {
    ASSERT_TRUE(names->find(name_of(i), &code)) << i;
    ASSERT_EQ(code, i);
  }
  EXPECT_FALSE(names->find(name_of(FoundNames::kMost), &code));
  names->put(name_of(5), 1);  // one that is there may change
  ASSERT_TRUE(names->find(name_of(5), &code));
  EXPECT_EQ(code, 1u);
}

// A name that is found has a code that it was given, whatever another thread does.
TEST(FoundNames, AreFoundWhileAnotherThreadAddsAndClears) {
  constexpr uint32_t kNames = 200, kAges = 200;
  const auto names = std::make_unique<FoundNames>();
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0}, found{0};
  std::thread reader([&] {
    while (!done.load())
      for (uint32_t i = 0; i < kNames; ++i) {
        uint32_t code = 0;
        if (!names->find(name_of(i), &code)) continue;
        ++found;
        if (code % kNames != i) ++wrong;
      }
  });
  for (uint32_t age = 0; age < kAges || found.load() == 0; ++age) {
    for (uint32_t i = 0; i < kNames; ++i) names->put(name_of(i), age * kNames + i);
    std::this_thread::yield();
    names->clear();
  }
  done = true;
  reader.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(found.load(), 0);
}

}  // namespace
