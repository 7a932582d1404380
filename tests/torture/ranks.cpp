// Many real ranks of an MPI program on this machine under the shim: the program prints and ends as without, the summary
// has every rank's messages, and what the shim needs of memory grows no faster than the ranks.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "support/temporary_folder.hpp"
#include "torture.hpp"

namespace substrata::torture {
namespace {

namespace fs = std::filesystem;
using tests::contents;
using tests::TemporaryFolder;

struct Run {
  int status = -1;
  std::string out;
  std::int64_t peak = 0;  // resident bytes of the job's largest process
};

Run run(const std::string& command, const TemporaryFolder& folder) {
  Run result;
  const pid_t child = fork();
  if (child == 0) {
    if (chdir(folder.path().c_str()) == 0)
      execl("/bin/sh", "sh", "-c", ("exec timeout 400 " + command + " > out 2> err").c_str(), nullptr);
    _exit(127);
  }
  rusage used{};
  int status = 0;
  if (child < 0 || wait4(child, &status, 0, &used) != child) return result;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.out = contents(folder / "out");
  result.peak = used.ru_maxrss * 1024;
  return result;
}

// What is wrong with the summary of so many ranks, by python's reader of JSON; "" when nothing is. Each of the 20
// rounds of exchange.c sends a message of every rank to the next, beside those of the collectives.
std::string wrong_summary(std::int64_t ranks, const TemporaryFolder& folder) {
  const std::string check =
      "python3 -c \"import json; r = json.load(open('summary.json'))['ranks']; "
      "assert sorted(x['rank'] for x in r) == list(range(" +
      std::to_string(ranks) +
      ")), 'ranks'; assert min(x['messages_sent'] for x in r) >= 20, 'messages'; "
      "assert all(sum(x[s] for x in r) == sum(x[t] for x in r) for s, t in "
      "[('messages_sent', 'messages_received'), ('bytes_sent', 'bytes_received')]), 'sums'\"";
  return run(check, folder).status == 0 ? "" : "the summary is wrong: " + contents(folder / "err");
}

}  // namespace

Outcome many_ranks(const Options& options) {
  Outcome outcome;
  const TemporaryFolder folder;
  const std::int64_t most = options.iterations > 0 ? options.iterations : 8;
  for (const auto& [variable, value] : {std::pair{"OMPI_MCA_mpi_yield_when_idle", "1"},
                                        {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                        {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}})
    setenv(variable, value, 1);
  for (const std::string mpi : {"openmpi", "mpich"}) {
    const std::string shim = std::string(TORTURE_BUILD) + "/lib/libsubstrata_mpi_" + mpi + ".so";
    const std::string program = "./exchange_" + mpi;
    if (!fs::exists(shim) ||
        run("mpicc." + mpi + " -O1 -o " + program + " " TORTURE_SOURCES "/exchange.c", folder).status != 0)
      continue;
    std::int64_t before = 0;
    // MPICH's ranks wait by looking again and again, and take the processors from each other.
    const std::int64_t limit = mpi == "mpich" ? std::min<std::int64_t>(most, 16) : most;
    for (std::int64_t ranks = limit / 4; ranks <= limit; ranks *= 4) {
      const std::string launch = "mpirun." + mpi + " -n " + std::to_string(ranks) + " ";
      const Run plain = run(launch + program, folder);
      const Run under = run("env LD_PRELOAD=" + shim + " SUBSTRATA_MPI_SUMMARY=" + folder / "summary.json" +
                                " " + launch + program,
                            folder);
      const std::string which = mpi + ", " + std::to_string(ranks) + " ranks: ";
      ++outcome.tried;
      if (under.status != plain.status || under.out != plain.out)
        outcome.failures.push_back(which + "status " + std::to_string(under.status) + " for " +
                                   std::to_string(plain.status) + ", printed " + under.out +
                                   contents(folder / "err"));
      else if (const std::string wrong = wrong_summary(ranks, folder); !wrong.empty())
        outcome.failures.push_back(which + wrong);
      const std::int64_t more = under.peak - plain.peak;
      if (before > 0 && more > 4 * before + (4 << 20))
        outcome.failures.push_back(which + "the largest rank needs " + std::to_string(more) +
                                   " bytes more, " + std::to_string(before) + " with a quarter of the ranks");
      before = std::max<std::int64_t>(more, 1);
      char text[32];
      std::snprintf(text, sizeof text, "%.1f MiB a rank", static_cast<double>(more) / (1 << 20));
      outcome.figures.emplace_back(which + "the shim takes", text);
    }
  }
  if (outcome.tried == 0) outcome.skipped = "no MPI library that can start a program here";
  return outcome;
}

}  // namespace substrata::torture
