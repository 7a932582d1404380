// net on several threads at once: sets of one device are independent, and their reads need no lock.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

// PA-2, PA-42
TEST(NetThreads, SetsOfDifferentThreadsReadAtTheSameTime) {
  RecordedTree tree;
  tree.write("/proc/net/dev", "lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
  FakeHost host(tree.root());
  Substrate substrate(substrata_entry_net, host);
  ASSERT_TRUE(substrate.open().ok());
  std::vector<int> failures(4, 0);
  std::vector<std::thread> threads;
  for (int& failed : failures) {
    threads.emplace_back([&substrate, &failed] {
      for (int round = 0; round < 20; ++round) {
        EventSet set(substrate);
        if (!set.program({"lo:rx:bytes", "lo:tx:packets"}).ok() || !set.start().ok()) ++failed;
        for (int i = 0; i < 50; ++i) {
          if (set.read() != std::vector<int64_t>{0, 0}) ++failed;
        }
        uint32_t beyond = UINT32_MAX;
        if (substrate.table.program(set.handle(), &beyond, 1).code != Code::kRunning) ++failed;
        if (!set.stop().ok()) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, std::vector<int>(4, 0));
}

}  // namespace
