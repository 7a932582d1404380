// A program of four threads, compiled with the access tracer, on the modelled NUMAchine: its results, and what
// is read of it through PAPI's calls.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "support/program.hpp"

namespace substrata::numachine::test {
namespace {

using substrata::tests::output_of;

// A program of the tree, compiled with the access tracer and run; what it printed.
std::string run_probed(const std::string& source, const std::string& options = "", int runs = 1,
                       const std::string& compiler = "") {
  const substrata::tests::TemporaryFolder folder;
  const std::string program = folder.file("program");
  output_of((compiler.empty() ? "" : "SUBSTRATA_CC=" + compiler + " ") +
            SUBSTRATA_BUILD_DIR "/bin/substrata-" + (source.ends_with("pp") ? "c++" : "cc") + " -O2 -g -o " +
            program + " " + options + " " SUBSTRATA_SOURCE_DIR "/" + source +
            " -I " SUBSTRATA_SOURCE_DIR "/include " SUBSTRATA_LIBRARY " " SUBSTRATA_PAPI
            " -Wl,-rpath," SUBSTRATA_BUILD_DIR "/lib -lpthread");
  std::string text;
  // The high-level interface writes its report there.
  for (int run = 0; run < runs; ++run)
    text += output_of("PAPI_OUTPUT_DIRECTORY=" + folder.path() + " " + program);
  return text;
}

// NU-10, NU-23, FE-6
TEST(LiveProgram, SortsAndFactorsWhileItsThreadsAreProcessorsOfTheModel) {
  if (std::system("cc --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no C compiler";
  const std::string text = run_probed("tests/components/numachine/sort_and_lu.c");
  EXPECT_NE(text.find("result right"), std::string::npos) << text;
  std::map<std::string, long long> values;
  std::istringstream lines(text);
  for (std::string phase, event, value; lines >> phase >> event >> value;)
    values[phase + " " + event] = std::atoll(value.c_str());
  // Each of four passes' worth of keys is read at least once, and LU reads its matrix again and again.
  EXPECT_GE(values["sort LOADS"], 4 * 262144) << text;
  EXPECT_GE(values["lu LOADS"], 96 * 96 * 96 / 3) << text;
  EXPECT_GT(values["sort OTHER_MISSES"], 0) << text;
  // Each row of the matrix is written by one thread, before the others read it and never after.
  EXPECT_EQ(values["lu INVALIDATION_MISSES"], 0) << text;
  // How often threads meet in a line depends on how they happen to run: 751 to 6,049 times in 240 runs.
  EXPECT_GT(values["sort INVALIDATION_MISSES"], 100) << text;
  for (const char* object : {"object keys:", "object matrix:", "object progress: false sharing"})
    EXPECT_NE(text.find(object), std::string::npos) << object << "\n" << text;
}

// NU-23, NU-32: barriers keep the threads together in the model too, however they happen to run
TEST(LiveProgram, LearnsWhichVariablesItSharesAndHow) {
  if (std::system("cc --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no C compiler";
  const std::string text = run_probed("examples/numachine/sharing.c");
  EXPECT_NE(text.find("result right"), std::string::npos) << text;
  for (const char* variable : {"variable own_words: false sharing", "variable histogram: true sharing",
                               "variable record: migratory data", "variable buffer: producer and consumers",
                               "variable table: hot spot", "variable apart: conflict misses"})
    EXPECT_NE(text.find(variable), std::string::npos) << variable << "\n" << text;
}

// The model takes the accesses as compact records; each arrives once, whoever else watches and however it
// lies. A copy is one load and one store.
TEST(LiveProgram, GivesEveryAccessToTheModelOnceAndToTheFeedsObserversToo) {
  if (std::system("cc --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no C compiler";
  const std::string text = run_probed("tests/components/numachine/taken.c");
  EXPECT_EQ(text,
            "first read 9003 9003\nfirst stopped 12004 12004\n"
            "second read 9003 9003\nsecond stopped 12004 12004\n"
            "observer 3000\nresult right 0 0\n");
}

// How often a line is in a text.
int times(const std::string& text, const std::string& line) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(line, at)) != std::string::npos; ++at) ++count;
  return count;
}

constexpr int kRuns = 10;

// What is protected by a lock moves from holder to holder, in every run.
TEST(LiveProgram, NamesTheLocksThatAreWaitedForAndWhyTheirDataMisses) {
  if (std::system("cc --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no C compiler";
  const std::string text = run_probed("examples/numachine/locks.c", "", kRuns);
  for (const char* line :
       {"result right", "variable record: migratory data", "variable record_lock: lock",
        "variable slot: producer and consumers", "variable slot_lock: lock", "variable slot_changed: lock",
        "variable table_lock: lock", "variable pair: false sharing",
        // Eight meet, and seven of them wait, each time but perhaps the first.
        "lock record_lock: passed 320 times, 2", "condition slot_changed: passed",
        "barrier barrier: passed 1296 times", "lock table_lock: passed 360 times"})
    EXPECT_EQ(times(text, line), kRuns) << line << "\n" << text;
}

TEST(LiveProgram, OfOpenMpNamesItsCriticalSectionsLocksAndBarriers) {
  if (std::system("cc --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no C compiler";
  if (std::system("echo 'int main(void){return 0;}' | cc -fopenmp -x c -o /dev/null - 2>/dev/null") != 0)
    GTEST_SKIP() << "the C compiler has no OpenMP";
  const std::string text = run_probed("examples/numachine/openmp_locks.c", "-fopenmp", kRuns);
  for (const char* line :
       {"result right", "variable totals: migratory data", "variable list: migratory data",
        "variable marks: false sharing", "variable list_lock: lock",
        "variable .gomp_critical_user_totals: lock", "lock list_lock: passed 320 times",
        "lock .gomp_critical_user_totals: passed 320 times", "barrier add_up._omp_fn.0: passed 656 times",
        "barrier mark._omp_fn.0: passed 16 times", "barrier work_unevenly._omp_fn.0: passed 336 times"})
    EXPECT_EQ(times(text, line), kRuns) << line << "\n" << text;
}

TEST(LiveProgram, OfCxxNamesTheLocksOfItsStandardLibrary) {
  if (std::system("c++ --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no C++ compiler";
  const std::string text = run_probed("tests/components/numachine/standard_locks.cpp", "-std=c++20");
  for (const char* line : {"lock plain 100\n", "lock shared 100\n", "lock turns 100\n", "condition turned ",
                           "sum 100 turn 100\n"})
    EXPECT_EQ(times(text, line), 1) << line << "\n" << text;
}

// Two threads were mixed in one processor's stream: the phase of one was the other's too.
TEST(LiveProgram, HasItsThreadsTakeTurnsWhereTheyAreMoreThanTheProcessors) {
  if (std::system("cc --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no C compiler";
  std::istringstream text(run_probed("tests/components/numachine/turns.c"));
  std::string word;
  long long first = 0, second = 0;
  text >> word >> first >> second;
  EXPECT_NEAR(static_cast<double>(first), 9000, 30);
  EXPECT_NEAR(static_cast<double>(second), 9000, 30);
  EXPECT_NE(text.str().find("barrier barrier 180 4"), std::string::npos) << text.str();
}

TEST(LiveProgram, ReadsRegistersInOrderWithItsAccesses) {
  if (std::system("cc --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no C compiler";
  const std::string text = run_probed("tests/components/numachine/turns.c");
  EXPECT_NE(text.find("read in order 1"), std::string::npos) << text;
}

// Items 6 and 22 of table 4.10, by the program's own branches. Each of 2000 rounds has two or more.
TEST(LiveProgram, HasItsBranchesPredictedAndItsBasicBlocksCounted) {
  if (std::system("cc --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no C compiler";
  if (std::system("echo 'int main(void){return 0;}' | cc -fsanitize-coverage=trace-pc -c -x c -o /dev/null - "
                  "2>/dev/null") != 0)
    GTEST_SKIP() << "the C compiler does not trace basic blocks";
  std::istringstream text(
      run_probed("tests/components/numachine/branches.c", "-fsanitize-coverage=trace-pc"));
  struct Kind {
    long long branches = 0, mispredicted = 0, blocks = 0, instructions = 0;
  };
  Kind kinds[3];
  for (int kind = 0, named = 0; kind < 3; ++kind) {
    Kind& one = kinds[kind];
    text >> named >> one.branches >> one.mispredicted >> one.blocks >> one.instructions;
    ASSERT_EQ(named, kind) << text.str();
    EXPECT_GE(one.branches, 2 * 2000);
    EXPECT_NEAR(static_cast<double>(one.blocks), static_cast<double>(one.branches), 4)
        << "each led to a block, whose store counted it; a few lie between the events and the machine's end";
    EXPECT_GT(one.instructions, 2 * one.branches) << "a branch and a store for each block, and the accesses";
  }
  const auto& [same, in_turns, random] = kinds;
  EXPECT_LT(same.mispredicted, 40);
  // Two bits of trust foresee one of two ways in turns, and of two ways at random.
  EXPECT_NEAR(static_cast<double>(in_turns.mispredicted), 1000, 600);
  EXPECT_NEAR(static_cast<double>(random.mispredicted), 1000, 200);
}

// What a live program computes took no time and was not counted. The two loops are alike but for 200 additions.
TEST(LiveProgram, HasTheInstructionsOfItsBlocksCountedAndTheirTimeTaken) {
#ifndef __x86_64__
  GTEST_SKIP() << "instructions are read from x86-64 code";
#endif
  struct {
    const char *compiler, *option;
  } const compilers[] = {{"gcc", "-fsanitize-coverage=trace-pc"},
                         {"clang", "-fsanitize-coverage=trace-pc,bb,no-prune"}};
  int tried = 0;
  for (const auto& [compiler, option] : compilers) {
    if (std::system((std::string(compiler) + " --version >/dev/null 2>&1").c_str()) != 0) continue;
    ++tried;
    std::istringstream text(run_probed("tests/components/numachine/computes.c", option, 1, compiler));
    struct Loop {
      long long sum = 0, instructions = 0, loads = 0, miss_cycles = 0, cycles = 0;
    } few, many;
    for (Loop* loop : {&few, &many})
      text >> loop->sum >> loop->instructions >> loop->loads >> loop->miss_cycles >> loop->cycles;
    constexpr long long kRounds = 1000;
    ASSERT_EQ(few.sum, 20 * kRounds) << text.str();
    EXPECT_NEAR(static_cast<double>(many.instructions - few.instructions), 200 * kRounds, 3) << compiler;
    // Beside them the loop itself, a handful each time.
    EXPECT_NEAR(static_cast<double>(few.instructions), (20 + 6) * kRounds, 3 * kRounds) << compiler;
    EXPECT_EQ(many.loads, few.loads);
    EXPECT_EQ(many.miss_cycles, few.miss_cycles);
    // Three cycles of the processor are one of the bus.
    EXPECT_NEAR(static_cast<double>(many.cycles - few.cycles), 200 * kRounds / 3., 10.) << compiler;
  }
  if (tried == 0) GTEST_SKIP() << "neither GCC nor clang";
}

// Polling a word takes nobody's copy of it away.
TEST(LiveProgram, HasItsAtomicLoadsTakenForReadsAndItsAtomicStoresForWrites) {
  if (std::system("cc --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no C compiler";
  std::istringstream text(run_probed("tests/components/numachine/atomics.c"));
  std::map<std::string, long long> stores, owned;
  long long loads = 0;
  for (std::string part; text >> part >> loads;) text >> stores[part] >> owned[part];
  EXPECT_EQ(stores, (std::map<std::string, long long>{{"poll", 0}, {"store", 2}, {"add", 2}}));
  EXPECT_EQ(owned["poll"], 0);
  EXPECT_GT(owned["store"], 0);
  EXPECT_GT(owned["add"], 0);
}

// The model takes records as they are, the modelled cache the transactions that the feed makes of them.
TEST(LiveProgram, GivesTwoModelsTheSameAccessesInTwoForms) {
  if (std::system("cc --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no C compiler";
  std::istringstream text(run_probed("tests/components/numachine/two_models.c"));
  long long loads = 0, stores = 0, reads = 0, writes = 0;
  text >> loads >> stores >> reads >> writes;
  EXPECT_GT(loads, 100000);
  EXPECT_GT(stores, 10000);
  EXPECT_EQ(reads, loads);
  EXPECT_EQ(writes, stores);
}

}  // namespace
}  // namespace substrata::numachine::test
