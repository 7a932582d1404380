// Our libpapi.so.7.0 beside the one of Debian's package, by abidiff: nothing that a program can bind to is
// missing.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "support/program.hpp"

namespace {

using namespace substrata::tests;

namespace fs = std::filesystem;

// The bits of abidiff's exit status (its manual, RETURN VALUES).
constexpr int kErrorBit = 1;
constexpr int kUsageBit = 2;
constexpr int kIncompatibleBit = 8;

class Abidiff : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_tool("abidiff")) GTEST_SKIP() << "abidiff is missing (package abigail-tools)";
    if (!fs::exists(DEBIAN_PAPI)) GTEST_SKIP() << "no " << DEBIAN_PAPI << " (package libpapi-dev)";
  }

  // Debian's library carries no debug information; ours is compared without its own, so that both are shown by
  // the symbols, with their kinds and versions.
  Ran compare(const std::string& ours) {
    const std::string bare = folder_.file(ours);
    const Ran stripped =
        run(std::string(OBJCOPY) + " --strip-debug '" + LIBRARIES + "/" + ours + "' '" + bare + "'");
    EXPECT_EQ(stripped.status, 0) << stripped.out;
    return run("abidiff --no-added-syms '" DEBIAN_PAPI "' '" + bare + "'");
  }

  TemporaryFolder folder_;
};

// PA-11
TEST_F(Abidiff, NothingOfDebiansLibraryIsMissingFromOurs) {
  const Ran outcome = compare("libpapi.so.7.0");
  EXPECT_EQ(outcome.status & (kErrorBit | kUsageBit | kIncompatibleBit), 0) << outcome.status << "\n"
                                                                            << outcome.out;
  EXPECT_EQ(outcome.out.find("SONAME"), std::string::npos) << outcome.out;
}

// The comparison sees a symbol that is gone: 7.3 dropped names that 7.0 exports.
TEST_F(Abidiff, TheOtherGenerationIsDistinguished) {
  const Ran outcome = compare("libpapi.so.7.3");
  EXPECT_EQ(outcome.status & (kErrorBit | kUsageBit), 0) << outcome.status << "\n" << outcome.out;
  EXPECT_NE(outcome.status & kIncompatibleBit, 0) << outcome.status << "\n" << outcome.out;
  EXPECT_NE(outcome.out.find("Removed function symbols not referenced by debug info:"), std::string::npos)
      << outcome.out;
}

}  // namespace
