// What the bridge says before it loads anything, on machines other than this one.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <substrata/substrate.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "entry_points.hpp"
#include "support/temporary_folder.hpp"

namespace substrata {
namespace {

namespace fs = std::filesystem;

class BridgeDetection : public testing::Test {
 protected:
  void SetUp() override {
    host_.root = root_.c_str();
    host_.context = &asked_;
    host_.setting = [](void* asked, const char* name) noexcept -> const char* {
      return std::string_view(name) == "SUBSTRATA_BRIDGE" ? *static_cast<const char**>(asked) : nullptr;
    };
    ASSERT_EQ(substrata_entry_bridge(&host_, &table_), 0);
  }

  const substrata::tests::TemporaryFolder folder_;
  const std::string root_ = folder_.path();
  const char* asked_ = "1";
  Host host_;
  SubstrateTable table_;
};

// PA-46
TEST_F(BridgeDetection, AMachineWithoutPapiSaysWhatToInstall) {
  const Status status = table_.detect(&host_);
  EXPECT_EQ(status.code, Code::kNoSupport);
  ASSERT_NE(status.note, nullptr);
  EXPECT_NE(std::string(status.note).find("install PAPI"), std::string::npos) << status.note;
}

// PA-46
TEST_F(BridgeDetection, NotAskedItLooksForNothing) {
  for (const char* setting : {static_cast<const char*>(nullptr), "", "0"}) {
    asked_ = setting;
    EXPECT_EQ(table_.detect(&host_).code, Code::kDisabled);
  }
}

TEST_F(BridgeDetection, ALibraryInAFolderOfTheSystemIsSeen) {
  fs::create_directories(root_ + "/usr/local/lib");
  std::ofstream(root_ + "/usr/local/lib/libpapi.so.7.1") << "not loaded by detect\n";
  EXPECT_TRUE(table_.detect(&host_).ok());
}

}  // namespace
}  // namespace substrata
