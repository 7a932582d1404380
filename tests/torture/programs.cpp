// The tools, the MPI shim and the access tracer, as programs in which something fails.
#include <cstdlib>
#include <filesystem>

#include "program_runs.hpp"

namespace substrata::torture {
namespace {

namespace fs = std::filesystem;

const std::string kBin = std::string(TORTURE_BUILD) + "/bin/";
const std::string kTool = kBin + "substrata";

// Files that the programs read, made once and removed at the end.
class Inputs {
 public:
  Inputs() {
    folder_ = (fs::temp_directory_path() / "substrata-torture-inputs-XXXXXX").string();
    if (mkdtemp(folder_.data()) == nullptr) folder_.clear();
  }
  ~Inputs() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
  std::string operator/(const char* name) const { return folder_ + "/" + name; }
  // Whether the command, in which $F is the folder, ends well.
  bool make(const std::string& command) const {
    return std::system(("F=" + folder_ + "; { " + command + "; } >/dev/null 2>&1").c_str()) == 0;
  }

 private:
  std::string folder_;
};

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
  const std::vector<std::string> reads_html = {"grep", "-c", "</html>", "out.html"};
  return {
      tool("stat", {"stat", "-e", "example:::constant,perf::TASK-CLOCK", "-o", "totals", "--", "true"},
           "totals", {"cat", "totals"}),
      tool("stat --json", {"stat", "-e", "example:::constant", "--json", "-o", "totals", "--", "true"},
           "totals", {"python3", "-m", "json.tool", "totals"}),
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
      tool("list", {"list"}),
      tool("components", {"components"}),
      tool("events", {"events", "perf::"}),
      tool("doctor", {"doctor"}),
      tool("top", {"top", "--batch", "-n", "1", "-i", "10ms", "-e", "example:::*"}),
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
    programs.push_back({mpi,
                        {program},
                        {{"LD_PRELOAD", shim},
                         {"SUBSTRATA_MPI_SUMMARY", "summary.json"},
                         {"SUBSTRATA_MPI_TRACE", "trace"},
                         {"OMPI_MCA_mpi_yield_when_idle", "1"}},
                        true,
                        "summary.json",
                        reads_summary});
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
