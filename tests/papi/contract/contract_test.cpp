// Runs the client of each generation on an installed PAPI and on our library of that generation and compares every
// answer.
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

#include "support/kernel_events.hpp"
#include "support/temporary_folder.hpp"

namespace {

// "chapter <tab> call <tab> situation" to the answer.
using Answers = std::map<std::string, std::string>;

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

Answers ask(const std::string& client, const std::string& libraries) {
  const substrata::tests::TemporaryFolder folder;  // the high-level interface writes there
  const std::string table = folder.path() + "/answers";
  const std::string command = "cd '" + folder.path() + "' && env -u PAPI_MULTIPLEX LD_LIBRARY_PATH='" +
                              libraries + "' PAPI_EVENTS=perf::TASK-CLOCK PAPI_OUTPUT_DIRECTORY='" +
                              folder.path() + "' '" + client + "' >'" + table + "' 2>/dev/null </dev/null";
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

// The bytes of the first processor's caches of that level as the kernel has them; 0 where it shows none. PAPI
// reads CPUID alone and counts wrongly on some processors (an EPYC's level 3 tenfold), so that this is the
// better witness.
long long kernels_cache_bytes(int level) {
  long long bytes = 0;
  std::error_code none;
  for (const auto& cache : std::filesystem::directory_iterator("/sys/devices/system/cpu/cpu0/cache", none)) {
    std::ifstream level_file(cache.path() / "level"), size_file(cache.path() / "size");
    int of_level = 0;
    long long kibibytes = 0;
    if (level_file >> of_level && of_level == level && size_file >> kibibytes) bytes += kibibytes * 1024;
  }
  return bytes;
}

// Why ours is the better answer, where the machine itself says so; else empty.
std::string kernel_agrees(const std::string& key, const std::string& ours) {
  int level = 0;
  if (std::sscanf(key.c_str(), "machine\tlevel %d cache bytes", &level) != 1) return "";
  return std::to_string(kernels_cache_bytes(level)) == ours ? "the kernel has the size of ours" : "";
}

TEST(Contract, CacheSizesAreTheKernels) {
  if (std::string(SANITIZED) != "") GTEST_SKIP() << "PAPI's library is not built with sanitizers";
  if (std::string(CLIENT_7_0) == "")
    GTEST_SKIP() << "PAPI 7.0 and its header are not installed (libpapi-dev)";
  if (kernels_cache_bytes(1) == 0) GTEST_SKIP() << "the kernel shows no caches here";
  const Answers ours = ask(CLIENT_7_0, OUR_LIBRARIES);
  int compared = 0;
  for (int level = 1; level <= 3; ++level) {
    const auto found = ours.find("machine\tlevel " + std::to_string(level) + " cache bytes\t");
    if (found == ours.end()) continue;
    ++compared;
    EXPECT_EQ(found->second, std::to_string(kernels_cache_bytes(level))) << "level " << level;
  }
  EXPECT_GT(compared, 0);
}

void compare(const Answers& papi, const Answers& ours) {
  const auto reasons = argued();
  size_t same = 0, dies = 0, differ = 0, calls = 0;  // fields of components are no calls
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
      // Whoever dies of a call sees what is wrong with it.
      EXPECT_TRUE(found->second == "-16" || found->second == "-1" || found->second == "-11" ||
                  reasons.count(key) == 1)
          << key << ": PAPI dies, ours answers " << found->second;
    } else {
      ++differ;
      calls += key.starts_with("components\t") ? 0 : 1;
      const std::string machine_says = kernel_agrees(key, found->second);
      const std::string reason = reasons.count(key) == 1 ? reasons.at(key) : machine_says;
      EXPECT_FALSE(reason.empty()) << key << ": PAPI " << answer << ", ours " << found->second;
      std::printf("%s: PAPI %s, ours %s: %s\n", key.c_str(), answer.c_str(), found->second.c_str(),
                  reason.empty() ? "not argued" : reason.c_str());
    }
  }
  std::printf("%zu answers: %zu the same, %zu where PAPI dies, %zu argued\n", papi.size(), same, dies,
              differ);
  EXPECT_GT(papi.size(), 450u) << "the client was cut short";
  EXPECT_LE(calls, papi.size() / 20) << "too much is argued";
}

// A prefix of PAPI 7.3 that was given, or "".
std::string given_prefix() {
  const char* const asked = std::getenv("SUBSTRATA_PAPI_73");
  return asked != nullptr && *asked != '\0' ? asked : PREFIX_OF_7_3;
}

// PAPI counts nothing, the kernel's own events neither, where its libpfm4 is older than the processor.
bool counts(const Answers& answers) {
  const auto found = answers.find("events\tPAPI_event_name_to_code\tperf_event:::perf::TASK-CLOCK");
  return found != answers.end() && found->second == "0";
}

// PA-10, PA-11, PA-35
TEST(Contract, AnswersOfPapiSevenZeroAreOursOrTheDifferenceIsArgued) {
  if (std::string(SANITIZED) != "") GTEST_SKIP() << "PAPI's library is not built with sanitizers";
  if (std::string(CLIENT_7_0) == "")
    GTEST_SKIP() << "PAPI 7.0 and its header are not installed (libpapi-dev)";
  SUBSTRATA_NEEDS_KERNEL_EVENTS();  // what is argued is argued for a machine that counts
  Answers papi = ask(CLIENT_7_0, INSTALLED_LIBRARIES);
  std::string newer_libpfm;
  if (const std::string prefix = given_prefix(); !counts(papi) && !prefix.empty()) {
    newer_libpfm = prefix + "/lib:";
    papi = ask(CLIENT_7_0, newer_libpfm + INSTALLED_LIBRARIES);
  }
  if (!counts(papi))
    GTEST_SKIP()
        << "the installed PAPI counts nothing here: its libpfm4 does not know this processor; give one that "
           "does by SUBSTRATA_PAPI_73";
  compare(papi, ask(CLIENT_7_0, std::string(OUR_LIBRARIES) + ":" + newer_libpfm));
}

// PA-10
TEST(Contract, AnswersOfPapiSevenThreeAreOursOrTheDifferenceIsArgued) {
  if (std::string(SANITIZED) != "") GTEST_SKIP() << "PAPI's library is not built with sanitizers";
  const std::string prefix = given_prefix();
  if (prefix.empty()) GTEST_SKIP() << "no PAPI 7.3 to compare with: SUBSTRATA_PAPI_73 names none";
  ASSERT_TRUE(std::filesystem::exists(prefix + "/lib/libpapi.so.7.3"))
      << prefix << " is no prefix of PAPI 7.3";
  SUBSTRATA_NEEDS_KERNEL_EVENTS();
  compare(ask(CLIENT_7_3, prefix + "/lib"), ask(CLIENT_7_3, OUR_LIBRARIES));
}

// What a generation changed is in its header; how a call answers is the same.
TEST(Contract, TheClientOfSevenThreeComesToItsEndOnOurs) {
  if (std::string(SANITIZED) != "") GTEST_SKIP() << "its calls bring the library down on purpose";
  SUBSTRATA_NEEDS_KERNEL_EVENTS();
  const Answers ours = ask(CLIENT_7_3, OUR_LIBRARIES);
  EXPECT_GT(ours.size(), 450u);
  for (const auto& [key, answer] : ours) EXPECT_NE(answer, "dies") << key;
}

}  // namespace
