// The list of programs for the Owl paper's claims, with inputs that are made here.
#include "papers/owl_program_list.hpp"
#include "base/command_output.hpp"
#include "base/parse.hpp"
#include "base/search_path.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

namespace substrata::papers {
namespace {

// Twice gzip's window.
constexpr size_t kInputBytes = 64 << 10;

std::ofstream made(const std::string& path) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  std::ofstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot write " + path);
  return file;
}

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
  std::ofstream file = made(path);
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
  std::ofstream file = made(path);
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

// For GAP's kernel, in place of its library, which takes a thousand million accesses to read.
constexpr char kGap[] =
    R"(# The orbit of a set of three points under the Mathieu group M24, then products along its tree.
a := (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23);
b := (3,17,10,7,9)(4,13,14,19,5)(8,18,11,12,23)(15,20,22,21,16);
c := (1,24)(2,23)(3,12)(4,16)(5,18)(6,10)(7,20)(8,14)(9,21)(11,17)(13,22)(15,19);
gens := [a, b, c];
code := function(x, y, z)
  local t;
  if x > y then t := x; x := y; y := t; fi;
  if y > z then t := y; y := z; z := t; fi;
  if x > y then t := x; x := y; y := t; fi;
  return (x * 25 + y) * 25 + z;
end;
orbit := [[1, 2, 3]];
word := [()];
size := 1;
seen := [];
seen[code(1, 2, 3)] := 1;
at := 1;
while at <= size do
  for g in gens do
    x := orbit[at][1] ^ g; y := orbit[at][2] ^ g; z := orbit[at][3] ^ g;
    n := code(x, y, z);
    if not IsBound(seen[n]) then
      size := size + 1;
      seen[n] := size;
      orbit[size] := [x, y, z];
      word[size] := word[at] * g;
    fi;
  od;
  at := at + 1;
od;
Print(size, "\n");
# Schreier's generators of the stabiliser, as a list without repetition.
fixing := [];
count := 0;
for i in [1..size] do
  for g in gens do
    n := seen[code(orbit[i][1] ^ g, orbit[i][2] ^ g, orbit[i][3] ^ g)];
    s := word[i] * g / word[n];
    new := true;
    for k in [1..count] do
      if fixing[k] = s then new := false; break; fi;
    od;
    if new then count := count + 1; fixing[count] := s; fi;
    if count > 60 then count := 1; fi;
  od;
od;
Print(count, "\n");
f := 1;
for i in [1..400] do f := f * i; od;
e := 0;
while f mod 10 = 0 do f := f / 10; e := e + 1; od;
Print(e, "\n");
)";

// A position of a queen's gambit with all pieces but two pawns, Forsyth-Edwards notation.
constexpr char kPosition[] = "r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P4/2PBPN2/PP1N1PPP/R1BQ1RK1 w - - 0 8";

// GCC's program that compiles, and not the driver that starts it.
std::string compiler_proper() {
  if (find_program("gcc").empty()) return {};
  return find_program(std::string(trimmed(command_output("gcc -print-prog-name=cc1"))));
}

// The kernel itself, and not the script that starts it.
std::string gap_kernel() {
#if defined(__x86_64__)
  return find_program("/usr/lib/x86_64-linux-gnu/gap/gap");
#else
  return find_program("/usr/lib/gap/gap");
#endif
}

// A program of ours, which lies beside this one: where both were built, or where both were installed.
std::string our_program(const std::string& name) {
  std::error_code none;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", none);
  if (none) return {};
  const std::filesystem::path program =
      self.parent_path() / SUBSTRATA_OWL_PROGRAMS_FROM_HERE / ("owl-" + name);
  return find_program(program.lexically_normal().string());
}

}  // namespace

std::string find_program(const std::string& name) {
  return search_path(name, [](const std::string& file) { return access(file.c_str(), X_OK) == 0; });
}

std::vector<OwlProgram> owl_programs(const std::string& folder) {
  const std::string text = folder + "/text";
  const std::string no_text = folder + "/none";
  const std::string source = folder + "/source.i";
  const std::string no_source = folder + "/none.i";
  const std::string library = folder + "/work";
  const std::string no_library = folder + "/idle";
  write_text(text);
  write_source(source);
  made(no_text);
  made(no_source);
  made(library + "/lib/init.g") << kGap;
  made(no_library + "/lib/init.g");
  // Deeper than it gets in twelve million accesses.
  const std::string search = std::string("position fen ") + kPosition + "\ngo depth 20\n";
  const auto compile = [](const std::string& file) {
    return ProgramTask{{"-quiet", "-fpreprocessed", "-O2", file, "-o", "/dev/null"}};
  };
  const auto gap = [](const std::string& root) { return ProgramTask{{"-q", "-A", "-r", "-l", root}}; };
  const auto ours = [](const char* name, const char* paper, const char* what) {
    return OwlProgram{name, paper, paper[0] != '\0', our_program(name), "substrata's own programs",
                      what, {},    {{"idle"}}};
  };
  const auto compressor = [&](const char* name) {
    return OwlProgram{
        name, name, false, find_program(name), name, "64 KiB of text", {{"-c", text}}, {{"-c", no_text}}};
  };
  return {
      compressor("gzip"),
      ours("shallow", "swim", "240 x 240 points, 3 steps"),
      ours("router", "vpr", "1600 nets on 80 x 80 blocks"),
      {"gcc", "gcc", false, compiler_proper(), "gcc", "6 functions of C, -O2", compile(source),
       compile(no_source)},
      ours("rasteriser", "mesa", "9216 triangles, 512 x 512 pixels"),
      ours("art", "art", "64 windows of 40 x 40 pixels"),
      {"gnuchess",
       "crafty",
       true,
       find_program("/usr/games/gnuchess"),
       "gnuchess",
       "a middle game",
       {{"-u"}, search},
       {{"-u"}, "quit\n"}},
      ours("molecules", "ammp", "2197 atoms, 6 steps"),
      {"gap", "gap", false, gap_kernel(), "gap-core", "an orbit of M24", gap(library), gap(no_library)},
      compressor("bzip2"),
      ours("fft", "", "65536 points"),
      ours("lu", "", "512 x 512 elements in blocks of 16 x 16"),
      ours("ocean", "", "258 x 258 points"),
      ours("radix", "", "65536 keys"),
      ours("water", "", "512 molecules"),
  };
}

}  // namespace substrata::papers
