// What the tests of rings share: packets of one number, and memory for what a child process reports.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <new>

#include "feeding.hpp"
#include "owl/ring.hpp"

namespace substrata::owl::test {

constexpr uint64_t kNone = ~uint64_t{0};

// A packet of the value and `extra` bytes behind it. False: dropped.
inline bool put(RingProducer& ring, uint64_t value, bool* near_full = nullptr, uint32_t extra = 0,
                uint32_t stage = 0) {
  unsigned char packet[SUBSTRATA_OWL_MOST_PACKET];
  std::memcpy(packet, &value, 8);
  std::memset(packet + 8, 0, extra);
  bool near = false;
  const bool written = ring.push(packet, 8 + extra, stage, &near);
  if (near_full != nullptr) *near_full = near;
  return written;
}

// The next value, or kNone.
inline uint64_t next(substrata_owl_reader& reader, uint64_t* sequence = nullptr, bool consume = true) {
  unsigned char data[SUBSTRATA_OWL_MOST_PACKET];
  substrata_owl_packet packet{};
  if (reader.peek(&packet, data, sizeof data) != 1) return kNone;
  uint64_t value = 0;
  std::memcpy(&value, data, 8);
  if (sequence != nullptr) *sequence = packet.sequence;
  if (consume) reader.consume();
  return value;
}

// A ring of 4096 bytes that a reader has open.
struct ReadRing {
  explicit ReadRing(uint32_t policy, uint32_t near_full_percent = 75) {
    EXPECT_EQ(ring.create(nullptr, 4096, policy, near_full_percent), 0);
    ring.publish();
    EXPECT_EQ(reader.open(ring.memory().path().c_str(), 0), 0);
  }
  RingProducer ring;
  substrata_owl_reader reader;
};

// Packets that are still in the ring, all consumed.
inline uint64_t count_left(RingProducer& ring) {
  substrata_owl_reader reader;
  EXPECT_EQ(reader.open(ring.memory().path().c_str(), 0), 0) << substrata_owl_error();
  uint64_t count = 0;
  while (next(reader) != kNone) ++count;
  return count;
}

// One T that this process and its children have in common.
template <typename T>
class Common {
 public:
  Common()
      : at_(new (mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) T{}) {}
  ~Common() { munmap(at_, sizeof(T)); }
  Common(const Common&) = delete;
  Common& operator=(const Common&) = delete;
  T* operator->() const { return at_; }
  T& operator*() const { return *at_; }

 private:
  T* at_;
};

// The exit status of `work` in a child process; -N where signal N ended it.
template <typename Work>
int status_in_child(const Work& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 255;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace substrata::owl::test
