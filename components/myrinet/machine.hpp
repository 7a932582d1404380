// The machine "myrinet": workloads on the modelled cluster, and its parameters as text.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "models/shared_virtual_memory/svm_machine.hpp"
#include "myrinet/cluster_parameters.hpp"
#include "myrinet/svm_network.hpp"

namespace substrata::myrinet {

// What the machine's parameters say.
struct MachineParameters {
  ClusterParameters cluster;
  HostCosts host;
  svm::SvmParameters svm;
  Migration migration;
  // Of programs run together; 0: each has processors of its own. Linux 2.0's time slice: 20 ticks of 10 ms.
  Time slice = 200'000 * kMicrosecond;
  // Of the second one of them: its process p is on the node that is so many after p.
  std::uint32_t shift = 0;
};

// False with a message in `error`: not understood.
bool parse_machine_parameters(std::string_view text, std::uint64_t seed, MachineParameters* out,
                              std::string& error);

std::unique_ptr<svm::SvmMachine> make_machine(const MachineParameters& parameters, std::uint16_t program,
                                              std::shared_ptr<SharedCluster> shared = nullptr,
                                              std::uint32_t slot = 0, Company company = {});

}  // namespace substrata::myrinet
