// Rows that a sampler takes, of models on the feed of its own process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <substrata/feed.hpp>

#include <string>
#include <vector>

#include "recording/memory_sink.hpp"
#include "sampler/measuring.hpp"
#include "sampler/sampler.hpp"

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

}  // namespace
}  // namespace substrata::sampler
