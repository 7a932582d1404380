// Runs real programs under valgrind's lackey and keeps their loads, stores and numbers of instructions.
#include "papers/owl_programs.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <unordered_map>

#include "base/parse.hpp"
#include "base/temporary_folder.hpp"
#include "papers/owl_program_list.hpp"
#include "tools/terminal/progress.hpp"

namespace substrata::papers {
using namespace tool;
namespace {

constexpr int kPipeBytes = 1 << 20;
constexpr int kLogDescriptor = 9;  // where lackey writes to, in its own process

// The instructions of a process that valgrind runs: they lie there at the addresses at which they run.
class CodeOf {
 public:
  explicit CodeOf(pid_t process) : process_(process) {}
  // A mapping is read whole when its first instruction is asked for, so that its others are still known when
  // the process has ended.
  Code at(uint64_t address, uint8_t size) {
    Code code{address, size, false, {}};
    const Copy* copy = copied(address);
    if (copy == nullptr && (copy = copy_mapping(address)) == nullptr) return code;
    const uint64_t from = address - copy->begin;
    if (size > code.bytes.size() || from + size > copy->bytes.size()) return code;
    std::memcpy(code.bytes.data(), copy->bytes.data() + from, size);
    code.known = true;
    return code;
  }

 private:
  struct Mapping {
    uint64_t begin;
    uint64_t end;
    uint64_t offset;
    std::string path;
  };
  struct Copy {
    uint64_t begin;
    std::vector<char> bytes;
  };
  std::vector<Mapping> mappings() const {
    std::vector<Mapping> result;
    std::ifstream file("/proc/" + std::to_string(process_) + "/maps");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      Mapping each{};
      char dash = 0;
      std::string rights, device, node;
      if (words >> std::hex >> each.begin >> dash >> each.end >> rights >> each.offset >> device >> node) {
        words >> each.path;
        result.push_back(each);
      }
    }
    return result;
  }
  size_t read(uint64_t address, void* to, size_t bytes) const {
    const int file = open(("/proc/" + std::to_string(process_) + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    const ssize_t got = pread(file, to, bytes, static_cast<off_t>(address));
    close(file);
    return got > 0 ? static_cast<size_t>(got) : 0;
  }
  const Copy* copied(uint64_t address) const {
    for (const Copy& each : copies_)
      if (address - each.begin < each.bytes.size()) return &each;
    return nullptr;
  }
  const Copy* copy_mapping(uint64_t address) {
    for (const Mapping& each : mappings()) {
      if (address < each.begin || address >= each.end || each.end - each.begin > kMostCode) continue;
      Copy copy{each.begin, std::vector<char>(each.end - each.begin)};
      copy.bytes.resize(read(each.begin, copy.bytes.data(), copy.bytes.size()));
      if (address - copy.begin >= copy.bytes.size()) return nullptr;
      copies_.push_back(std::move(copy));
      return &copies_.back();
    }
    return nullptr;
  }
  static constexpr uint64_t kMostCode = uint64_t{1} << 28;
  const pid_t process_;
  std::vector<Copy> copies_;
};

// Lackey's lines become steps, whatever pieces they arrive in; and executed instructions, where these
// are asked for. The first `start_up` instructions are skipped.
class Lines {
 public:
  Lines(WholeProgram& into, uint64_t start_up, size_t most_accesses, size_t most_instructions, CodeOf& code)
      : steps_(into.steps),
        into_(into),
        start_up_(start_up),
        most_accesses_(most_accesses),
        most_(most_instructions),
        code_(code) {}
  bool full() const {
    return steps_.size() >= most_accesses_ || (most_ != 0 && into_.executed.size() >= most_);
  }
  void take(const char* piece, size_t bytes) {
    const char* const end = piece + bytes;
    while (piece != end && !full()) {
      const void* const found = std::memchr(piece, '\n', static_cast<size_t>(end - piece));
      if (found == nullptr) {
        rest_.append(piece, end);
        return;
      }
      const char* const next = static_cast<const char*>(found) + 1;
      if (rest_.empty()) {
        line(piece, next);
      } else {
        rest_.append(piece, next);
        line(rest_.data(), rest_.data() + rest_.size());
        rest_.clear();
      }
      piece = next;
    }
  }

 private:
  // "I  address,bytes" for an instruction; " L address,bytes", " S" and " M" for its load, store or both.
  void line(const char* at, const char* end) {
    if (*at == 'I') {
      if (start_up_ > 0) {
        --start_up_;
        return;
      }
      entered_ = true;
      ++between_;
      begun_ = true;
      if (most_ != 0) instruction(at, end);
      return;
    }
    if (!entered_ || end - at < 5 || at[0] != ' ' || at[2] != ' ') return;
    const char kind = at[1];
    if (kind != 'L' && kind != 'S' && kind != 'M') return;
    uint64_t address = 0;
    leading_number({at + 3, end}, &address, 16);
    if (kind != 'S') add(address, false);
    if (kind != 'L') add(address, true);
  }
  void instruction(const char* at, const char* end) {
    uint64_t address = 0;
    uint8_t size = 0;
    const char* const number = std::find_if(at + 1, end, [](char c) { return c != ' '; });
    const char* const comma = number + leading_number({number, end}, &address, 16);
    if (comma == end || *comma != ',') return;
    leading_number({comma + 1, end}, &size);
    const auto [place, added] = places_.try_emplace(address, static_cast<uint32_t>(into_.code.size()));
    if (added) into_.code.push_back(code_.at(address, size));
    into_.executed.push_back(place->second << 8);
  }
  void add(uint64_t address, bool write) {
    if (most_ != 0) {
      // An instruction with very many accesses stands there again.
      if ((into_.executed.back() & 255) == 255) into_.executed.push_back(into_.executed.back() - 255);
      ++into_.executed.back();
    }
    // An instruction that loads or stores is itself the access, so that the sum is the number executed.
    steps_.push_back({address, begun_ && between_ > 0 ? between_ - 1 : 0, write});
    between_ = 0;
    begun_ = false;
  }

  std::vector<Step>& steps_;
  WholeProgram& into_;
  uint64_t start_up_;  // instructions still to be skipped
  const size_t most_accesses_;
  const size_t most_;
  CodeOf& code_;
  std::unordered_map<uint64_t, uint32_t> places_;  // in `code`, by address
  bool entered_ = false;                           // the start-up has been skipped
  std::string rest_;
  uint32_t between_ = 0;
  bool begun_ = false;  // the instruction that the next access belongs to has been counted
};

// Starts a program under lackey, which writes to `log`; -1: no process could be had.
pid_t start(const std::string& program, const ProgramTask& task, const char* option, int log) {
  std::vector<std::string> words{find_program("valgrind"), "--tool=lackey", option,
                                 "--log-fd=" + std::to_string(kLogDescriptor), program};
  words.insert(words.end(), task.arguments.begin(), task.arguments.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int typed[2] = {-1, -1};
  if (!task.input.empty()) {
    if (pipe2(typed, O_CLOEXEC) != 0) return -1;
    static_cast<void>(!write(typed[1], task.input.data(), task.input.size()));  // a pipe holds a page
  }
  const pid_t child = fork();
  if (child != 0) {
    const int error = errno;
    for (const int end : typed)
      if (end >= 0) close(end);
    errno = error;
    return child;
  }
  const int nothing = open("/dev/null", O_RDWR);
  // The program itself holds the other end of what it reads, which so has no end.
  if (nothing < 0 || dup2(typed[0] >= 0 ? typed[0] : nothing, 0) < 0 ||
      (typed[1] >= 0 && fcntl(typed[1], F_SETFD, 0) != 0) || dup2(nothing, 1) < 0 || dup2(nothing, 2) < 0 ||
      dup2(log, kLogDescriptor) < 0 || fcntl(kLogDescriptor, F_SETFD, 0) != 0) {
    _exit(126);
  }
  // The environment counts among a program's accesses, so it is the same for all users.
  char path[] = "PATH=/usr/bin:/bin";
  char language[] = "LC_ALL=C";
  char* const environment[] = {path, language, nullptr};
  execve(arguments[0], arguments.data(), environment);
  _exit(127);
}

// Gives why a program that was not ended on purpose failed, or "".
std::string how_it_ended(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFEXITED(status))
    return "ended with status " + std::to_string(WEXITSTATUS(status)) + " under valgrind";
  return "was ended by signal " + std::to_string(WTERMSIG(status)) + " under valgrind";
}

// The instructions that a program executes when it has nothing to do. Gives why it failed, or "".
std::string count_start_up(const OwlProgram& program, uint64_t& instructions) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::string("no pipe: ") + std::strerror(errno);
  const pid_t child = start(program.program, program.idle, "--basic-counts=yes", ends[1]);
  const int error = errno;
  close(ends[1]);
  std::string text;
  char piece[4096];
  for (ssize_t got = 0; child > 0 && ((got = read(ends[0], piece, sizeof piece)) > 0 || errno == EINTR);) {
    if (got > 0) text.append(piece, static_cast<size_t>(got));
    if (got == 0) break;
  }
  close(ends[0]);
  if (child < 0) return std::string("no process: ") + std::strerror(error);
  // How does not matter: gnuchess crashes when asked to quit at once, which lackey counts as well.
  static_cast<void>(how_it_ended(child));
  constexpr char kBefore[] = "guest instrs:";  // and then 1,234,567
  size_t at = text.find(kBefore);
  if (at == std::string::npos) return "was not counted by valgrind";
  at = text.find_first_not_of(' ', at + sizeof kBefore - 1);
  for (instructions = 0; at < text.size() && text[at] != '\n'; ++at)
    if (text[at] >= '0' && text[at] <= '9')
      instructions = 10 * instructions + static_cast<uint64_t>(text[at] - '0');
  return {};
}

// Gives why it failed, or "".
std::string follow(const OwlProgram& program, size_t most_accesses, size_t most_instructions,
                   WholeProgram& into) {
  uint64_t start_up = 0;
  std::string why = count_start_up(program, start_up);
  if (!why.empty()) return why;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::string("no pipe: ") + std::strerror(errno);
  // Lackey writes every line by itself. With a long pipe and no blocked reader it does not wake the reader each
  // time; where the system does not grant a longer one, the short one does.
  static_cast<void>(fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes));
  static_cast<void>(fcntl(ends[0], F_SETFL, O_NONBLOCK));
  const pid_t child = start(program.program, program.task, "--trace-mem=yes", ends[1]);
  const int error = errno;
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return std::string("no process: ") + std::strerror(error);
  }
  CodeOf code(child);
  Lines lines(into, start_up, most_accesses, most_instructions, code);
  std::vector<char> piece(kPipeBytes);
  while (!lines.full()) {
    const ssize_t got = read(ends[0], piece.data(), piece.size());
    if (got > 0) {
      lines.take(piece.data(), static_cast<size_t>(got));
    } else if (got < 0 && errno == EAGAIN) {
      // Until much has gathered: to be woken for each piece costs more than the piece.
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    } else if (got == 0 || errno != EINTR) {
      break;
    }
  }
  close(ends[0]);
  if (lines.full()) kill(child, SIGKILL);
  why = how_it_ended(child);
  if (lines.full()) return {};
  return why.empty() && into.steps.empty() ? "did nothing" : why;
}

// "a, b and c"
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

}  // namespace

WholePrograms follow_whole_programs(size_t most_accesses, size_t most_instructions) {
  WholePrograms result;
  if (find_program("valgrind").empty()) {
    result.left_out = "no program is followed: valgrind is not installed";
    return result;
  }
  const TemporaryFolder folder;
  const std::vector<OwlProgram> list = owl_programs(folder.path().string());
  std::vector<WholeProgram> programs(list.size());
  std::vector<std::string> why(list.size());
  std::atomic<size_t> next{0};
  // Two run at a time.
  const auto follow_the_next = [&] {
    for (size_t i = next++; i < list.size(); i = next++) {
      programs[i].name = list[i].name;
      programs[i].paper = list[i].paper;
      programs[i].input = list[i].what;
      if (list[i].program.empty()) {
        why[i] = "there is no " + list[i].wanted + " here";
        continue;
      }
      try {
        why[i] = follow(list[i], most_accesses, most_instructions, programs[i]);
      } catch (const std::exception& error) {
        why[i] = error.what();
      }
    }
  };
  show_progress(std::to_string(list.size()) + " programs under valgrind");
  {
    const auto other = std::async(std::launch::async, follow_the_next);
    follow_the_next();
  }
  std::vector<std::string> own;
  std::vector<std::string> stand_ins;
  std::vector<std::string> others;
  std::vector<std::string> cut;
  for (size_t i = 0; i < list.size(); ++i) {
    const OwlProgram& each = list[i];
    if (!why[i].empty()) {
      result.left_out += (result.left_out.empty() ? "" : "; ") + each.name + " is left out: " + why[i];
      continue;
    }
    (each.paper.empty() ? others
     : each.stand_in    ? stand_ins
                        : own)
        .push_back(each.name + (each.stand_in ? " for " + each.paper : "") + " (" + each.what + ")");
    if (programs[i].steps.size() >= most_accesses) cut.push_back(each.name);
    result.programs.push_back(std::move(programs[i]));
  }
  if (result.left_out.empty()) result.left_out = "none is left out";
  if (!own.empty()) result.which = "of the paper's table 1 " + listed(own);
  if (!stand_ins.empty()) result.which += (own.empty() ? "" : "; ") + ("as stand-ins " + listed(stand_ins));
  if (!others.empty()) result.which += (result.which.empty() ? "" : "; ") + ("of SPLASH-2 " + listed(others));
  if (!cut.empty())
    result.which += "; of " + listed(cut) + " the first " + std::to_string(most_accesses) +
                    " accesses after the start-up";
  return result;
}

}  // namespace substrata::papers
