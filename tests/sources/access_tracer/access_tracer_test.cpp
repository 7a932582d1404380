// The access tracer on real programs: compiled by its wrappers, run, and its counts compared with an
// oracle's.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "support/program.hpp"

namespace {

using namespace substrata::tests;

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string kSources = std::string(SUBSTRATA_SOURCE_DIR) + "/tests/sources/access_tracer/";
const std::string kBin = std::string(SUBSTRATA_BUILD_DIR) + "/bin/";

bool can_run(const std::string& compiler) {
  return std::system((compiler + " --version >/dev/null 2>&1").c_str()) == 0;
}

Json summary_of(const TemporaryFolder& folder, const std::string& program) {
  const std::string file = folder / "summary.json";
  output_of("SUBSTRATA_MEMORY_SUMMARY=" + file + " " + program);
  std::ifstream stream(file);
  return stream ? Json::parse(stream, nullptr, false) : Json();
}

Json entry(const Json& list, const std::string& name) {
  for (const Json& item : list)
    if (item["name"].get<std::string>() == name) return item;
  return Json();
}

// The summary of a program that a wrapper of a compiler makes of this source.
Json summary_of_source(const TemporaryFolder& folder, const std::string& compiler,
                       const std::string& source) {
  const std::string program = folder / "program";
  output_of(kBin + compiler + " -o " + program + " " + source);
  return summary_of(folder, program);
}

// Of one whose text the test has.
Json summary_of_text(const std::string& compiler, const std::string& name, const char* text) {
  const TemporaryFolder folder;
  std::ofstream(folder / name) << text;
  Json summary = summary_of_source(folder, compiler, folder / name);
  EXPECT_TRUE(summary.is_object());
  return summary;
}

struct Case {
  const char* compiler;
  const char* kernel;
  int threads;
};

class ProbedKernel : public testing::TestWithParam<Case> {};

TEST_P(ProbedKernel, SeesEveryAccessThatTheOracleCounts) {  // FE-6
  const Case& tested = GetParam();
  if (!can_run(tested.compiler)) GTEST_SKIP() << "no compiler " << tested.compiler << " here";
  TemporaryFolder folder;
  const std::string source = kSources + "kernels.c";
  const std::string arguments = std::string(tested.kernel) + " " + std::to_string(tested.threads);
  output_of("cc -O1 -DORACLE -pthread -o " + (folder / "oracle") + " " + source + " -lm");
  output_of(std::string("SUBSTRATA_CC=") + tested.compiler + " " + kBin + "substrata-cc -O2 -o " +
            (folder / "probed") + " " + source + " -lm");
  const Json summary = summary_of(folder, (folder / "probed") + " " + arguments);
  ASSERT_TRUE(summary.is_object());
  EXPECT_EQ(summary["threads"], tested.threads);
  std::istringstream counts(output_of((folder / "oracle") + " " + arguments));
  std::string name;
  unsigned long reads = 0;
  unsigned long writes = 0;
  int compared = 0;
  while (counts >> name >> reads >> writes) {
    if (reads + writes == 0) continue;
    const Json object = entry(summary["by_object"], name);
    ASSERT_TRUE(object.is_object()) << name;
    EXPECT_EQ(object["reads"], reads) << name;
    EXPECT_EQ(object["writes"], writes) << name;
    ++compared;
  }
  EXPECT_GE(compared, 1);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* compiler : {"gcc", "clang"})
    for (const char* kernel : {"sort", "fft", "lu"})
      for (const int threads : {1, 2, 4}) all.push_back({compiler, kernel, threads});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Kernels, ProbedKernel, testing::ValuesIn(cases()), [](const auto& tested) {
  return std::string(tested.param.compiler) + "_" + tested.param.kernel + "_" +
         std::to_string(tested.param.threads);
});

TEST(AccessTracer, NamesHeapObjectsByTheirAllocationSiteAndFunctionsByName) {  // FE-6
  TemporaryFolder folder;
  const Json summary = summary_of_source(folder, "substrata-cc -O1", kSources + "objects.c");
  ASSERT_TRUE(summary.is_object());
  uint64_t first_writes = 0;
  uint64_t second_writes = 0;
  for (const Json& object : summary["by_object"]) {
    const std::string name = object["name"];
    if (name.find("make_first") != std::string::npos) first_writes = object["writes"];
    if (name.find("make_second") != std::string::npos) second_writes = object["writes"];
  }
  EXPECT_EQ(first_writes, 300u);
  EXPECT_EQ(second_writes, 50u);
  const Json fill = entry(summary["by_function"], "fill");
  ASSERT_TRUE(fill.is_object());
  EXPECT_EQ(fill["writes"], 350);
  EXPECT_EQ(fill["calls"], 4);
  EXPECT_EQ(summary["atomics"], 10);
  const Json total = entry(summary["by_object"], "total");
  EXPECT_EQ(total["atomics"], 10);
}

TEST(AccessTracer, TakesTheTimesOfFunctionsWhereItIsAsked) {
  const TemporaryFolder folder;
  const std::string program = folder / "program";
  output_of(kBin + "substrata-cc -O1 -o " + program + " " + kSources + "times.c");
  const Json plain = entry(summary_of(folder, program)["by_function"], "fill");
  EXPECT_FALSE(plain.contains("ns"));
  EXPECT_EQ(plain["bytes_written"], 3 * 8000);
  const Json timed = summary_of(folder, "env SUBSTRATA_MEMORY_TIMES=1 " + program)["by_function"];
  const Json fill = entry(timed, "fill"), thrice = entry(timed, "thrice");
  EXPECT_EQ(fill["calls"], 3);
  EXPECT_GE(fill["least_ns"], 2'000'000);
  EXPECT_GE(fill["ns"].get<long>(), 3 * fill["least_ns"].get<long>());
  EXPECT_GE(thrice["ns"], fill["ns"]) << "calls of others are in it";
}

// GCC then gives the assembler the program by its standard input, which it did not read besides a file.
TEST(AccessTracer, CompilesThroughPipes) {
  const TemporaryFolder folder;
  const Json summary = summary_of_source(folder, "substrata-cc -O2 -pipe", kSources + "objects.c");
  ASSERT_TRUE(summary.is_object());
  EXPECT_EQ(entry(summary["by_function"], "fill")["writes"], 350);
}

TEST(AccessTracer, CompilesAndLinksInTwoSteps) {
  TemporaryFolder folder;
  output_of(kBin + "substrata-cc -O2 -c -o " + (folder / "objects.o") + " " + kSources + "objects.c");
  output_of(kBin + "substrata-cc -o " + (folder / "objects") + " " + (folder / "objects.o"));
  const Json summary = summary_of(folder, folder / "objects");
  ASSERT_TRUE(summary.is_object());
  EXPECT_GT(summary["writes"], 350);
}

// Instructions of a function of an object file up to its return, what is called not counted.
long instructions_of(const std::string& object, const std::string& function) {
  return std::stol(
      output_of("objdump -d --no-show-raw-insn --disassemble=" + function + " " + object +
                " | awk '/>:$/{p=1;n=0;next} p&&/^ +[0-9a-f]+:/{++n} p&&/\\tret/{exit} END{print n}'"));
}

// Each was a call, which with its return was sixteen instructions.
TEST(AccessTracer, AnAccessIsThirteenInstructionsOfTheProgramsOwnCode) {
#ifndef __x86_64__
  GTEST_SKIP() << "the hooks are called on this processor";
#endif
  if (!can_run("gcc") || !can_run("objdump")) GTEST_SKIP() << "no gcc or no objdump here";
  const TemporaryFolder folder;
  std::ofstream(folder / "writes.c")
      << "void one(volatile long* p, long v) { p[0] = v; }\n"
         "void three(volatile long* p, long v) { p[0] = v, p[1] = v, p[2] = v; }\n";
  output_of("SUBSTRATA_CC=gcc " + kBin + "substrata-cc -O2 -c -o " + (folder / "traced.o") + " " +
            (folder / "writes.c"));
  const long more =
      instructions_of(folder / "traced.o", "three") - instructions_of(folder / "traced.o", "one");
  // Besides the hook: the address into its register, and the access.
  EXPECT_EQ(more, 2 * (13 + 2)) << output_of("objdump -d " + (folder / "traced.o"));
}

TEST(AccessTracer, CountsTheSameWhereItsHooksAreCalled) {
  const TemporaryFolder folder;
  Json counts[2];
  for (const bool called : {false, true}) {
    output_of(kBin + "substrata-cc -O2 " + (called ? "-fPIC" : "") + " -o " + (folder / "sort") + " " +
              kSources + "kernels.c -lm");
    for (const char* name : {"keys", "other", "digits"})
      counts[called][name] = entry(summary_of(folder, (folder / "sort") + " sort 2")["by_object"], name);
    ASSERT_GT(counts[called]["keys"]["reads"], 40000);
  }
  EXPECT_EQ(counts[0], counts[1]);
}

// Its hooks are part of it: a new runtime took the place of the code for a slot, and the address for the place.
TEST(AccessTracer, CountsAProgramThatWasLinkedWithEarlierHooks) {
  const TemporaryFolder folder;
  const std::string program = folder / "earlier", lib = std::string(SUBSTRATA_BUILD_DIR) + "/lib";
  output_of("cc -o " + program + " " + kSources + "earlier_hooks.c -L" + lib + " -Wl,-rpath," + lib +
            " -lsubstrata_memory");
  const Json summary = summary_of(folder, program);
  ASSERT_TRUE(summary.is_object());
  EXPECT_EQ(entry(summary["by_function"], "main")["writes"], 1);
  EXPECT_EQ(entry(summary["by_object"], "written")["writes"], 1);
}

// The program's hooks are in its code, the library's are calls of the program's.
TEST(AccessTracer, CountsALibraryThatTheProgramLoads) {
  const TemporaryFolder folder;
  std::ofstream(folder / "library.c")
      << "volatile long there[10];\n"
         "void fill_there(void) { for (int i = 0; i < 10; ++i) there[i] = i; }\n";
  std::ofstream(folder / "program.c")
      << "#include <dlfcn.h>\n#include <stdio.h>\n"
         "volatile long here[10];\n"
         "__attribute__((noinline)) void fill_here(void) { for (int i = 0; i < 10; ++i) here[i] = i; }\n"
         "int main(int count, char** given) {\n"
         "  void* library = dlopen(given[count - 1], RTLD_NOW);\n"
         "  void (*fill_there)(void) = library ? (void (*)(void))dlsym(library, \"fill_there\") : 0;\n"
         "  if (fill_there == 0) return 1;\n"
         "  for (int i = 0; i < 20; ++i) fill_here(), fill_there();\n"
         "  return 0;\n"
         "}\n";
  const std::string library = folder / "library.so", program = folder / "program";
  output_of(kBin + "substrata-cc -O2 -fPIC -shared -o " + library + " " + (folder / "library.c"));
  output_of(kBin + "substrata-cc -O2 -o " + program + " " + (folder / "program.c"));
  const Json summary = summary_of(folder, program + " " + library);
  ASSERT_TRUE(summary.is_object());
  EXPECT_EQ(entry(summary["by_function"], "fill_here")["writes"], 200);
  EXPECT_EQ(summary["writes"], 200 + 200);
}

// FE-6: sites that were bound while nobody watched, and sites bound to an observer that has gone
TEST(AccessTracer, AnObserverThatComesAndGoesIsGivenEveryAccessBetween) {
  TemporaryFolder folder;
  const std::string program = folder / "watched";
  output_of(kBin + "substrata-cc -O2 -I" + SUBSTRATA_SOURCE_DIR + "/include -o " + program + " " + kSources +
            "watched.c -L" + SUBSTRATA_BUILD_DIR + "/lib -lsubstrata");
  EXPECT_EQ(output_of(program), "1000 0\n");
  const Json summary = summary_of(folder, program);
  ASSERT_TRUE(summary.is_object());
  EXPECT_EQ(entry(summary["by_function"], "write_all")["writes"], 3000);
}

// Every access was counted, also of a program whose counts nobody would see.
TEST(AccessTracer, HooksRestWhereNothingAsksForAnAccess) {
  for (const std::string option : {"", "-fPIC"}) {  // part of the program's code, and called
    const TemporaryFolder folder;
    const std::string program = folder / "idle";
    output_of(kBin + "substrata-cc -O2 " + option + " -I" + SUBSTRATA_SOURCE_DIR + "/include -o " + program +
              " " + kSources + "idle.c -L" + SUBSTRATA_BUILD_DIR + "/lib -lsubstrata");
    EXPECT_EQ(output_of(program),
              "first rests\nsecond rests\ngiven 0\n"
              "first rests\nsecond works\ngiven 1001\n"
              "first rests\nsecond rests\ngiven 1001\n");
    EXPECT_EQ(output_of("SUBSTRATA_MEMORY_SUMMARY=" + (folder / "summary.json") + " " + program),
              "first works\nsecond works\ngiven 0\n"
              "first works\nsecond works\ngiven 1001\n"
              "first works\nsecond works\ngiven 1001\n");
    EXPECT_EQ(entry(summary_of(folder, program)["by_function"], "write_all")["writes"], 7 * 1001);
  }
}

TEST(AccessTracer, CountsAFortranProgram) {  // FE-6
  if (!can_run("gfortran")) GTEST_SKIP() << "no gfortran here";
  const Json summary = summary_of_text("substrata-fc -O2", "sum.f90",
                                       "program sum_of_squares\n"
                                       "  implicit none\n"
                                       "  integer(8), volatile, save :: values(1000)\n"
                                       "  integer(8) :: i, total\n"
                                       "  do i = 1, 1000\n"
                                       "    values(i) = i * i\n"
                                       "  end do\n"
                                       "  total = 0\n"
                                       "  do i = 1, 1000\n"
                                       "    total = total + values(i)\n"
                                       "  end do\n"
                                       "  if (total /= 333833500_8) stop 1\n"
                                       "end program\n");
  if (!summary.is_object()) return;
  EXPECT_GE(summary["reads"], 1000);
  EXPECT_GE(summary["writes"], 1000);
}

TEST(AccessTracer, CountsNewAndDeleteOfACxxProgram) {  // FE-6
  const Json summary = summary_of_text("substrata-c++ -O2", "vector.cpp",
                                       "#include <vector>\n"
                                       "int main() {\n"
                                       "  std::vector<long> v(1000);\n"
                                       "  volatile long* p = v.data();\n"
                                       "  for (long i = 0; i < 1000; ++i) p[i] = i;\n"
                                       "  long sum = 0;\n"
                                       "  for (long i = 0; i < 1000; ++i) sum += p[i];\n"
                                       "  return sum == 499500 ? 0 : 1;\n"
                                       "}\n");
  if (!summary.is_object()) return;
  uint64_t heap_reads = 0;
  for (const Json& object : summary["by_object"])
    if (object["kind"] == "heap") heap_reads += object["reads"].get<uint64_t>();
  EXPECT_EQ(heap_reads, 1000u);
}

TEST(AccessTracer, AChildProcessDoesNotOverwriteItsParentsSummary) {
  const Json summary =
      summary_of_text("substrata-cc -O2", "fork.c",
                      "#include <sys/wait.h>\n#include <unistd.h>\n#include <stdlib.h>\n"
                      "volatile int values[100];\n"
                      "int main(void) {\n"
                      "  for (int i = 0; i < 100; i++) values[i] = i;\n"
                      "  pid_t child = fork();\n"
                      "  if (child == 0) { for (int i = 0; i < 50; i++) values[i] = 0; exit(0); }\n"
                      "  int status; waitpid(child, &status, 0);\n"
                      "  return status;\n"
                      "}\n");
  if (!summary.is_object()) return;
  EXPECT_EQ(entry(summary["by_object"], "values")["writes"], 100);
}

// Compiles a program of this folder with the tracer.
std::string traced(const TemporaryFolder& folder, const std::string& source) {
  const bool cxx = source.ends_with(".cpp");
  std::string program = folder / "traced";
  output_of(kBin + (cxx ? "substrata-c++" : "substrata-cc") + " -O1 -pthread -o " + program + " " + kSources +
            source);
  return program;
}

// Its settings were read with its owner's rights, so that it wrote the file where its user said.
TEST(AccessTracer, ASetUserIdProgramWritesNoSummaryWhereItsUserSays) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to make a set-user-ID program";
  constexpr uid_t kOwner = 65534;
  TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms::all);
  const std::string program = folder / "program";
  ASSERT_TRUE(summary_of_source(folder, "substrata-cc", kSources + "objects.c").is_object());
  fs::remove(folder / "summary.json");
  ASSERT_EQ(chown(program.c_str(), kOwner, kOwner), 0);
  ASSERT_EQ(chmod(program.c_str(), 04755), 0);
  const Ran ran = run("SUBSTRATA_MEMORY_SUMMARY=" + folder.file("summary.json") + " " + program);
  EXPECT_EQ(ran.status, 0) << ran.out;
  EXPECT_FALSE(fs::exists(folder / "summary.json"));
}

// The limit only ends a program that waits for itself.
TEST(AccessTracer, ASignalHandlerThatInterruptsTheTracerDoesNotWaitForIt) {
  const TemporaryFolder folder;
  EXPECT_EQ(output_of("timeout 60 " + traced(folder, "interrupted.c")), "right\n");
}

TEST(AccessTracer, WhatAHandlerDoesInsideTheTracerIsCountedAsSkipped) {
  const TemporaryFolder folder;
  const Json summary = summary_of(folder, "timeout 60 " + traced(folder, "interrupted.c"));
  ASSERT_TRUE(summary.is_object());
  EXPECT_GT(summary["skipped"], 0);
}

TEST(AccessTracer, TwoThousandThreadsThatEndedLeaveNoMemoryBehind) {
  const TemporaryFolder folder;
  const long pages = std::stol(output_of(traced(folder, "threads.c")));
  EXPECT_LT(pages, 2000);  // each would leave more than 128
}

TEST(AccessTracer, CountsOfThreadsThatEndedStay) {
  const TemporaryFolder folder;
  const Json summary = summary_of(folder, traced(folder, "threads.c"));
  ASSERT_TRUE(summary.is_object());
  EXPECT_EQ(summary["threads"], 2101);
  EXPECT_GE(entry(summary["by_function"], "work")["writes"], 2100 * 16);
}

TEST(AccessTracer, AReusedStackIsThatOfTheThreadThatRunsOnIt) {
  const TemporaryFolder folder;
  const Json summary = summary_of(folder, traced(folder, "stacks.c"));
  ASSERT_TRUE(summary.is_object());
  uint64_t writes = 0;
  for (const Json& object : summary["by_object"])
    if (object["name"] == "stack of thread 2") writes = object["writes"];
  EXPECT_LT(writes, 1000u);
}

// They were "heap of make_first+0x1e", also of a program compiled with -g.
TEST(AccessTracer, AHeapObjectIsNamedByTheLineThatAllocatesIt) {
  if (!can_run("addr2line")) GTEST_SKIP() << "no addr2line here";
  const TemporaryFolder folder;
  output_of(kBin + "substrata-cc -g -O2 -o " + (folder / "objects") + " " + kSources + "objects.c");
  const std::string table = output_of(kBin + "substrata accesses -- " + (folder / "objects"));
  EXPECT_NE(table.find("heap, objects.c:7: __attribute__((noinline)) static volatile int* make_first"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("total"), std::string::npos) << table;
}

// The tracer said nothing unless a variable was set.
TEST(AccessTracer, AProgramThatWasNotTracedIsSaidToBeNone) {
  const Ran ran = run(kBin + "substrata accesses -- true");
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.out.find("substrata-cc"), std::string::npos) << ran.out;
}

TEST(AccessTracer, TheRooflineTakesItsBytesAndThoseOfTheCacheModel) {
  const TemporaryFolder folder;
  std::ofstream(folder / "peaks.json")
      << R"({"version":1,"host":"h","processor":"p","cores":1,)"
      << R"("flops_per_second":[{"name":"SSE2","one":1e9,"all":1e9,"bytes":0}],)"
      << R"("bytes_per_second":[{"name":"memory","one":1e9,"all":1e9,"bytes":1}]})";
  output_of(kBin + "substrata-cc -O2 -o " + (folder / "objects") + " " + kSources + "objects.c");
  const std::string command = kBin + "substrata roofline --peaks " + (folder / "peaks.json");
  EXPECT_NE(output_of(command + " -- " + (folder / "objects")).find("counted by the access tracer"),
            std::string::npos);
  const std::string modelled = output_of(command + " --cache-model -- " + (folder / "objects"));
  EXPECT_NE(modelled.find("modelled (L2_MISSES and L2_WRITE_BACKS"), std::string::npos) << modelled;
}

TEST(AccessTracer, ASummaryOfAnEarlierRunIsShownAsATable) {
  const TemporaryFolder folder;
  output_of(kBin + "substrata-cc -O2 -o " + (folder / "objects") + " " + kSources + "objects.c");
  summary_of(folder, folder / "objects");
  EXPECT_NE(output_of(kBin + "substrata accesses " + (folder / "summary.json")).find("heap"),
            std::string::npos);
}

TEST(AccessTracer, ItsOwnWantOfMemoryDoesNotReachTheProgram) {
  const TemporaryFolder folder;
  EXPECT_EQ(output_of(traced(folder, "no_memory.cpp")), "nothing\n");
}

TEST(AccessTracer, AFilterThatCannotBeReadIsReportedAndIgnored) {
  TemporaryFolder folder;
  output_of(kBin + "substrata-cc -O2 -o " + (folder / "objects") + " " + kSources + "objects.c");
  const std::string text = output_of("SUBSTRATA_MEMORY_FILTER=colour=red " + (folder / "objects"));
  EXPECT_NE(text.find("'colour' is not known"), std::string::npos) << text;
}

TEST(AccessTracer, AMissingCompilerIsReportedByName) {
  const Ran ran = run("SUBSTRATA_CC=no-such-compiler " + kBin + "substrata-cc -c x.c");
  EXPECT_NE(ran.status, 0);
  const std::string& text = ran.out;
  EXPECT_NE(text.find("no-such-compiler"), std::string::npos) << text;
}

}  // namespace
