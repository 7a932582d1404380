// Samples of a processor: a function that burns time is met, with its thread, by whatever clock this machine
// has.
#include <gtest/gtest.h>
#include <substrata/feed.h>
#include <substrata/samples.h>
#include <unistd.h>
#include <substrata/result.hpp>

#include <cstdint>
#include <thread>
#include <vector>

#include "histogram_packets.hpp"

// The linker says where a section with such a name begins and ends.
extern "C" {
extern const char __start_samples_burner[];
extern const char __stop_samples_burner[];
}

namespace {

__attribute__((noinline, section("samples_burner"))) uint64_t burn(uint64_t seed) {
  for (int i = 0; i < 200'000; ++i) seed = seed * 6364136223846793005u + 1442695040888963407u;
  return seed;
}

bool in_burner(uint64_t instruction) {
  return instruction >= reinterpret_cast<uintptr_t>(__start_samples_burner) &&
         instruction < reinterpret_cast<uintptr_t>(__stop_samples_burner);
}

class ProcessorSamples : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(substrata_observer_create(
                  [](void* owner, const substrata_transaction* batch, size_t count) {
                    auto& seen = *static_cast<std::vector<substrata_transaction>*>(owner);
                    seen.insert(seen.end(), batch, batch + count);
                  },
                  &seen_, 0, &observer_),
              0);
    ASSERT_EQ(substrata_subscribe(observer_, "os.processor-s*"), 0);
  }
  void TearDown() override {
    substrata_samples_stop(samples_);
    substrata_observer_destroy(observer_);
  }
  void start(uint32_t flags = 0) {
    auto options = substrata::client::sized<substrata_samples_options>();
    options.flags = flags;
    const int refused = substrata_samples_start(&options, &samples_);
    if (refused == -3) GTEST_SKIP() << substrata_feed_error();
    ASSERT_EQ(refused, 0) << substrata_feed_error();
  }
  // Burns processor time until so many samples have met the function. The kernel's clock counts processor
  // time, so that a busy machine only makes it longer.
  size_t burn_until(size_t wanted) {
    uint64_t value = 1;
    while (true) {
      for (int i = 0; i < 20; ++i) value = burn(value);
      asm volatile("" : "+r"(value));  // its value is needed, else the compiler leaves the calls out
      uint64_t lost = 0;
      EXPECT_EQ(substrata_samples_collect(samples_, &lost), 0) << substrata_feed_error();
      substrata_flush();
      size_t met = 0;
      for (const substrata_transaction& each : seen_) met += in_burner(each.site) ? 1 : 0;
      if (met >= wanted) return met;
    }
  }
  std::vector<substrata_transaction> seen_;
  substrata_observer* observer_ = nullptr;
  substrata_samples* samples_ = nullptr;
};

TEST_F(ProcessorSamples, MeetTheFunctionThatTakesTheTime) {  // OW-20
  start();
  if (IsSkipped() || HasFatalFailure()) return;
  const int by = substrata_samples_by(samples_);
  EXPECT_TRUE(by == SUBSTRATA_SAMPLES_CYCLES || by == SUBSTRATA_SAMPLES_TASK_CLOCK);
  EXPECT_GE(burn_until(10), 10u);
  uint64_t before = 0;
  for (const substrata_transaction& each : seen_) {
    EXPECT_EQ(each.kind, SUBSTRATA_SAMPLE);
    EXPECT_EQ(each.detail, static_cast<uint64_t>(getpid()));
    EXPECT_EQ(each.address, 0u);
    EXPECT_GE(each.time, before);
    before = each.time;
    if (!in_burner(each.site)) continue;
    EXPECT_EQ(each.initiator, static_cast<uint32_t>(gettid()));
  }
}

TEST_F(ProcessorSamples, OfAThreadStartedLaterCarryItsNumber) {  // OW-20
  start(SUBSTRATA_SAMPLES_BY_CLOCK);
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_EQ(substrata_samples_by(samples_), SUBSTRATA_SAMPLES_TASK_CLOCK);
  pid_t other = 0;
  std::thread thread([&] {
    other = gettid();
    burn_until(3);
  });
  thread.join();
  size_t met = 0;
  for (const substrata_transaction& each : seen_) {
    if (!in_burner(each.site)) continue;
    EXPECT_EQ(each.initiator, static_cast<uint32_t>(other));
    ++met;
  }
  EXPECT_GE(met, 3u);
}

TEST_F(ProcessorSamples, AreAProfileInAnOwlModule) {  // OW-2, OW-13, OW-20
  start();
  if (IsSkipped() || HasFatalFailure()) return;
  substrata::owl_monitor::Capsule by_instruction("os.processor-samples", "histogram", "key=1:block=1");
  burn_until(5);
  uint64_t in_function = 0, all = 0;
  for (const auto& [address, count] : substrata::tests::counts_by_key(by_instruction)) {
    all += count;
    if (in_burner(address)) in_function += count;
  }
  size_t met = 0;
  for (const substrata_transaction& each : seen_) met += in_burner(each.site) ? 1 : 0;
  EXPECT_EQ(in_function, met);
  EXPECT_EQ(all, seen_.size());
}

TEST(ProcessorSamplesRefusals, SayWhatWasWrong) {
  substrata_samples* samples = nullptr;
  auto options = substrata::client::sized<substrata_samples_options>();
  options.frequency = 200'000;
  EXPECT_EQ(substrata_samples_start(&options, &samples), -1);
  options.frequency = 0;
  options.process = -5;
  EXPECT_EQ(substrata_samples_start(&options, &samples), -1);
  EXPECT_EQ(substrata_samples_start(nullptr, nullptr), -1);
  EXPECT_EQ(substrata_samples_by(nullptr), -1);
}

}  // namespace
