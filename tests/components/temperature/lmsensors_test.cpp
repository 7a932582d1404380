// lmsensors and coretemp over one machine that umockdev shows to the process: libsensors is the oracle for
// names and values of both.
#include <gmock/gmock.h>
#include <umockdev.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

// A processor package, an NVMe disk on the PCI bus, an I2C chip with a broken input and a chip without a
// device.
const char* const kMachine =
    "P: /devices/platform/coretemp.0\n"
    "E: SUBSYSTEM=platform\n"
    "\n"
    "P: /devices/platform/coretemp.0/hwmon/hwmon4\n"
    "E: SUBSYSTEM=hwmon\n"
    "L: device=../../../coretemp.0\n"
    "A: name=coretemp\\n\n"
    "A: temp1_label=Package id 0\\n\n"
    "A: temp1_input=45000\\n\n"
    "A: temp1_max=80000\\n\n"
    "A: temp1_crit=100000\\n\n"
    "A: temp2_label=Core 0\\n\n"
    "A: temp2_input=43000\\n\n"
    "\n"
    "P: /devices/pci0000:00/0000:01:00.0\n"
    "E: SUBSYSTEM=pci\n"
    "\n"
    "P: /devices/pci0000:00/0000:01:00.0/hwmon/hwmon2\n"
    "E: SUBSYSTEM=hwmon\n"
    "L: device=../../../0000:01:00.0\n"
    "A: name=nvme\\n\n"
    "A: temp1_label=Composite\\n\n"
    "A: temp1_input=38850\\n\n"
    "\n"
    "P: /devices/pci0000:00/i2c-3\n"
    "E: SUBSYSTEM=i2c\n"
    "\n"
    "P: /devices/pci0000:00/i2c-3/3-004c\n"
    "E: SUBSYSTEM=i2c\n"
    "\n"
    "P: /devices/pci0000:00/i2c-3/3-004c/hwmon/hwmon0\n"
    "E: SUBSYSTEM=hwmon\n"
    "L: device=../../../3-004c\n"
    "A: name=lm90\\n\n"
    "A: temp1_input=31000\\n\n"
    "A: temp2_input=0\\n\n"
    "A: temp2_fault=1\\n\n"
    "A: fan1_input=1200\\n\n"
    "A: in0_input=904\\n\n"
    "\n"
    "P: /devices/virtual/hwmon/hwmon7\n"
    "E: SUBSYSTEM=hwmon\n"
    "A: name=cpu_thermal\\n\n"
    "A: temp1_input=50500\\n\n";

class Lmsensors : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* preload = std::getenv("LD_PRELOAD");
    if (preload == nullptr || std::string(preload).find("umockdev") == std::string::npos) {
      GTEST_SKIP() << "needs LD_PRELOAD=libumockdev-preload.so.0, and no sanitizer";
    }
    bed.reset(umockdev_testbed_new());
    GError* error = nullptr;
    ASSERT_TRUE(umockdev_testbed_add_from_string(bed.get(), kMachine, &error))
        << (error == nullptr ? "" : error->message);
    lmsensors = std::make_unique<Substrate>(substrata_entry_lmsensors, host);
    if (!lmsensors->detect().ok() && note_of(lmsensors->detect()).find("libsensors") == 0) {
      GTEST_SKIP() << note_of(lmsensors->detect());
    }
    ASSERT_TRUE(lmsensors->detect().ok()) << note_of(lmsensors->detect());
    ASSERT_TRUE(lmsensors->open().ok());
  }

  void write(const char* device, const char* attribute, const char* value) {
    umockdev_testbed_set_attribute(bed.get(), device, attribute, value);
  }

  struct Unreference {
    void operator()(UMockdevTestbed* object) const { g_object_unref(object); }
  };
  std::unique_ptr<UMockdevTestbed, Unreference> bed;
  FakeHost host{""};
  std::unique_ptr<Substrate> lmsensors;
};

constexpr const char* kPackage = "/sys/devices/platform/coretemp.0/hwmon/hwmon4";
constexpr const char* kI2c = "/sys/devices/pci0000:00/i2c-3/3-004c/hwmon/hwmon0";

// PA-16, PA-30
TEST_F(Lmsensors, EventsHavePapisNamesAndScale) {
  EventSet set(*lmsensors);
  ASSERT_TRUE(
      set.program({"coretemp-isa-0000.Package_id_0.temp1_input", "coretemp-isa-0000.Package_id_0.temp1_crit",
                   "nvme-pci-0100.Composite.temp1_input", "lm90-i2c-3-4c.fan1.fan1_input",
                   "lm90-i2c-3-4c.in0.in0_input", "cpu_thermal-virtual-0.temp1.temp1_input"})
          .ok());
  ASSERT_TRUE(set.start().ok());
  EXPECT_THAT(set.read(), ElementsAre(45000, 100000, 38850, 1200000, 904, 50500));
  EXPECT_STREQ(lmsensors->event("coretemp-isa-0000.Package_id_0.temp1_input").unit, "mdegC");
  EXPECT_STREQ(lmsensors->event("lm90-i2c-3-4c.fan1.fan1_input").unit, "mRPM");
  EXPECT_STREQ(lmsensors->event("lm90-i2c-3-4c.in0.in0_input").unit, "mV");
  EXPECT_EQ(lmsensors->find("nvme-pci-0100:temp1_input"),
            lmsensors->find("nvme-pci-0100.Composite.temp1_input"));
}

// PA-30
TEST_F(Lmsensors, ValuesFollowTheChipAndKeepTheirsAfterTheStop) {
  EventSet set(*lmsensors);
  ASSERT_TRUE(set.program({"coretemp-isa-0000.Core_0.temp2_input"}).ok());
  ASSERT_TRUE(set.start().ok());
  write(kPackage, "temp2_input", "51000\n");
  EXPECT_THAT(set.read(), ElementsAre(51000));
  ASSERT_TRUE(set.stop().ok());
  write(kPackage, "temp2_input", "60000\n");
  EXPECT_THAT(set.read(), ElementsAre(51000));
}

// PA-30: a sensor that is not connected gives an error, never a number
TEST_F(Lmsensors, InputThatItsChipMarksAsFaultyGivesAnErrorInBothSubstrates) {
  Substrate coretemp(substrata_entry_coretemp, host);
  ASSERT_TRUE(coretemp.open().ok());
  EventSet by_library(*lmsensors);
  EventSet by_files(coretemp);
  ASSERT_TRUE(by_library.program({"lm90-i2c-3-4c.temp2.temp2_input"}).ok());
  ASSERT_TRUE(by_files.program({"lm90-i2c-3-4c:temp2"}).ok());
  for (EventSet* set : {&by_library, &by_files}) {
    const Status status = set->refused_read();
    EXPECT_EQ(status.code, Code::kSystem);
    EXPECT_THAT(note_of(status), HasSubstr("broken"));
  }
  write(kI2c, "temp2_fault", "0\n");
  EXPECT_THAT(by_library.read(), ElementsAre(0));
  // umockdev writes a new file where the kernel keeps the old one: descriptors are to be opened again.
  ASSERT_TRUE(by_files.program({"lm90-i2c-3-4c:temp2"}).ok());
  EXPECT_THAT(by_files.read(), ElementsAre(0));
}

// PA-30
TEST_F(Lmsensors, ChipThatVanishesGivesAnErrorAndTouchesNoValue) {
  EventSet set(*lmsensors);
  ASSERT_TRUE(set.program({"coretemp-isa-0000.Core_0.temp2_input", "lm90-i2c-3-4c.temp1.temp1_input"}).ok());
  ASSERT_TRUE(set.start().ok());
  umockdev_testbed_remove_device(bed.get(), kI2c);
  const Status status = set.refused_read();
  EXPECT_EQ(status.code, Code::kSystem);
  EXPECT_THAT(note_of(status), HasSubstr("lm90-i2c-3-4c.temp1.temp1_input"));
}

// PA-30: coretemp, without the library, finds the chips libsensors finds, under the same names, with the same
// temperatures
TEST_F(Lmsensors, CoretempAgreesWithLibsensorsOnEveryTemperature) {
  Substrate coretemp(substrata_entry_coretemp, host);
  ASSERT_TRUE(coretemp.detect().ok());
  ASSERT_TRUE(coretemp.open().ok());
  std::vector<std::string> temperatures;
  for (const std::string& name : lmsensors->names()) {
    if (name.find("temp2_fault") == std::string::npos && name.find(".temp") != std::string::npos &&
        name != "lm90-i2c-3-4c.temp2.temp2_input") {
      temperatures.push_back(name);
    }
  }
  ASSERT_EQ(temperatures.size(), 7u);
  EventSet by_library(*lmsensors);
  EventSet by_files(coretemp);
  ASSERT_TRUE(by_library.program(temperatures).ok());
  ASSERT_TRUE(by_files.program(temperatures).ok());  // lmsensors' spelling is an alias
  EXPECT_EQ(by_library.read(), by_files.read());
}

// PA-30
TEST_F(Lmsensors, MachineThatLosesItsLastChipIsUnavailableAtTheNextQuestion) {
  for (const char* device : {kPackage, "/sys/devices/pci0000:00/0000:01:00.0/hwmon/hwmon2", kI2c,
                             "/sys/devices/virtual/hwmon/hwmon7"}) {
    umockdev_testbed_remove_device(bed.get(), device);
  }
  const Status status = lmsensors->detect();
  EXPECT_EQ(status.code, Code::kNoSupport);
  EXPECT_THAT(note_of(status), HasSubstr("sensors-detect"));
}

// PA-30
TEST(LmsensorsOverARecordedTree, IsUnavailableSinceLibsensorsReadsTheMachineOnly) {
  RecordedTree tree;
  FakeHost host(tree.root());
  Substrate substrate(substrata_entry_lmsensors, host);
  EXPECT_EQ(substrate.detect().code, Code::kNoSupport);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("coretemp"));
}

}  // namespace
