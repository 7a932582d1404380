// Requests that are refused and go again, to the bus cycle; the times of their parts: timing_test.cpp.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "transactions.hpp"

namespace substrata::numachine::test {
namespace {

// Processor 0 fetches what is dirty on station 1, which locks the block for 64 cycles; processor 1 asks for it 10
// cycles later. Refused after 1 + 2 + 4 + 1 cycles, it asks again 16 later, at 34, and is refused at 42. At 58 the bus
// carries the line to processor 0 until 64; then it takes 1 + 2 + 4 + 12 + 9, to 92.
class Refused : public Transactions {
 protected:
  void SetUp() override {
    Transactions::SetUp();
    latency(4, 0, kWrite);
  }
  std::vector<std::uint64_t> two_requests() { return run({{0, 0, kRead, 0}, {1, 0, kRead, 10}}); }
};

TEST_F(Refused, ARequestIsRetriedUntilTheBlockIsFree) {
  EXPECT_EQ(two_requests(), (std::vector<std::uint64_t>{64, 92 - 10}));
  EXPECT_EQ(model_->truth(1).nacks, 2u);
}

// Table 4.5, events 9 and A: from the first retry, not from the refusal 16 cycles before
TEST_F(Refused, RetriesAreTimedFromTheFirst) {
  count(1, 0, CounterEvent::kNackRetry, false);
  count(1, 1, CounterEvent::kNackCycles, false);
  count(1, 2, CounterEvent::kNackCycles, true);
  two_requests();
  EXPECT_EQ(counted(1, 0), 2u);
  EXPECT_EQ(counted(1, 1), 92u - 34);
  EXPECT_EQ(counted(1, 2), 1u);
  EXPECT_EQ(model_->truth(1).nack_cycles, 92u - 34);
}

// Table 4.5, event D: a request that waits is up longer than one that does not
TEST_F(Refused, ABusRequestIsUpUntilItsGrant) {
  count(1, 0, CounterEvent::kBusRequest, false);
  count(1, 1, CounterEvent::kBusRequest, true);
  two_requests();
  EXPECT_EQ(counted(1, 1), 3u);
  EXPECT_EQ(counted(1, 0), 1u + 1 + (64 - 58 + 1));
}

// Table 4.5, event C: a line occupies the external agent's bus for its nine packets
TEST_F(Refused, BusActivityIsInCyclesOrTransactions) {
  for (const std::uint32_t cpu : {1U, 4U}) {
    count(cpu, 0, CounterEvent::kBusActivity, false);
    count(cpu, 1, CounterEvent::kBusActivity, true);
  }
  two_requests();
  EXPECT_EQ(counted(1, 0), 1u + 2 + 2 + 9) << "request, two refusals, two retries, the line";
  EXPECT_EQ(counted(1, 1), 6u);
  EXPECT_EQ(counted(4, 0), 1u + 9) << "the intervention, and the line it takes";
  EXPECT_EQ(counted(4, 1), 2u);
}

// Sections 4.3.6 and 4.4.4
TEST_F(Refused, ATimeOutIsABusErrorAndTheInstructionBeginsAgain) {
  begin_with_late_retries();
  latency(4, 0, kWrite);
  run({{0, 0, kRead, 0}, {1, 0, kRead, 10}});
  const Truth& t = model_->truth(1);
  EXPECT_EQ(t.exceptions, 1u);
  EXPECT_EQ(t.loads, 1u) << "executed once";
  EXPECT_EQ(t.misses[static_cast<unsigned>(MissType::kOther)], 1u);
  EXPECT_EQ(miss_cycles(1), 1u + 2 + 4 + 12 + 9) << "the second time";
}

}  // namespace
}  // namespace substrata::numachine::test
