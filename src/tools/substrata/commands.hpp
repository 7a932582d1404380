// The commands of the program `substrata`: each takes its own command line and gives the exit status.
#pragma once

#include <span>

namespace substrata::tool {

// Exit statuses: 0 it worked, 1 it did not or a claim does not hold, 2 wrong command line, 77 there is
// nothing to check on this machine.
int components(int argc, char** argv);
int events(int argc, char** argv);
int doctor(int argc, char** argv);
int machine(int argc, char** argv);
int run(int argc, char** argv);
int replay(int argc, char** argv);
int probes(int argc, char** argv);
int workloads(int argc, char** argv);
int import_trace(int argc, char** argv);
int mpirun(int argc, char** argv);
int check_presets(int argc, char** argv);
int module(int argc, char** argv);
int owl(int argc, char** argv);
int reproduce(int argc, char** argv);
int signature(int argc, char** argv);
int list(int argc, char** argv);
// stat and record give the exit status of the command they run.
int stat(int argc, char** argv);
int record(int argc, char** argv);
int report(int argc, char** argv);
int export_record(int argc, char** argv);
int compare(int argc, char** argv);
int correlate(int argc, char** argv);
int top(int argc, char** argv);
int serve(int argc, char** argv);
int accesses(int argc, char** argv);
int roofline(int argc, char** argv);
int topology(int argc, char** argv);
int completion(int argc, char** argv);

struct Command {
  const char* name;
  const char* summary;
  int (*run)(int argc, char** argv);
};
// All of them, in the order in which a person should read of them.
std::span<const Command> commands();

}  // namespace substrata::tool
