// The kernel's records of switches, as bytes of its buffer, become waits.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "sources/observation/perf_buffer.hpp"
#include "sources/observation/waits.hpp"

namespace substrata::pages {
namespace {

constexpr uint32_t kProcess = 70, kThread = 71;
constexpr uint16_t kIn = 0, kOut = PERF_RECORD_MISC_SWITCH_OUT;
constexpr uint16_t kPreempted = PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;

SwitchRecord record(uint16_t misc, uint64_t time, uint32_t processor = 0, uint32_t process = kProcess) {
  return {{PERF_RECORD_SWITCH, misc, sizeof(SwitchRecord)}, process, kThread, time, processor, 0};
}

// As they come out of a processor's buffer.
std::vector<Sample> taken(const std::vector<SwitchRecord>& records) {
  perf_event_mmap_page page{};
  page.data_size = page.data_head = records.size() * sizeof(SwitchRecord);
  std::vector<Sample> out;
  uint64_t lost = 0;
  Buffer::take_records({&page, reinterpret_cast<const unsigned char*>(records.data())}, out, lost);
  return out;
}

class ThreadWaits : public testing::Test {
 protected:
  // "start-time" of each wait, with "p" where it was preempted.
  std::string take(const std::vector<SwitchRecord>& records, uint64_t horizon = 1000) {
    std::string out;
    waits_.take(taken(records), horizon, [&](const substrata_transaction& wait) {
      last_ = wait;
      out += std::to_string(wait.start) + "-" + std::to_string(wait.time) + (wait.detail != 0 ? "p " : " ");
    });
    return out;
  }
  Waits waits_{kProcess};
  substrata_transaction last_{};
};

TEST_F(ThreadWaits, LastFromASwitchOutToTheNextSwitchIn) {
  EXPECT_EQ(take({record(kOut, 10), record(kIn, 30, 3), record(kPreempted, 40), record(kIn, 41)}),
            "10-30 40-41p ");
  EXPECT_EQ(last_.kind, SUBSTRATA_WAIT);
  EXPECT_EQ(last_.initiator, kThread);
}

TEST_F(ThreadWaits, HaveTheProcessorOnWhichTheThreadWentOn) {
  take({record(kOut, 10, 1), record(kIn, 30, 3)});
  EXPECT_EQ(last_.target, 3u);
}

TEST_F(ThreadWaits, OfAThreadThatMovedAreInTheOrderOfTimeNotOfBuffers) {
  EXPECT_EQ(take({record(kIn, 30, 1), record(kOut, 10, 0)}), "10-30 ");
}

TEST_F(ThreadWaits, ThatAreNewerThanTheReadingOfTheBuffersWaitForTheNext) {
  EXPECT_EQ(take({record(kIn, 130, 1)}, 100), "");  // its begin is still in another processor's buffer
  EXPECT_EQ(take({record(kOut, 90, 0)}, 200), "90-130 ");
}

TEST_F(ThreadWaits, WithoutABeginAreLeftOut) { EXPECT_EQ(take({record(kIn, 30)}), ""); }

TEST_F(ThreadWaits, OfAChildAreLeftOut) {
  EXPECT_EQ(take({record(kOut, 10, 0, kProcess + 1), record(kIn, 30, 0, kProcess + 1)}), "");
}

}  // namespace
}  // namespace substrata::pages
