// How an MPI program is started with the shim of its MPI library.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace substrata::sampler {

// What the shim reads from the environment, and the option of `substrata mpirun` that sets it.
struct ShimSetting {
  const char* option;  // null: only the environment
  const char* variable;
  bool is_place;  // a file or a folder
};
std::span<const ShimSetting> shim_settings();

// The launcher's command with the shim preloaded into the ranks and the shim's settings passed on.
// `launcher`: to use, else (empty) the one of the program's MPI library. `words`: the launcher's own
// arguments, the program, its arguments. Throws std::runtime_error with the reason when the library is
// unknown or has no shim here.
std::vector<std::string> preloading_command(const std::string& launcher,
                                            const std::vector<std::string>& words);

// A library beside this program: in ../lib of the build tree and where it is installed, or in a folder there. Empty:
// there is none.
std::filesystem::path library_beside(const std::string& name);

// The shim for a program that is started by itself, as one rank; throws as preloading_command does.
std::string shim_for_program(const std::string& program);

// The same of the MPI library to which PATH's mpirun belongs, for a script or a launcher of another kind: all that
// it starts on this node has the shim, which does nothing in programs without MPI.
std::string shim_for_script();

}  // namespace substrata::sampler
