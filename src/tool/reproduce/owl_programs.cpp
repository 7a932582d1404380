// Runs real programs under valgrind's lackey and keeps their loads, stores and numbers of instructions.
#include "reproduce/owl_programs.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>

#include "terminal/progress.hpp"

namespace substrata::tool {
namespace {

// A longer run is ended here, which is told.
constexpr size_t kMostSteps = 12'000'000;
// Twice gzip's window.
constexpr size_t kInputBytes = 64 << 10;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

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

// Gives why it failed, or "".
std::string follow(std::vector<std::string> command, std::vector<Step>& steps) {
  show_progress(command.front() + " under valgrind");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::string("no pipe: ") + std::strerror(errno);
  std::vector<std::string> words{"valgrind", "--tool=lackey", "--trace-mem=yes", "--log-fd=9"};
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
        dup2(ends[1], 9) < 0) {
      _exit(126);
    }
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  {
    const std::unique_ptr<std::FILE, CloseFile> text(fdopen(ends[0], "r"));
    uint32_t between = 0;
    bool begun = false;  // the instruction that the next access belongs to has been counted
    char line[256];
    while (text != nullptr && steps.size() < kMostSteps &&
           std::fgets(line, sizeof line, text.get()) != nullptr) {
      if (line[0] == 'I') {
        ++between;
        begun = true;
        continue;
      }
      const bool modifies = line[1] == 'M';
      if (line[0] != ' ' || (line[1] != 'L' && line[1] != 'S' && !modifies) || line[2] != ' ') continue;
      const uint64_t address = std::strtoull(line + 3, nullptr, 16);
      const auto add = [&](bool write) {
        // An instruction that loads or stores is itself the access, so that the sum is the number executed.
        const uint32_t before = begun && between > 0 ? between - 1 : 0;
        steps.push_back({address, before, write});
        between = 0;
        begun = false;
      };
      if (line[1] != 'S') add(false);
      if (line[1] != 'L') add(true);
    }
  }
  if (steps.size() >= kMostSteps) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (steps.size() >= kMostSteps) return {};
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !steps.empty()) return {};
  if (WIFEXITED(status))
    return "ended with status " + std::to_string(WEXITSTATUS(status)) + " under valgrind";
  return "was ended by signal " + std::to_string(WTERMSIG(status)) + " under valgrind";
}

}  // namespace

WholePrograms follow_whole_programs() {
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
  for (const Candidate& each : candidates) {
    std::string why = each.program.empty() ? "is not installed, or no compiler for it" : std::string();
    WholeProgram program{each.name, each.input, {}};
    if (why.empty()) {
      std::vector<std::string> command{each.program};
      command.insert(command.end(), each.arguments.begin(), each.arguments.end());
      why = follow(command, program.steps);
    }
    if (why.empty()) {
      if (program.steps.size() >= kMostSteps)
        result.left_out += std::string("; of ") + each.name + " only the first " +
                           std::to_string(kMostSteps / 1'000'000) + " million accesses are taken";
      result.programs.push_back(std::move(program));
    } else {
      result.left_out += std::string("; ") + each.name + " is left out: " + why;
    }
  }
  return result;
}

}  // namespace substrata::tool
