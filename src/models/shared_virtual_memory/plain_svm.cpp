// Makes the machine `svm` from its parameters.
#include "plain_svm.hpp"

#include "plain_network.hpp"
#include "substrata/feed.h"
#include "workloads/run.hpp"

namespace substrata::svm {
namespace {

constexpr const char* kName = "svm";
constexpr std::uint64_t kMostNanoseconds = 1'000'000'000;
constexpr workloads::Parameter kParameters[] = {
    {.name = "mode",
     .text = "how changes reach a page's home",
     .fallback = 0,
     .least = 0,
     .most = 1,
     .choices = "diffs|automatic"},
    {.name = "homes",
     .text = "where a page's home is",
     .fallback = 0,
     .least = 0,
     .most = 2,
     .choices = "block|round-robin|first-touch"},
    {.name = "managers",
     .text = "which node manages a lock or barrier",
     .fallback = 0,
     .least = 0,
     .most = 1,
     .choices = "zero|spread"},
    {.name = "page",
     .text = "bytes of a page, a power of two",
     .fallback = 4096,
     .least = 64,
     .most = 65536,
     .power_of_two = true},
    {.name = "latency",
     .text = "ns of an empty packet",
     .fallback = 10000,
     .least = 0,
     .most = kMostNanoseconds},
    {.name = "jitter",
     .text = "ns that a packet may take longer, at random",
     .fallback = 0,
     .least = 0,
     .most = kMostNanoseconds},
    {.name = "burst",
     .text = "most bytes of updates combined into a packet",
     .fallback = 256,
     .least = 8,
     .most = 65536},
    {.name = "verify",
     .text = "compare each load with sequentially consistent memory",
     .fallback = 0,
     .least = 0,
     .most = 1,
     .choices = "no|yes"},
};

int run_svm(const char* workload, const substrata_run_options* options, substrata_run_result* result);

// Kept to the end of the process.
struct Announcement {
  std::string parameters = workloads::describe(kParameters);
  substrata_machine machine{};

  Announcement() {
    machine.struct_size = sizeof(machine);
    machine.default_processes = 16;
    machine.max_processes = workloads::kMostProcesses;
    machine.name = kName;
    machine.summary =
        "shared virtual memory by home-based lazy release consistency on a network without contention";
    machine.parameters = parameters.c_str();
    machine.run = run_svm;
  }
};

Announcement& announcement() {
  static auto* const made = new Announcement;
  return *made;
}

int run_svm(const char* workload, const substrata_run_options* options, substrata_run_result* result) {
  return workloads::run_announced(
      announcement().machine,
      [](std::string_view text, std::uint64_t seed, ProcessId, std::string& error)
          -> std::unique_ptr<workloads::Machine> { return make_plain_svm(text, seed, error); },
      workload, options, result);
}

}  // namespace

std::span<const workloads::Parameter> plain_svm_parameters() noexcept { return kParameters; }

std::unique_ptr<SvmMachine> make_plain_svm(std::string_view text, std::uint64_t seed, std::string& error) {
  constexpr Time kPicosecondsPerNanosecond = 1000;
  workloads::Values values(kParameters);
  if (!values.set(text, error)) return nullptr;
  SvmParameters parameters;
  parameters.mode = static_cast<UpdateMode>(values["mode"]);
  parameters.homes = static_cast<HomePolicy>(values["homes"]);
  parameters.managers = static_cast<Managers>(values["managers"]);
  parameters.page_bytes = static_cast<std::uint32_t>(values["page"]);
  parameters.verify = values["verify"] != 0;
  PlainNetworkParameters network;
  network.latency = values["latency"] * kPicosecondsPerNanosecond;
  network.jitter = values["jitter"] * kPicosecondsPerNanosecond;
  network.burst = static_cast<std::uint32_t>(values["burst"]);
  network.seed = seed;
  network.probes = kName;
  return std::make_unique<SvmMachine>(kName, parameters, std::make_unique<PlainNetwork>(network));
}

}  // namespace substrata::svm

namespace substrata::built_in {

void shared_virtual_memory() { static_cast<void>(substrata_machine_add(&svm::announcement().machine)); }

}  // namespace substrata::built_in
