// Makes the machine `svm` from its parameters.
#include "models/shared_virtual_memory/plain_svm.hpp"

#include "models/shared_virtual_memory/parameters.hpp"
#include "models/shared_virtual_memory/plain_network.hpp"
#include "sources/workloads/run.hpp"
#include "substrata/feed.h"

namespace substrata::svm {
namespace {

using workloads::choice;
using workloads::power_of_two;

constexpr const char* kName = "svm";
constexpr std::uint64_t kMostNanoseconds = 1'000'000'000;
constexpr workloads::Parameter kParameters[] = {
    update_mode(UpdateMode::kDiffs),
    home_policy(HomePolicy::kBlock),
    choice("managers", "which node manages a lock or barrier", "zero|spread"),
    power_of_two("page", "bytes of a page, a power of two", 4096, 64, 65536),
    {"latency", "ns of an empty packet", 10000, 0, kMostNanoseconds},
    {"jitter", "ns that a packet may take longer, at random", 0, 0, kMostNanoseconds},
    {"burst", "most bytes of updates combined into a packet", 256, 8, 65536},
    kVerify,
};

struct PlainSvm {
  static workloads::MachineDescription description() {
    return {
        .name = kName,
        .summary =
            "shared virtual memory by home-based lazy release consistency on a network without contention",
        .parameters = kParameters,
        .default_processes = 16,
        .max_processes = workloads::kMostProcesses};
  }
  static std::unique_ptr<workloads::Machine> make(const workloads::Asked& asked, std::string& error) {
    return make_plain_svm(asked.parameters, asked.seed, error);
  }
};

}  // namespace

std::unique_ptr<SvmMachine> make_plain_svm(std::string_view text, std::uint64_t seed, std::string& error) {
  constexpr Time kPicosecondsPerNanosecond = 1000;
  workloads::Values values(kParameters);
  if (!values.set(text, error)) return nullptr;
  SvmParameters parameters = common_parameters(values);
  parameters.managers = static_cast<Managers>(values["managers"]);
  parameters.page_bytes = static_cast<std::uint32_t>(values["page"]);
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

void shared_virtual_memory() { workloads::ListedMachine<svm::PlainSvm>::add(); }

}  // namespace substrata::built_in
