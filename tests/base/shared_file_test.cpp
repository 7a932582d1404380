// Files that several processes map: reserved as a whole, or refused without a trace.
#include "base/shared_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string>

namespace substrata {
namespace {

constexpr uint64_t kBytes = 300'000;

std::string unused_path() { return "/dev/shm/substrata-test-" + std::to_string(getpid()) + "-XXXXXX"; }

class SharedFile : public testing::Test {
 protected:
  ~SharedFile() override {
    if (file >= 0) close(file);
    unlink(path.c_str());
  }
  std::string path = unused_path();
  int file = -1;
};

TEST_F(SharedFile, EveryPageIsThereBeforeItIsTouched) {
  file = make_shared_file(path.data(), kBytes);
  ASSERT_GE(file, 0);
  struct stat about {};
  ASSERT_EQ(fstat(file, &about), 0);
  EXPECT_EQ(about.st_size, static_cast<off_t>(kBytes));
  EXPECT_GE(static_cast<uint64_t>(about.st_blocks) * 512, kBytes);
}

TEST_F(SharedFile, IsReadableByItsUserOnlyAndClosedInPrograms) {
  file = make_shared_file(path.data(), kBytes);
  ASSERT_GE(file, 0);
  struct stat about {};
  ASSERT_EQ(fstat(file, &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600u);
  EXPECT_EQ(fcntl(file, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_F(SharedFile, MoreThanTheFileSystemHas_IsRefusedAndNothingStays) {
  struct statvfs system {};
  ASSERT_EQ(statvfs("/dev/shm", &system), 0);
  errno = 0;
  file = make_shared_file(path.data(), (static_cast<uint64_t>(system.f_blocks) + 1000) * system.f_frsize);
  EXPECT_EQ(file, -1);
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST_F(SharedFile, MoreThanTheProcessMayWrite_IsRefusedWithoutASignal) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(make_shared_file(path.data(), kBytes) == -1 && errno == EFBIG ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(SharedFile, TwoWithoutANameOfTheirOwnAreTwoFiles) {
  std::string first = path, second = path;
  const int one = make_shared_file(first.data(), kBytes);
  const int other = make_shared_file(second.data(), kBytes);
  EXPECT_GE(one, 0);
  EXPECT_GE(other, 0);
  EXPECT_NE(first, second);
  close(one);
  close(other);
  unlink(first.c_str());
  unlink(second.c_str());
}

TEST_F(SharedFile, AFileThatIsOpenGetsItsPagesToo) {
  file = memfd_create("substrata-test", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  ASSERT_EQ(reserve_file(file, kBytes), 0);
  struct stat about {};
  ASSERT_EQ(fstat(file, &about), 0);
  EXPECT_GE(static_cast<uint64_t>(about.st_blocks) * 512, kBytes);
}

TEST_F(SharedFile, APartOfALongOneIsReservedByItself) {
  file = make_shared_file(path.data(), 4096);
  ASSERT_GE(file, 0);
  ASSERT_EQ(lengthen_file(file, uint64_t{1} << 40), 0);
  ASSERT_EQ(reserve_file(file, kBytes, uint64_t{1} << 39), 0);
  struct stat about {};
  ASSERT_EQ(fstat(file, &about), 0);
  EXPECT_EQ(about.st_size, off_t{1} << 40);
  EXPECT_GE(static_cast<uint64_t>(about.st_blocks) * 512, kBytes + 4096);
  EXPECT_LE(static_cast<uint64_t>(about.st_blocks) * 512, kBytes + 65536);
}

}  // namespace
}  // namespace substrata
