// appio in a program that is started with its library: what each call adds to the thread's counters.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <papi.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

// An eventset of appio events that is running, or a skip of the test.
class AppIo : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { PAPI_library_init(PAPI_VER_CURRENT); }
  static void TearDownTestSuite() { PAPI_shutdown(); }

  void SetUp() override {
    if (std::getenv("LD_PRELOAD") == nullptr)
      GTEST_SKIP() << "not started with libsubstrata_appio.so, as ctest does";
    ASSERT_EQ(PAPI_create_eventset(&set_), PAPI_OK);
    char path[] = "/tmp/substrata-appio-XXXXXX";
    file_ = ::mkstemp(path);
    ASSERT_GE(file_, 0);
    path_ = path;
  }
  void TearDown() override {
    if (file_ < 0) return;
    long long ignored[64];
    PAPI_stop(set_, ignored);
    PAPI_cleanup_eventset(set_);
    PAPI_destroy_eventset(&set_);
    ::close(file_);
    ::unlink(path_.c_str());
  }
  void start(const std::vector<std::string>& events) {
    for (const std::string& event : events)
      ASSERT_EQ(PAPI_add_named_event(set_, ("appio:::" + event).c_str()), PAPI_OK) << event;
    size_ = events.size();
    ASSERT_EQ(PAPI_start(set_), PAPI_OK);
  }
  std::vector<long long> values() {
    std::vector<long long> all(size_);
    EXPECT_EQ(PAPI_read(set_, all.data()), PAPI_OK);
    return all;
  }

  int set_ = PAPI_NULL;
  int file_ = -1;
  std::string path_;
  size_t size_ = 0;
};

using ::testing::ElementsAre;

TEST_F(AppIo, WritesAndReadsCountTheirBytesCallsShortOnesAndTheEnd) {
  char buffer[1000] = {};
  start({"WRITE_BYTES", "WRITE_CALLS", "WRITE_BLOCK_SIZE", "READ_BYTES", "READ_CALLS", "READ_SHORT",
         "READ_EOF", "READ_ERR"});
  ASSERT_EQ(::write(file_, buffer, 600), 600);
  ASSERT_EQ(::write(file_, buffer, 200), 200);
  ::lseek(file_, 0, SEEK_SET);
  ASSERT_EQ(::read(file_, buffer, 500), 500);
  ASSERT_EQ(::read(file_, buffer, 1000), 300);
  ASSERT_EQ(::read(file_, buffer, 1000), 0);
  ASSERT_EQ(::read(-1, buffer, 1000), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_THAT(values(), ElementsAre(800, 2, 400, 800, 4, 1, 1, 1));
}

TEST_F(AppIo, OpensAndSeeksCountTheirErrorsDistanceAndOpenFiles) {
  start({"OPEN_CALLS", "OPEN_ERR", "SEEK_CALLS", "SEEK_ABS_STRIDE_SIZE", "OPEN_FDS"});
  const long long open_before = values()[4];
  const int second = ::open(path_.c_str(), O_RDONLY);
  ASSERT_GE(second, 0);
  ASSERT_EQ(::open("/no/such/file", O_RDONLY), -1);
  EXPECT_EQ(errno, ENOENT);
  ::lseek(second, 100, SEEK_SET);
  ::lseek(second, -40, SEEK_CUR);
  EXPECT_THAT(values(), ElementsAre(2, 1, 2, 70, open_before + 1));
  ::close(second);
  EXPECT_EQ(values()[4], open_before);
}

TEST_F(AppIo, SocketsCountApartAndCallsThatFoundNothingReadyAreKnown) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  char buffer[64] = {};
  start({"SOCK_WRITE_BYTES", "SOCK_READ_BYTES", "RECV_BYTES", "RECV_CALLS", "RECV_WOULD_BLOCK",
         "READ_WOULD_BLOCK", "READ_BYTES"});
  ASSERT_EQ(::recv(ends[1], buffer, sizeof buffer, 0), -1);
  ASSERT_EQ(::write(ends[0], buffer, 48), 48);
  ASSERT_EQ(::recv(ends[1], buffer, 16, 0), 16);
  ASSERT_EQ(::read(ends[1], buffer, 32), 32);
  ASSERT_EQ(::read(ends[1], buffer, 32), -1);
  EXPECT_THAT(values(), ElementsAre(48, 48, 16, 2, 1, 1, 32));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(AppIo, StreamsCountAsReadsAndWrites) {
  std::FILE* const stream = ::fdopen(::dup(file_), "w+");
  ASSERT_NE(stream, nullptr);
  char buffer[60] = {};
  start({"WRITE_BYTES", "WRITE_CALLS", "READ_BYTES", "READ_EOF"});
  ASSERT_EQ(std::fwrite(buffer, 4, 10, stream), 10u);
  std::rewind(stream);
  ASSERT_EQ(std::fread(buffer, 4, 15, stream), 10u);
  ASSERT_EQ(std::fread(buffer, 4, 15, stream), 0u);
  EXPECT_THAT(values(), ElementsAre(40, 1, 40, 1));
  std::fclose(stream);
}

TEST_F(AppIo, SetsOfOneThreadDoNotDisturbEachOther) {
  char buffer[10] = {};
  start({"WRITE_BYTES"});
  ASSERT_EQ(::write(file_, buffer, 10), 10);
  int other = PAPI_NULL;
  ASSERT_EQ(PAPI_create_eventset(&other), PAPI_OK);
  ASSERT_EQ(PAPI_add_named_event(other, "appio:::WRITE_BYTES"), PAPI_OK);
  if (PAPI_start(other) == PAPI_OK) {  // where a thread may have two running sets of a component
    long long value = 0;
    ASSERT_EQ(::write(file_, buffer, 5), 5);
    EXPECT_EQ(PAPI_stop(other, &value), PAPI_OK);
    EXPECT_EQ(value, 5);
  } else {
    ASSERT_EQ(::write(file_, buffer, 5), 5);
  }
  EXPECT_THAT(values(), ElementsAre(15));
  PAPI_cleanup_eventset(other);
  PAPI_destroy_eventset(&other);
}

TEST_F(AppIo, NamesAreThe45OfPapi) {
  const int index = PAPI_get_component_index("appio");
  ASSERT_GE(index, 0);
  int found = 0;
  int code = PAPI_NATIVE_MASK;
  for (int more = PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, index); more == PAPI_OK;
       more = PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, index))
    ++found;
  EXPECT_EQ(found, 45);
}

}  // namespace
