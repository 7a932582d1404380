// sensors_ppc over a file made from the specification of the controllers' in-band sensors.
#include <string>

#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

const std::string kFile = "/sys/firmware/opal/exports/occ_inband_sensors";
constexpr size_t kBlock = 0x25800, kNames = 0x400, kPing = 0xdc00, kPong = 0x18c00, kReading = 0x40;

// The block of one controller with a power sensor of 0.1 W, and a counter.
class Block {
 public:
  Block() : text_(kBlock, '\0') {
    put(0, 1, 1);
    put(2, 2, 2);  // two sensors
    put(8, 4, kNames);
    put(13, 1, 48);
    put(16, 4, kPing);
    put(20, 4, kPong);
    name(0, "PWRSYS", "W", 1, kReading);
    name(1, "IPS", "", 2, kReading + 48);
  }
  // A reading of both sensors in the buffer at `buffer`.
  void record(size_t buffer, uint64_t time, uint16_t sample, uint64_t sum) {
    put(buffer, 1, 1);
    put(buffer + kReading + 2, 8, time);
    put(buffer + kReading + 10, 2, sample);
    put(buffer + kReading + 14, 2, 9000);  // max
    put(buffer + kReading + 28, 8, sum);
    put(buffer + kReading + 48 + 2, 8, time);
    put(buffer + kReading + 48 + 10, 8, sum * 2);
  }
  void invalidate(size_t buffer) { put(buffer, 1, 0); }
  const std::string& text() const { return text_; }

 private:
  void put(size_t at, size_t bytes, uint64_t number) {
    for (size_t i = 0; i < bytes; ++i) text_[at + i] = static_cast<char>(number >> 8 * (bytes - 1 - i));
  }
  void name(size_t index, const std::string& sensor, const std::string& unit, uint64_t kind,
            uint64_t reading) {
    const size_t at = kNames + 48 * index;
    text_.replace(at, sensor.size(), sensor);
    text_.replace(at + 16, unit.size(), unit);
    put(at + 22, 4, 2u << 8 | 3);     // 2000 samples a second
    put(at + 26, 4, 1u << 8 | 0xff);  // tenths
    put(at + 34, 1, kind);
    put(at + 35, 4, reading);
  }
  std::string text_;
};

class SensorsPpc : public SubstrateOnTree<substrata_entry_sensors_ppc> {
 protected:
  void record() { tree.write(kFile, block.text() + block.text()); }
  Block block;
};

TEST_F(SensorsPpc, EveryControllersSensorsHaveTheirReadingsUnderPapisNames) {
  block.record(kPing, 100, 6543, 40000);
  record();
  open();
  const auto names = substrate.names();
  EXPECT_EQ(names.size(), 22u);
  EXPECT_THAT(names, Contains("PWRSYS:occ=1:job_scheduler_max"));
  EXPECT_THAT(names, Contains("IPS:occ=0:accumulator"));
  EXPECT_THAT(names, Not(Contains("IPS:occ=0")));
  EventSet set(substrate);
  ASSERT_TRUE(set.program({"PWRSYS:occ=1", "PWRSYS:occ=0:max"}).ok());
  EXPECT_THAT(set.read(), ElementsAre(654, 900));
}

TEST_F(SensorsPpc, NewerOfTheValidBuffersCountsAndSumsCountFromTheStart) {
  block.record(kPing, 100, 1000, 40000);
  block.record(kPong, 90, 2000, 30000);
  record();
  open();
  RunningSet set(substrate, {"PWRSYS:occ=0", "PWRSYS:occ=0:accumulator", "IPS:occ=0:accumulator"});
  EXPECT_THAT(set.read(), ElementsAre(100, 0, 0));
  block.record(kPong, 110, 3000, 60000);
  record();
  EXPECT_THAT(set.read(), ElementsAre(300, 10, 20));  // 20000 samples at 2000 Hz, and twice as many
  block.invalidate(kPong);
  record();
  Status status;
  set.read(&status);
  EXPECT_EQ(status.code, Code::kCountersLost) << "the older buffer's sum is smaller";
  block.invalidate(kPing);
  record();
  EXPECT_THAT(set.read(&status), ElementsAre(EventSet::kMark, EventSet::kMark, EventSet::kMark));
  EXPECT_EQ(status.code, Code::kSystem);
}

TEST_F(SensorsPpc, OtherMachinesAreUnavailable) {
  EXPECT_EQ(substrate.detect().code, Code::kNoSupport);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("OPAL"));
}

}  // namespace
