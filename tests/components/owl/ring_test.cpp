// Rings: policies, counts of what is dropped or overwritten, readers in another process that are stopped and
// killed.
#include <fcntl.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "ring_feeding.hpp"
#include "support/temporary_folder.hpp"

namespace substrata::owl::test {
namespace {

constexpr uint64_t kRecords = tests::kSanitized ? 100'000 : 2'000'000;

TEST(OwlRing, DropsWhatFindsNoSpaceAndCountsIt) {  // OW-4
  RingProducer ring;
  ASSERT_EQ(ring.create(nullptr, 4096, SUBSTRATA_OWL_DROP_NEW, 75), 0);
  ring.publish();
  uint64_t written = 0;
  for (uint64_t i = 0; i < 1000; ++i) written += put(ring, i) ? 1 : 0;
  EXPECT_EQ(written, 512u / 3);  // three words a record
  substrata_owl_reader reader;
  ASSERT_EQ(reader.open(ring.memory().path().c_str(), 0), 0);
  for (uint64_t i = 0; i < written; ++i) EXPECT_EQ(next(reader), i);
  EXPECT_EQ(next(reader), kNone);
  EXPECT_EQ(reader.lost(), 0u);
  EXPECT_TRUE(put(ring, 7));
  EXPECT_EQ(next(reader), 7u);
}

TEST(OwlRing, KeepsPacketsOfEverySizeInOrderOverManyRounds) {
  ReadRing both(SUBSTRATA_OWL_DROP_NEW);
  auto& [ring, reader] = both;
  std::mt19937 random(3);
  uint64_t sent = 0, got = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 2 == 0) {
      sent += put(ring, sent, nullptr, random() % 200) ? 1 : 0;
    } else if (const uint64_t value = next(reader); value != kNone) {
      ASSERT_EQ(value, got);
      ++got;
    }
  }
  for (uint64_t value = next(reader); value != kNone; value = next(reader)) ASSERT_EQ(value, got++);
  EXPECT_EQ(got, sent);
}

TEST(OwlRing, OverwritesTheOldestAndTheReaderCountsExactlyWhatItMissed) {  // OW-4
  ReadRing both(SUBSTRATA_OWL_OVERWRITE_OLD);
  auto& [ring, reader] = both;
  std::mt19937 random(4);
  uint64_t sent = 0, read = 0;
  for (int i = 0; i < 5000; ++i) {
    if (random() % 4 != 0) {
      ASSERT_TRUE(put(ring, sent++, nullptr, random() % 100));
    } else {
      uint64_t sequence = 0;
      const uint64_t value = next(reader, &sequence);
      if (value == kNone) continue;
      ++read;
      ASSERT_EQ(value, sequence);
      ASSERT_EQ(read + reader.lost(), sequence + 1);
    }
  }
  while (next(reader) != kNone) ++read;
  EXPECT_EQ(read + reader.lost(), sent);
  EXPECT_GT(reader.lost(), 0u);
  EXPECT_EQ(ring.lost(), reader.lost());
}

TEST(OwlRing, SignalsNearFullOnceForEachPassOfTheMark) {  // OW-4
  ReadRing both(SUBSTRATA_OWL_DROP_NEW, 50);
  auto& [ring, reader] = both;
  int signals = 0;
  bool near = false;
  for (int i = 0; i < 150; ++i) {
    put(ring, 1, &near);
    signals += near ? 1 : 0;
    EXPECT_EQ(signals, i >= 85 ? 1 : 0) << i;  // 86 records are 258 of 512 words
  }
  EXPECT_EQ(reader.wait(0), 1);
  EXPECT_EQ(reader.wait(0), 0);
  while (next(reader) != kNone) {
  }
  for (int i = 0; i < 150; ++i) {
    put(ring, 1, &near);
    signals += near ? 1 : 0;
  }
  EXPECT_EQ(signals, 2);
}

TEST(OwlRing, ProducerAndReaderInTwoThreadsLoseNothing) {  // OW-4
  RingProducer ring;
  ASSERT_EQ(ring.create(nullptr, 1 << 14, SUBSTRATA_OWL_DROP_NEW, 75), 0);
  ring.publish();
  std::atomic<bool> done{false};
  uint64_t sent = 0, dropped = 0;
  std::thread producer([&] {
    for (uint64_t i = 0; i < kRecords; ++i) {
      if (put(ring, sent)) {
        ++sent;
      } else {
        ++dropped;
        std::this_thread::yield();
      }
    }
    done = true;
  });
  substrata_owl_reader reader;
  ASSERT_EQ(reader.open(ring.memory().path().c_str(), 0), 0);
  uint64_t expected = 0;
  while (true) {
    const bool last = done;
    const uint64_t value = next(reader);
    if (value != kNone) {
      ASSERT_EQ(value, expected);
      ++expected;
    } else if (last) {
      break;
    } else {
      std::this_thread::yield();
    }
  }
  producer.join();
  EXPECT_EQ(expected, sent);
  EXPECT_EQ(sent + dropped, kRecords);
  EXPECT_EQ(reader.lost(), 0u);
}

TEST(OwlRing, OverwritingUnderAReaderNeverShowsATornPacket) {  // OW-4
  RingProducer ring;
  ASSERT_EQ(ring.create(nullptr, 4096, SUBSTRATA_OWL_OVERWRITE_OLD, 75), 0);
  ring.publish();
  std::atomic<bool> done{false};
  std::thread producer([&] {
    for (uint64_t i = 0; i < kRecords / 4; ++i) {
      const uint64_t packet[4] = {i, ~i, i * 3, i ^ 0x5555};
      bool near = false;
      ring.push(packet, sizeof packet, 0, &near);
    }
    done = true;
  });
  substrata_owl_reader reader;
  ASSERT_EQ(reader.open(ring.memory().path().c_str(), 0), 0);
  uint64_t read = 0;
  while (true) {
    const bool last = done;
    uint64_t words[4] = {};
    substrata_owl_packet packet{};
    const int status = reader.peek(&packet, words, sizeof words);
    ASSERT_GE(status, 0) << substrata_owl_error();
    if (status == 1) {
      ASSERT_EQ(words[0], packet.sequence);
      ASSERT_EQ(words[1], ~words[0]);
      ASSERT_EQ(words[2], words[0] * 3);
      ASSERT_EQ(words[3], words[0] ^ 0x5555);
      ++read;
      reader.consume();
      ASSERT_EQ(read + reader.lost(), packet.sequence + 1);
    } else if (last) {
      break;
    }
  }
  producer.join();
  EXPECT_EQ(read + reader.lost(), kRecords / 4);
}

// Reads in a process of its own: each value must be one more than the last one that any reader before it
// consumed. Exits with 0 when it has met `last`.
[[noreturn]] void read_in_child(const char* path, std::atomic<uint64_t>* consumed, uint64_t last) {
  substrata_owl_reader* reader = nullptr;
  if (substrata_owl_reader_open(path, 0, &reader) != 0) _exit(3);
  bool first = true;
  uint64_t before = 0;
  while (true) {
    substrata_owl_packet packet{};
    uint64_t value = 0;
    const int status = substrata_owl_reader_peek(reader, &packet, &value, sizeof value);
    if (status < 0) _exit(4);
    if (status == 0) {
      sched_yield();
      continue;
    }
    if (packet.sequence != value || substrata_owl_reader_lost(reader) != 0) _exit(5);
    const uint64_t so_far = consumed->load();
    // Killed between the two, the one before has consumed one more than it said.
    if (first ? value != so_far && value != so_far + 1 : value != before + 1) _exit(6);
    first = false;
    before = value;
    substrata_owl_reader_consume(reader);
    consumed->store(value + 1);
    if (value == last) _exit(0);
  }
}

TEST(OwlRing, ConsumerInAnotherProcessMayBeStoppedKilledAndStartedAnew) {  // OW-4
  void* const shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const consumed = new (shared) std::atomic<uint64_t>(0);
  RingProducer ring;
  ASSERT_EQ(ring.create(nullptr, 1 << 16, SUBSTRATA_OWL_DROP_NEW, 75), 0);
  ring.publish();
  const std::string path = ring.memory().path();
  constexpr uint64_t kSent = kRecords / 4;
  constexpr int kKills = 5;
  const auto begin = [&] {
    const pid_t child = fork();
    if (child == 0) read_in_child(path.c_str(), consumed, kSent - 1);
    return child;
  };
  pid_t child = begin();
  ASSERT_GT(child, 0);
  for (uint64_t value = 0; value < kSent;) {
    if (put(ring, value)) {
      ++value;
    } else {
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, WNOHANG), 0) << "the reader ended with " << WEXITSTATUS(status);
      sched_yield();
    }
    if (value % (kSent / kKills) == kSent / kKills / 2) {
      if (value % 2 == 0) {
        kill(child, SIGSTOP);
        for (int i = 0; i < 1000 && value + 1 < kSent; ++i) value += put(ring, value) ? 1 : 0;
        kill(child, SIGCONT);
      }
      kill(child, SIGKILL);
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      if (WIFEXITED(status)) FAIL() << "the reader ended with " << WEXITSTATUS(status);
      child = begin();
      ASSERT_GT(child, 0);
      if (put(ring, value)) ++value;
    }
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(consumed->load(), kSent);
  munmap(shared, 4096);
}

TEST(OwlRing, FilesThatAreNoRingsAreRefused) {
  const substrata::tests::TemporaryFolder folder;
  const std::string path = folder.file("ring");
  substrata_owl_reader* reader = nullptr;
  EXPECT_EQ(substrata_owl_reader_open(path.c_str(), 0, &reader), -3);
  std::ofstream(path) << "short";
  EXPECT_EQ(substrata_owl_reader_open(path.c_str(), 0, &reader), -1);
  const std::string text(100'000, 'x');
  std::ofstream(path) << text;
  EXPECT_EQ(substrata_owl_reader_open(path.c_str(), 0, &reader), -1);
  const int memory = memfd_create("no ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(write(memory, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ASSERT_EQ(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_EQ(substrata_owl_reader_open(("/proc/self/fd/" + std::to_string(memory)).c_str(), 0, &reader), -1);
  EXPECT_NE(std::string(substrata_owl_error()).find("header"), std::string::npos);
  close(memory);
}

TEST(OwlRing, DamagedWordsAreFoundAndNeverReadOutside) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RingProducer ring;
    ASSERT_EQ(ring.create(nullptr, 4096, SUBSTRATA_OWL_DROP_NEW, 75), 0);
    ring.publish();
    std::mt19937_64 random(seed);
    for (uint64_t i = 0; i < 50; ++i) put(ring, i, nullptr, static_cast<uint32_t>(random() % 100));
    for (int i = 0; i < 10; ++i) ring.memory().words()[random() % 512] = random() >> (random() % 64);
    substrata_owl_reader reader;
    ASSERT_EQ(reader.open(ring.memory().path().c_str(), 0), 0);
    for (int i = 0; i < 100; ++i) static_cast<void>(next(reader));
  }
}

}  // namespace
}  // namespace substrata::owl::test
