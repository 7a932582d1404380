// The time of the program's MPI calls: what lies between them is the program's computing. And the tests and
// polls that cost too much if each were timed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "sources/mpi/host_clock.hpp"
#include "sources/mpi/mpi_library.hpp"

namespace substrata::mpi {

// What the shim keeps of the calling thread.
struct ThisThread {
  uint32_t depth = 0;          // of calls within calls
  uint32_t quiet = 0;          // so many further polls the last timed one stands for
  uint32_t polls = 0;          // of the first few after a call that is not a poll, which are all timed
  int64_t polled = 0;          // ticks of the time-stamp counter that they took
  int64_t entered_at = 0;      // the same counter when the last call began
  int64_t left_at = -1;        // processor time when it ended
  bool has_noticed = false;    // a message has arrived in the present call
  uint64_t collective = 0;     // number of the blocking collective operation that the present call is, or 0
  bool is_setting_up = false;  // what the present call sends inside the library is for no operation
  ThreadTime time;
};
inline constinit thread_local ThisThread this_thread;

// One MPI call of the program, for its duration: its time does not count as the program's computing, and when it ends
// the messages that it received are accounted. Calls within calls (a binding, another tool) are not looked
// at.
class Call {
 public:
  Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();
  static bool inside() { return this_thread.depth != 0; }
};

// Tests that go straight on to the MPI library, with no end here. While they find nothing the kernel runs
// other processes, and then each function on the stack takes as long to return to as the library's own.
// Allowed while every receive that is not done has a completion callback, and one thread calls at a time. One
// cache line.
struct alignas(64) QuickTests {
  static constexpr int kMost = 4;  // requests in one
  uint32_t left = 0;               // so many may come
  int count = 0;                   // of the requests that the last one asked for
  std::array<MPI_Request, kMost> asked{};
  int (*test)(MPI_Request*, int*, MPI_Status*) = nullptr;  // the MPI library's
  int (*test_any)(int, MPI_Request*, int*, int*, MPI_Status*) = nullptr;

  // One of those that are left asks for these; at most kMost.
  void ask(const MPI_Request* requests, int number) {
    --left;
    count = number;
    std::copy(requests, requests + number, asked.begin());
  }
  bool asks_for(MPI_Request request) const {
    return std::find(asked.begin(), asked.begin() + count, request) != asked.begin() + count;
  }
};
inline constinit QuickTests quick_tests;
// None comes; so many polls remain untimed.
inline void stop_quick_tests() {
  QuickTests& quick = quick_tests;
  if (quick.left == 0 && quick.count == 0) return;
  this_thread.quiet += quick.left;
  quick.left = 0;
  quick.count = 0;
}
// Finds the functions that quick tests go to. False when another tool stands before them, which would call
// this one again.
bool find_quick_tests();

// As Call, for a call that only looks whether something has happened: a program does that a hundred times a
// message. Of many in a row one in so many is timed, for all of them.
class Poll {
 public:
  Poll() {
    ThisThread& mine = this_thread;
    ++mine.depth;
    stop_quick_tests();
    if (mine.quiet != 0) {
      --mine.quiet;
    } else if (mine.polls < kAllTimed) {
      ++mine.polls;
      begin(1);
    } else {
      mine.quiet = kTimed - 1;
      begin(kTimed);
    }
  }
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;
  static bool inside() { return Call::inside(); }
  ~Poll() {
    --this_thread.depth;
    if (stands_for_ != 0 || this_thread.has_noticed) end();
  }

 private:
  static constexpr uint32_t kAllTimed = 4;
  static constexpr uint32_t kTimed = 32;
  void begin(uint32_t stands_for) {
    stands_for_ = stands_for;
    began_ = real_cycles();
  }
  void end();
  int64_t began_ = 0;
  uint32_t stands_for_ = 0;  // so many polls; 0: this one is not timed
};

}  // namespace substrata::mpi
