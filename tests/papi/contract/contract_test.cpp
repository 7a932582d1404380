// Runs the client on the installed PAPI 7.0 and on our libpapi.so.7.0 and compares every answer.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

// "chapter <tab> call <tab> situation" to the answer.
using Answers = std::map<std::string, std::string>;

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// A folder of its own for each run: the high-level interface writes there.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/substrata-contract-XXXXXX";
    path_ = mkdtemp(name) != nullptr ? name : "";
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Answers ask(const std::string& libraries) {
  const Folder folder;
  EXPECT_FALSE(folder.path().empty());
  const std::string table = folder.path() + "/answers";
  const std::string command = "cd '" + folder.path() + "' && env -u PAPI_MULTIPLEX LD_LIBRARY_PATH='" +
                              libraries + "' PAPI_EVENTS=perf::TASK-CLOCK PAPI_OUTPUT_DIRECTORY='" +
                              folder.path() + "' '" CLIENT "' >'" + table + "' 2>/dev/null </dev/null";
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command << " gave " << status;
  Answers answers;
  for (const std::string& line : lines_of(table)) {
    const size_t tab = line.rfind('\t');
    if (tab != std::string::npos) answers[line.substr(0, tab)] = line.substr(tab + 1);
  }
  EXPECT_EQ(answers.count("end\treached\t"), 1u) << "the client did not come to its end with " << libraries;
  return answers;
}

// Differences the table argues: the key, and why ours is the better answer.
std::map<std::string, std::string> argued() {
  std::map<std::string, std::string> reasons;
  for (const std::string& line : lines_of(ARGUED_TABLE)) {
    const size_t tab = line.rfind('\t');
    if (tab != std::string::npos) reasons[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return reasons;
}

// PA-10, PA-11, PA-35
TEST(Contract, AnswersOfPapiSevenZeroAreOursOrTheDifferenceIsArgued) {
  if (std::string(SANITIZED) != "") GTEST_SKIP() << "PAPI's library is not built with sanitizers";
  if (std::string(CLIENT) == "") GTEST_SKIP() << "PAPI 7.0 and its header are not installed (libpapi-dev)";
  const Answers papi = ask(INSTALLED_LIBRARIES), ours = ask(OUR_LIBRARIES);
  const auto reasons = argued();
  size_t same = 0, dies = 0, differ = 0;
  for (const auto& [key, answer] : papi) {
    const auto found = ours.find(key);
    if (found == ours.end()) {
      ADD_FAILURE() << "no answer of ours for " << key;
      continue;
    }
    EXPECT_NE(found->second, "dies") << key;
    if (found->second == answer) {
      ++same;
    } else if (answer == "dies") {
      ++dies;
      // Whoever dies of a call is told what is wrong with it.
      EXPECT_TRUE(found->second == "-16" || found->second == "-1" || found->second == "-11" ||
                  reasons.count(key) == 1)
          << key << ": PAPI dies, ours answers " << found->second;
    } else {
      ++differ;
      EXPECT_EQ(reasons.count(key), 1u) << key << ": PAPI " << answer << ", ours " << found->second;
      std::printf("%s: PAPI %s, ours %s: %s\n", key.c_str(), answer.c_str(), found->second.c_str(),
                  reasons.count(key) == 1 ? reasons.at(key).c_str() : "not argued");
    }
  }
  std::printf("%zu answers: %zu the same, %zu where PAPI dies, %zu argued\n", papi.size(), same, dies,
              differ);
  EXPECT_GT(papi.size(), 450u) << "the client was cut short";
  EXPECT_LE(differ, papi.size() / 10) << "too much is argued";
}

}  // namespace
