// The parameters that machines of shared virtual memory have in common, for users.
#pragma once

#include <cstdint>

#include "models/shared_virtual_memory/svm_machine.hpp"
#include "sources/workloads/spec.hpp"

namespace substrata::svm {

// "mode" and "homes": each machine has its own fallbacks.
constexpr workloads::Parameter update_mode(UpdateMode fallback) {
  return workloads::choice("mode", "how changes reach a page's home", "diffs|automatic",
                           static_cast<std::uint64_t>(fallback));
}
constexpr workloads::Parameter home_policy(HomePolicy fallback) {
  return workloads::choice("homes", "where a page's home is", "block|round-robin|first-touch",
                           static_cast<std::uint64_t>(fallback));
}
inline constexpr workloads::Parameter kVerify =
    workloads::choice("verify", "compare each load with sequentially consistent memory", "no|yes");

// What the three are set to; the rest as it is by default.
inline SvmParameters common_parameters(const workloads::Values& values) {
  SvmParameters made;
  made.mode = static_cast<UpdateMode>(values["mode"]);
  made.homes = static_cast<HomePolicy>(values["homes"]);
  made.verify = values["verify"] != 0;
  return made;
}

}  // namespace substrata::svm
