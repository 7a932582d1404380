// A run whose machine can be looked into, and runs that meet all kinds of requests.
#pragma once

#include <gtest/gtest.h>
#include <substrata/feed.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "numachine/machine.hpp"
#include "numachine/sharing_report.hpp"
#include "sources/workloads/run.hpp"

namespace substrata::numachine::test {

// A run whose machine can be looked into.
class Simulation {
 public:
  Simulation(const std::string& workload, std::uint32_t processes, const std::string& parameters = "",
             const std::function<void(Model&)>& on_begin = nullptr) {
    Parameters p;
    std::string error;
    EXPECT_TRUE(parse_parameters(parameters, processes, &p, error)) << error;
    machine = std::make_unique<NumachineMachine>(p, 0, parse_synchronisation(parameters));
    if (on_begin) machine->on_begin(on_begin);
    workloads::EngineSettings settings;
    settings.processes = processes;
    settings.digest = true;
    report = workloads::run_workload(workload, 7, *machine, settings);
    EXPECT_TRUE(report.correct) << report.message;
    substrata_flush();
  }
  Model& model() { return *machine->model(); }
  std::uint64_t sum(std::uint64_t Truth::*field) {
    std::uint64_t all = 0;
    for (std::uint32_t cpu = 0; cpu < model().processors(); ++cpu) all += model().truth(cpu).*field;
    return all;
  }
  std::uint64_t misses(MissType type) {
    std::uint64_t all = 0;
    for (std::uint32_t cpu = 0; cpu < model().processors(); ++cpu)
      all += model().truth(cpu).misses[static_cast<unsigned>(type)];
    return all;
  }
  Cause cause_of(const std::string& object) {
    for (const ObjectMisses& o :
         explain_misses(model(), [this](std::uint64_t a) { return machine->name_at(a); })) {
      if (o.name == object) return o.cause;
    }
    ADD_FAILURE() << object << " has no misses";
    return Cause::kCapacity;
  }

  std::unique_ptr<NumachineMachine> machine;
  workloads::Report report;
};

inline const char* const kSpecs[] = {"fft:points=1024",
                                     "radix:keys=4096:radix=64",
                                     "lu:n=64",
                                     "false-sharing:rounds=100",
                                     "true-sharing:rounds=50",
                                     "migratory:rounds=20",
                                     "producer-consumer:words=256:rounds=4",
                                     "hot-spot:reads=200",
                                     "ocean:n=34"};

}  // namespace substrata::numachine::test
