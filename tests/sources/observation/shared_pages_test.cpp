// Shared pages between real processes: what programs compute on them, and what they count and publish.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <substrata/feed.h>
#include <substrata/shared_pages.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <substrata/result.hpp>

#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr uint32_t kPage = 65536;  // a multiple of every system's page

std::string fresh_name() {
  static int number = 0;
  return "test-" + std::to_string(getpid()) + "-" + std::to_string(number++);
}

substrata_shared_pages_options options(const std::string& name, uint32_t process, uint32_t processes,
                                       uint64_t pages) {
  auto wanted = substrata::client::sized<substrata_shared_pages_options>();
  wanted.processes = processes;
  wanted.process = process;
  wanted.page_bytes = kPage;
  wanted.bytes = pages * kPage;
  wanted.name = name.c_str();
  return wanted;
}

using Body = std::function<bool(substrata_shared_pages*, uint32_t process)>;

bool take_part(const std::string& name, uint32_t process, uint32_t processes, uint64_t pages,
               const Body& body) {
  const substrata_shared_pages_options wanted = options(name, process, processes, pages);
  substrata_shared_pages* memory = nullptr;
  if (substrata_shared_pages_open(&wanted, &memory) != 0) {
    std::fprintf(stderr, "process %u: %s\n", process, substrata_feed_error());
    return false;
  }
  const bool right = body(memory, process);
  substrata_shared_pages_close(memory);
  return right;
}

// Process 0 is this one, so that it can look closely; the others are children that answer yes or no.
void together(uint32_t processes, uint64_t pages, const Body& body) {
  const std::string name = fresh_name();
  std::vector<pid_t> children;
  for (uint32_t process = 1; process < processes; ++process) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(take_part(name, process, processes, pages, body) ? 0 : 1);
    children.push_back(child);
  }
  EXPECT_TRUE(take_part(name, 0, processes, pages, body));
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

template <typename T>
T* values(substrata_shared_pages* memory) {
  return static_cast<T*>(substrata_shared_pages_memory(memory));
}

substrata_shared_pages_counts counts_of(substrata_shared_pages* memory) {
  auto counts = substrata::client::sized<substrata_shared_pages_counts>();
  EXPECT_EQ(substrata_shared_pages_count(memory, &counts), 0);
  return counts;
}

// FE-7
TEST(SharedPages, TheirMemoryFileHasAllItsPagesBeforeOneIsTouched) {
  const std::string name = fresh_name();
  EXPECT_TRUE(take_part(name, 0, 1, 16, [&](substrata_shared_pages*, uint32_t) {
    struct stat about {};
    const std::string path = "/dev/shm/substrata-pages-" + std::to_string(geteuid()) + "-" + name;
    return stat(path.c_str(), &about) == 0 && about.st_size >= 16 * kPage &&
           about.st_blocks * 512 >= about.st_size;
  }));
}

TEST(SharedPages, AStencilOverFourProcessesGivesWhatOneGives) {
  constexpr uint32_t kProcesses = 4;
  constexpr size_t kCells = 8 * kPage / sizeof(double);
  constexpr int kSteps = 6;
  std::vector<double> wanted(kCells);
  std::vector<double> next(kCells);
  for (size_t i = 0; i < kCells; ++i) wanted[i] = static_cast<double>(i % 1000);
  for (int step = 0; step < kSteps; ++step) {
    for (size_t i = 1; i + 1 < kCells; ++i) next[i] = (wanted[i - 1] + wanted[i] + wanted[i + 1]) / 3;
    for (size_t i = 1; i + 1 < kCells; ++i) wanted[i] = next[i];
  }
  together(kProcesses, 16, [&](substrata_shared_pages* memory, uint32_t process) {
    double* const now = values<double>(memory);
    double* const then = now + kCells;
    // Shares that do not end at pages: neighbours store into the same page.
    const size_t begin = 1 + process * (kCells - 2) / kProcesses;
    const size_t end = 1 + (process + 1) * (kCells - 2) / kProcesses;
    if (process == 0)
      for (size_t i = 0; i < kCells; ++i) now[i] = static_cast<double>(i % 1000);
    if (substrata_shared_pages_barrier(memory) != 0) return false;
    for (int step = 0; step < kSteps; ++step) {
      for (size_t i = begin; i < end; ++i) then[i] = (now[i - 1] + now[i] + now[i + 1]) / 3;
      if (substrata_shared_pages_barrier(memory) != 0) return false;
      for (size_t i = begin; i < end; ++i) now[i] = then[i];
      if (substrata_shared_pages_barrier(memory) != 0) return false;
    }
    return std::memcmp(now, wanted.data(), kCells * sizeof(double)) == 0;
  });
}

// FE-7
TEST(SharedPages, ACounterUnderALockLosesNoIncrement) {
  constexpr uint32_t kProcesses = 3;
  constexpr uint64_t kRounds = 200;
  together(kProcesses, 3, [&](substrata_shared_pages* memory, uint32_t) {
    // In the last page, which is nobody's of the first two.
    uint64_t* const counter = values<uint64_t>(memory) + (3 * kPage - 64) / sizeof(uint64_t);
    for (uint64_t round = 0; round < kRounds; ++round) {
      if (substrata_shared_pages_lock(memory, 7) != 0) return false;
      ++*counter;
      if (substrata_shared_pages_unlock(memory, 7) != 0) return false;
    }
    if (substrata_shared_pages_barrier(memory) != 0) return false;
    return *counter == kProcesses * kRounds;
  });
}

// FE-7: every number follows from the protocol.
TEST(SharedPages, CountsWhatTheProtocolMustDo) {
  together(2, 4, [](substrata_shared_pages* memory, uint32_t process) {
    auto* const words = values<uint32_t>(memory);
    constexpr size_t kWords = kPage / sizeof(uint32_t);
    bool right = true;
    if (process == 0) {
      // Pages 0 and 1 have their home here, 2 and 3 at process 1. Two runs of 3 and 5 words in page 2.
      words[0] = 1;
      for (size_t i = 10; i < 13; ++i) words[2 * kWords + i] = 5;
      for (size_t i = 20; i < 25; ++i) words[2 * kWords + i] = 6;
    }
    right = substrata_shared_pages_barrier(memory) == 0 && right;
    if (process == 1) {
      right = words[0] == 1 && words[2 * kWords + 24] == 6 && words[3 * kWords] == 0 && right;
      words[1] = 9;
    }
    right = substrata_shared_pages_barrier(memory) == 0 && right;
    right = words[1] == 9 && words[2 * kWords + 10] == 5 && right;
    const substrata_shared_pages_counts counts = counts_of(memory);
    EXPECT_EQ(counts.barriers, 2u);
    if (process == 0) {
      EXPECT_EQ(counts.home_writes, 1u);
      EXPECT_EQ(counts.fetches, 1u);
      EXPECT_EQ(counts.twins, 1u);
      EXPECT_EQ(counts.diffs, 1u);
      EXPECT_EQ(counts.diff_bytes, (3 + 5) * 4u + 2 * 4u);
      EXPECT_EQ(counts.invalidations, 0u);
    } else {
      EXPECT_EQ(counts.fetches, 1u);
      EXPECT_EQ(counts.twins, 1u);
      EXPECT_EQ(counts.home_writes, 0u);
      EXPECT_EQ(counts.diff_bytes, 4u + 4u);
      EXPECT_EQ(counts.invalidations, 0u);
    }
    return right && !testing::Test::HasFailure();
  });
}

// FE-7
TEST(SharedPages, AnOutdatedCopyIsFetchedAgain) {
  together(2, 2, [](substrata_shared_pages* memory, uint32_t process) {
    auto* const words = values<uint32_t>(memory);
    for (uint32_t round = 1; round <= 3; ++round) {
      if (process == 0) *words = round;
      if (substrata_shared_pages_barrier(memory) != 0) return false;
      if (*words != round) return false;
      if (substrata_shared_pages_barrier(memory) != 0) return false;
    }
    const substrata_shared_pages_counts counts = counts_of(memory);
    return process == 0 ? counts.home_writes == 3 : counts.fetches == 3 && counts.invalidations == 2;
  });
}

void collect(void* owner, const substrata_transaction* batch, size_t count) {
  auto* const seen = static_cast<std::vector<substrata_transaction>*>(owner);
  seen->insert(seen->end(), batch, batch + count);
}

// FE-7
TEST(SharedPages, PublishesWhatItCounts) {
  std::vector<substrata_transaction> seen;
  substrata_observer* observer = nullptr;
  ASSERT_EQ(substrata_observer_create(collect, &seen, 0, &observer), 0);
  ASSERT_EQ(substrata_subscribe(observer, "shared-pages.*"), 0);
  substrata_shared_pages_counts counts{};
  together(2, 8, [&](substrata_shared_pages* memory, uint32_t process) {
    auto* const words = values<uint32_t>(memory);
    constexpr size_t kWords = kPage / sizeof(uint32_t);
    for (uint32_t round = 0; round < 3; ++round) {
      for (size_t page = 0; page < 8; ++page) words[page * kWords + process * 100 + round] = round + 1;
      if (substrata_shared_pages_barrier(memory) != 0) return false;
    }
    if (process == 0) counts = counts_of(memory);
    return true;
  });
  substrata_flush();
  uint64_t fetches = 0;
  uint64_t twins = 0;
  uint64_t diff_bytes = 0;
  uint64_t barriers = 0;
  uint64_t invalidations = 0;
  for (const substrata_transaction& each : seen) {
    fetches += each.kind == SUBSTRATA_PAGE_FETCH ? 1 : 0;
    twins += each.kind == SUBSTRATA_TWIN ? 1 : 0;
    diff_bytes += each.kind == SUBSTRATA_DIFF ? each.size : 0;
    barriers += each.kind == SUBSTRATA_BARRIER ? 1 : 0;
    invalidations += each.kind == SUBSTRATA_INVALIDATE ? 1 : 0;
    EXPECT_LE(each.start, each.time);
    EXPECT_EQ(each.initiator, 0u);
    if (each.kind == SUBSTRATA_PAGE_FETCH) {
      EXPECT_EQ(each.target, 1u);
      EXPECT_EQ(each.size, kPage);
      EXPECT_GE(each.address, 4u * kPage);
    }
  }
  EXPECT_GT(fetches, 0u);
  EXPECT_EQ(fetches, counts.fetches);
  EXPECT_EQ(twins, counts.twins);
  EXPECT_EQ(diff_bytes, counts.diff_bytes);
  EXPECT_EQ(barriers, counts.barriers);
  EXPECT_EQ(invalidations, counts.invalidations);
  substrata_observer_destroy(observer);
}

// FE-7
TEST(SharedPages, ThreadsOfOneProcessShareItsView) {
  together(2, 8, [](substrata_shared_pages* memory, uint32_t process) {
    auto* const words = values<uint32_t>(memory);
    constexpr size_t kWords = kPage / sizeof(uint32_t);
    if (process == 0) {
      std::vector<std::thread> threads;
      for (uint32_t thread = 0; thread < 4; ++thread) {
        threads.emplace_back([=] {
          for (size_t page = 0; page < 8; ++page) words[page * kWords + thread] = thread + 1;
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
    if (substrata_shared_pages_barrier(memory) != 0) return false;
    for (size_t page = 0; page < 8; ++page)
      for (uint32_t thread = 0; thread < 4; ++thread)
        if (words[page * kWords + thread] != thread + 1) return false;
    return true;
  });
}

// FE-7
TEST(SharedPages, AProcessThatEndsIsMissedAtTheBarrierAndNamed) {
  const std::string name = fresh_name();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const substrata_shared_pages_options wanted = options(name, 1, 2, 2);
    substrata_shared_pages* memory = nullptr;
    _exit(substrata_shared_pages_open(&wanted, &memory) == 0 ? 0 : 1);  // without a close
  }
  const substrata_shared_pages_options wanted = options(name, 0, 2, 2);
  substrata_shared_pages* memory = nullptr;
  ASSERT_EQ(substrata_shared_pages_open(&wanted, &memory), 0) << substrata_feed_error();
  EXPECT_EQ(substrata_shared_pages_barrier(memory), -3);
  EXPECT_NE(std::string(substrata_feed_error()).find("process 1 ended"), std::string::npos)
      << substrata_feed_error();
  EXPECT_EQ(substrata_shared_pages_lock(memory, 0), -3);
  substrata_shared_pages_close(memory);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  // The name is free again.
  EXPECT_TRUE(take_part(name, 0, 1, 2, [](substrata_shared_pages*, uint32_t) { return true; }));
}

// FE-7
TEST(SharedPages, WhatAKilledProgramLeftIsClearedAway) {
  const std::string name = fresh_name();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    take_part(name, 0, 1, 2, [](substrata_shared_pages* memory, uint32_t) {
      *values<uint32_t>(memory) = 42;
      kill(getpid(), SIGKILL);
      return true;
    });
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(take_part(name, 0, 1, 4, [](substrata_shared_pages* memory, uint32_t) {
    return *values<uint32_t>(memory) == 0;
  }));
}

TEST(SharedPages, SegmentationFaultsAreHandedOnAndTheHandlerIsPutBack) {
  struct sigaction before {};
  sigaction(SIGSEGV, nullptr, &before);
  const std::string name = fresh_name();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    struct sigaction own {};
    own.sa_handler = [](int) { _exit(17); };
    sigaction(SIGSEGV, &own, nullptr);
    take_part(name, 0, 1, 1, [](substrata_shared_pages*, uint32_t) {
      kill(getpid(), SIGSEGV);
      return true;
    });
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 17);
  // Of the same name, so that the file of the child, which left without a close, is cleared away.
  EXPECT_TRUE(take_part(name, 0, 1, 1, [](substrata_shared_pages*, uint32_t) { return true; }));
  struct sigaction after {};
  sigaction(SIGSEGV, nullptr, &after);
  EXPECT_EQ(before.sa_sigaction, after.sa_sigaction);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

std::string refusal(const substrata_shared_pages_options& wanted) {
  substrata_shared_pages* memory = nullptr;
  if (substrata_shared_pages_open(&wanted, &memory) == 0) {
    substrata_shared_pages_close(memory);
    return "opened";
  }
  return substrata_feed_error();
}

TEST(SharedPages, WrongOptionsAreRefusedWithWhatWasAsked) {
  const std::string name = fresh_name();
  substrata_shared_pages_options wanted = options(name, 2, 2, 1);
  EXPECT_NE(refusal(wanted).find("not 2 of 2"), std::string::npos);
  wanted = options(name, 0, 1, 0);
  EXPECT_NE(refusal(wanted).find("0 pages"), std::string::npos);
  wanted = options(name, 0, 1, 1);
  wanted.page_bytes = 100;
  EXPECT_NE(refusal(wanted).find("pages of 100 bytes"), std::string::npos);
  wanted = options(name, 0, 1, SUBSTRATA_SHARED_PAGES_MOST + 1);
  EXPECT_NE(refusal(wanted).find("larger pages"), std::string::npos);
  wanted = options(name, 0, 1, 1);
  wanted.name = "a/b";
  EXPECT_NE(refusal(wanted).find("'a/b'"), std::string::npos);
}

TEST(SharedPages, WhoComesAloneLearnsHowManyCame) {
  const std::string name = fresh_name();
  substrata_shared_pages_options wanted = options(name, 0, 2, 1);
  wanted.wait_ms = 1;
  EXPECT_NE(refusal(wanted).find("only 1 of 2 processes came"), std::string::npos);
}

TEST(SharedPages, ALockThatIsHeldOrNotHeldIsRefused) {
  EXPECT_TRUE(take_part(fresh_name(), 0, 1, 1, [](substrata_shared_pages* memory, uint32_t) {
    EXPECT_EQ(substrata_shared_pages_unlock(memory, 3), -1);
    EXPECT_EQ(substrata_shared_pages_lock(memory, 3), 0);
    EXPECT_EQ(substrata_shared_pages_lock(memory, 3), -1);
    EXPECT_EQ(substrata_shared_pages_lock(memory, SUBSTRATA_SHARED_PAGES_LOCKS), -1);
    EXPECT_EQ(substrata_shared_pages_unlock(memory, 3), 0);
    return true;
  }));
}

// Any user may make a file of this name before.
TEST(SharedPages, OfAFileThatOthersMayWriteAreRefused) {
  const std::string name = fresh_name();
  const std::string path = "/dev/shm/substrata-pages-" + std::to_string(geteuid()) + "-" + name;
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(fchmod(file, 0666), 0);
  close(file);
  const substrata_shared_pages_options wanted = options(name, 0, 1, 1);
  substrata_shared_pages* memory = nullptr;
  EXPECT_EQ(substrata_shared_pages_open(&wanted, &memory), -3);
  EXPECT_NE(std::string(substrata_feed_error()).find("remove it"), std::string::npos)
      << substrata_feed_error();
  substrata_shared_pages_close(memory);
  unlink(path.c_str());
}

}  // namespace
