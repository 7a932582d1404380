// Stacks of their own: switching, deep calls, exceptions inside, many at once.
#include "sources/workloads/stack.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace substrata::workloads {
namespace {

struct Counting {
  Stack* stack = nullptr;
  int value = 0;
  static void body(void* argument) {
    auto& self = *static_cast<Counting*>(argument);
    for (int i = 0; i < 3; ++i) {
      ++self.value;
      self.stack->suspend();
    }
  }
};

TEST(Stack, RunsInTurnsWithItsCaller) {
  Counting counting;
  Stack stack(64U << 10, Counting::body, &counting);
  counting.stack = &stack;
  for (int i = 1; i <= 3; ++i) {
    stack.resume();
    EXPECT_EQ(counting.value, i);
    EXPECT_FALSE(stack.finished());
  }
  stack.resume();
  EXPECT_TRUE(stack.finished());
}

struct Deep {
  Stack* stack = nullptr;
  std::string text;
  double number = 1;
  int dive(int depth) {
    const std::string kept = std::to_string(depth) + " is kept over a switch";
    const double half = 0.5 * depth;
    if (depth % 10 == 0) stack->suspend();
    const int below = depth == 0 ? 0 : dive(depth - 1);
    if (kept != std::to_string(depth) + " is kept over a switch") text = "lost";
    number += half;
    return below + 1;
  }
  static void body(void* argument) {
    auto& self = *static_cast<Deep*>(argument);
    try {
      if (self.dive(100) == 101) throw std::runtime_error("caught inside");
    } catch (const std::exception& error) {
      self.text += error.what();
    }
  }
};

TEST(Stack, KeepsDeepCallsAndExceptionsToItself) {
  std::vector<std::unique_ptr<Deep>> deeps;
  std::vector<std::unique_ptr<Stack>> stacks;
  for (int i = 0; i < 300; ++i) {
    deeps.push_back(std::make_unique<Deep>());
    stacks.push_back(std::make_unique<Stack>(256U << 10, Deep::body, deeps.back().get()));
    deeps.back()->stack = stacks.back().get();
  }
  for (int turn = 0; turn < 12; ++turn) {
    for (auto& stack : stacks) {
      ASSERT_FALSE(stack->finished());
      stack->resume();
    }
  }
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    EXPECT_TRUE(stacks[i]->finished());
    EXPECT_EQ(deeps[i]->text, "caught inside");
    EXPECT_EQ(deeps[i]->number, 1 + 0.5 * 100 * 101 / 2);
  }
}

}  // namespace
}  // namespace substrata::workloads
