// Signals that are handled for a while, and the program's own actions before, meanwhile and after.
#include "base/borrowed_signal.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

namespace {

using substrata::BorrowedSignal;

int ours = 0, programs = 0;
void handle(int, siginfo_t*, void*) { ++ours; }
void of_the_program(int) { ++programs; }

void (*handler_of(int number))(int) {
  struct sigaction now = {};
  sigaction(number, nullptr, &now);
  return now.sa_handler;
}

class Borrowing : public testing::Test {
 protected:
  void SetUp() override {
    ours = programs = 0;
    signal(kNumber, SIG_DFL);
  }
  void TearDown() override { signal(kNumber, SIG_DFL); }
  const int kNumber = SIGRTMIN + 5;
  BorrowedSignal borrowed{handle};
};

TEST_F(Borrowing, LastReleaseBringsTheFormerActionBack) {
  signal(kNumber, of_the_program);
  ASSERT_EQ(borrowed.hold(kNumber), kNumber);
  ASSERT_EQ(borrowed.hold(kNumber), kNumber);
  borrowed.release();
  raise(kNumber);
  EXPECT_EQ(ours, 1);
  borrowed.release();
  EXPECT_EQ(handler_of(kNumber), of_the_program);
}

TEST_F(Borrowing, HandlerThatTheProgramInstalledMeanwhileStays) {
  ASSERT_EQ(borrowed.hold(kNumber), kNumber);
  signal(kNumber, of_the_program);
  borrowed.release();
  raise(kNumber);
  EXPECT_EQ(programs, 1);
}

TEST_F(Borrowing, SignalOfTheProgramIsNotTakenWhereTheDefaultActionIsAskedFor) {
  signal(kNumber, of_the_program);
  EXPECT_EQ(borrowed.hold_if_default(kNumber), -EBUSY);
  signal(kNumber, SIG_IGN);
  EXPECT_EQ(borrowed.hold_if_default(kNumber), -EBUSY);
  EXPECT_EQ(borrowed.number(), 0);
}

TEST_F(Borrowing, FreeSignalIsTheFirstInEitherDirection) {
  signal(kNumber, of_the_program);
  EXPECT_EQ(borrowed.hold_free(kNumber, kNumber + 2), kNumber + 1);
  borrowed.release();
  EXPECT_EQ(borrowed.hold_free(kNumber, kNumber - 2), kNumber - 1);
  borrowed.release();
}

TEST_F(Borrowing, WhatIsQueuedAtTheLastReleaseDoesNotEndTheProcess) {
  ASSERT_EQ(borrowed.hold(kNumber), kNumber);
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, kNumber);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  raise(kNumber);
  borrowed.release();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(handler_of(kNumber), SIG_DFL);
}

TEST_F(Borrowing, HandlerOfOursThatTheProgramBroughtBackIsNotPassedOnToItself) {
  ASSERT_EQ(borrowed.hold(kNumber), kNumber);
  struct sigaction kept = {};
  sigaction(kNumber, nullptr, &kept);
  signal(kNumber, of_the_program);
  borrowed.release();
  sigaction(kNumber, &kept, nullptr);
  ASSERT_EQ(borrowed.hold(kNumber), kNumber);
  borrowed.release();
  EXPECT_EQ(handler_of(kNumber), SIG_DFL);
}

}  // namespace
