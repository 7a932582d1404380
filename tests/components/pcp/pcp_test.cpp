// pcp over a stand-in for libpcp: names as PAPI's component forms them, values, wraps, and a daemon that goes away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <string>

#include "base/shared_library.hpp"
#include "support/recorded_trees/recorded_tree.hpp"

extern "C" substrata::EntryPoint substrata_entry_pcp;

namespace {

using namespace substrata;
using namespace substrata::testing;

// As in fake_pcp.c.
struct FakePcp {
  int refuses, connections, fetches, instance_gone;
  uint32_t cycles[2];
  uint64_t bytes;
  double duty;
};

class Pcp : public ::testing::Test {
 protected:
  void SetUp() override {
    tree.write("/etc/pcp.conf", "");
    host.set("PAPI_PCP_ROOT", FAKE_PCP);
    auto loaded = SharedLibrary::load(std::string(FAKE_PCP) + "/lib64/libpcp.so.3");
    ASSERT_TRUE(loaded);
    library = std::move(*loaded);
    ASSERT_TRUE(library.find("fake_pcp", &fake));
    *fake = FakePcp{0, 0, 0, 0, {0, 0}, 0, 0.5};
  }
  void open() {
    ASSERT_TRUE(substrate.detect().ok()) << note_of(substrate.detect());
    const Status status = substrate.open();
    ASSERT_TRUE(status.ok()) << note_of(status);
  }

  RecordedTree tree;
  FakeHost host{tree.root()};
  SharedLibrary library;
  FakePcp* fake = nullptr;
  Substrate substrate{substrata_entry_pcp, host};
};

TEST_F(Pcp, EachMetricOfNumbersAndEachInstanceIsAnEvent) {
  open();
  EXPECT_THAT(substrate.names(), ElementsAre("perfevent.cycles:cpu0", "perfevent.cycles:cpu1",
                                             "perfevent.bytes", "perfevent.duty"));
  EXPECT_STREQ(substrate.event("perfevent.bytes").text, "bytes that went by");
  EXPECT_EQ(substrate.event("perfevent.duty").type, ValueType::kDouble);
  EXPECT_EQ(substrate.event("perfevent.duty").kind, ValueKind::kGauge);
}

TEST_F(Pcp, CountersCountFromTheStartAndOneRequestServesTheSet) {
  open();
  fake->cycles[0] = 100;
  fake->cycles[1] = 200;
  fake->bytes = 1ull << 40;
  EventSet set(substrate,
               {"perfevent.cycles:cpu1", "perfevent.bytes", "perfevent.duty", "perfevent.cycles:cpu0"});
  ASSERT_TRUE(set.start().ok());
  fake->cycles[0] = 107;
  fake->cycles[1] = 209;
  fake->bytes += 4096;
  fake->duty = 0.75;
  fake->fetches = 0;
  EXPECT_THAT(set.read(), ElementsAre(9, 4096, std::bit_cast<int64_t>(0.75), 7));
  EXPECT_EQ(fake->fetches, 1);
}

TEST_F(Pcp, CounterOf32BitsIsFollowedAcrossItsWrapAndAnyOtherFallIsAnError) {
  open();
  fake->cycles[0] = 0xfffffff0u;
  EventSet set(substrate, {"perfevent.cycles:cpu0"});
  ASSERT_TRUE(set.start().ok());
  fake->cycles[0] = 0x10;
  EXPECT_THAT(set.read(), ElementsAre(0x20));
  fake->cycles[0] = 1;
  Status status;
  set.read(&status);
  EXPECT_EQ(status.code, Code::kCountersLost);
}

TEST_F(Pcp, InstanceThatHasGoneAndADaemonThatIsDownAreErrorsAndNoNumbers) {
  open();
  EventSet set(substrate, {"perfevent.cycles:cpu1"});
  ASSERT_TRUE(set.start().ok());
  fake->instance_gone = 1;
  Status status;
  EXPECT_THAT(set.read(&status), ElementsAre(EventSet::kMark));
  EXPECT_EQ(status.os_error, ENODEV);
  fake->refuses = -12366;
  EXPECT_THAT(set.read(&status), ElementsAre(EventSet::kMark));
  EXPECT_THAT(note_of(status), HasSubstr("systemctl start pmcd"));
}

TEST_F(Pcp, ForkedChildMakesAConnectionOfItsOwn) {
  open();
  EventSet set(substrate, {"perfevent.bytes"});
  ASSERT_TRUE(set.start().ok());
  const int before = fake->connections;
  const pid_t child = fork();
  if (child == 0) {
    set.read();
    _exit(fake->connections == before + 1 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Pcp, ClosedSubstrateHasEndedItsConnection) {
  open();
  EXPECT_EQ(fake->connections, 1);
  substrate.close();
  EXPECT_EQ(fake->connections, 0);
}

TEST_F(Pcp, MissingPartsAreNamedWithTheirCure) {
  tree.remove("/etc/pcp.conf");
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("apt install pcp"));
  tree.write("/etc/pcp.conf", "");
  host.set("PAPI_PCP_ROOT", "/nowhere");
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("PAPI_PCP_ROOT is /nowhere"));
  host.set("PAPI_PCP_ROOT", FAKE_PCP);
  fake->refuses = -111;
  const Status refused = substrate.open();
  EXPECT_EQ(refused.code, Code::kSystem);
  EXPECT_THAT(note_of(refused), HasSubstr("error -111 of the stand-in"));
  fake->refuses = 0;
  host.set("SUBSTRATA_PCP_METRICS", "kernel,disk");
  EXPECT_THAT(note_of(substrate.open()), HasSubstr("SUBSTRATA_PCP_METRICS"));
}

}  // namespace
