// Rings against what others do to them: consumers that come, go, are killed or lie; forks; files cut short, memory
// that runs out. docs/reference/owl_ring.md says what happens in each case.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "ring_feeding.hpp"
#include "support/temporary_folder.hpp"

namespace substrata::owl::test {
namespace {

constexpr uint64_t kRecords = tests::kSanitized ? 100'000 : 1'000'000;

class OwlRingProtocol : public testing::Test {
 protected:
  void make(uint32_t policy, uint64_t bytes = 4096, const char* path = nullptr) {
    ASSERT_EQ(ring.create(path, bytes, policy, 75), 0) << substrata_owl_error();
    ring.publish();
  }
  void send(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) sent += put(ring, sent) ? 1 : 0;
  }
  const char* path() { return ring.memory().path().c_str(); }
  RingProducer ring;
  uint64_t sent = 0;
};

TEST_F(OwlRingProtocol, LostPacketsAreCountedOnceWhenTheRingIsReopenedWithoutConsuming) {  // OW-4
  make(SUBSTRATA_OWL_OVERWRITE_OLD);
  for (int round = 0; round < 3; ++round) {
    send(1000);
    substrata_owl_reader reader;
    ASSERT_EQ(reader.open(path(), 0), 0);
    EXPECT_NE(next(reader, nullptr, false), kNone);
  }
  const uint64_t lost = ring.lost();
  // The packet that the consumers looked at is none of the lost ones; the two before were overwritten later.
  EXPECT_EQ(lost + count_left(ring) + 2, sent);
}

TEST_F(OwlRingProtocol, OverwritingWithoutAConsumerCountsEveryPacketThatIsGone) {  // OW-4
  make(SUBSTRATA_OWL_OVERWRITE_OLD);
  send(1000);
  const uint64_t lost = ring.lost();
  EXPECT_GT(lost, 800u);
  EXPECT_EQ(lost + count_left(ring), sent);
}

TEST_F(OwlRingProtocol, ALaterReaderCountsAgainOnlyWhatItMissedItself) {
  make(SUBSTRATA_OWL_OVERWRITE_OLD);
  send(1000);
  const uint64_t read = count_left(ring);
  substrata_owl_reader reader;
  ASSERT_EQ(reader.open(path(), 0), 0);
  send(10);
  EXPECT_EQ(next(reader), 1000u) << read;
  EXPECT_EQ(reader.lost(), 0u);
}

TEST_F(OwlRingProtocol, APacketThatNeedsMostOfAnEmptyRingIsNotDroppedNearItsEnd) {  // OW-4
  make(SUBSTRATA_OWL_DROP_NEW);
  substrata_owl_reader reader;
  ASSERT_EQ(reader.open(path(), 0), 0);
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(put(ring, i, nullptr, i % 2 == 0 ? 0 : 4050)) << i;
    ASSERT_EQ(next(reader), i);
  }
}

TEST_F(OwlRingProtocol, PacketsAlmostAsLongAsTheRingPassWhereOldOnesAreOverwritten) {
  make(SUBSTRATA_OWL_OVERWRITE_OLD);
  substrata_owl_reader reader;
  ASSERT_EQ(reader.open(path(), 0), 0);
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(put(ring, 2 * i, nullptr, 4000));
    ASSERT_TRUE(put(ring, 2 * i + 1, nullptr, 4000 - i));
    ASSERT_EQ(next(reader), 2 * i + 1);
  }
  EXPECT_EQ(reader.lost(), 100u);
  EXPECT_EQ(ring.lost(), 100u);
}

TEST_F(OwlRingProtocol, APacketOfTheHighestStageArrivesAndNoOtherWithIt) {
  make(SUBSTRATA_OWL_DROP_NEW);
  ASSERT_TRUE(put(ring, 5, nullptr, 8, 0xffffffff));
  ASSERT_TRUE(put(ring, 6));
  substrata_owl_reader reader;
  ASSERT_EQ(reader.open(path(), 0), 0);
  uint64_t words[2];
  substrata_owl_packet packet{};
  ASSERT_EQ(reader.peek(&packet, words, sizeof words), 1);
  EXPECT_EQ(packet.stage, 0xffffffffu);
  EXPECT_EQ(packet.bytes, 16u);
  EXPECT_EQ(words[0], 5u);
  reader.consume();
  EXPECT_EQ(next(reader), 6u);
  EXPECT_EQ(next(reader), kNone);
}

TEST_F(OwlRingProtocol, ASecondConsumerIsRefusedAndAWatcherIsNot) {  // OW-4
  make(SUBSTRATA_OWL_DROP_NEW);
  send(3);
  substrata_owl_reader first, second, watcher, late;
  ASSERT_EQ(first.open(path(), 0), 0);
  EXPECT_EQ(second.open(path(), 0), -8);
  EXPECT_NE(std::string(substrata_owl_error()).find("has a consumer already"), std::string::npos);
  EXPECT_EQ(watcher.open(path(), SUBSTRATA_OWL_WATCH), 0);
  EXPECT_EQ(next(watcher), 0u);
  EXPECT_EQ(next(first), 0u);
}

TEST_F(OwlRingProtocol, AKilledConsumerMakesPlaceForTheNext) {  // OW-4
  make(SUBSTRATA_OWL_DROP_NEW);
  send(3);
  EXPECT_EQ(status_in_child([&] {
              static substrata_owl_reader reader;
              if (reader.open(path(), 0) != 0 || next(reader) != 0) return 1;
              raise(SIGKILL);
              return 2;
            }),
            -SIGKILL);
  substrata_owl_reader reader;
  ASSERT_EQ(reader.open(path(), 0), 0) << substrata_owl_error();
  EXPECT_EQ(next(reader), 1u);
}

TEST_F(OwlRingProtocol, AForkedChildThatPublishesDropsItsPacketsAndLeavesTheRingAlone) {  // OW-4
  make(SUBSTRATA_OWL_DROP_NEW);
  send(10);
  EXPECT_EQ(status_in_child([&] {
              int dropped = 0;
              for (uint64_t i = 0; i < 50; ++i) dropped += put(ring, 1000 + i) ? 0 : 1;
              return dropped;
            }),
            50);
  send(10);
  substrata_owl_reader reader;
  ASSERT_EQ(reader.open(path(), 0), 0);
  for (uint64_t i = 0; i < 20; ++i) EXPECT_EQ(next(reader), i);
  EXPECT_EQ(next(reader), kNone);
}

TEST_F(OwlRingProtocol, AChildThatEndsLeavesItsParentsRingItsName) {
  const substrata::tests::TemporaryFolder folder;
  make(SUBSTRATA_OWL_DROP_NEW, 4096, folder.file("ring").c_str());
  EXPECT_EQ(status_in_child([&] {
              ring.~RingProducer();
              return 0;
            }),
            0);
  send(1);
  EXPECT_EQ(count_left(ring), 1u);
}

// A producer in a process of its own whose ring another cuts to nothing.
int produce_while_cut(const char* path) {
  static RingProducer ring;
  if (ring.create(path, 1 << 20, SUBSTRATA_OWL_OVERWRITE_OLD, 75) != 0) return 1;
  ring.publish();
  put(ring, 1);
  static_cast<void>(!truncate(ring.memory().path().c_str(), 0));
  for (uint64_t i = 0; i < 100'000; ++i) put(ring, i);
  return 0;
}

TEST(OwlRingCutShort, DoesNotEndTheProducer) {
  EXPECT_EQ(status_in_child([] { return produce_while_cut(nullptr); }), 0);
}

TEST(OwlRingCutShort, DoesNotEndTheProducerOfANamedRing) {
  const substrata::tests::TemporaryFolder folder;
  EXPECT_EQ(status_in_child([&] { return produce_while_cut(folder.file("ring").c_str()); }), 0);
}

TEST(OwlRingMemory, IsReservedBeforeThereIsAnythingInIt) {
  RingProducer ring;
  ASSERT_EQ(ring.create(nullptr, 1 << 20, SUBSTRATA_OWL_DROP_NEW, 75), 0);
  struct stat about {};
  ASSERT_EQ(stat(ring.memory().path().c_str(), &about), 0);
  EXPECT_GE(about.st_blocks * 512, 1 << 20);
}

// Gives the calling child mounts of its own, as its user namespace's root where it is not root.
bool may_mount() {
  const unsigned user = geteuid(), group = getegid();
  if (unshare(user == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  if (user != 0) {  // a file in there needs an owner and a group
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
    std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
  }
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

TEST(OwlRingMemory, AFullFileSystemBehindTheNameDoesNotEndTheProducer) {
  const substrata::tests::TemporaryFolder folder;
  const std::string path = folder.file("ring");
  const int status = status_in_child([&] {
    const std::string small = std::filesystem::path(path).parent_path();
    if (!may_mount() || mount("none", small.c_str(), "tmpfs", 0, "size=65536") != 0) return 77;
    static RingProducer ring;
    if (ring.create(path.c_str(), 1 << 20, SUBSTRATA_OWL_DROP_NEW, 75) != 0) return 1;
    ring.publish();
    for (uint64_t i = 0; i < 40'000; ++i) put(ring, i);
    return 0;
  });
  if (status == 77) GTEST_SKIP() << "this user may not mount a small file system";
  EXPECT_EQ(status, 0);
}

TEST(OwlRingMemory, MoreThanTheProcessMayWriteIsRefusedWithoutASignal) {
  EXPECT_EQ(status_in_child([] {
              const rlimit limit{8192, 8192};
              setrlimit(RLIMIT_FSIZE, &limit);
              static RingProducer ring;
              return -ring.create(nullptr, 1 << 20, SUBSTRATA_OWL_DROP_NEW, 75);
            }),
            3);
}

TEST(OwlRingName, OfAnEndedProgramIsReplacedAndAFileIsNot) {
  const substrata::tests::TemporaryFolder folder;
  const std::string path = folder.file("ring");
  EXPECT_EQ(status_in_child([&] {
              static RingProducer ring;
              return ring.create(path.c_str(), 4096, SUBSTRATA_OWL_DROP_NEW, 75);
            }),
            0);
  EXPECT_TRUE(std::filesystem::is_symlink(path));
  {
    RingProducer ring, second;
    EXPECT_EQ(ring.create(path.c_str(), 4096, SUBSTRATA_OWL_DROP_NEW, 75), 0) << substrata_owl_error();
    EXPECT_EQ(second.create(path.c_str(), 4096, SUBSTRATA_OWL_DROP_NEW, 75), -3);
  }
  EXPECT_FALSE(std::filesystem::is_symlink(path));
  std::ofstream(path) << "something";
  RingProducer ring;
  EXPECT_EQ(ring.create(path.c_str(), 4096, SUBSTRATA_OWL_DROP_NEW, 75), -3);
}

TEST(OwlRingMemory, AFileThatAnotherCouldCutUnderTheReaderIsRefused) {
  const substrata::tests::TemporaryFolder folder;
  const std::string path = folder.file("ring");
  RingProducer ring;
  ASSERT_EQ(ring.create(nullptr, 4096, SUBSTRATA_OWL_DROP_NEW, 75), 0);
  ring.publish();
  std::ofstream(path, std::ios::binary) << std::ifstream(ring.memory().path(), std::ios::binary).rdbuf();
  substrata_owl_reader reader;
  EXPECT_EQ(reader.open(path.c_str(), 0), -1);
  EXPECT_NE(std::string(substrata_owl_error()).find("not sealed"), std::string::npos);
}

// What a consumer does to everything that it may write, in its own mapping.
void scribble(const std::string& path, const std::atomic<bool>& done) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(file, 0);
  constexpr size_t kBytes = kRingOffset + 4096;
  void* const at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  ASSERT_NE(at, MAP_FAILED);
  auto* const words = static_cast<std::atomic<uint64_t>*>(at);
  std::mt19937_64 random(9);
  while (!done) {
    const uint64_t word = random() >> (random() % 64);
    words[random() % (kBytes / 8)].store(word, std::memory_order_relaxed);
    // The words that the producer reads, more often, and with places that could be.
    auto* const header = static_cast<RingHeader*>(at);
    header->tail.store(random() % 4096, std::memory_order_relaxed);
    header->next.store(random() % 4096, std::memory_order_relaxed);
  }
  munmap(at, kBytes);
}

class OwlRingHostile : public testing::TestWithParam<uint32_t> {};

TEST_P(OwlRingHostile, AConsumerThatScribblesOverEveryWordChangesNoCountOfTheProducers) {  // OW-4
  RingProducer ring;
  ASSERT_EQ(ring.create(nullptr, 4096, GetParam(), 75), 0);
  ring.publish();
  std::atomic<bool> done{false};
  std::thread hostile(scribble, ring.memory().path(), std::cref(done));
  uint64_t written = 0, dropped = 0;
  std::mt19937 random(5);
  uint64_t most_lost = 0;
  for (uint64_t i = 0; i < kRecords; ++i) {
    ++(put(ring, i, nullptr, random() % 200) ? written : dropped);
    ASSERT_LE(ring.lost(), written);
    ASSERT_GE(ring.lost(), most_lost);
    most_lost = ring.lost();
  }
  done = true;
  hostile.join();
  EXPECT_EQ(written + dropped, kRecords);
  EXPECT_EQ(GetParam() == SUBSTRATA_OWL_OVERWRITE_OLD ? dropped : ring.lost(), 0u);
}

TEST_P(OwlRingHostile, AReaderOfAMemoryThatChangesAsItLikesEndsAndReadsInside) {
  RingProducer ring;
  ASSERT_EQ(ring.create(nullptr, 4096, GetParam(), 75), 0);
  ring.publish();
  put(ring, 1);
  substrata_owl_reader reader;
  ASSERT_EQ(reader.open(ring.memory().path().c_str(), 0), 0);
  std::atomic<bool> done{false};
  std::thread hostile(scribble, ring.memory().path(), std::cref(done));
  for (uint64_t i = 0; i < kRecords / 100; ++i) static_cast<void>(next(reader));
  done = true;
  hostile.join();
}

// Packets of different lengths from one thread; in the other, consumers that look, consume, and come back.
TEST_P(OwlRingHostile, WhatIsReadAndWhatIsLostAreAllThatWasSentWhileConsumersComeAndGo) {  // OW-4
  RingProducer ring;
  ASSERT_EQ(ring.create(nullptr, 4096, GetParam(), 75), 0);
  ring.publish();
  std::atomic<bool> done{false};
  uint64_t sent = 0;
  std::thread producer([&] {
    std::mt19937 random(6);
    for (uint64_t i = 0; i < kRecords; ++i) {
      sent += put(ring, sent, nullptr, random() % 300) ? 1 : 0;
      if (random() % 512 == 0) std::this_thread::yield();
    }
    done = true;
  });
  std::mt19937 random(7);
  uint64_t given = 0, after = 0;
  for (bool last = false; !last;) {
    last = done;
    substrata_owl_reader reader;
    ASSERT_EQ(reader.open(ring.memory().path().c_str(), 0), 0) << substrata_owl_error();
    for (int i = static_cast<int>(random() % 1000); i > 0 || last; --i) {
      uint64_t sequence = 0;
      const uint64_t value = next(reader, &sequence, random() % 4 != 0);
      if (value == kNone) break;
      ASSERT_EQ(value, sequence);
      if (sequence + 1 == after) continue;  // the one that was looked at before
      ASSERT_GE(sequence, after);
      after = sequence + 1;
      ++given;
    }
  }
  producer.join();
  EXPECT_EQ(given + ring.lost(), sent);
}

INSTANTIATE_TEST_SUITE_P(Policies, OwlRingHostile,
                         testing::Values(SUBSTRATA_OWL_DROP_NEW, SUBSTRATA_OWL_OVERWRITE_OLD),
                         [](const auto& each) { return each.param == 0 ? "DropNew" : "OverwriteOld"; });

TEST(OwlCapsuleRing, TooSmallForTheModulesPacketsIsRefusedWithTheSizeThatWouldDo) {  // OW-1
  auto options = client::sized<substrata_owl_capsule_options>();
  options.probes = "owl.test.small*";
  options.module = "log";
  options.ring_bytes = 4096;
  substrata_owl_capsule* capsule = nullptr;
  ASSERT_EQ(substrata_owl_attach(&options, &capsule), -1);
  EXPECT_NE(std::string(substrata_owl_error()).find("16384 bytes would do"), std::string::npos)
      << substrata_owl_error();
  options.ring_bytes = 16384;
  ASSERT_EQ(substrata_owl_attach(&options, &capsule), 0) << substrata_owl_error();
  substrata_owl_detach(capsule);
}

}  // namespace
}  // namespace substrata::owl::test
