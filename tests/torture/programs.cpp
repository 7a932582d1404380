// The tools, the MPI shim and the access tracer, as programs in which something fails.
#include <cstdlib>
#include <filesystem>

#include "program_runs.hpp"
#include "support/temporary_folder.hpp"

namespace substrata::torture {
namespace {

namespace fs = std::filesystem;

const std::string kBin = std::string(TORTURE_BUILD) + "/bin/";
const std::string kTool = kBin + "substrata";

// Files that the programs read, made once and removed at the end.
class Inputs {
 public:
  std::string operator/(const char* name) const { return folder_ / name; }
  // Whether the command, in which $F is the folder, ends well.
  bool make(const std::string& command) const {
    return std::system(("F=" + folder_.path() + "; { " + command + "; } >/dev/null 2>&1").c_str()) == 0;
  }

 private:
  tests::TemporaryFolder folder_;
};

// Asks the server, whose command it is, twice, and keeps what it answers. A refusal is an answer, a part is none.
constexpr const char* kAsksTwice = R"bash(
for i in $(seq 200); do
  port=$(sed -n 's/.*127\.0\.0\.1:\([0-9]*\).*/\1/p' ../err | head -n 1)
  [ -n "$port" ] && break
  sleep 0.02
done
ask() {
  exec 3<>/dev/tcp/127.0.0.1/$port || return
  printf 'GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3
  timeout 5 cat <&3
  exec 3>&-
}
for time in first second; do
  ask > answer 2> /dev/null
  if ! head -n 1 answer | grep -q ' 200 '; then echo "$time: not answered"
  elif [ "$(tail -n 1 answer)" = '# EOF' ]; then echo "$time: whole"
  else echo "$time: a part"; fi >> asked
done
sed '1,/^\r$/d' answer >> asked
mv asked page  # whole, or not there: a server that ends takes this command with it
)bash";

std::vector<Program> tools(const Inputs& inputs) {
  const std::string record = inputs / "run.sub", trace = inputs / "run.trace";
  const auto tool = [](std::string name, std::vector<std::string> words, std::string file = {},
                       std::vector<std::string> reader = {}) {
    Program program{"substrata " + name, {kTool}, {}, false, std::move(file), std::move(reader)};
    for (std::string& word : words) program.command.push_back(std::move(word));
    return program;
  };
  const auto utility = [](const std::string& name, std::vector<std::string> words = {}) {
    Program program{name, {kBin + name}};
    for (std::string& word : words) program.command.push_back(std::move(word));
    return program;
  };
  // What is known of the machine may lack a part of it.
  const char* const kShowsCounts =
      "import json; r = json.load(open('totals')); r.pop('machine'); print(json.dumps(r, indent=1))";
  const std::vector<std::string> reads_html = {"grep", "-c", "</html>", "out.html"};
  return {
      tool("stat", {"stat", "-e", "example:::constant,perf::TASK-CLOCK", "-o", "totals", "--", "true"},
           "totals", {"cat", "totals"}),
      tool("stat --json", {"stat", "-e", "example:::constant", "--json", "-o", "totals", "--", "true"},
           "totals", {"python3", "-c", kShowsCounts}),
      tool("record",
           {"record", "-i", "10ms", "-e", "example:::*,perf::TASK-CLOCK", "-o", "run.sub", "--", "sleep",
            "0.03"},
           "run.sub", {kTool, "report", "run.sub"}),
      tool("report", {"report", record}),
      tool("report --html", {"report", "--html", "out.html", record}, "out.html", reads_html),
      tool("export --to csv", {"export", "--to", "csv", record}),
      tool("export --to perfetto", {"export", "--to", "perfetto", "-o", "out.json", record}, "out.json",
           {"python3", "-m", "json.tool", "out.json"}),
      tool("export --to openmetrics", {"export", "--to", "openmetrics", "-o", "out.txt", record}, "out.txt",
           {"cat", "out.txt"}),
      tool("export --to reduced", {"export", "--to", "reduced", "-o", "out.sub", record}, "out.sub",
           {kTool, "report", "out.sub"}),
      tool("list", {"list", "--all"}),
      tool("components", {"components"}),
      tool("events", {"events", "perf::"}),
      tool("doctor", {"doctor"}),
      tool("top", {"top", "--batch", "-n", "1", "-i", "10ms", "-e", "example:::*"}),
      tool("serve", {"serve", "-l", "127.0.0.1:0", "-e", "example:::*", "--", "bash", "-c", kAsksTwice},
           "page", {"cat", "page"}),
      tool("run", {"run", "-m", "shrimp", "-w", "fft:points=256", "-n", "2", "--record", "out.trace"},
           "out.trace", {kTool, "replay", "out.trace"}),
      tool("replay", {"replay", trace}),
      tool("probes", {"probes", trace}),
      tool("module list", {"module", "list"}),
      tool("module try", {"module", "try", "counter"}),
      tool("workloads", {"workloads"}),
      tool("import", {"import", "lackey", inputs / "lackey.txt", "out.trace"}, "out.trace",
           {kTool, "probes", "out.trace"}),
      utility("papi_avail"),
      utility("papi_native_avail"),
      utility("papi_component_avail"),
      utility("papi_mem_info"),
      utility("papi_command_line", {"example:::constant"}),
  };
}

}  // namespace

Outcome failing_tools(const Options& options) {
  if (!fs::exists(kTool)) {
    Outcome outcome;
    outcome.skipped = "the tools are not built";
    return outcome;
  }
  const Inputs inputs;
  if (!inputs.make(kTool +
                   " record -i 10ms -e 'example:::*,perf::TASK-CLOCK' -o $F/run.sub -- sleep 0.05 && " +
                   kTool +
                   " run -m shrimp -w fft:points=256 -n 2 --record $F/run.trace && "
                   "printf 'I  04000000,3\\n L 1ffeffe7e0,8\\n S 1ffeffe7e8,8\\n' > $F/lackey.txt")) {
    Outcome outcome;
    outcome.failures.emplace_back("the tools' input cannot be made");
    return outcome;
  }
  return fail_within(options, tools(inputs));
}

// One rank, two of which one meets the fault, and the launcher that runs a cluster on what two ranks leave.
Outcome failing_shim(const Options& options) {
  const Inputs inputs;
  std::vector<Program> programs;
  const std::vector<std::string> reads_summary = {"python3", "-m", "json.tool", "summary.json"};
  for (const std::string mpi : {"openmpi", "mpich"}) {
    const std::string program = inputs / ("exchange_" + mpi).c_str();
    const std::string shim = std::string(TORTURE_BUILD) + "/lib/libsubstrata_mpi_" + mpi + ".so";
    if (!fs::exists(shim) ||
        !inputs.make("mpicc." + mpi + " -O1 -o " + program + " " TORTURE_SOURCES "/exchange.c && { " +
                     program + "; test $? = 3; }"))
      continue;
    const std::vector<std::pair<std::string, std::string>> settings = {
        {"LD_PRELOAD", shim},
        {"SUBSTRATA_MPI_SUMMARY", "summary.json"},
        {"SUBSTRATA_MPI_TRACE", "trace%r"},
        {"OMPI_MCA_mpi_yield_when_idle", "1"},
        {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
        {"OMPI_MCA_odls_base_sigkill_timeout", "0"},  // the program ends with 3, and has ended by then
        {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
    programs.push_back({mpi, {program}, settings, true, "summary.json", reads_summary});
    const std::vector<std::string> two = {"mpirun." + mpi, "-n", "2", program};
    for (const int rank : {0, 1})
      programs.push_back({mpi + ", rank " + std::to_string(rank) + " of 2", two, settings, true,
                          "summary.json", reads_summary, program, rank});
    programs.push_back({"substrata mpirun, " + mpi,
                        {kTool, "mpirun", "--cluster", "myrinet", "--out", "out", "-n", "2", program},
                        {settings.begin() + 3, settings.end()},
                        false,
                        "out/cluster.json",
                        {"python3", "-m", "json.tool", "out/cluster.json"}});
  }
  if (!programs.empty()) return fail_within(options, programs);
  Outcome outcome;
  outcome.skipped = "no MPI library that can start a program here";
  return outcome;
}

Outcome failing_tracer(const Options& options) {
  const Inputs inputs;
  const std::string program = inputs / "accesses";
  Outcome outcome;
  if (!inputs.make(kBin + "substrata-cc -O1 -pthread -o " + program +
                   " " TORTURE_SOURCES "/accesses.c && { " + program + "; test $? = 5; }")) {
    outcome.skipped = "the access tracer cannot compile a program here";
    return outcome;
  }
  const auto traced = [&](const char* name, const char* variable, const char* file,
                          std::vector<std::string> reader) {
    return Program{name, {program}, {{variable, file}}, true, file, std::move(reader)};
  };
  return fail_within(
      options, {traced("summary", "SUBSTRATA_MEMORY_SUMMARY", "summary.json",
                       {"python3", "-m", "json.tool", "summary.json"}),
                traced("trace", "SUBSTRATA_MEMORY_TRACE", "out.trace", {kTool, "probes", "out.trace"})});
}

}  // namespace substrata::torture
