// A machine of the test's own: a recorded tree and a fake kernel.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "driver.hpp"
#include "fake_kernel.hpp"
#include "support/temporary_folder.hpp"

namespace substrata::test {

inline constexpr const char* kCore = "sys/bus/event_source/devices/cpu/";

class FakeMachine : public ::testing::Test {
 protected:
  FakeMachine() : host(tree.path()) {}
  void give_a_pmu() {
    tree.write(std::string(kCore) + "type", "4\n");
    tree.write(std::string(kCore) + "format/event", "config:0-7\n");
    tree.write(std::string(kCore) + "format/umask", "config:8-15\n");
  }
  tests::TemporaryFolder tree;
  TestHost host;
  FakeKernel fake;
};

}  // namespace substrata::test
