// Finds the MPI library of a program, its launcher and its shim.
#include "recording/sampler/mpi_launching.hpp"
#include "base/environment.hpp"
#include "base/search_path.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace substrata::sampler {
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
  return search_path(name, runs);
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

fs::path find_shim(Mpi mpi) {
  const std::string name =
      std::string("libsubstrata_mpi_") + (mpi == Mpi::kOpenMpi ? "openmpi" : "mpich") + ".so";
  fs::path found = library_beside(name);
  if (!found.empty()) return found;
  throw std::runtime_error("there is no " + name + " beside this program; it is built where the headers of " +
                           library_name(mpi) + " are installed");
}

constexpr ShimSetting kSettings[] = {
    {"--summary", "SUBSTRATA_MPI_SUMMARY", true},  {"--trace", "SUBSTRATA_MPI_TRACE", true},
    {"--cluster", "SUBSTRATA_MPI_CLUSTER", false}, {"--out", "SUBSTRATA_MPI_CLUSTER_OUT", true},
    {"--network", "SUBSTRATA_MPI_NETWORK", false}, {nullptr, "SUBSTRATA_MPI_LEVEL", false},
    {nullptr, "SUBSTRATA_MPI_TIME", false},        {nullptr, "SUBSTRATA_MPI_EVERY_RANK", false}};

}  // namespace

std::span<const ShimSetting> shim_settings() { return kSettings; }

fs::path library_beside(const std::string& name) {
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
  return {};
}

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
                             "' shows which MPI library it uses; Open MPI and MPICH are known");
  if (launchers != Mpi::kUnknown && launchers != mpi)
    throw std::runtime_error("the program needs " + std::string(library_name(mpi)) + ", but '" +
                             launcher.string() + "' belongs to " + library_name(launchers) +
                             "; name the right one with --launcher");

  std::string preload = find_shim(mpi).string();
  if (const char* others = environment("LD_PRELOAD"); others != nullptr && others[0] != '\0')
    preload += std::string(":") + others;
  std::vector<std::string> settings;
  const auto set = [&](const std::string& name, const std::string& value) {
    if (mpi == Mpi::kOpenMpi)
      settings.insert(settings.end(), {"-x", name + "=" + value});
    else
      settings.insert(settings.end(), {"-genv", name, value});
  };
  set("LD_PRELOAD", preload);
  for (const ShimSetting& setting : kSettings)
    if (const char* value = environment(setting.variable); value != nullptr) set(setting.variable, value);
  std::vector<std::string> command = {launcher.string()};
  command.insert(command.end(), settings.begin(), settings.end());
  for (const std::string& word : words) {
    command.push_back(word);
    // Open MPI's setting holds for one program of several; MPICH's for all.
    if (word == ":" && mpi == Mpi::kOpenMpi) command.insert(command.end(), settings.begin(), settings.end());
  }
  return command;
}

std::string shim_for_program(const std::string& program) {
  const fs::path file = find_program(program);
  const Mpi mpi = file.empty() ? Mpi::kUnknown : mpi_of_program(file);
  if (mpi == Mpi::kUnknown)
    throw std::runtime_error("'" + program +
                             "' does not show which MPI library it uses; Open MPI and MPICH are known");
  return find_shim(mpi).string();
}

std::string shim_for_script() {
  for (const char* name : {"mpirun", "mpiexec"})
    if (const fs::path launcher = find_program(name); !launcher.empty())
      if (const Mpi mpi = mpi_of_launcher(launcher); mpi != Mpi::kUnknown) return find_shim(mpi).string();
  throw std::runtime_error("no mpirun in PATH shows which MPI library a script would use");
}

}  // namespace substrata::sampler
