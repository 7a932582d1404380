// Page faults with addresses: every page the test touches for the first time, and no other of the range.
#include <gtest/gtest.h>
#include <substrata/feed.h>
#include <substrata/pages.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <substrata/result.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

// A range of fresh pages.
struct Range {
  explicit Range(size_t count) : page(static_cast<size_t>(sysconf(_SC_PAGESIZE))), bytes(count * page) {
    void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory = mapped == MAP_FAILED ? nullptr : static_cast<unsigned char*>(mapped);
    // One fault a page: no huge pages.
    if (memory != nullptr) madvise(memory, bytes, MADV_NOHUGEPAGE);
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() {
    if (memory != nullptr) munmap(memory, bytes);
  }
  uintptr_t low() const { return reinterpret_cast<uintptr_t>(memory); }
  bool holds(uint64_t address) const { return address - low() < bytes; }
  void touch(size_t index, size_t offset = 0) const {
    *static_cast<volatile unsigned char*>(memory + index * page + offset) = 1;
  }
  size_t page;
  size_t bytes;
  unsigned char* memory = nullptr;
};

struct Watching {
  Watching() {
    EXPECT_EQ(substrata_observer_create(&Watching::take, this, 0, &observer), 0);
    EXPECT_EQ(substrata_subscribe(observer, "os.page-faults,os.*"), 0);
  }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
  ~Watching() { substrata_observer_destroy(observer); }
  static void take(void* self, const substrata_transaction* batch, size_t count) {
    auto& seen = static_cast<Watching*>(self)->seen;
    seen.insert(seen.end(), batch, batch + count);
  }
  substrata_observer* observer = nullptr;
  std::vector<substrata_transaction> seen;
};

class PageFaults : public testing::Test {
 protected:
  // Skips with the library's own reason where the kernel refuses.
  void start(const substrata_page_faults_options* options = nullptr) {
    if (substrata_page_faults_start(options, &faults_) == -3) GTEST_SKIP() << substrata_feed_error();
    ASSERT_NE(faults_, nullptr) << substrata_feed_error();
  }
  void TearDown() override { substrata_page_faults_stop(faults_); }
  uint64_t collect() {
    uint64_t lost = 0;
    EXPECT_EQ(substrata_page_faults_collect(faults_, &lost), 0) << substrata_feed_error();
    substrata_flush();
    return lost;
  }
  substrata_page_faults* faults_ = nullptr;
  Watching watching_;
};

TEST_F(PageFaults, ReportTheAddressOfEveryPageThatIsTouched) {  // FE-7
  const Range range(600);
  ASSERT_NE(range.memory, nullptr);
  start();
  if (IsSkipped() || HasFatalFailure()) return;
  std::set<uint64_t> touched;
  for (size_t i = 0; i < 600; ++i) {
    if (i % 3 == 1) continue;
    range.touch(i, i);
    touched.insert(range.low() + i * range.page + i);
  }
  EXPECT_EQ(collect(), 0u);
  std::set<uint64_t> reported;
  uint64_t before = 0;
  for (const substrata_transaction& t : watching_.seen) {
    EXPECT_EQ(t.kind, SUBSTRATA_PAGE_FAULT);
    EXPECT_EQ(t.detail, static_cast<uint64_t>(getpid()));
    EXPECT_EQ(t.size, range.page);
    EXPECT_GE(t.time, before);
    before = t.time;
    if (!range.holds(t.address)) continue;
    EXPECT_TRUE(reported.insert(t.address).second) << "twice";
    EXPECT_EQ(t.initiator, static_cast<uint32_t>(gettid()));
    EXPECT_NE(t.site, 0u);
  }
  EXPECT_EQ(reported, touched);
  // A second touch is no fault.
  watching_.seen.clear();
  range.touch(0);
  collect();
  for (const substrata_transaction& t : watching_.seen) EXPECT_FALSE(range.holds(t.address));
}

TEST_F(PageFaults, OfThreadsStartedLaterAreTheirs) {  // FE-7
  const Range range(64);
  ASSERT_NE(range.memory, nullptr);
  start();
  if (IsSkipped() || HasFatalFailure()) return;
  pid_t other = 0;
  std::thread thread([&] {
    other = gettid();
    for (size_t i = 0; i < 64; ++i) range.touch(i);
  });
  thread.join();
  EXPECT_EQ(collect(), 0u);
  size_t count = 0;
  for (const substrata_transaction& t : watching_.seen) {
    if (!range.holds(t.address)) continue;
    EXPECT_EQ(t.initiator, static_cast<uint32_t>(other));
    ++count;
  }
  EXPECT_EQ(count, 64u);
}

TEST_F(PageFaults, OfAnotherProcessCarryItsNumber) {  // FE-7
  const Range range(32);
  ASSERT_NE(range.memory, nullptr);
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    close(go[1]);
    const bool reported = read(go[0], &byte, 1) == 1;
    for (size_t i = 0; reported && i < 32; ++i) range.touch(i);
    _exit(reported ? 0 : 1);
  }
  close(go[0]);
  auto options = substrata::client::sized<substrata_page_faults_options>();
  options.process = child;
  start(&options);
  const bool written = write(go[1], "g", 1) == 1;
  close(go[1]);
  int status = 0;
  waitpid(child, &status, 0);
  if (IsSkipped() || HasFatalFailure()) return;
  ASSERT_TRUE(written);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(collect(), 0u);
  size_t count = 0;
  for (const substrata_transaction& t : watching_.seen) {
    EXPECT_EQ(t.detail, static_cast<uint64_t>(child));
    count += range.holds(t.address) ? 1 : 0;
  }
  EXPECT_EQ(count, 32u);
}

TEST_F(PageFaults, ThatDoNotFitAreCountedAsLost) {  // FE-7
  const Range range(4000);
  ASSERT_NE(range.memory, nullptr);
  auto options = substrata::client::sized<substrata_page_faults_options>();
  options.ring_pages = 1;  // some 80 records
  start(&options);
  if (IsSkipped() || HasFatalFailure()) return;
  for (size_t i = 0; i < 4000; ++i) range.touch(i);
  collect();
  // The kernel reports the lost ones with the next record that fits.
  const Range second(1);
  second.touch(0);
  const uint64_t lost = collect();
  uint64_t reported = 0;
  for (const substrata_transaction& t : watching_.seen) reported += range.holds(t.address) ? 1 : 0;
  EXPECT_GT(lost, 0u);
  EXPECT_LT(reported, 4000u);
  EXPECT_GE(reported + lost, 4000u);
}

TEST(PageFaultsRefused, ThatCannotBeObservedAreRefusedWithAMessage) {
  substrata_page_faults* faults = nullptr;
  auto options = substrata::client::sized<substrata_page_faults_options>();
  options.process = 0x7ffffff0;  // beyond every kernel's limit
  EXPECT_EQ(substrata_page_faults_start(&options, &faults), -1);
  EXPECT_NE(std::string(substrata_feed_error()).find("no process"), std::string::npos);
  options.process = -5;
  EXPECT_EQ(substrata_page_faults_start(&options, &faults), -1);
  EXPECT_EQ(substrata_page_faults_start(nullptr, nullptr), -1);
  EXPECT_EQ(substrata_page_faults_collect(nullptr, nullptr), -1);
  substrata_page_faults_stop(nullptr);
}

}  // namespace
