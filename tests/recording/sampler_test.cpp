// Rows that a sampler takes, of models on the feed of its own process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <substrata/live_board.h>
#include <substrata/feed.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "recording/memory_sink.hpp"
#include "recording/sampler/measuring.hpp"
#include "recording/sampler/mpi_sampler.hpp"
#include "recording/sampler/placement_watch.hpp"
#include "recording/sampler/sampler.hpp"

namespace substrata::sampler {
namespace {

// One series of the model "memory", which is given 1000 reads of one word between two rows.
class SamplerOfAModel : public testing::Test {
 protected:
  void take(const char* event) {
    start_library();
    ASSERT_EQ(sampler_.try_add(event), "");
    sampler_.start();
    const std::uint32_t set = sink_.declare(sampler_.series());
    sampler_.sample(sink_, set);
    unobserved_before_ = sampler_.unobserved();
    client::feed::Publisher publisher;
    ASSERT_EQ(client::feed::Source::generated("test-program", "the test")
                  .try_publisher("mem.cpu0.accesses", "", 256, &publisher),
              0);
    substrata_transaction read{};
    read.kind = SUBSTRATA_READ;
    read.size = 8;
    for (int i = 0; i < 1000; ++i) publisher.publish(read);
    publisher.deliver();
    sampler_.sample(sink_, set);
  }
  const recording::Series& series() const { return sink_.recording().writers.front().series.front(); }

  Sampler sampler_{0, false, true};
  recording::MemorySink sink_{{}};
  std::vector<std::string> unobserved_before_;
};

TEST_F(SamplerOfAModel, IsUnobservedUntilItIsGivenSomething) {
  take("memory:::READS");
  EXPECT_EQ(unobserved_before_, std::vector<std::string>{"memory"});
  EXPECT_THAT(sampler_.unobserved(), testing::IsEmpty());
}

// A genuine 0 was shown as "no value", like the counts of a model that was given nothing.
TEST_F(SamplerOfAModel, ZeroAfterItObservedSomethingIsAValue) {
  take("memory:::L2_WRITE_BACKS");
  EXPECT_TRUE(series().present_at(series().values.size() - 1));
}

// The total began after what was counted before the first row with a value.
TEST_F(SamplerOfAModel, WhatItCountsFirstIsPartOfTheTotal) {
  take("memory:::READS");
  std::size_t first = 0;
  while (first + 1 < series().values.size() && !series().present_at(first)) ++first;
  EXPECT_EQ(series().values.back() - series().values[first], 1000);
}

// Keeps rows, and sends messages of every rank between one row and the next, as ranks do.
class SinkOfABusyProgram : public recording::MemorySink {
 public:
  explicit SinkOfABusyProgram(substrata_live_board* board) : MemorySink({}), board_(board) {}
  void sample(std::uint32_t set, std::int64_t time, std::int64_t skew, const std::int64_t* values,
              const std::uint8_t* flags) override {
    MemorySink::sample(set, time, skew, values, flags);
    for (std::uint64_t rank = 0; rank < board_->ranks_used; ++rank) board_->ranks[rank].bytes += 1000;
  }

 private:
  substrata_live_board* board_;
};

// At one time the sum over the ranks was shown with fewer bytes than the ranks.
TEST(Pace, ALongCommandIsLookedAtMoreRarelyAndOneOfManyTasksNoMoreRarelyThanBefore) {
  constexpr Pace kPace{.least_ns = 50, .times = 2, .task_times = 20};
  constexpr std::uint64_t kLater = Pace::kDense;
  EXPECT_EQ(kPace.wait_ns(10, 1, 1), 50);
  EXPECT_EQ(kPace.wait_ns(100, 1, 1), 200);
  EXPECT_EQ(kPace.wait_ns(100, kLater - 1, 1), 200);
  EXPECT_EQ(kPace.wait_ns(100, kLater, 1), 2000);
  EXPECT_EQ(kPace.wait_ns(100, kLater, 4), 500);
  EXPECT_EQ(kPace.wait_ns(100, kLater, 100), 200);
  EXPECT_EQ(kPace.wait_ns(100, kLater, 0), 200);  // nothing is left of the command
}

TEST(MpiSampler, TheSumOfARowIsThatOfItsRanks) {
  MpiSampler sampler(false);
  const int file = open(sampler.path().c_str(), O_RDWR | O_CLOEXEC);
  void* const memory =
      mmap(nullptr, sizeof(substrata_live_board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const board = static_cast<substrata_live_board*>(memory);
  board->ranks_used = 3;
  for (std::uint64_t rank = 0; rank < 3; ++rank) board->ranks[rank].rank_plus_1 = rank + 1;
  SinkOfABusyProgram sink(board);
  for (int row = 0; row < 3; ++row) sampler.sample(sink, row);
  munmap(memory, sizeof(substrata_live_board));
  std::vector<std::int64_t> sums(3), of_ranks(3);
  for (const recording::Series& series : sink.recording().writers.front().series)
    for (std::size_t row = 0; row < series.values.size(); ++row) {
      if (series.name == "mpi:::bytes") sums[row] += series.values[row];
      if (series.name == "mpi:::rank:bytes") of_ranks[row] += series.values[row];
    }
  EXPECT_GT(sums[2], 0);
  EXPECT_EQ(sums, of_ranks);
}

}  // namespace
}  // namespace substrata::sampler
