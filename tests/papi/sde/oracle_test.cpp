// An unmodified program on Debian's libsde and on ours, told apart by LD_LIBRARY_PATH alone: the same
// answers.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <string>

namespace {

struct Outcome {
  std::string lines;
  int status = -1;
};

Outcome run(const std::string& library, const std::string& scenario) {
  const std::string folder = std::filesystem::path(library).parent_path();
  const std::string command =
      "LD_LIBRARY_PATH='" + folder + "' '" CONVERSATION "' " + scenario + " 2>&1 </dev/null";
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  for (size_t got = 0; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) outcome.lines.append(buffer, got);
  outcome.status = pclose(pipe);
  return outcome;
}

class Conversation : public testing::TestWithParam<const char*> {};

// PA-10, PA-31
TEST_P(Conversation, IsTheSameOnDebiansLibsdeAndOnOurs) {
  if (std::string(SANITIZED) != "")
    GTEST_SKIP() << "Debian's libsde cannot be told from ours under a sanitizer";
  if (!std::filesystem::exists(DEBIAN_LIBSDE)) GTEST_SKIP() << "Debian's libsde1 is not installed";
  const Outcome debian = run(DEBIAN_LIBSDE, GetParam());
  const Outcome ours = run(OUR_LIBSDE, GetParam());
  ASSERT_EQ(debian.status, 0) << debian.lines;
  EXPECT_EQ(ours.status, 0);
  EXPECT_EQ(ours.lines, debian.lines);
  EXPECT_NE(ours.lines.find("end\n"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Sde, Conversation,
                         testing::Values("counters", "callbacks", "created", "recorders", "groups",
                                         "placeholders", "early_recorder", "sets", "libraries",
                                         "nothing_registered", "writing"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
