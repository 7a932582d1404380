// Provenance, from uname, /proc and PAPI's description of the hardware.
#include "recording/sampler/machine.hpp"

#include <papi.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/environment.hpp"
#include "sources/mpi/exchange/clock_exchange.hpp"

namespace substrata::sampler {
namespace {

std::string first_line(const char* path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

std::string clock_text(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::to_string(std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec);
}

}  // namespace

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name[0] != '\0' ? name : "localhost";
}

recording::Properties machine_properties() {
  recording::Properties out;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) out.emplace_back(name, value);
  };
  add("start.raw_ns", clock_text(CLOCK_MONOTONIC_RAW));
  add("start.real_ns", clock_text(CLOCK_REALTIME));
  add("host", host_name());
  add("machine.boot_id", first_line("/proc/sys/kernel/random/boot_id"));
  add("clock", mpi_exchange::clock_name());
  utsname name{};
  if (uname(&name) == 0)
    add("machine.kernel", std::string(name.sysname) + " " + name.release + " " + name.machine);
  if (const PAPI_hw_info_t* hardware = PAPI_get_hardware_info(); hardware != nullptr) {
    add("machine.processor", hardware->model_string);
    add("machine.processors", std::to_string(hardware->totalcpus));
  }
  add("software.substrata", SUBSTRATA_VERSION);
  add("software.papi_interface", std::to_string(PAPI_VERSION_MAJOR(PAPI_VERSION)) + "." +
                                     std::to_string(PAPI_VERSION_MINOR(PAPI_VERSION)));
  std::error_code ignored;
  add("directory", std::filesystem::current_path(ignored).string());
  add("user", std::to_string(getuid()));
  return out;
}

std::optional<RankOfJob> rank_of_job() {
  const auto setting = [](std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (const char* value = environment(name); value != nullptr && value[0] != '\0')
        return std::string(value);
    return std::string();
  };
  RankOfJob out;
  out.rank = setting({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"});
  out.local_rank = setting({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"});
  if (out.rank.empty() || out.local_rank.empty()) return std::nullopt;
  out.job = setting({"PMIX_NAMESPACE", "PMI_ID", "SLURM_STEP_ID"});
  // Ranks of one node have one parent, whatever launched them.
  if (environment("PMIX_NAMESPACE") == nullptr) out.job += "/" + std::to_string(getppid());
  return out;
}

}  // namespace substrata::sampler
