// torture_driver EXPERIMENT [--iterations N | --stacks | --all [--part I/N] | --only PLACE] [--program NAME]
// [--seconds S] [--seed S] [--verbose] [--hwloc]: does one kind of harm to the library, and prints what came of it as
// one line of JSON. Ends with 1 if anything went wrong, 77 if it cannot be tried here. --stacks: one allocation for
// each call stack that asks for one. --program: of the programs only those with this in their name. --hwloc: also
// inside hwloc and libpfm, which do not bear it.
#include "torture.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

namespace substrata::torture {

namespace {
constexpr size_t kTextBytes = 16384;
}

char* shared_text() {
  static char* const text = static_cast<char*>(
      mmap(nullptr, kTextBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  return text;
}

void leave_text(const std::string& text) { std::snprintf(shared_text(), kTextBytes, "%s", text.c_str()); }

std::string end_in_words(int status, int seconds) {
  const char* const text = shared_text();
  if (status < 0) return "hangs (ended after " + std::to_string(seconds) + " s)";
  if (WIFSIGNALED(status)) return "ended by signal " + std::to_string(WTERMSIG(status)) + " " + text;
  if (WEXITSTATUS(status) != 0) return "ended with " + std::to_string(WEXITSTATUS(status)) + " " + text;
  return text;
}

namespace {

std::int64_t now_in_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

// Each run would put those of the runs before aside.
void remove_reports() {
  const char* const folder = std::getenv("PAPI_OUTPUT_DIRECTORY");
  if (folder == nullptr) return;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with("papi_hl_output"))
      std::filesystem::remove_all(entry.path(), ignored);
}

}  // namespace

Deadline::Deadline(const Options& options)
    : end_(options.seconds > 0 ? now_in_seconds() + options.seconds : 0) {}
bool Deadline::over() const { return end_ > 0 && now_in_seconds() >= end_; }

std::string in_a_process(const std::function<std::string()>& body, int seconds) {
  shared_text()[0] = '\0';
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return "cannot fork";
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    leave_text(body());
    std::exit(0);  // with the library's exit handlers
  }
  const int process = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  int status = 0;
  const std::int64_t begin = now_in_seconds();
  while (waitpid(child, &status, WNOHANG) != child) {
    if (now_in_seconds() - begin > seconds) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      status = -1;
      break;
    }
    pollfd ended{process, POLLIN, 0};
    poll(&ended, 1, process >= 0 ? 1000 : 1);
  }
  close(process);
  remove_reports();
  return end_in_words(status, seconds);
}

int open_descriptors() {
  int count = 0;
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return -1;
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

std::string last_descriptors(int count) {
  std::string names;
  for (int file = 1023; file >= 0 && count > 0; --file) {
    char name[256];
    const ssize_t length = readlink(("/proc/self/fd/" + std::to_string(file)).c_str(), name, sizeof name);
    if (length <= 0) continue;
    names += " " + std::string(name, static_cast<size_t>(length));
    --count;
  }
  return names;
}

std::int64_t resident_bytes() {
  long pages = 0, resident = 0;
  FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  const int got = std::fscanf(file, "%ld %ld", &pages, &resident);
  std::fclose(file);
  return got == 2 ? resident * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace substrata::torture

namespace {

using namespace substrata::torture;

constexpr struct {
  const char* name;
  Outcome (*run)(const Options&);
} kExperiments[] = {
    {"allocations", failing_allocations},
    {"memory", exhausted_memory},
    {"system_calls", failing_system_calls},
    {"transfers", short_transfers},
    {"limits", exhausted_limits},
    {"timer", interrupted_calls},
    {"forks", forks_among_threads},
    {"late", late_calls},
    {"exits", exits_among_threads},
    {"reload", reloaded_library},
    {"states", states_of_eventsets},
    {"threads", many_threads},
    {"eventsets", many_eventsets},
    {"tools", failing_tools},
    {"shim", failing_shim},
    {"tracer", failing_tracer},
    {"handlers", replaced_signal_handlers},
    {"copies", several_papis},
    {"ranks", many_ranks},
};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + '"';
}

int usage() {
  std::fprintf(
      stderr,
      "usage: torture_driver EXPERIMENT [--iterations N | --stacks | --all [--part I/N] | --only PLACE] "
      "[--program NAME] [--seconds S] [--seed S] [--verbose] [--hwloc]\nexperiments:");
  for (const auto& one : kExperiments) std::fprintf(stderr, " %s", one.name);
  std::fprintf(stderr, "\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  Outcome (*run)(const Options&) = nullptr;
  if (argc < 2) return usage();
  for (const auto& one : kExperiments)
    if (std::strcmp(argv[1], one.name) == 0) run = one.run;
  if (run == nullptr) return usage();
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--all")
      options.all = true;
    else if (word == "--stacks")
      options.stacks = true;
    else if (word == "--program" && i + 1 < argc)
      options.program = argv[++i];
    else if (word == "--seconds" && i + 1 < argc)
      options.seconds = std::atoll(argv[++i]);
    else if (word == "--part" && i + 1 < argc &&
             std::sscanf(argv[++i], "%zu/%zu", &options.part, &options.parts) == 2 &&
             options.part < options.parts)
      continue;
    else if (word == "--hwloc")
      try_hwloc_too();
    else if (word == "--verbose")
      options.verbose = true;
    else if (word == "--iterations" && i + 1 < argc)
      options.iterations = std::atoll(argv[++i]);
    else if (word == "--only" && i + 1 < argc)
      options.only = std::atoll(argv[++i]);
    else if (word == "--seed" && i + 1 < argc)
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    else
      return usage();
  }
  // Reports of regions go to a folder of this run's own.
  std::string folder = (std::filesystem::temp_directory_path() / "substrata-torture-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror(folder.c_str());
    return 1;
  }
  setenv("PAPI_OUTPUT_DIRECTORY", folder.c_str(), 1);
  setenv("PAPI_EVENTS", "example:::ticks,example:::constant", 1);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  timespec began{}, ended{};
  clock_gettime(CLOCK_MONOTONIC, &began);
  const Outcome outcome = run(options);
  clock_gettime(CLOCK_MONOTONIC, &ended);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  for (const std::string& failure : outcome.failures)
    std::fprintf(stderr, "torture %s: %s\n", argv[1], failure.c_str());
  std::printf("{\"experiment\": %s, \"seed\": %llu, \"tried\": %lld, \"failures\": %zu, \"seconds\": %lld",
              quoted(argv[1]).c_str(), static_cast<unsigned long long>(options.seed),
              static_cast<long long>(outcome.tried), outcome.failures.size(),
              static_cast<long long>(ended.tv_sec - began.tv_sec));
  for (const auto& [name, value] : outcome.figures)
    std::printf(", %s: %s", quoted(name).c_str(), quoted(value).c_str());
  if (!outcome.skipped.empty()) std::printf(", \"skipped\": %s", quoted(outcome.skipped).c_str());
  if (!outcome.failures.empty()) std::printf(", \"first\": %s", quoted(outcome.failures.front()).c_str());
  std::printf("}\n");
  if (!outcome.skipped.empty()) return 77;
  return outcome.failures.empty() ? 0 : 1;
}
