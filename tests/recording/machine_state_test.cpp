// The machine at a glance, from texts of another one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "recording/sampler/machine_state.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace substrata::sampler;
using substrata::tests::TemporaryFolder;

TEST(MachineState, IsReadFromTheKernelsTexts) {
  const TemporaryFolder root;
  std::filesystem::create_directory(root.file("proc"));
  std::ofstream(root.file("proc/stat")) << "cpu  30 5 15 100 7 1 2 3 0 0\ncpu0 10 5 5 60 7 1 2 3 0 0\n"
                                           "cpu3 20 0 10 40 0 0 0 0 0 0\nintr 5\n";
  std::ofstream(root.file("proc/meminfo")) << "MemTotal:  8000 kB\nMemFree:  10 kB\nMemAvailable:  6000 kB\n";
  std::ofstream(root.file("proc/loadavg")) << "0.50 1.25 2.00 1/100 4242\n";
  const MachineState state = machine_state(root.path());
  ASSERT_EQ(state.processors.size(), 3u);
  EXPECT_EQ(state.processors.at(kAllProcessors).busy, 53) << "not idle, not waiting, not stolen";
  EXPECT_EQ(state.processors.at(3).all, 70);
  EXPECT_EQ(state.memory_bytes, 8000 * 1024);
  EXPECT_EQ(state.available_bytes, 6000 * 1024);
  EXPECT_EQ(state.load[1], 1.25);
}

TEST(MachineState, WithoutThoseTextsNothingIsKnown) {
  const TemporaryFolder root;
  const MachineState state = machine_state(root.path());
  EXPECT_TRUE(state.processors.empty());
  EXPECT_EQ(state.memory_bytes, 0);
  EXPECT_LT(state.load[0], 0);
}

}  // namespace
