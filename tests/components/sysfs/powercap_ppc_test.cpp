// powercap_ppc over a tree made from the kernel's documentation
// (Documentation/ABI/testing/sysfs-firmware-opal-powercap).
#include <string>

#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

const std::string kCap = "/sys/firmware/opal/powercap/system-powercap/powercap-";

class PowercapPpc : public SubstrateOnTree<substrata_entry_powercap_ppc> {
 protected:
  void SetUp() override {
    tree.write(kCap + "min", 1000);
    tree.write(kCap + "max", 2550);
    tree.write(kCap + "current", 2550);
  }
};

TEST_F(PowercapPpc, CapsAreLevelsUnderPapisNames) {
  open();
  EXPECT_THAT(substrate.names(), ElementsAre("MIN_POWER", "MAX_POWER", "CURRENT_POWER"));
  RunningSet set(substrate, substrate.names());
  EXPECT_THAT(set.read(), ElementsAre(1000, 2550, 2550));
}

TEST_F(PowercapPpc, CapIsSetWithinTheMachinesRangeOnlyAndGivenBack) {
  open();
  {
    RunningSet set(substrate, {"CURRENT_POWER"});
    const int64_t too_low = 999;
    EXPECT_EQ(substrate.table.write(set.handle(), &too_low).code, Code::kInvalid);
    const int64_t good = 1800;
    ASSERT_TRUE(substrate.table.write(set.handle(), &good).ok());
    EXPECT_THAT(set.read(), ElementsAre(1800));
  }
  substrate.close();
  EXPECT_EQ(tests::contents(tree.root() + kCap + "current"), "2550\n");
}

TEST_F(PowercapPpc, OtherMachinesAreUnavailable) {
  tree.remove("/sys/firmware");
  EXPECT_EQ(substrate.detect().code, Code::kNoSupport);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("OPAL"));
}

}  // namespace
