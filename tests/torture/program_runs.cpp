// Each run has a folder of its own; the library torture_faults, preloaded, makes allocations fail, and system calls are
// answered by the driver.
#include "program_runs.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <optional>
#include <set>
#include <sstream>

#include "callers.hpp"
#include "interposer.hpp"
#include "support/temporary_folder.hpp"
#include "watch.hpp"

namespace substrata::torture {
namespace {

namespace fs = std::filesystem;
constexpr int kSeconds = 20;

// The file that the preloaded library maps too.
class SharedFaults {
 public:
  SharedFaults() {
    path_ = (fs::temp_directory_path() / "substrata-faults-XXXXXX").string();
    const int file = mkstemp(path_.data());
    if (file < 0 || ftruncate(file, sizeof(Faults)) != 0) std::perror(path_.c_str());
    void* const at = mmap(nullptr, sizeof(Faults), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (at == MAP_FAILED) throw std::bad_alloc();
    faults_ = static_cast<Faults*>(at);
  }
  ~SharedFaults() {
    munmap(faults_, sizeof(Faults));
    unlink(path_.c_str());
  }
  SharedFaults(const SharedFaults&) = delete;
  SharedFaults& operator=(const SharedFaults&) = delete;
  Faults* operator->() const { return faults_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Faults* faults_ = nullptr;
};

struct Ran {
  int status = 0;  // as waitpid() gives it, or kHung, kNotWatched
  std::string out, err;
  bool file_there = false;
  int reader_status = 0;
  std::string reading;  // what the reader prints of the file
};

// ---- Running ----

[[noreturn]] void become(const std::vector<std::string>& command, const fs::path& folder, const char* out,
                         const char* err, std::int64_t files = 0) {
  const int to = open((folder / out).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int errors = open((folder / err).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int none = open("/dev/null", O_RDONLY);
  if (to < 0 || errors < 0 || none < 0 || dup2(none, 0) < 0 || dup2(to, 1) < 0 || dup2(errors, 2) < 0 ||
      chdir((folder / "work").c_str()) != 0)
    _exit(126);
  closefrom(3);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const rlimit few{static_cast<rlim_t>(files), static_cast<rlim_t>(files)};
  if (files > 0 && setrlimit(RLIMIT_NOFILE, &few) != 0) _exit(126);
  execvp(words[0], words.data());
  _exit(126);
}

int status_without_watching(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    body();
  }
  int status = 0;
  for (int i = 0; waitpid(child, &status, WNOHANG) != child; ++i) {
    if (i > kSeconds * 500) {
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      return kHung;
    }
    usleep(2000);
  }
  kill(-child, SIGKILL);
  return status;
}

// Processes that a program left behind are children of this one by now.
void end_orphans() {
  const std::string list = "/proc/self/task/" + std::to_string(gettid()) + "/children";
  for (int i = 0; i < 100; ++i) {
    std::ifstream children(list);
    pid_t child = 0;
    bool any = false;
    while (children >> child) {
      any = true;
      kill(child, SIGKILL);
    }
    if (!any) return;
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    usleep(1000);
  }
}

Ran run(const Program& program, const SharedFaults& faults, const Answer* answer, std::int64_t files = 0) {
  const tests::TemporaryFolder temporary;
  const fs::path folder = temporary.path();
  fs::create_directory(folder / "work");
  const auto body = [&] {
    for (const auto& [variable, value] : program.environment) setenv(variable.c_str(), value.c_str(), 1);
    setenv("HOME", folder.c_str(), 1);
    setenv(kFaultsVariable, faults.path().c_str(), 1);
    const char* const others = std::getenv("LD_PRELOAD");
    setenv("LD_PRELOAD",
           (TORTURE_FAULTS_LIBRARY + (others != nullptr ? ":" + std::string(others) : std::string())).c_str(),
           1);
    if (answer != nullptr) arm_faults(true);
    become(program.command, folder, "out", "err", files);
  };
  Ran ran;
  ran.status = answer != nullptr ? status_of(body, *answer, kSeconds) : status_without_watching(body);
  end_orphans();
  ran.out = tests::contents(folder / "out");
  ran.err = tests::contents(folder / "err");
  if (!program.file.empty()) {
    std::error_code none;
    ran.file_there = fs::exists(folder / "work" / program.file, none);
    if (ran.file_there) {
      ran.reader_status =
          status_without_watching([&] { become(program.reader, folder, "reading", "refusal"); });
      ran.reading = tests::contents(folder / "reading") + tests::contents(folder / "refusal");
    }
  }
  return ran;
}

// ---- Judging ----

// Numbers, with the unit behind them, and lengths of space differ from run to run.
std::string masked(const std::string& line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(line[i]);
    if (std::isdigit(c) != 0 || c >= 0x80) {
      while (i + 1 < line.size() && (std::isalnum(static_cast<unsigned char>(line[i + 1])) != 0 ||
                                     std::strchr(".,:+-", line[i + 1]) != nullptr ||
                                     static_cast<unsigned char>(line[i + 1]) >= 0x80))
        ++i;
      if (out.empty() || out.back() != '#') out += '#';
      // A longer time has another unit.
      for (const char* unit : {" ns", " us", " ms", " s"}) {
        const std::size_t length = std::strlen(unit);
        const auto behind =
            static_cast<unsigned char>(i + 1 + length < line.size() ? line[i + 1 + length] : ' ');
        if (line.compare(i + 1, length, unit) != 0 || std::isalnum(behind) != 0) continue;
        i += length;
        break;
      }
    } else if (std::isspace(c) != 0 || c == '-') {
      if (out.empty() || out.back() != ' ') out += ' ';
    } else {
      out += line[i];
    }
  }
  return out;
}

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.insert(masked(line));
  return lines;
}

bool says_what_is_wrong(const std::string& line) {
  std::string small;
  for (const char c : line) small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* word :
       {"cannot", "could not", "fail", "not ", "no ", "memory", "without", "unknown", "error", "incomplete",
        "refuse", "interrupted", "lost", "unavailable", "cut", "unusable"})
    if (small.find(word) != std::string::npos) return true;
  return false;
}

// What several runs without a fault have in common.
struct Reference {
  std::set<std::string> out, err, reading;
  std::string exact_out;
  int status = 0;
  std::int64_t allocations = 0;
  std::vector<long> calls;   // -1: not ours
  std::vector<bool> places;  // whether it needs place on a file system
};

std::set<std::string> common(const std::set<std::string>& one, const std::set<std::string>& other) {
  std::set<std::string> both;
  std::set_intersection(one.begin(), one.end(), other.begin(), other.end(), std::inserter(both, both.end()));
  return both;
}

// The first line of the reference that is not in the text, unless a new line says what is wrong.
std::optional<std::string> missing(const std::set<std::string>& expected, const std::string& text) {
  const std::set<std::string> found = lines_of(text);
  for (const std::string& line : expected) {
    if (found.contains(line)) continue;
    for (const std::string& other : found)
      if (!expected.contains(other) && says_what_is_wrong(other)) return std::nullopt;
    return line;
  }
  return std::nullopt;
}

std::string first_lines(const std::string& text) { return text.substr(0, 300); }

std::string judged(const Program& program, const Reference& reference, const Ran& ran, bool may_be_absent) {
  if (ran.status == kHung) return "hangs; " + first_lines(ran.err);
  if (WIFSIGNALED(ran.status))
    return "ended by signal " + std::to_string(WTERMSIG(ran.status)) + "; " + first_lines(ran.err);
  bool said = false;
  for (const std::string& line : lines_of(ran.err)) said = said || !reference.err.contains(line);
  if (program.guest) {
    if (ran.status != reference.status)
      return "the program ends with " + std::to_string(WEXITSTATUS(ran.status)) + "; " + first_lines(ran.err);
    if (ran.out != reference.exact_out)
      return "the program prints something else: " + first_lines(ran.out) + "; " + first_lines(ran.err);
  } else if (ran.status != reference.status && !said && !missing(reference.out, ran.out + "\n").has_value() &&
             lines_of(ran.out) == reference.out) {
    return "ends with " + std::to_string(WEXITSTATUS(ran.status)) + " and does not say why";
  } else if (ran.status != reference.status && !said && ran.out.empty()) {
    return "ends with " + std::to_string(WEXITSTATUS(ran.status)) + " and says nothing";
  }
  const bool well = ran.status == reference.status;
  // What a guest leaves is whole, says itself what it lacks, or is refused by its reader.
  if (program.guest) return {};
  if (ran.file_there && ran.reader_status != 0 && well && !said)
    return "its file cannot be read: " + first_lines(ran.reading);
  const bool may_lack = well && (said || may_be_absent);
  if (!may_lack && well) {
    if (const auto line = missing(reference.out, ran.out); line.has_value())
      return "ends with " + std::to_string(WEXITSTATUS(ran.status)) + ", but this is missing: " + *line;
    if (!program.file.empty() && !ran.file_there)
      return "ends with " + std::to_string(WEXITSTATUS(ran.status)) + " without its file";
  }
  if (ran.file_there && ran.reader_status == 0 && !may_lack)
    if (const auto line = missing(reference.reading, ran.reading); line.has_value())
      return std::string(well ? "its file lacks: "
                              : "a file is left that its reader takes for whole; it lacks: ") +
             *line;
  return {};
}

// ---- The faults ----

struct Fault {
  enum Kind { kAllocation, kMemory, kError, kShort, kInterrupted, kFull, kFiles } kind;
  std::int64_t place;  // of kFiles how many descriptors there are
  int error;
};

// Whether it needs place on a file system, for a file of its own.
bool needs_place(const seccomp_notif& call) {
  switch (call.data.nr) {
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_ftruncate:
    case SYS_fallocate:
      return call.data.args[0] > STDERR_FILENO;
    default:
      return false;
  }
}

std::string in_words(const Fault& fault, const std::vector<long>& calls) {
  const std::string place = std::to_string(fault.place);
  const auto name = [&] {
    return " (" + std::string(find_call(calls[static_cast<std::size_t>(fault.place)])->name) + ")";
  };
  switch (fault.kind) {
    case Fault::kAllocation:
      return "allocation " + place + " fails";
    case Fault::kMemory:
      return "allocation " + place + " and all after it fail";
    case Fault::kError:
      return "system call " + place + name() + " fails with " + strerrorname_np(fault.error);
    case Fault::kShort:
      return "system call " + place + name() + " transfers a part";
    case Fault::kInterrupted:
      return "system call " + place + name() + " is interrupted";
    case Fault::kFull:
      return "all file systems are full from system call " + place + name() + " on";
    case Fault::kFiles:
      return "there are " + place + " descriptors";
  }
  return place;
}

class Experiment {
 public:
  explicit Experiment(const Program& program) : program_(program) {
    const std::string name =
        fs::path(program.where.empty() ? program.command.front() : program.where).filename();
    faults_->rank = program.rank;
    std::snprintf(faults_->program, sizeof faults_->program, "%s", name.c_str());
    std::snprintf(faults_->libraries, sizeof faults_->libraries, "%s", TORTURE_BUILD);
    faults_->program_too = !program.guest;
  }

  // Runs without faults; "" or why nothing can be tried.
  std::string prepare() {
    for (int i = 0; i < (program_.guest ? 1 : 3); ++i) {  // of a guest only what it prints itself counts
      allow();
      const Ran ran = run(program_, faults_, nullptr);
      if (ran.status < 0 || WIFSIGNALED(ran.status))
        return "without a fault: " + judged(program_, {}, ran, false);
      if (!program_.file.empty() && (!ran.file_there || ran.reader_status != 0))
        return "without a fault: no file; " + first_lines(ran.err) + first_lines(ran.reading);
      if (i == 0)
        reference_ = {
            lines_of(ran.out), lines_of(ran.err), lines_of(ran.reading), ran.out, ran.status, 0, {}, {}};
      reference_.out = common(reference_.out, lines_of(ran.out));
      reference_.reading = common(reference_.reading, lines_of(ran.reading));
      const std::set<std::string> err = lines_of(ran.err);
      reference_.err.insert(err.begin(), err.end());
      reference_.allocations = faults_->allocations;
    }
    Marked marked;
    Callers callers;
    allow();
    const Answer answer = [&](const seccomp_notif& call, int) {
      if (!marked.shows(call)) return 0;
      reference_.calls.push_back(callers.ours(call, !program_.guest) ? call.data.nr : -1);
      reference_.places.push_back(needs_place(call));
      return 0;
    };
    return run(program_, faults_, &answer).status == kNotWatched ? kNoNotifications : "";
  }

  std::vector<Fault> possible() const {
    std::vector<Fault> all;
    for (std::int64_t n = 0; n < reference_.allocations; ++n)
      for (const Fault::Kind kind : {Fault::kAllocation, Fault::kMemory}) all.push_back({kind, n, 0});
    for (std::size_t i = 0; i < reference_.calls.size(); ++i) {
      if (reference_.calls[i] < 0) continue;
      const auto place = static_cast<std::int64_t>(i);
      for (const int error : find_call(reference_.calls[i])->errors)
        all.push_back({Fault::kError, place, error});
      if (reference_.places[i]) all.push_back({Fault::kFull, place, ENOSPC});
      if (transfers(reference_.calls[i]))
        for (const Fault::Kind kind : {Fault::kShort, Fault::kInterrupted}) all.push_back({kind, place, 0});
    }
    if (!program_.guest)
      for (std::int64_t files = 3; files < 24; ++files) all.push_back({Fault::kFiles, files, EMFILE});
    return all;
  }

  // "" if all is well. `happened`: whether the fault's place was reached.
  std::string attempt(const Fault& fault, bool* happened) {
    allow();
    *happened = false;
    Ran ran;
    bool may_be_absent = false;
    if (fault.kind == Fault::kFiles) {
      ran = run(program_, faults_, nullptr, fault.place);
      *happened = true;
    } else if (fault.kind == Fault::kAllocation || fault.kind == Fault::kMemory) {
      faults_->place = fault.place;
      faults_->from_then = fault.kind == Fault::kMemory;
      ran = run(program_, faults_, nullptr);
      *happened = faults_->failed > 0;
    } else {
      const long number = reference_.calls[static_cast<std::size_t>(fault.place)];
      std::int64_t seen = 0;
      Marked marked;
      Callers callers;
      const Answer answer = [&](const seccomp_notif& call, int process) -> std::int64_t {
        if (!marked.shows(call) || seen++ < fault.place) return 0;
        if (fault.kind == Fault::kFull && *happened && needs_place(call) && of_a_file(call, process) &&
            callers.ours(call, !program_.guest))
          return -ENOSPC;
        if (*happened || call.data.nr != number || !callers.ours(call, !program_.guest)) return 0;
        std::int64_t result = -fault.error;
        if (fault.kind == Fault::kShort) result = part_of(call, process);
        if (fault.kind == Fault::kInterrupted) result = interruptible(call, process) ? -EINTR : 0;
        *happened = result != 0;
        return result;
      };
      ran = run(program_, faults_, &answer);
      // What is not there is not missing.
      may_be_absent = fault.error == ENOENT || fault.error == EACCES || fault.error == ENOSYS;
    }
    std::string wrong = judged(program_, reference_, ran, may_be_absent);
    if (!wrong.empty()) wrong = program_.name + ", " + in_words(fault, reference_.calls) + ": " + wrong;
    if (!wrong.empty() && faults_->failed > 0) wrong += "; asked for by" + std::string(faults_->callers);
    return wrong;
  }

 private:
  void allow() {
    faults_->place = -1;
    faults_->from_then = false;
    faults_->allocations = 0;
    faults_->failed = 0;
    faults_->callers[0] = '\0';
  }

  const Program& program_;
  SharedFaults faults_;
  Reference reference_;
};

}  // namespace

Outcome fail_within(const Options& options, const std::vector<Program>& programs) {
  Outcome outcome;
  std::int64_t reached = 0, possible = 0;
  const std::size_t wanted = options.iterations > 0 ? static_cast<std::size_t>(options.iterations) : 60;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  Options share = options;
  share.seconds = (options.seconds + static_cast<std::int64_t>(programs.size()) - 1) /
                  static_cast<std::int64_t>(programs.size());
  for (const Program& program : programs) {
    if (program.name.find(options.program) == std::string::npos) continue;
    Experiment experiment(program);
    if (const std::string wrong = experiment.prepare(); wrong == kNoNotifications) {
      outcome.skipped = wrong;
      return outcome;
    } else if (!wrong.empty()) {
      outcome.failures.push_back(program.name + ", " + wrong);
      continue;
    }
    std::vector<Fault> faults = experiment.possible();
    possible += static_cast<std::int64_t>(faults.size());
    if (options.only >= 0)
      std::erase_if(faults, [&](const Fault& fault) { return fault.place != options.only; });
    else
      choose(options, std::max<std::size_t>(1, wanted / programs.size()), &faults);
    const Deadline deadline(share);
    for (const Fault& fault : faults) {
      if (deadline.over()) break;
      bool happened = false;
      const std::string wrong = experiment.attempt(fault, &happened);
      ++outcome.tried;
      reached += happened;
      if (!wrong.empty()) {
        outcome.failures.push_back(wrong);
        if (options.verbose) std::fprintf(stderr, "%s\n", wrong.c_str());
      }
    }
  }
  outcome.figures.emplace_back("programs", std::to_string(programs.size()));
  outcome.figures.emplace_back("faults possible", std::to_string(possible));
  outcome.figures.emplace_back("faults that were met", std::to_string(reached));
  return outcome;
}

}  // namespace substrata::torture
