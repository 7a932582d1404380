// Runs real programs under valgrind's lackey and keeps their loads, stores and numbers of instructions.
#include "reproduce/owl_programs.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <unordered_map>

#include "terminal/progress.hpp"

namespace substrata::tool {
namespace {

// A longer run is ended here, which is told.
constexpr size_t kMostSteps = 12'000'000;
// Twice gzip's window.
constexpr size_t kInputBytes = 64 << 10;
constexpr int kPipeBytes = 1 << 20;
constexpr int kLogDescriptor = 9;  // where lackey writes to, in its own process

// A folder that goes with its files.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "substrata-owl-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw std::runtime_error(std::string("no temporary folder can be made: ") + std::strerror(errno));
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Words of a made-up language, the frequent ones short, as in any text: the same on every machine.
void write_text(const std::string& path) {
  std::mt19937_64 random(1);
  std::vector<std::string> words;
  for (size_t i = 0; i < 4096; ++i) {
    std::string word;
    for (size_t letters = 2 + i % 3 + i / 1024; letters > 0; --letters)
      word += static_cast<char>('a' + random() % 26);
    words.push_back(word);
  }
  std::ofstream file(path, std::ios::binary);
  for (size_t bytes = 0, column = 0; bytes < kInputBytes;) {
    // The product of two draws prefers small numbers.
    const std::string& word = words[(random() % 4096) * (random() % 4096) / 4096];
    column += word.size() + 1;
    const bool end = column > 72;
    if (end) column = 0;
    file << word << (end ? '\n' : ' ');
    bytes += word.size() + 1;
  }
}

// Functions with loops, arrays and expressions, as a preprocessed C file has them.
void write_source(const std::string& path) {
  std::mt19937_64 random(2);
  std::ofstream file(path);
  file << "extern int printf(const char *, ...);\nstatic double table[1024];\nstatic long counts[1024];\n";
  constexpr int kFunctions = 6;
  const char* const operators[] = {"+", "-", "*", "&", "|", "^"};
  for (int i = 0; i < kFunctions; ++i) {
    file << "struct item" << i << " { int kind; long weight; struct item" << i << " *next; };\n"
         << "static long function" << i << "(struct item" << i
         << " *first, long limit) {\n  long sum = " << random() % 100 << ";\n  for (struct item" << i
         << " *each = first; each != 0; each = each->next) {\n"
         << "    if (each->kind == " << random() % 16 << ") sum " << operators[random() % 6]
         << "= each->weight " << operators[random() % 6] << ' ' << random() % 1000 << ";\n"
         << "    else if (each->weight > limit) { sum += counts[(each->weight >> " << random() % 8
         << ") & 1023]; table[sum & 1023] *= " << random() % 9 << ".5; }\n"
         << "    switch (each->kind & 3) { case 0: sum++; break; case 1: sum ^= limit; break; default: "
            "counts[sum & 1023]++; }\n  }\n";
    if (i > 0)
      file << "  if (sum & 1) sum += function" << random() % static_cast<uint64_t>(i) << "(0, sum);\n";
    file << "  return sum;\n}\n";
  }
  file << "int main(void) { printf(\"%ld\\n\", function" << kFunctions - 1 << "(0, 3)); return 0; }\n";
}

// A radix sort of 65536 keys with 1024 values a digit, as the workload `radix` has it, but as a program of
// its own: the algorithm and the generator of keys of SPLASH-2's RADIX (Woo et al., ISCA 1995). With an
// argument it checks its result.
constexpr char kRadix[] = R"(
#include <stdlib.h>
enum { kKeys = 65536, kRadix = 1024, kDigitBits = 10, kMostKey = 524288 };
static unsigned long long state = 314159265;
static double next_random(void) {
  state = state * 1220703125ULL & ((1ULL << 46) - 1);
  return (double)state / (double)(1ULL << 46);
}
int main(int argc, char **argv) {
  int *from = malloc(kKeys * sizeof *from), *to = malloc(kKeys * sizeof *to);
  int *rank = malloc(kRadix * sizeof *rank);
  (void)argv;
  if (!from || !to || !rank) return 1;
  for (int i = 0; i < kKeys; ++i) {
    double sum = 0;
    for (int draw = 0; draw < 4; ++draw) sum += next_random();
    from[i] = (int)(sum / 4 * kMostKey);
  }
  for (int shift = 0; shift < 20; shift += kDigitBits) {
    for (int d = 0; d < kRadix; ++d) rank[d] = 0;
    for (int i = 0; i < kKeys; ++i) ++rank[from[i] >> shift & (kRadix - 1)];
    for (int d = 0, sum = 0; d < kRadix; ++d) {
      int count = rank[d];
      rank[d] = sum;
      sum += count;
    }
    for (int i = 0; i < kKeys; ++i) to[rank[from[i] >> shift & (kRadix - 1)]++] = from[i];
    int *swapped = from;
    from = to;
    to = swapped;
  }
  for (int i = 1; argc > 1 && i < kKeys; ++i)
    if (from[i - 1] > from[i]) return 2;
  return 0;
}
)";

// The program compiled from kRadix, or "": there is no compiler, or the program does not sort.
std::string compiled_radix(const TemporaryFolder& folder) {
  const std::string source = folder.file("radix.c");
  const std::string program = folder.file("radix");
  std::ofstream(source) << kRadix;
  const std::string command = "gcc -O2 -o '" + program + "' '" + source + "' 2>/dev/null && '" + program +
                              "' check </dev/null >/dev/null 2>&1";
  return std::system(command.c_str()) == 0 ? program : std::string();
}

// Where a program lies, or "".
std::string found(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : std::string();
  const char* const path = std::getenv("PATH");
  std::string rest = path != nullptr ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    const std::string candidate = rest.substr(0, colon) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == std::string::npos ? std::string() : rest.substr(colon + 1);
  }
  return {};
}

// GCC's program that compiles, and not the driver that starts it.
std::string compiler_proper() {
  if (found("gcc").empty()) return {};
  std::FILE* const answer = popen("gcc -print-prog-name=cc1 2>/dev/null", "r");
  if (answer == nullptr) return {};
  char line[4096] = {};
  const bool read = std::fgets(line, sizeof line, answer) != nullptr;
  pclose(answer);
  if (!read) return {};
  line[std::strcspn(line, "\n")] = '\0';
  return found(line);
}

// The instructions of a process that valgrind runs: they lie there at the addresses at which they run.
class CodeOf {
 public:
  explicit CodeOf(pid_t process) : process_(process) {}
  // Where the program's own first instruction lies, or 0.
  uint64_t entry(const std::string& program) {
    std::error_code ignored;
    const std::string path = std::filesystem::canonical(program, ignored).string();
    Elf64_Ehdr header{};
    for (const Mapping& each : mappings()) {
      if (each.path != path || each.offset != 0) continue;
      if (read(each.begin, &header, sizeof header) != sizeof header ||
          std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return 0;
      return header.e_type == ET_DYN ? each.begin + header.e_entry : header.e_entry;
    }
    return 0;
  }
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
// are asked for.
class Lines {
 public:
  Lines(WholeProgram& into, size_t most_instructions, const std::string& program, CodeOf& code)
      : steps_(into.steps), into_(into), most_(most_instructions), program_(program), code_(code) {}
  bool full() const { return steps_.size() >= kMostSteps || (most_ != 0 && into_.executed.size() >= most_); }
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
      ++between_;
      begun_ = true;
      if (most_ != 0) instruction(at, end);
      return;
    }
    if (end - at < 5 || at[0] != ' ' || at[2] != ' ') return;
    const char kind = at[1];
    if (kind != 'L' && kind != 'S' && kind != 'M') return;
    uint64_t address = 0;
    std::from_chars(at + 3, end, address, 16);
    if (kind != 'S') add(address, false);
    if (kind != 'L') add(address, true);
  }
  void instruction(const char* at, const char* end) {
    uint64_t address = 0;
    uint8_t size = 0;
    const char* const number = std::find_if(at + 1, end, [](char c) { return c != ' '; });
    const char* const comma = std::from_chars(number, end, address, 16).ptr;
    if (comma == end || *comma != ',') return;
    std::from_chars(comma + 1, end, size);
    if (!entered_) {
      if (entry_ == 0 && (entry_ = code_.entry(program_)) == 0) entry_ = address;
      if (address != entry_) return;
      entered_ = true;
      steps_.clear();
      between_ = 1;
    }
    const auto [place, added] = places_.try_emplace(address, static_cast<uint32_t>(into_.code.size()));
    if (added) into_.code.push_back(code_.at(address, size));
    into_.executed.push_back(place->second << 8);
  }
  void add(uint64_t address, bool write) {
    if (entered_) {
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
  const size_t most_;
  const std::string program_;
  CodeOf& code_;
  std::unordered_map<uint64_t, uint32_t> places_;  // in `code`, by address
  uint64_t entry_ = 0;
  bool entered_ = false;  // the entry point has been reached, and instructions are recorded
  std::string rest_;
  uint32_t between_ = 0;
  bool begun_ = false;  // the instruction that the next access belongs to has been counted
};

// Gives why it failed, or "".
std::string follow(const std::vector<std::string>& command, size_t most_instructions, WholeProgram& into) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::string("no pipe: ") + std::strerror(errno);
  // Lackey writes every line by itself. A long pipe that nobody waits at spares it waking the reader each
  // time; where the system grants no longer one, the short one does.
  static_cast<void>(fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes));
  static_cast<void>(fcntl(ends[0], F_SETFL, O_NONBLOCK));
  std::vector<std::string> words{found("valgrind"), "--tool=lackey", "--trace-mem=yes",
                                 "--log-fd=" + std::to_string(kLogDescriptor)};
  words.insert(words.end(), command.begin(), command.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return std::string("no process: ") + std::strerror(errno);
  }
  if (child == 0) {
    const int nothing = open("/dev/null", O_RDWR);
    if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(nothing, 1) < 0 || dup2(nothing, 2) < 0 ||
        dup2(ends[1], kLogDescriptor) < 0 || fcntl(kLogDescriptor, F_SETFD, 0) != 0) {
      _exit(126);
    }
    // The environment counts among a program's accesses, so it is the same for everybody.
    char path[] = "PATH=/usr/bin:/bin";
    char language[] = "LC_ALL=C";
    char* const environment[] = {path, language, nullptr};
    execve(arguments[0], arguments.data(), environment);
    _exit(127);
  }
  close(ends[1]);
  CodeOf code(child);
  Lines lines(into, most_instructions, command.front(), code);
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
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (lines.full()) return {};
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !into.steps.empty()) return {};
  if (WIFEXITED(status))
    return "ended with status " + std::to_string(WEXITSTATUS(status)) + " under valgrind";
  return "was ended by signal " + std::to_string(WTERMSIG(status)) + " under valgrind";
}

}  // namespace

WholePrograms follow_whole_programs(size_t most_instructions) {
  WholePrograms result;
  result.left_out = "of table 1 swim, vpr, mesa, art, crafty, ammp and gap are not looked for";
  if (found("valgrind").empty()) {
    result.left_out += "; gzip, bzip2 and gcc are left out: valgrind is not installed";
    return result;
  }
  const TemporaryFolder folder;
  const std::string text = folder.file("text");
  const std::string source = folder.file("source.i");
  write_text(text);
  write_source(source);
  struct Candidate {
    const char* name;
    const char* input;
    std::string program;
    std::vector<std::string> arguments;
  };
  const Candidate candidates[] = {
      {"gzip", "64 KiB of text", found("gzip"), {"-c", text}},
      {"bzip2", "64 KiB of text", found("bzip2"), {"-c", text}},
      {"gcc",
       "6 functions of C, -O2",
       compiler_proper(),
       {"-quiet", "-fpreprocessed", "-O2", source, "-o", "/dev/null"}},
      {"radix-program", "65536 keys, gcc -O2", compiled_radix(folder), {}},
  };
  constexpr size_t kCandidates = std::size(candidates);
  // Two run at a time.
  constexpr std::array<size_t, kCandidates> kLongestFirst = {2, 1, 0, 3};
  std::array<WholeProgram, kCandidates> programs;
  std::array<std::string, kCandidates> why;
  std::atomic<size_t> next{0};
  const auto follow_the_next = [&] {
    for (size_t turn = next++; turn < kCandidates; turn = next++) {
      const size_t i = kLongestFirst[turn];
      const Candidate& each = candidates[i];
      programs[i] = {each.name, each.input, {}, {}, {}};
      if (each.program.empty()) {
        why[i] = "is not installed, or no compiler for it";
        continue;
      }
      std::vector<std::string> command{each.program};
      command.insert(command.end(), each.arguments.begin(), each.arguments.end());
      try {
        why[i] = follow(command, most_instructions, programs[i]);
      } catch (const std::exception& error) {
        why[i] = error.what();
      }
    }
  };
  show_progress("gzip, bzip2, gcc and a radix sort under valgrind");
  {
    const auto other = std::async(std::launch::async, follow_the_next);
    follow_the_next();
  }
  for (size_t i = 0; i < kCandidates; ++i) {
    const std::string name = candidates[i].name;
    if (!why[i].empty()) {
      result.left_out += "; " + name + " is left out: " + why[i];
      continue;
    }
    if (programs[i].steps.size() >= kMostSteps)
      result.left_out += "; of " + name + " only the first " + std::to_string(kMostSteps / 1'000'000) +
                         " million accesses are taken";
    result.programs.push_back(std::move(programs[i]));
  }
  return result;
}

}  // namespace substrata::tool
