// Files that are loaded as code: who else could change them.
#include "base/trusted_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "support/temporary_folder.hpp"

namespace substrata {
namespace {

using ::testing::HasSubstr;

class TrustedFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(file) << "code";
    ::chmod(folder.path().c_str(), 0755);
    ::chmod(file.c_str(), 0644);
  }
  const tests::TemporaryFolder folder;
  const std::string file = folder.path() + "/substrata-some.so";
};

TEST_F(TrustedFile, FileOfTheUserAloneIsTaken) { EXPECT_EQ(who_else_may_write(file), ""); }

TEST_F(TrustedFile, FileThatAnyUserMayWriteIsRefusedWithItsCure) {
  ::chmod(file.c_str(), 0666);
  EXPECT_THAT(who_else_may_write(file), HasSubstr("chmod o-w " + file));
}

TEST_F(TrustedFile, FolderInWhichAnyUserMayReplaceTheFileIsRefused) {
  ::chmod(folder.path().c_str(), 0777);
  EXPECT_THAT(who_else_may_write(file), HasSubstr("chmod o-w " + folder.path()));
}

TEST_F(TrustedFile, FolderWithTheStickyBitIsTaken) {
  ::chmod(folder.path().c_str(), 01777);
  EXPECT_EQ(who_else_may_write(file), "");
}

TEST_F(TrustedFile, GroupOfTheUserMayWrite) {
  if (::chown(file.c_str(), static_cast<uid_t>(-1), ::getegid()) != 0)
    GTEST_SKIP() << "the group cannot be set";
  ::chmod(file.c_str(), 0664);
  EXPECT_EQ(who_else_may_write(file), "");
}

TEST_F(TrustedFile, AnotherGroupThatMayWriteIsRefused) {
  if (::chown(file.c_str(), static_cast<uid_t>(-1), 54321) != 0) GTEST_SKIP() << "needs root to set a group";
  ::chmod(file.c_str(), 0664);
  EXPECT_THAT(who_else_may_write(file), HasSubstr("group 54321"));
}

TEST_F(TrustedFile, FileOfAnotherUserIsRefused) {
  if (::chown(file.c_str(), 54321, static_cast<gid_t>(-1)) != 0)
    GTEST_SKIP() << "needs root to give a file away";
  EXPECT_THAT(who_else_may_write(file), HasSubstr("user 54321"));
}

TEST_F(TrustedFile, LinkIsJudgedByWhatItPointsTo) {
  ::chmod(file.c_str(), 0666);
  const std::string link = folder.path() + "/link.so";
  ASSERT_EQ(::symlink(file.c_str(), link.c_str()), 0);
  EXPECT_THAT(who_else_may_write(link), HasSubstr(file));
}

}  // namespace
}  // namespace substrata
