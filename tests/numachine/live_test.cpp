// A program of four threads, compiled with the memory probe, on the modelled NUMAchine: its results, and what
// is read of it through PAPI's calls.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

namespace substrata::numachine::test {
namespace {

std::string output_of(const std::string& command) {
  std::string text;
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "no pipe";
  char part[4096];
  while (const size_t got = fread(part, 1, sizeof part, pipe)) text.append(part, got);
  const int status = pclose(pipe);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command << "\n" << text;
  return text;
}

// NU-23, FE-6. What threads share depends on how they happen to run, so that is not asked for here.
TEST(LiveProgram, SortsAndFactorsWhileItsThreadsAreProcessorsOfTheModel) {
  if (std::system("cc --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no C compiler";
  char folder[] = "/tmp/numachine_liveXXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string program = std::string(folder) + "/sort_and_lu";
  output_of(std::string(SUBSTRATA_BUILD_DIR "/bin/substrata-cc -O2 -g -o ") + program +
            " " SUBSTRATA_SOURCE_DIR "/tests/numachine/sort_and_lu.c -I " SUBSTRATA_SOURCE_DIR
            "/include " SUBSTRATA_LIBRARY " " SUBSTRATA_PAPI " -Wl,-rpath," SUBSTRATA_BUILD_DIR
            "/lib -lpthread");
  const std::string text = output_of(program);
  EXPECT_NE(text.find("result right"), std::string::npos) << text;
  std::map<std::string, long long> values;
  std::istringstream lines(text);
  for (std::string phase, event, value; lines >> phase >> event >> value;)
    values[phase + " " + event] = std::atoll(value.c_str());
  // Each of four passes' worth of keys is read at least once, and LU reads its matrix again and again.
  EXPECT_GE(values["sort LOADS"], 4 * 262144) << text;
  EXPECT_GE(values["lu LOADS"], 96 * 96 * 96 / 3) << text;
  EXPECT_GT(values["sort OTHER_MISSES"], 0) << text;
  for (const char* object : {"object keys:", "object matrix:", "object progress:"})
    EXPECT_NE(text.find(object), std::string::npos) << object << "\n" << text;
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace substrata::numachine::test
