// substrata mpirun: starts an MPI program under its own launcher with the shim of its MPI library preloaded.
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "arguments/arguments.hpp"
#include "cluster/carried_run.hpp"
#include "substrata_tool/commands.hpp"
#include "sampler/mpi_launching.hpp"
#include "sampler/child.hpp"

namespace substrata::tool {
namespace {

namespace fs = std::filesystem;

enum class Mpi { kUnknown, kOpenMpi, kMpich };

const char* library_name(Mpi mpi) { return mpi == Mpi::kOpenMpi ? "Open MPI" : "MPICH"; }

// A program's file as a shell would find it; empty when there is none.
fs::path find_program(const std::string& name) {
  std::error_code ignored;
  const auto runs = [&](const fs::path& file) {
    return fs::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return runs(name) ? fs::path(name) : fs::path();
  const char* path = std::getenv("PATH");
  std::string rest = path != nullptr ? path : "/usr/bin:/bin";
  for (std::size_t begin = 0; begin <= rest.size();) {
    const std::size_t end = std::min(rest.find(':', begin), rest.size());
    const fs::path file = fs::path(rest.substr(begin, end - begin)) / name;
    if (runs(file)) return file;
    begin = end + 1;
  }
  return {};
}

// Which MPI library a program names as one it needs. A library of another name that brings MPI along is not
// seen; the launcher decides then.
Mpi mpi_of_program(const fs::path& program) {
  std::ifstream file(program, std::ios::binary);
  char magic[4] = {};
  if (!file.read(magic, sizeof magic) || std::memcmp(magic, "\177ELF", 4) != 0) return Mpi::kUnknown;
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto needs = [&](const char* name) { return text.find(name) != std::string::npos; };
  if (needs("libmpich.so") || needs("libmpichfort.so")) return Mpi::kMpich;
  if (needs("libmpi.so.40") || needs("libmpi_mpifh.so") || needs("libopen-rte.so")) return Mpi::kOpenMpi;
  return Mpi::kUnknown;
}

// Which MPI a launcher belongs to, by what it says of itself.
Mpi mpi_of_launcher(const fs::path& launcher) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return Mpi::kUnknown;
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], STDOUT_FILENO);
    dup2(pipe_ends[1], STDERR_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    execl(launcher.c_str(), launcher.c_str(), "--version", static_cast<char*>(nullptr));
    _exit(127);
  }
  close(pipe_ends[1]);
  std::string said;
  char chunk[512];
  for (ssize_t got = 0; child > 0 && (got = read(pipe_ends[0], chunk, sizeof chunk)) > 0;)
    said.append(chunk, static_cast<std::size_t>(got));
  close(pipe_ends[0]);
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  if (said.find("Open MPI") != std::string::npos || said.find("OpenRTE") != std::string::npos)
    return Mpi::kOpenMpi;
  if (said.find("HYDRA") != std::string::npos || said.find("mpich") != std::string::npos) return Mpi::kMpich;
  return Mpi::kUnknown;
}

// The shim beside this program: ../lib in the build tree and where it is installed, or a folder in it.
fs::path find_shim(Mpi mpi) {
  const std::string name =
      std::string("libsubstrata_mpi_") + (mpi == Mpi::kOpenMpi ? "openmpi" : "mpich") + ".so";
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  const fs::path lib = here.parent_path() / "lib";
  std::vector<fs::path> places = {lib / name, lib / "substrata" / name, here / name};
  if (fs::is_directory(lib, ignored))
    for (const fs::directory_entry& folder : fs::directory_iterator(lib, ignored))
      if (folder.is_directory(ignored) &&
          folder.path().filename().string().find("linux") != std::string::npos)
        places.push_back(folder.path() / name);
  for (const fs::path& place : places)
    if (fs::is_regular_file(place, ignored)) return fs::canonical(place, ignored);
  throw std::runtime_error("there is no " + name + " beside this program; it is built where the headers of " +
                           library_name(mpi) + " are installed");
}

// What the shim is told by the environment.
struct Setting {
  const char* option;
  const char* variable;
  bool is_place;  // a file or a folder
};
constexpr Setting kSettings[] = {
    {"--summary", "SUBSTRATA_MPI_SUMMARY", true},  {"--trace", "SUBSTRATA_MPI_TRACE", true},
    {"--cluster", "SUBSTRATA_MPI_CLUSTER", false}, {"--out", "SUBSTRATA_MPI_CLUSTER_OUT", true},
    {"--network", "SUBSTRATA_MPI_NETWORK", false}, {nullptr, "SUBSTRATA_MPI_LEVEL", false},
    {nullptr, "SUBSTRATA_MPI_TIME", false}};

// What tells a log from the one that was there before.
struct stat log_in(const std::string& folder) {
  struct stat out {};
  if (stat((folder + "/" + mpi_shim::kMessageLogName).c_str(), &out) != 0) out = {};
  return out;
}

// Runs the program, then the cluster on the messages that its ranks left. The program's status is ours.
int run_and_carry(const std::vector<std::string>& command, const std::string& folder) {
  const struct stat before = log_in(folder);
  Child child(command, {});
  child.go();
  pollfd end{child.signals(), POLLIN, 0};
  while (!child.take_signals()) poll(&end, 1, -1);
  const int status = child.reap(nullptr);
  const struct stat after = log_in(folder);
  const bool is_new = after.st_ino != before.st_ino || after.st_mtim.tv_sec != before.st_mtim.tv_sec ||
                      after.st_mtim.tv_nsec != before.st_mtim.tv_nsec;
  if (!is_new) {
    std::fprintf(stderr,
                 "substrata mpirun: the program (%s) left no messages in %s, so no cluster is run; they are "
                 "written in MPI_Finalize, where rank 0 runs\n",
                 child.how_it_ended().c_str(), folder.c_str());
    return status != 0 ? status : 1;
  }
  const CarriedRun run = carry_folder(folder, "");
  write_carried(run, folder);
  std::fprintf(
      stderr,
      "substrata mpirun: %llu packets (modelled) in %.2f s after the program's end; %s/cluster.json\n",
      static_cast<unsigned long long>(run.counts(SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_ALL).packets_sent),
      run.run_s(), folder.c_str());
  return status;
}

void print_usage(std::FILE* to) {
  std::fprintf(
      to,
      "Usage: substrata mpirun [--launcher PROGRAM] [--summary FILE] [--trace FILE]\n"
      "                        [--cluster MACHINE [--out FOLDER]] [--network TEXT] [--print]\n"
      "                        [mpirun's arguments] PROGRAM [ARGUMENTS]\n\n"
      "Starts an MPI program with the shim that counts its messages (docs/mpi.md).\n"
      "  --launcher PROGRAM  mpirun to use; else the one of the program's MPI library\n"
      "  --summary FILE      rank 0 writes the counts there (SUBSTRATA_MPI_SUMMARY)\n"
      "  --trace FILE        each rank records its messages, %%r is its number (SUBSTRATA_MPI_TRACE)\n"
      "  --cluster MACHINE   carry the messages on a modelled cluster, a node for each rank: myrinet or\n"
      "                      myrinet:name=value:... (SUBSTRATA_MPI_CLUSTER)\n"
      "  --out FOLDER        when the program has ended, run that cluster: cluster.json and the ranks'\n"
      "                      signatures, data and plots (SUBSTRATA_MPI_CLUSTER_OUT; substrata signature "
      "FOLDER)\n"
      "  --network TEXT      of virtual time, as factor=100:latency=9000 (SUBSTRATA_MPI_NETWORK)\n"
      "  --print             only print the command\n\n"
      "Example: substrata mpirun --cluster myrinet --network factor=100 --out figures -n 4 hpcc\n");
}

}  // namespace

std::vector<std::string> preloading_command(const std::string& launcher_name,
                                            const std::vector<std::string>& words) {
  // The program is the first argument that names an MPI executable; the launcher's own arguments do not.
  Mpi mpi = Mpi::kUnknown;
  for (std::size_t i = 0; i < words.size() && mpi == Mpi::kUnknown; ++i)
    if (const fs::path program = find_program(words[i]); !program.empty()) mpi = mpi_of_program(program);

  fs::path launcher;
  if (!launcher_name.empty()) {
    launcher = find_program(launcher_name);
    if (launcher.empty()) throw std::runtime_error("there is no launcher '" + launcher_name + "'");
  } else {
    std::vector<std::string> names = {"mpirun", "mpiexec"};
    if (mpi == Mpi::kMpich) names = {"mpirun.mpich", "mpiexec.hydra", "mpiexec.mpich", "mpirun", "mpiexec"};
    if (mpi == Mpi::kOpenMpi) names = {"mpirun.openmpi", "mpirun", "mpiexec"};
    for (const std::string& name : names)
      if (launcher.empty()) launcher = find_program(name);
    if (launcher.empty()) throw std::runtime_error("there is no mpirun in PATH; name one with --launcher");
  }
  const Mpi launchers = mpi_of_launcher(launcher);
  if (mpi == Mpi::kUnknown) mpi = launchers;
  if (mpi == Mpi::kUnknown)
    throw std::runtime_error("neither the program nor '" + launcher.string() +
                             "' tells its MPI library; Open MPI and MPICH are known");
  if (launchers != Mpi::kUnknown && launchers != mpi)
    throw std::runtime_error("the program needs " + std::string(library_name(mpi)) + ", but '" +
                             launcher.string() + "' is of " + library_name(launchers) +
                             "; name the right one with --launcher");

  std::string preload = find_shim(mpi).string();
  if (const char* others = std::getenv("LD_PRELOAD"); others != nullptr && others[0] != '\0')
    preload += std::string(":") + others;
  std::vector<std::string> command = {launcher.string()};
  const auto set = [&](const std::string& name, const std::string& value) {
    if (mpi == Mpi::kOpenMpi)
      command.insert(command.end(), {"-x", name + "=" + value});
    else
      command.insert(command.end(), {"-genv", name, value});
  };
  set("LD_PRELOAD", preload);
  for (const Setting& setting : kSettings)
    if (const char* value = std::getenv(setting.variable); value != nullptr) set(setting.variable, value);
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

std::string shim_for_program(const std::string& program) {
  const fs::path file = find_program(program);
  const Mpi mpi = file.empty() ? Mpi::kUnknown : mpi_of_program(file);
  if (mpi == Mpi::kUnknown)
    throw std::runtime_error("'" + program + "' does not tell its MPI library; Open MPI and MPICH are known");
  return find_shim(mpi).string();
}

int mpirun(int argc, char** argv) {
  std::string launcher_name;
  bool only_print = false;
  int at = 1;
  for (; at < argc; ++at) {
    const std::string option = argv[at];
    if (option == "--help" || option == "-h") {
      if (Arguments::describe({{{"-h", "--help"}, false},
                               {{"--launcher"}},
                               {{"--summary"}, true, false, Arguments::Value::kFile},
                               {{"--trace"}, true, false, Arguments::Value::kFile},
                               {{"--cluster"}},
                               {{"--out"}, true, false, Arguments::Value::kFile},
                               {{"--network"}},
                               {{"--print"}, false}}))
        return 0;
      print_usage(stdout);
      return 0;
    }
    if (option == "--print") {
      only_print = true;
      continue;
    }
    const auto* const setting =
        std::find_if(std::begin(kSettings), std::end(kSettings),
                     [&](const Setting& one) { return one.option != nullptr && option == one.option; });
    if (option != "--launcher" && setting == std::end(kSettings)) break;
    if (at + 1 == argc) {
      std::fprintf(stderr, "substrata mpirun: %s needs a value\n", option.c_str());
      return 2;
    }
    const std::string value = argv[++at];
    if (option == "--launcher")
      launcher_name = value;
    else
      // The ranks may start elsewhere, so a place is made absolute here.
      setenv(setting->variable, (setting->is_place ? fs::absolute(value).string() : value).c_str(), 1);
  }
  if (at == argc) {
    print_usage(stderr);
    return 2;
  }

  const char* const cluster = std::getenv("SUBSTRATA_MPI_CLUSTER");
  const char* const folder = std::getenv("SUBSTRATA_MPI_CLUSTER_OUT");
  const std::string out = folder != nullptr ? folder : "";
  if (!out.empty() && cluster == nullptr) {
    std::fprintf(
        stderr,
        "substrata mpirun: --out (SUBSTRATA_MPI_CLUSTER_OUT) is the folder of a cluster, and none is "
        "asked for; name one with --cluster myrinet\n");
    return 2;
  }
  std::vector<std::string> command = preloading_command(launcher_name, {argv + at, argv + argc});
  if (only_print) {
    for (std::size_t i = 0; i < command.size(); ++i)
      std::printf("%s%s", command[i].c_str(), i + 1 == command.size() ? "\n" : " ");
    return 0;
  }
  if (!out.empty()) return run_and_carry(command, out);
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  execv(words[0], words.data());
  throw std::runtime_error("'" + command[0] + "' cannot be started: " + std::strerror(errno));
}

}  // namespace substrata::tool
