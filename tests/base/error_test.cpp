// The texts of refusals: each thread's own, whatever happens to threads.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cerrno>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"

namespace {

using namespace substrata;

TEST(Refusals, ANewThreadWasRefusedNothing) {
  refuse(Code::kInvalid, "of the first thread");
  std::string text = "not asked";
  std::thread([&] { text = last_refusal(); }).join();
  EXPECT_EQ(text, "");
}

TEST(Refusals, AnArgumentMayBeTheTextBefore) {
  refuse(Code::kInvalid, "no %s", "place");
  EXPECT_STREQ(refuse(Code::kSystem, "stop: %s", last_refusal()).note, "stop: no place");
}

TEST(Refusals, ATextThatIsTooLongIsCut) {
  EXPECT_EQ(std::string(refuse(Code::kInvalid, "%s", std::string(5000, 'x').c_str()).note),
            std::string(1023, 'x'));
}

TEST(Refusals, TheSystemsNumberIsKept) {
  const Status status = refuse_system(ENOENT, "no file");
  EXPECT_EQ(status.code, Code::kSystem);
  EXPECT_EQ(status.os_error, ENOENT);
}

TEST(Refusals, FailGivesTheCodeBack) {
  EXPECT_EQ(fail(Code::kNoEvent, "no event"), -7);
  EXPECT_STREQ(last_refusal(), "no event");
}

TEST(Refusals, ANoteOfASubstrateIsCopied) {
  char note[] = "its own";
  const Status status = keep_note({Code::kInvalid, 0, note});
  note[0] = 'X';
  EXPECT_STREQ(status.note, "its own");
  EXPECT_STREQ(last_refusal(), "its own");
}

TEST(Refusals, TheErrorNumberOfTheSystemIsLeftAsItWas) {
  std::thread([] {
    errno = EINTR;
    refuse(Code::kInvalid, "a thread's first");
    EXPECT_EQ(errno, EINTR);
  }).join();
}

TEST(Refusals, HundredThreadsAtOnceHaveATextEach) {
  constexpr int kThreads = 100;
  std::barrier all(kThreads);
  std::vector<std::string> seen(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      refuse(Code::kInvalid, "thread %d", i);
      all.arrive_and_wait();
      seen[static_cast<size_t>(i)] = last_refusal();
      all.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], "thread " + std::to_string(i));
}

TEST(Refusals, AThousandThreadsInTurnTakeNoMoreThanTheirTurnNeeds) {
  // The places of threads that have ended are taken again: a page-sized pool would grow by megabytes
  // otherwise.
  std::vector<const char*> places;
  for (int i = 0; i < 1000; ++i) {
    std::thread([&] { places.push_back(refuse(Code::kInvalid, "one of many").note); }).join();
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  EXPECT_LE(places.size(), 200u);
}

TEST(Refusals, AForkedChildKeepsItsText) {
  refuse(Code::kInvalid, "of the parent");
  const pid_t child = fork();
  if (child == 0) {
    bool right = std::string(last_refusal()) == "of the parent";
    // Other threads of the child take places of their own, also when those of the parent are reckoned as
    // free.
    const std::string mine = refuse(Code::kInvalid, "of the child").note;
    for (int i = 0; i < 100; ++i) std::thread([] { refuse(Code::kInvalid, "of a thread"); }).join();
    right = right && mine == "of the child" && std::string(last_refusal()) == mine;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

void refuse_in_handler(int) { refuse(Code::kBug, "in the handler"); }

TEST(Refusals, AHandlerMayBeAThreadsFirstRefusal) {
  std::thread([] {
    std::signal(SIGUSR1, refuse_in_handler);
    std::raise(SIGUSR1);
    EXPECT_STREQ(last_refusal(), "in the handler");
    std::signal(SIGUSR1, SIG_DFL);
  }).join();
}

}  // namespace
