// The memory system of the Owl paper's perturbation study: its latencies, and what a capsule's packets cost.
#include "papers/monitored_memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>

using substrata::papers::Injection;
using substrata::papers::MonitoredMemory;

namespace {

// Far enough apart for one access not to meet the other.
constexpr uint64_t kLater = 10'000;

}  // namespace

// OW-12
TEST(MonitoredMemory, AnAccessTakesTheCyclesOfItsLevel) {
  MonitoredMemory memory({});
  // First level 3, second 13, memory 80, and the line over the second level's bus 8.
  EXPECT_EQ(memory.load(0, kLater), kLater + 3 + 13 + 80 + 8);
  EXPECT_EQ(memory.load(56, 2 * kLater), 2 * kLater + 3);
  // Two more lines of the same set of two drive the first out of the first level, not of the second.
  memory.load(32 * 1024, 3 * kLater);
  memory.load(64 * 1024, 4 * kLater);
  EXPECT_EQ(memory.load(0, 5 * kLater), 5 * kLater + 3 + 13);
}

TEST(MonitoredMemory, TheSecondLevelHoldsOneLineAPlace) {
  MonitoredMemory memory({});
  memory.load(0, kLater);
  memory.load(2 * 1024 * 1024, 2 * kLater);
  memory.load(4 * 1024 * 1024, 3 * kLater);
  EXPECT_EQ(memory.load(0, 4 * kLater), 4 * kLater + 3 + 13 + 80 + 8);
}

TEST(MonitoredMemory, ALineOnItsWayServesWhoeverAsksForIt) {
  MonitoredMemory memory({});
  const uint64_t arrives = memory.load(0, kLater);
  EXPECT_EQ(memory.load(8, kLater + 1), arrives);
  EXPECT_EQ(memory.store(16, kLater + 1), arrives);
}

TEST(MonitoredMemory, TwoMayBeginInACycle) {
  MonitoredMemory memory({});
  EXPECT_TRUE(memory.free(5));
  memory.begin(5);
  EXPECT_TRUE(memory.free(5));
  memory.begin(5);
  EXPECT_FALSE(memory.free(5));
  EXPECT_TRUE(memory.free(6));
}

TEST(MonitoredMemory, WhatWasFilledBeforeIsThere) {
  MonitoredMemory memory({});
  memory.fill(0, true);
  memory.fill_code(1 << 20);
  EXPECT_EQ(memory.load(0, kLater), kLater + 3);
  EXPECT_EQ(memory.fetch(1 << 20, 2 * kLater), 2 * kLater);
  EXPECT_EQ(memory.fetch((1 << 20) + 64, 3 * kLater), 3 * kLater + 13 + 80 + 8);
  EXPECT_EQ(memory.fetch((1 << 20) + 64, 4 * kLater), 4 * kLater);
  EXPECT_EQ(memory.fetch(0, 5 * kLater), 5 * kLater);  // asks for no instruction
}

TEST(MonitoredMemory, EachCapsuleGivesAPacketForSoManyOfWhatPassesIt) {
  for (const uint64_t every : {1U, 8U, 64U}) {
    MonitoredMemory memory({.injection = Injection::kSeparate, .every = every, .warmed = false});
    // 640 accesses to ten lines: ten of them pass the other two capsules as well.
    for (uint64_t i = 0; i < 640; ++i) memory.load(i % 10 * 64, (i + 1) * kLater);
    EXPECT_EQ(memory.packets(), 640 / every + 2 * (10 / every)) << every;
  }
}

TEST(MonitoredMemory, WithoutAMonitorThereAreNoPackets) {
  MonitoredMemory memory({});
  for (uint64_t i = 0; i < 100; ++i) memory.load(i * 64, (i + 1) * kLater);
  EXPECT_EQ(memory.packets(), 0U);
}

TEST(MonitoredMemory, NaivePacketsUseThePortsAndTheBusesAndSeparateOnesDoNot) {
  const auto run = [](Injection injection, uint64_t& busy) {
    MonitoredMemory memory({.injection = injection, .every = 1, .warmed = false});
    memory.fill(0, false);
    for (uint64_t i = 1; i <= 800; ++i) memory.load(0, i * kLater);
    busy = memory.busiest();
    memory.begin(801 * kLater);
    memory.load(0, 801 * kLater);
    return memory.free(801 * kLater);
  };
  uint64_t none = 0;
  uint64_t naive = 0;
  uint64_t separate = 0;
  EXPECT_TRUE(run(Injection::kNone, none));
  EXPECT_FALSE(run(Injection::kNaive, naive));  // the access and its packet took both ports
  EXPECT_TRUE(run(Injection::kSeparate, separate));
  EXPECT_EQ(none, 0U);
  EXPECT_EQ(separate, 0U);
  // 800 packets of 8 bytes touch 101 lines, the first of which holds seven: each comes from memory once.
  EXPECT_EQ(naive, 101U * 16);
}

TEST(MonitoredMemory, AFullBufferHoldsTheAccessesUp) {
  // In one cycle: the separate controller takes two cycles a packet, and 64 packets wait at most.
  MonitoredMemory memory({.injection = Injection::kSeparate, .every = 1, .warmed = false});
  memory.fill(0, false);
  for (int i = 0; i < 64; ++i) memory.load(0, kLater);
  EXPECT_TRUE(memory.free(kLater));
  memory.load(0, kLater);
  EXPECT_FALSE(memory.free(kLater));
  EXPECT_FALSE(memory.free(kLater + 1));
  EXPECT_TRUE(memory.free(kLater + 2));
}
