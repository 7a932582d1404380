// The module library: shared objects good and bad, folders, and what the built-in modules say of themselves.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include <substrata/result.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "feeding.hpp"
#include "support/temporary_folder.hpp"

namespace substrata::owl::test {
namespace {

std::string module_path(const std::string& name) {
  return std::string(OWL_TEST_MODULES) + "/" + name + ".so";
}

TEST(OwlLibrary, ListsTheBuiltInModulesWithCostAndRegisters) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < substrata_owl_module_count(); ++i) {
    auto info = client::sized<substrata_owl_module_info>();
    ASSERT_EQ(substrata_owl_module_at(i, &info), 0);
    names.emplace_back(info.name);
    EXPECT_GT(std::strlen(info.summary), 10u) << info.name;
    for (uint32_t r = 0; r < info.register_count; ++r)
      EXPECT_GT(std::strlen(info.registers[r].text), 0u) << info.name;
  }
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const char* name : {"log", "histogram", "missrate", "pattern", "guard", "sampler", "reuse", "heavy",
                           "lcs", "sharing", "counter", "bins", "workingset", "conflict"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
  auto pattern = client::sized<substrata_owl_module_info>();
  ASSERT_EQ(substrata_owl_module_find("pattern", &pattern), 0);
  EXPECT_GE(pattern.cost.table_bits, 200u * 100 * 32);  // OW-5, OW-9
}

TEST(OwlLibrary, LoadsASharedObjectAndRunsItsModule) {  // OW-3
  auto info = client::sized<substrata_owl_module_info>();
  if (substrata_owl_module_find("large", &info) != 0) {  // else another test of this process has loaded it
    ASSERT_EQ(substrata_owl_load(module_path("good").c_str()), 0) << substrata_owl_error();
  }
  EXPECT_EQ(substrata_owl_load(module_path("good").c_str()), -8);
  Feed feed("owl.test.loaded");
  TestCapsule capsule(feed.name(), "large", "limit=100");
  for (uint32_t size = 0; size < 200; ++size) feed.access(size, SUBSTRATA_READ, 0, size);
  EXPECT_EQ(capsule.metric("LARGE"), 99u);
  EXPECT_EQ(capsule.drain().size(), 99u);
  EXPECT_EQ(substrata_owl_write_register(capsule.get(), "limit", 1000), 0);
  feed.access(1, SUBSTRATA_READ, 0, 500);
  EXPECT_EQ(capsule.metric("LARGE"), 99u);
}

// Two threads that publish all the while.
class Publishing {
 public:
  explicit Publishing(const std::string& name) {
    for (std::thread& thread : threads_) {
      thread = std::thread([this, probe = add_probe(name)] {
        client::feed::Publisher publisher;
        if (publisher.try_open(probe, 16) != 0) return;
        substrata_transaction t{};
        t.size = 8;
        for (; !done_; std::this_thread::yield()) {
          publisher.publish(t);
          ++sent_;
        }
      });
    }
  }
  ~Publishing() { end(); }
  Publishing(const Publishing&) = delete;
  Publishing& operator=(const Publishing&) = delete;
  void wait_for(uint64_t more) const {
    for (const uint64_t until = sent_ + more; sent_ < until;) std::this_thread::yield();
  }
  // Gives how much was sent.
  uint64_t end() {
    done_ = true;
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
    return sent_;
  }

 private:
  std::atomic<bool> done_{false};
  std::atomic<uint64_t> sent_{0};
  std::array<std::thread, 2> threads_;
};

bool is_in_library(const char* name) {
  auto info = client::sized<substrata_owl_module_info>();
  return substrata_owl_module_find(name, &info) == 0;
}

int compose(const std::string& text) { return substrata_owl_compose(text.data(), text.size(), "test"); }

TEST(OwlLibrary, AnotherFileAtTheSamePathReplacesItsModulesWhileTheirCapsulesRun) {
  const tests::TemporaryFolder folder;
  const std::string path = folder.file("exchanged.so");
  const auto put = [&](const char* name) {
    std::filesystem::copy_file(module_path(name), folder.file("next.so"));
    std::filesystem::rename(folder.file("next.so"), path);
    return substrata_owl_load(path.c_str());
  };
  ASSERT_EQ(put("before"), 0) << substrata_owl_error();
  add_probe("owl.test.exchanged");
  TestCapsule old("owl.test.exchanged", "exchanged", "limit=0", 4096, "exchanged-old");
  Publishing threads("owl.test.exchanged");
  threads.wait_for(100);
  EXPECT_EQ(substrata_owl_load(path.c_str()), -8) << "the file is the same";
  EXPECT_EQ(put("after"), 0) << substrata_owl_error();
  TestCapsule fresh("owl.test.exchanged", "exchanged", "limit=0", 4096, "exchanged-new");
  threads.wait_for(100);
  // What the next file lacks leaves the library; capsules keep it.
  EXPECT_EQ(put("renamed"), 0) << substrata_owl_error();
  EXPECT_FALSE(is_in_library("exchanged"));
  EXPECT_TRUE(is_in_library("renamed"));
  const uint64_t seen = fresh.statistics().events_seen;
  threads.wait_for(100);
  const uint64_t sent = threads.end();
  EXPECT_GE(fresh.statistics().events_seen, seen + 80);
  EXPECT_EQ(old.metric("LARGE"), sent);
  EXPECT_EQ(old.statistics().events_seen, sent);
  EXPECT_GE(fresh.statistics().events_seen, 80u);
  EXPECT_EQ(fresh.metric("LARGE"), 2 * fresh.statistics().events_seen);
}

TEST(OwlLibrary, AModuleIsUnloadedWhileItsCapsulesRunAndItsNameIsFree) {
  const tests::TemporaryFolder folder;
  const std::string path = folder.file("unloaded.so");
  std::filesystem::copy_file(module_path("before"), path);
  ASSERT_EQ(substrata_owl_load(path.c_str()), 0) << substrata_owl_error();
  // What is made of it goes on, too.
  ASSERT_EQ(compose("module of_unloaded { input -> exchanged(limit = 0); }"), 0) << substrata_owl_error();
  add_probe("owl.test.unloaded");
  TestCapsule old("owl.test.unloaded", "exchanged", "limit=0", 4096, "unloaded-old");
  TestCapsule composed("owl.test.unloaded", "of_unloaded");
  Publishing threads("owl.test.unloaded");
  threads.wait_for(100);

  EXPECT_EQ(substrata_owl_unload("exchanged"), 0) << substrata_owl_error();
  EXPECT_FALSE(is_in_library("exchanged"));
  auto options = client::sized<substrata_owl_capsule_options>();
  options.probes = "owl.test.unloaded";
  options.name = "unloaded-late";
  options.module = "exchanged";
  substrata_owl_capsule* late = nullptr;
  EXPECT_EQ(substrata_owl_attach(&options, &late), -7);
  EXPECT_EQ(compose("module late { input -> exchanged; }"), -1);
  EXPECT_EQ(substrata_owl_unload("exchanged"), -7) << "it was unloaded before";
  EXPECT_EQ(substrata_owl_unload("of_unloaded"), 0) << substrata_owl_error();

  ASSERT_EQ(compose("module exchanged { input -> counter; }"), 0) << substrata_owl_error();
  TestCapsule fresh("owl.test.unloaded", "exchanged", "", 4096, "unloaded-old");
  threads.wait_for(100);
  EXPECT_EQ(substrata_owl_unload("exchanged"), 0) << substrata_owl_error();
  EXPECT_EQ(substrata_owl_load(path.c_str()), 0) << substrata_owl_error();
  EXPECT_EQ(substrata_owl_unload("exchanged"), 0) << substrata_owl_error();
  const uint64_t sent = threads.end();
  EXPECT_EQ(old.metric("LARGE"), sent);
  EXPECT_EQ(composed.metric("EXCHANGED_LARGE"), sent);
  EXPECT_GE(fresh.metric("COUNTER_TRANSACTIONS"), 80u);
}

TEST(OwlLibrary, WhatIsUnloadedMeanwhileIsAttachedOrRefusedAndCountsAll) {
  Feed feed("owl.test.coming");
  std::atomic<bool> done{false};
  std::thread library([&] {
    while (!done) {
      EXPECT_EQ(compose("module coming { input -> counter; }"), 0) << substrata_owl_error();
      EXPECT_EQ(substrata_owl_unload("coming"), 0) << substrata_owl_error();
    }
  });
  uint64_t attached = 0, refused = 0;
  for (uint64_t i = 0; attached < 50 || refused < 50; ++i) {
    const std::string name = "coming-" + std::to_string(i);
    auto options = client::sized<substrata_owl_capsule_options>();
    options.probes = feed.name();
    options.name = name.c_str();
    options.module = "coming";
    options.ring_bytes = 4096;
    substrata_owl_capsule* capsule = nullptr;
    const int status = substrata_owl_attach(&options, &capsule);
    if (status != 0) {
      EXPECT_EQ(status, -7) << substrata_owl_error();
      ++refused;
      continue;
    }
    ++attached;
    EXPECT_EQ(substrata_owl_start(capsule), 0) << substrata_owl_error();
    feed.access(i);
    uint64_t counted = 0;
    EXPECT_EQ(substrata_owl_read_metric(capsule, "COUNTER_TRANSACTIONS", &counted), 0);
    EXPECT_EQ(counted, 1u);
    substrata_owl_detach(capsule);
  }
  done = true;
  library.join();
}

TEST(OwlLibrary, OnlyWhatWasAddedIsUnloaded) {
  EXPECT_EQ(substrata_owl_unload("counter"), -8);
  EXPECT_TRUE(is_in_library("counter"));
  EXPECT_EQ(substrata_owl_unload("nowhere"), -7);
  EXPECT_NE(std::string(substrata_owl_error()).find("'nowhere'"), std::string::npos);
  EXPECT_EQ(substrata_owl_unload(nullptr), -1);
}

TEST(OwlLibrary, RefusesBadSharedObjectsWithAReasonAndGoesOn) {  // OW-3
  const uint32_t before = substrata_owl_module_count();
  const auto refusal = [](const std::string& path, const std::string& part) {
    EXPECT_LT(substrata_owl_load(path.c_str()), 0) << path;
    EXPECT_NE(std::string(substrata_owl_error()).find(part), std::string::npos) << substrata_owl_error();
  };
  refusal(module_path("missing"), "No such file");
  refusal(module_path("no_entry"), "substrata_owl_modules");
  refusal(module_path("other_version"), "another version");
  refusal(module_path("crashing"), tests::kSanitized ? "refused" : "signal 11");
  refusal(module_path("exiting"), "ends the process");
  refusal(module_path("never_starting"), "it never starts");
  const substrata::tests::TemporaryFolder folder;
  const std::string text = folder.file("text.so");
  std::ofstream(text) << "this is no shared object";
  refusal(text, "text.so");
  EXPECT_EQ(substrata_owl_module_count(), before);
  uint32_t refusals = 0;
  while (substrata_owl_refusal(refusals) != nullptr) ++refusals;
  EXPECT_GE(refusals, 7u);
  Feed feed("owl.test.goeson");
  TestCapsule capsule(feed.name(), "counter");
  feed.access(1);
  EXPECT_EQ(capsule.metric("TRANSACTIONS"), 1u);
}

TEST(OwlLibrary, AModuleThatNeverReturnsIsGivenUpAlsoWhereTheCallerBlocksTheAlarm) {  // OW-3
  sigset_t alarm, before;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm, &before);
  EXPECT_LT(substrata_owl_load(module_path("alarming").c_str()), 0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_NE(std::string(substrata_owl_error()).find("longer than"), std::string::npos)
      << substrata_owl_error();
}

TEST(OwlLibrary, AProgramThatIgnoresTheEndOfItsChildrenLoadsModules) {  // OW-3
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGCHLD, SIG_IGN);
    const int refused = substrata_owl_load(module_path("good").c_str());
    _exit(refused == 0 || refused == -8 ? 0 : 1);  // -8: loaded by a test before, so it passed its trial
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(OwlLibrary, RefusesASharedObjectThatAnyUserMayWrite) {
  const substrata::tests::TemporaryFolder folder;
  const std::string copy = folder.path() + "/open.so";
  std::filesystem::copy_file(module_path("good"), copy);
  std::filesystem::permissions(copy, std::filesystem::perms::all);
  EXPECT_LT(substrata_owl_load(copy.c_str()), 0);
  EXPECT_NE(std::string(substrata_owl_error()).find("chmod o-w"), std::string::npos);
}

TEST(OwlLibrary, AddsAFolderAndKeepsWhatItRefused) {
  const substrata::tests::TemporaryFolder folder;
  std::ofstream(folder.file("a.owl")) << "module folder_one { input -> counter; }";
  std::ofstream(folder.file("b.owl")) << "module folder_two { input -> folder_one -> }";
  std::ofstream(folder.file("c.owl")) << "module folder_three { input -> folder_one; }";
  std::ofstream(folder.file("d.txt")) << "something else";
  EXPECT_EQ(substrata_owl_load_folder(folder.path().c_str()), 2);
  auto info = client::sized<substrata_owl_module_info>();
  EXPECT_EQ(substrata_owl_module_find("folder_one", &info), 0);
  EXPECT_EQ(substrata_owl_module_find("folder_three", &info), 0);
  EXPECT_EQ(substrata_owl_module_find("folder_two", &info), -7);
  std::string last;
  for (uint32_t i = 0; substrata_owl_refusal(i) != nullptr; ++i) last = substrata_owl_refusal(i);
  EXPECT_NE(last.find("b.owl:1:"), std::string::npos) << last;
  EXPECT_EQ(substrata_owl_load_folder("/no/such/folder"), -3);
}

TEST(OwlDocumentation, ShowsTheModuleThatTheseTestsLoad) {
  const auto text = [](const std::string& path) {
    std::ifstream file(path);
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
  };
  const std::string folder = OWL_TEST_SOURCE;
  const std::string code = text(folder + "/tests/components/owl/modules/good.c");
  ASSERT_FALSE(code.empty());
  EXPECT_NE(text(folder + "/docs/guide/writing_an_owl_module.md").find("```c\n" + code + "```"),
            std::string::npos);
}

}  // namespace
}  // namespace substrata::owl::test
