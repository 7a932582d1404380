// infiniband over trees made from the kernel's documentation (Documentation/ABI/stable/sysfs-class-infiniband).
#include <string>

#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

const std::string kAdapters = "/sys/class/infiniband/";

class InfiniBand : public SubstrateOnTree<substrata_entry_infiniband> {
 protected:
  void record_port(const std::string& port, const std::string& state) {
    tree.write(kAdapters + port + "/state", state + "\n");
    tree.write(kAdapters + port + "/counters/port_rcv_data", "18446744073709551000\n");
    tree.write(kAdapters + port + "/counters/port_rcv_packets", 4294967290);
    tree.write(kAdapters + port + "/counters/port_xmit_data", 0);
    tree.write(kAdapters + port + "/counters/port_xmit_packets", 40);
    tree.write(kAdapters + port + "/counters/port_xmit_wait", 5);
    tree.write(kAdapters + port + "/counters/VL15_dropped", "N/A (no PMA)\n");
  }
};

TEST_F(InfiniBand, EventsOfActivePortsHavePapisNamesWithItsRuleForExtendedOnes) {
  record_port("mlx5_0/ports/1", "4: ACTIVE");
  record_port("mlx5_1/ports/1", "1: DOWN");
  tree.write(kAdapters + "mlx5_0/ports/1/hw_counters/lifespan", 10);
  tree.write(kAdapters + "mlx5_0/ports/1/hw_counters/out_of_buffer", 3);
  open();
  EXPECT_THAT(substrate.names(), ElementsAre("mlx5_0_1:VL15_dropped", "mlx5_0_1:port_rcv_data",
                                             "mlx5_0_1_ext:port_rcv_data", "mlx5_0_1:port_rcv_packets",
                                             "mlx5_0_1_ext:port_rcv_packets", "mlx5_0_1:port_xmit_data",
                                             "mlx5_0_1_ext:port_xmit_data", "mlx5_0_1:port_xmit_packets",
                                             "mlx5_0_1:port_xmit_wait", "mlx5_0_1_ext:out_of_buffer"));
  EXPECT_NE(substrate.event("mlx5_0_1:VL15_dropped").flags & kEventUnavailable, 0u);
  EXPECT_STREQ(substrate.event("mlx5_0_1:port_rcv_data").unit, "words");
}

TEST_F(InfiniBand, OldDriversExtendedCountersTakeThePlaceOfHardwareCounters) {
  record_port("mthca0/ports/2", "4: ACTIVE");
  tree.write(kAdapters + "mthca0/ports/2/counters_ext/port_xmit_data_64", 9);
  tree.write(kAdapters + "mthca0/ports/2/hw_counters/out_of_buffer", 3);
  open();
  EXPECT_THAT(substrate.names(), Contains("mthca0_2_ext:port_xmit_data_64"));
  EXPECT_THAT(substrate.names(), Not(Contains("mthca0_2_ext:out_of_buffer")));
}

TEST_F(InfiniBand, CountsFromTheStartAlsoFromZeroAndAcrossTheWrap) {
  record_port("mlx5_0/ports/1", "4: ACTIVE");
  open();
  EventSet set(substrate);
  ASSERT_TRUE(set.program({"mlx5_0_1:port_rcv_data", "mlx5_0_1_ext:port_rcv_data",
                           "mlx5_0_1:port_rcv_packets", "mlx5_0_1:port_xmit_data"})
                  .ok());
  ASSERT_TRUE(set.start().ok());
  EXPECT_THAT(set.read(), ElementsAre(0, 0, 0, 0));
  const std::string counters = kAdapters + "mlx5_0/ports/1/counters/";
  tree.write(counters + "port_rcv_data", 384);    // 616 to 2^64
  tree.write(counters + "port_rcv_packets", 14);  // 6 to 2^32
  tree.write(counters + "port_xmit_data", 77);
  EXPECT_THAT(set.read(), ElementsAre(1000, 1000, 20, 77));
}

TEST_F(InfiniBand, CounterThatWasResetIsAnError) {
  record_port("mlx5_0/ports/1", "4: ACTIVE");
  open();
  RunningSet set(substrate, {"mlx5_0_1:port_xmit_packets"});
  tree.write(kAdapters + "mlx5_0/ports/1/counters/port_xmit_packets", 0);
  EXPECT_EQ(set.refused_read().code, Code::kCountersLost);
}

TEST_F(InfiniBand, MachineWithoutAdapterOrActivePortIsUnavailableWithTheCure) {
  EXPECT_EQ(substrate.detect().code, Code::kNoSupport);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("modprobe"));
  record_port("mlx5_0/ports/1", "1: DOWN");
  EXPECT_EQ(substrate.detect().code, Code::kNoSupport);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("ibstat"));
}

}  // namespace
