// substrata mpirun: starts an MPI program under its own launcher with the shim of its MPI library preloaded.
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "recording/sampler/child.hpp"
#include "recording/sampler/mpi_launching.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/model_runs/offline_replay.hpp"
#include "tools/substrata/commands.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

namespace fs = std::filesystem;

// What distinguishes a log from an earlier one.
struct stat log_in(const std::string& folder) {
  struct stat out {};
  if (stat((folder + "/" + mpi::kMessageLogName).c_str(), &out) != 0) out = {};
  return out;
}

// Runs the program, then the cluster on the messages that its ranks left. The program's status is ours.
int run_and_replay(const std::vector<std::string>& command, const std::string& folder) {
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
                 "substrata mpirun: the program (%s) left no messages in %s, so no cluster is run; rank 0 "
                 "writes them in MPI_Finalize\n",
                 child.how_it_ended().c_str(), folder.c_str());
    return status != 0 ? status : 1;
  }
  const model_runs::OfflineReplay run = model_runs::replay_folder(folder, "");
  model_runs::write_replay(run, folder);
  std::fprintf(
      stderr,
      "substrata mpirun: %llu packets (modelled) in %.2f s after the program's end; %s/cluster.json\n",
      static_cast<unsigned long long>(run.counts(SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_ALL).packets_sent),
      run.run_s(), folder.c_str());
  return status;
}

// The first word of the program to start: a command that is found and neither an option nor a number.
bool is_program(const std::string& word) {
  if (word.empty() || word[0] == '-' || (word[0] >= '0' && word[0] <= '9')) return false;
  try {
    return !find_command(word).empty();
  } catch (const CommandError&) {
    return false;
  }
}

void print_usage(std::FILE* to) {
  std::fprintf(
      to,
      "Usage: substrata mpirun [--launcher PROGRAM] [--summary FILE] [--trace FILE]\n"
      "                        [--cluster MACHINE [--out FOLDER]] [--network TEXT] [--print]\n"
      "                        [mpirun's arguments] PROGRAM [ARGUMENTS]\n"
      "The launcher's own arguments and these options may come in any order before PROGRAM.\n\n"
      "Starts an MPI program with the shim that counts its messages (docs/guide/mpi_messages.md).\n"
      "  --launcher PROGRAM  mpirun to use (default: the one of the program's MPI library)\n"
      "  --summary FILE      rank 0 writes the counts to FILE (SUBSTRATA_MPI_SUMMARY)\n"
      "  --trace FILE        each rank records its messages in FILE, %%r is its number "
      "(SUBSTRATA_MPI_TRACE)\n"
      "  --cluster MACHINE   replay the messages on a modelled cluster, one node per rank: myrinet or\n"
      "                      myrinet:name=value:... (SUBSTRATA_MPI_CLUSTER)\n"
      "  --out FOLDER        after the program's end, run that cluster: cluster.json and the ranks'\n"
      "                      signatures, data and plots (SUBSTRATA_MPI_CLUSTER_OUT; substrata signature "
      "FOLDER)\n"
      "  --network TEXT      network of virtual time: factor=100:latency=9000 (SUBSTRATA_MPI_NETWORK)\n"
      "  --print             only print the command\n\n"
      "Example: substrata mpirun --cluster myrinet --network factor=100 --out figures -n 4 hpcc\n");
}

}  // namespace

int mpirun(int argc, char** argv) {
  std::string launcher_name;
  bool only_print = false;
  std::vector<std::string> words;
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
    if (is_program(option)) break;
    const auto settings = shim_settings();
    const auto setting = std::find_if(settings.begin(), settings.end(), [&](const ShimSetting& one) {
      return one.option != nullptr && option == one.option;
    });
    if (option != "--launcher" && setting == settings.end()) {
      words.push_back(option);  // the launcher's
      continue;
    }
    if (at + 1 == argc) {
      std::fprintf(stderr, "substrata mpirun: %s needs a value\n", option.c_str());
      return 2;
    }
    const std::string value = argv[++at];
    if (value.empty() || value[0] == '-') {
      std::fprintf(stderr,
                   "substrata mpirun: %s needs a value, not '%s'; write ./%s for a file of that name\n",
                   option.c_str(), value.c_str(), value.c_str());
      return 2;
    }
    if (option == "--launcher")
      launcher_name = value;
    else
      // The ranks may start elsewhere, so a place is made absolute here.
      setenv(setting->variable, (setting->is_place ? fs::absolute(value).string() : value).c_str(), 1);
  }
  words.insert(words.end(), argv + at, argv + argc);
  if (words.empty()) {
    print_usage(stderr);
    return 2;
  }

  const char* const cluster = environment("SUBSTRATA_MPI_CLUSTER");
  if (cluster != nullptr && std::string(cluster).substr(0, std::string(cluster).find(':')) != "myrinet") {
    std::fprintf(stderr,
                 "substrata mpirun: there is no cluster '%s' (--cluster); write myrinet or "
                 "myrinet:name=value:...\n",
                 cluster);
    return 2;
  }
  const char* const folder = environment("SUBSTRATA_MPI_CLUSTER_OUT");
  const std::string out = folder != nullptr ? folder : "";
  if (!out.empty() && cluster == nullptr) {
    std::fprintf(
        stderr,
        "substrata mpirun: --out (SUBSTRATA_MPI_CLUSTER_OUT) is the folder of a cluster, but none is "
        "given; name one with --cluster myrinet\n");
    return 2;
  }
  std::vector<std::string> command = preloading_command(launcher_name, words);
  if (only_print) {
    for (std::size_t i = 0; i < command.size(); ++i)
      std::printf("%s%s", command[i].c_str(), i + 1 == command.size() ? "\n" : " ");
    return 0;
  }
  if (!out.empty()) return run_and_replay(command, out);
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  throw std::runtime_error("'" + command[0] + "' cannot be started: " + std::strerror(errno));
}

}  // namespace substrata::tool
