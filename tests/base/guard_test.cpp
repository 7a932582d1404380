// What exceptions become at the border to C.
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>

#include "base/guard.hpp"

namespace {

using namespace substrata;

TEST(Guard, GivesTheBodysResult) {
  EXPECT_EQ(guarded([] { return 7; }), 7);
}

TEST(Guard, WantOfMemoryIsItsOwnCode) {
  EXPECT_EQ(guarded([]() -> int { throw std::bad_alloc(); }), static_cast<int>(Code::kNoMemory));
}

TEST(Guard, AContainerThatCannotBeSoLargeIsWantOfMemory) {
  EXPECT_EQ(guarded([]() -> Status { throw std::length_error("vector"); }).code, Code::kNoMemory);
}

TEST(Guard, AnotherExceptionIsABugWithItsText) {
  const Status status = guarded([]() -> Status { throw std::runtime_error("what it was"); });
  EXPECT_EQ(status.code, Code::kBug);
  EXPECT_EQ(std::string(status.note), "an unexpected exception: what it was");
}

TEST(Guard, APointerIsNull) {
  EXPECT_EQ(guarded([]() -> const char* { throw 1; }), nullptr);
}

TEST(Guard, TheAnswerMayBeChosen) {
  EXPECT_EQ(guarded([]() -> long { throw 1; }, [](const Status&) { return 5L; }), 5L);
}

}  // namespace
