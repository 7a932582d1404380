// An unmodified program on Debian's libsde and on ours, distinguished by LD_LIBRARY_PATH alone: the same
// answers.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "support/program.hpp"

namespace {

using namespace substrata::tests;

Ran converse(const std::string& library, const std::string& scenario) {
  const std::string folder = std::filesystem::path(library).parent_path();
  return run("LD_LIBRARY_PATH='" + folder + "' '" CONVERSATION "' " + scenario);
}

class Conversation : public testing::TestWithParam<const char*> {};

// PA-10, PA-31
TEST_P(Conversation, IsTheSameOnDebiansLibsdeAndOnOurs) {
  if (std::string(SANITIZED) != "")
    GTEST_SKIP() << "Debian's libsde cannot be distinguished from ours under a sanitizer";
  if (!std::filesystem::exists(DEBIAN_LIBSDE)) GTEST_SKIP() << "Debian's libsde1 is not installed";
  const Ran debian = converse(DEBIAN_LIBSDE, GetParam());
  const Ran ours = converse(OUR_LIBSDE, GetParam());
  ASSERT_EQ(debian.status, 0) << debian.out;
  EXPECT_EQ(ours.status, 0);
  EXPECT_EQ(ours.out, debian.out);
  EXPECT_NE(ours.out.find("end\n"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Sde, Conversation,
                         testing::Values("counters", "callbacks", "created", "recorders", "groups",
                                         "placeholders", "early_recorder", "sets", "libraries",
                                         "nothing_registered", "writing"),
                         [](const auto& test) { return std::string(test.param); });

std::string folder_of(const std::string& library) { return std::filesystem::path(library).parent_path(); }

class MeasuringOneself : public testing::TestWithParam<const char*> {};

// PA-10, PA-31
TEST_P(MeasuringOneself, IsTheSameOnDebiansPapiAndOnOurs) {
  if (std::string(SANITIZED) != "")
    GTEST_SKIP() << "Debian's PAPI cannot be compared with ours under a sanitizer";
  if (!std::filesystem::exists(DEBIAN_LIBSDE) || !std::filesystem::exists(DEBIAN_LIBPAPI))
    GTEST_SKIP() << "Debian's libsde1 and libpapi7.0 are not installed";
  const auto measure = [&](const std::string& folders) {
    return run("LD_LIBRARY_PATH='" + folders + "' '" MEASURING "' " + GetParam());
  };
  const Ran debian = measure(folder_of(DEBIAN_LIBSDE));
  const Ran ours = measure(folder_of(OUR_LIBSDE) + ":" + folder_of(OUR_LIBPAPI));
  ASSERT_EQ(debian.status, 0) << debian.out;
  EXPECT_EQ(ours.status, 0);
  EXPECT_EQ(ours.out, debian.out);
  EXPECT_NE(ours.out.find("end\n"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Sde, MeasuringOneself,
                         testing::Values("a_group_of_delta_and_instant_members",
                                         "the_greatest_of_delta_members", "an_event_that_is_never_registered",
                                         "overflows_between_accumulations"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
