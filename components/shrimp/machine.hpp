// The machine `shrimp`: workloads on a modelled SHRIMP multicomputer, and live MPI programs on its network.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "models/shared_virtual_memory/svm_machine.hpp"

namespace substrata::shrimp {

// A machine from a text of parameters ("homes=round-robin:categories=eisa"). Null with a message in `error`
// for a bad text.
std::unique_ptr<svm::SvmMachine> make_machine(std::string_view parameters, std::string& error);

}  // namespace substrata::shrimp
