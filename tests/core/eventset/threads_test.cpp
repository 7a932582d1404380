// Threads: any call first from any thread, registration, storage, locks (PA-42).
#include "core/eventset/threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "core/eventset/event_set_object.hpp"
#include "core/eventset/thread_state.hpp"
#include "support/fake_substrates.hpp"

namespace {

using namespace substrata;
using fake::set_of;

class ThreadCalls : public fake::LibraryTest {};

unsigned long own_id() { return static_cast<unsigned long>(pthread_self()); }

TEST_F(ThreadCalls, IdsComeFromTheClientsFunction) {
  EXPECT_EQ(thread_id().error().code, Code::kMisc);
  EXPECT_TRUE(set_thread_id_function(own_id).ok());
  EXPECT_TRUE(thread_id_function_set());
  EXPECT_EQ(thread_id().value_or(0ul), own_id());
  EXPECT_EQ(list_threads(), std::vector<unsigned long>{own_id()});
}

// A read writes to the lock of its set and to nothing else of the layer's, so threads that read sets of their own do
// not disturb each other.
TEST_F(ThreadCalls, EventsetsShareNoCacheLine) {
  for (int i = 0; i < 8; ++i) {
    const EventSet* const set = event_sets.find(create_event_set().value_or(-1));
    ASSERT_NE(set, nullptr);
    const auto begin = reinterpret_cast<uintptr_t>(set);
    EXPECT_EQ(begin % 64, 0u) << i;
    EXPECT_EQ((begin + sizeof *set) % 64, 0u) << i;
  }
}

TEST_F(ThreadCalls, EndedThreadsAreNotListed) {
  std::thread([] {
    EXPECT_TRUE(register_thread().ok());
    EXPECT_TRUE(register_thread().ok());
    EXPECT_EQ(list_threads().size(), 2u);
  }).join();
  EXPECT_EQ(list_threads().size(), 1u);
}

TEST_F(ThreadCalls, UnregisteringDestroysTheThreadsSets) {  // PA-35: PAPI dies or says ENOEVST
  std::thread([] {
    const int own = set_of({"alpha::CYCLES"});
    EXPECT_TRUE(start_set(own).ok());
    EXPECT_TRUE(unregister_thread().ok());
    EXPECT_EQ(stop_set(own, nullptr).code, Code::kNoEventSet);
    EXPECT_EQ(unregister_thread().code, Code::kMisc);
  }).join();
}

TEST_F(ThreadCalls, SetOutlivesTheThreadThatMadeIt) {
  int set = -1;
  std::thread([&] {
    set = set_of({"alpha::CYCLES"});
    EXPECT_TRUE(start_set(set).ok());
  }).join();
  int64_t values[1];
  EXPECT_TRUE(read_set(set, values).ok());
  EXPECT_TRUE(stop_set(set, values).ok());
  EXPECT_TRUE(cleanup_event_set(set).ok());
  EXPECT_TRUE(destroy_event_set(set).ok());
}

// The blocks take the places of what the shutdown has freed, in the memory of either thread; a sanitizer sees the same
// access by itself.
TEST_F(ThreadCalls, ThreadThatEndsDuringAShutdownWritesToNothingFreed) {
  set_of({"alpha::CYCLES"});
  std::atomic<int> step{0};
  std::vector<std::vector<std::byte>> blocks;
  blocks.reserve(64);
  const auto take_places = [&] {
    for (int i = 0; i < 32; ++i) blocks.emplace_back(sizeof(ThreadState), std::byte{1});
  };
  std::thread ending([&] {
    EXPECT_TRUE(register_thread().ok());
    step = 1;
    step.notify_all();
    step.wait(1);
    take_places();
  });
  step.wait(0);
  Library::instance().shutdown();
  take_places();
  step = 2;
  step.notify_all();
  ending.join();
  ASSERT_EQ(blocks.size(), 64u);
  for (const auto& block : blocks)
    EXPECT_EQ(std::count(block.begin(), block.end(), std::byte{1}), std::ssize(block));
  EXPECT_TRUE(Library::instance().initialise().ok());
  Library::instance().shutdown();  // closes what stayed open for the other thread
}

TEST_F(ThreadCalls, AThreadInsideASubstrateFindsItOpenDuringAShutdown) {
  std::atomic<int> step{0};
  std::thread other([&] {
    set_of({"alpha::CYCLES"});
    step = 1;
    step.notify_all();
    step.wait(1);
  });
  step.wait(0);
  Library::instance().shutdown();
  EXPECT_LT(fake::calls.closes, fake::calls.opens);
  step = 2;
  step.notify_all();
  other.join();
  EXPECT_TRUE(Library::instance().initialise().ok());
  set_of({"alpha::CYCLES"});
  Library::instance().shutdown();
  EXPECT_EQ(fake::calls.closes, fake::calls.opens) << "no other thread measures";
}

TEST_F(ThreadCalls, AnotherThreadMayStopAndStartASet) {
  const int set = set_of({"alpha::CYCLES"});
  ASSERT_TRUE(start_set(set).ok());
  std::thread([&] {
    int64_t values[1];
    EXPECT_TRUE(read_set(set, values).ok());
    EXPECT_TRUE(stop_set(set, values).ok());
    EXPECT_TRUE(start_set(set).ok());
    const int own = set_of({"alpha::CYCLES"});
    EXPECT_TRUE(start_set(own).ok()) << "its own counters are free";
    EXPECT_TRUE(stop_set(own, nullptr).ok());
  }).join();
  EXPECT_TRUE(stop_set(set, nullptr).ok());
}

TEST_F(ThreadCalls, StorageIsPerThreadAndTagsAreChecked) {
  int here = 0, there = 0;
  EXPECT_EQ(thread_specific(0).value_or(&there), nullptr) << "never set";
  EXPECT_TRUE(set_thread_specific(0, &here).ok());
  std::thread([&] {
    EXPECT_EQ(thread_specific(0).value_or(&here), nullptr);
    EXPECT_TRUE(set_thread_specific(0, &there).ok());
    EXPECT_EQ(all_thread_specific(0).value_or(std::vector<ThreadValue>{}).size(), 2u);
  }).join();
  EXPECT_EQ(thread_specific(0).value_or(nullptr), &here);
  for (const int bad : {99, -1, kThreadSlots}) {
    EXPECT_EQ(thread_specific(bad).error().code, Code::kInvalid);
    EXPECT_EQ(set_thread_specific(bad, nullptr).code, Code::kInvalid);
  }
}

TEST_F(ThreadCalls, UserLocksExclude) {
  EXPECT_EQ(lock_user(99).code, Code::kInvalid);
  EXPECT_EQ(unlock_user(-1).code, Code::kInvalid);
  int64_t counter = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        EXPECT_TRUE(lock_user(0).ok());
        ++counter;
        EXPECT_TRUE(unlock_user(0).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, 2000);
}

TEST_F(ThreadCalls, EveryFirstCallWorksFromItsOwnThread) {  // PA-42
  for (int round = 0; round < 10; ++round) {
    std::vector<std::thread> threads;
    const auto run = [&](auto body) { threads.emplace_back(body); };
    Catalogue& catalogue = Library::instance().catalogue();
    run([&] { EXPECT_TRUE(catalogue.find("PAPI_TOT_CYC").has_value()); });
    run([&] { EXPECT_TRUE(catalogue.find("alpha::CYCLES").has_value()); });
    run([&] { EXPECT_TRUE(catalogue.info(kPresetMask | 0x3b).has_value()); });
    run([&] { EXPECT_TRUE(catalogue.next_in_component(kNativeMask, Enumerate::kFirst, 1).has_value()); });
    run([&] {
      const int set = set_of({"alpha::LOADS"});
      EXPECT_TRUE(start_set(set).ok());
      EXPECT_TRUE(stop_set(set, nullptr).ok());
      EXPECT_TRUE(cleanup_event_set(set).ok());
      EXPECT_TRUE(destroy_event_set(set).ok());
    });
    run([&] { EXPECT_GE(list_threads().size(), 1u); });
    run([&] { EXPECT_TRUE(register_thread().ok()); });
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
