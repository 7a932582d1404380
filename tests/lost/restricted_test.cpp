// Machines that keep much from a program: no perf_event_open, no /proc, no /sys, a file system that cannot be written.
// Each in a child process of its own, through PAPI's interface.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <papi.h>
#include <sched.h>
#include <stdlib.h>
#include <substrata/extensions.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>

#include "support/program.hpp"
#include "support/refused_call.hpp"
#include "support/temporary_folder.hpp"

namespace {

using substrata::tests::refuse_system_call;

// What the body says in a child process: "" where all was well, "skip: ..." where it could not be tried.
std::string in_a_child(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const std::string said = body();
    const ssize_t written = write(ends[1], said.data(), said.size());
    _exit(written == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string said;
  char text[1024];
  for (ssize_t got = 0; (got = read(ends[0], text, sizeof text)) > 0;)
    said.append(text, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return "ended by signal " + std::to_string(WTERMSIG(status)) + "; " + said;
  return WEXITSTATUS(status) == 0 ? said : "ended with " + std::to_string(WEXITSTATUS(status)) + "; " + said;
}

#define EXPECT_WELL(said)                                                 \
  do {                                                                    \
    const std::string answer = (said);                                    \
    if (answer.rfind("skip: ", 0) == 0) GTEST_SKIP() << answer.substr(6); \
    EXPECT_EQ(answer, "");                                                \
  } while (false)

bool starts() { return PAPI_library_init(PAPI_VER_CURRENT) == PAPI_VER_CURRENT; }

// A set of the example's counts, from its making to its end; "" or what went wrong.
std::string counts() {
  int set = PAPI_NULL;
  long long values[1] = {-1};
  if (PAPI_create_eventset(&set) != PAPI_OK) return "no eventset";
  if (PAPI_add_named_event(set, "example:::reads") != PAPI_OK) return "no event";
  if (PAPI_start(set) != PAPI_OK || PAPI_read(set, values) != PAPI_OK) return "no value";
  if (values[0] != 1 || PAPI_stop(set, values) != PAPI_OK) return "a wrong value";
  if (PAPI_cleanup_eventset(set) != PAPI_OK || PAPI_destroy_eventset(&set) != PAPI_OK) return "no end";
  return PAPI_get_real_nsec() > 0 ? "" : "no clock";
}

std::string reason_of(const char* component) {
  const PAPI_component_info_t* const info = PAPI_get_component_info(PAPI_get_component_index(component));
  return info != nullptr && info->disabled != 0 ? info->disabled_reason : "it is not disabled";
}

class WithoutPerfEventOpen : public testing::TestWithParam<unsigned> {};

TEST_P(WithoutPerfEventOpen, NoEventOfTheKernelIsTakenAndTheReasonNamesTheCure) {
  EXPECT_WELL(in_a_child([]() -> std::string {
    if (!refuse_system_call(SYS_perf_event_open, static_cast<unsigned>(GetParam())))
      return "skip: a seccomp filter is refused here";
    if (!starts()) return "the library does not start";
    int set = PAPI_NULL;
    PAPI_create_eventset(&set);
    if (PAPI_add_named_event(set, "perf::TASK-CLOCK") >= 0) return "an event that cannot be opened was taken";
    std::string why = substrata_last_error();
    why += reason_of("perf_event");
    const char* const cure = GetParam() == ENOSYS ? "CONFIG_PERF_EVENTS" : "seccomp";
    return why.find(cure) != std::string::npos ? "" : why;
  }));
}

TEST_P(WithoutPerfEventOpen, OtherComponentsCount) {
  EXPECT_WELL(in_a_child([]() -> std::string {
    if (!refuse_system_call(SYS_perf_event_open, static_cast<unsigned>(GetParam())))
      return "skip: a seccomp filter is refused here";
    return starts() ? counts() : "the library does not start";
  }));
}

// The filter comes while a set counts: what is open goes on, and what is refused later leaves it alone.
TEST_P(WithoutPerfEventOpen, ASetThatCountsGoesOn) {
  EXPECT_WELL(in_a_child([]() -> std::string {
    if (!starts()) return "the library does not start";
    int set = PAPI_NULL, other = PAPI_NULL;
    long long before = 0, after = 0;
    PAPI_create_eventset(&set);
    PAPI_create_eventset(&other);
    if (PAPI_add_named_event(set, "perf::TASK-CLOCK") != PAPI_OK || PAPI_start(set) != PAPI_OK)
      return "skip: the kernel's task clock cannot be counted here";
    if (!refuse_system_call(SYS_perf_event_open, static_cast<unsigned>(GetParam())))
      return "skip: a seccomp filter is refused here";
    if (PAPI_read(set, &before) != PAPI_OK) return "the first read failed";
    if (PAPI_add_named_event(other, "perf::PAGE-FAULTS") >= 0) return "an event was taken";
    if (PAPI_stop(set, &after) != PAPI_OK) return "the stop failed";
    if (after < before) return "the clock went back";
    return PAPI_start(set) == PAPI_OK ? "" : "the set does not start again";
  }));
}

INSTANTIATE_TEST_SUITE_P(ForbiddenWith, WithoutPerfEventOpen, testing::Values(EPERM, ENOSYS),
                         [](const auto& each) { return each.param == EPERM ? "EPERM" : "ENOSYS"; });

// Mounts of this process's own; false where that is not allowed.
bool own_mounts() {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}
bool empty(const char* folder) { return mount("none", folder, "tmpfs", MS_RDONLY, "size=4k") == 0; }

class WithoutKernelFiles : public testing::TestWithParam<int> {
 protected:
  static bool hide() {
    return own_mounts() && ((GetParam() & 1) == 0 || empty("/sys")) &&
           ((GetParam() & 2) == 0 || empty("/proc"));
  }
};

TEST_P(WithoutKernelFiles, TheLibraryStartsAndCounts) {
  EXPECT_WELL(in_a_child([]() -> std::string {
    if (!hide()) return "skip: mounts of its own are not allowed to this process";
    return starts() ? counts() : "the library does not start";
  }));
}

TEST_P(WithoutKernelFiles, WhatIsNotKnownIsAnErrorOrNothing) {
  EXPECT_WELL(in_a_child([]() -> std::string {
    if (!hide()) return "skip: mounts of its own are not allowed to this process";
    if (!starts()) return "the library does not start";
    PAPI_dmem_info_t memory{};
    const int status = PAPI_get_dmem_info(&memory);
    if (status != PAPI_OK && status != PAPI_ESYS) return "PAPI_get_dmem_info gives " + std::to_string(status);
    if (status == PAPI_OK && (GetParam() & 2) != 0) return "memory is known without /proc";
    const PAPI_exe_info_t* const program = PAPI_get_executable_info();
    if (program != nullptr && (GetParam() & 2) != 0 && program->fullname[0] != '\0')
      return "the program is known without /proc";
    if (const PAPI_hw_info_t* const hardware = PAPI_get_hardware_info(); hardware != nullptr) {
      if (hardware->totalcpus < 1 || hardware->sockets < 1) return "a machine without a processor";
    }
    return "";
  }));
}

TEST_P(WithoutKernelFiles, ComponentsThatReadThemSayWhatTheyMiss) {
  EXPECT_WELL(in_a_child([]() -> std::string {
    if (!hide()) return "skip: mounts of its own are not allowed to this process";
    if (!starts()) return "the library does not start";
    if ((GetParam() & 2) != 0 && reason_of("net").find("/proc") == std::string::npos)
      return "net: " + reason_of("net");
    if ((GetParam() & 1) == 0) return "";
    if (reason_of("powercap").find("/sys/class/powercap") == std::string::npos)
      return "powercap: " + reason_of("powercap");
    return reason_of("coretemp").find("/sys/class/hwmon") != std::string::npos ? "" : reason_of("coretemp");
  }));
}

TEST_P(WithoutKernelFiles, NothingIsPrinted) {
  EXPECT_WELL(in_a_child([]() -> std::string {
    const int errors = memfd_create("errors", MFD_CLOEXEC);
    if (!hide()) return "skip: mounts of its own are not allowed to this process";
    dup2(errors, STDERR_FILENO);
    if (!starts()) return "the library does not start";
    PAPI_get_hardware_info();
    PAPI_get_executable_info();
    char text[1024];
    const ssize_t got = pread(errors, text, sizeof text, 0);
    return got > 0 ? std::string(text, static_cast<std::size_t>(got)) : "";
  }));
}

TEST_P(WithoutKernelFiles, EveryComponentAndEventCanBeAskedFor) {
  EXPECT_WELL(in_a_child([]() -> std::string {
    if (!hide()) return "skip: mounts of its own are not allowed to this process";
    if (!starts()) return "the library does not start";
    for (int component = 0; component < PAPI_num_components(); ++component) {
      const PAPI_component_info_t* const info = PAPI_get_component_info(component);
      if (info == nullptr) return "no component " + std::to_string(component);
      if (info->disabled != 0 && info->disabled_reason[0] == '\0')
        return std::string(info->name) + " has no reason";
      int code = PAPI_NATIVE_MASK;
      for (int got = PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, component); got == PAPI_OK;
           got = PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, component)) {
        PAPI_event_info_t about{};
        PAPI_get_event_info(code, &about);
      }
    }
    return "";
  }));
}

INSTANTIATE_TEST_SUITE_P(Of, WithoutKernelFiles, testing::Values(1, 2, 3), [](const auto& each) {
  return each.param == 1 ? "Sys" : each.param == 2 ? "Proc" : "SysAndProc";
});

// A folder that nobody can write, not even root.
class ReadOnlyFileSystem : public testing::Test {
 protected:
  bool mounted() const { return own_mounts() && empty(folder_.path().c_str()); }
  substrata::tests::TemporaryFolder folder_;
};

TEST_F(ReadOnlyFileSystem, RegionsAreMeasuredAndTheirReportIsLeftOut) {
  EXPECT_WELL(in_a_child([&]() -> std::string {
    if (!mounted()) return "skip: mounts of its own are not allowed to this process";
    setenv("PAPI_OUTPUT_DIRECTORY", folder_.path().c_str(), 1);
    setenv("PAPI_EVENTS", "example:::reads", 1);
    if (PAPI_hl_region_begin("region") != PAPI_OK || PAPI_hl_region_end("region") != PAPI_OK)
      return "a region cannot be measured";
    PAPI_hl_stop();  // its answer says whether there is a report
    return starts() ? counts() : "the library does not start afterwards";
  }));
}

TEST_F(ReadOnlyFileSystem, ARecordingIsRefusedByItsNameAndTheReason) {
  EXPECT_WELL(in_a_child([&]() -> std::string {
    if (!mounted()) return "skip: mounts of its own are not allowed to this process";
    const auto ran =
        substrata::tests::run("cd / && TMPDIR=/dev/shm " SUBSTRATA_TOOL " record -e example:::reads -o " +
                              folder_.file("run.sub") + " -- true");
    if (ran.status == 0) return "it said that it recorded; " + ran.out;
    return ran.out.find("run.sub") != std::string::npos &&
                   ran.out.find("Read-only file system") != std::string::npos
               ? ""
               : ran.out;
  }));
}

TEST_F(ReadOnlyFileSystem, AReportIsRefusedByItsNameAndTheReason) {
  EXPECT_WELL(in_a_child([&]() -> std::string {
    if (!mounted()) return "skip: mounts of its own are not allowed to this process";
    const std::string record = "/dev/shm/substrata-read-only-" + std::to_string(getpid()) + ".sub";
    substrata::tests::run(SUBSTRATA_TOOL " record -q -e example:::reads -o " + record + " -- true");
    const auto ran =
        substrata::tests::run(SUBSTRATA_TOOL " report --html " + folder_.file("page.html") + " " + record);
    unlink(record.c_str());
    if (ran.status == 0) return "it said that it wrote the page; " + ran.out;
    return ran.out.find("page.html") != std::string::npos ? "" : ran.out;
  }));
}

}  // namespace
