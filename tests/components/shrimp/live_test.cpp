// The example that counts an unmodified MPI program's messages as SHRIMP packets, on a program whose messages
// are known.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace {

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/substrata-shrimp-live-XXXXXX";
    if (mkdtemp(name) != nullptr) path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Outcome {
  int status = -1;
  std::string output;
};
Outcome run(const std::string& command) {
  Outcome outcome;
  FILE* const pipe = popen((command + " 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  while (const size_t size = fread(buffer, 1, sizeof buffer, pipe)) outcome.output.append(buffer, size);
  outcome.status = pclose(pipe);
  return outcome;
}

TEST(LiveMessages, BecomePacketsBySenderAndSizeThroughPapiCalls) {  // SH-21, SH-30
  for (const char* needed : {"mpicc.openmpi", "mpirun.openmpi", "awk"}) {
    if (run(std::string("command -v ") + needed).status != 0) GTEST_SKIP() << needed << " is not installed";
  }
  const Folder folder;
  const std::string program = folder.path() + "/messages";
  const Outcome built = run("mpicc.openmpi -O1 -o " + program + " " MESSAGES);
  ASSERT_EQ(built.status, 0) << built.output;
  const Outcome ran =
      run("timeout 200 " SENDER_BY_SIZE
          " mpirun.openmpi --allow-run-as-root --oversubscribe --mca btl self,vader,tcp -n 4 " +
          program);
  ASSERT_EQ(ran.status, 0) << ran.output;
  // 1000 bytes are 4 x 224 and 104, three times; 65536 are 292 x 224 and 128, to three others.
  const std::vector<unsigned long long> expected = {96, 3, 128, 3, 224, 3 * 4 + 3 * 292};
  std::istringstream lines(ran.output);
  std::vector<unsigned long long> found;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    unsigned long long size = 0;
    unsigned long long ranks[4] = {};
    if (!(words >> size >> ranks[0] >> ranks[1] >> ranks[2] >> ranks[3]) || size < 96) continue;
    for (const unsigned long long count : ranks) EXPECT_EQ(count, ranks[0]) << line;
    found.push_back(size);
    found.push_back(ranks[0]);
  }
  EXPECT_EQ(found, expected) << ran.output;
}

}  // namespace
