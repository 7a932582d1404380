// Shared virtual memory on the plain network, made from a text of parameters: the machine `svm`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "models/shared_virtual_memory/svm_machine.hpp"

namespace substrata::svm {

// "mode=automatic:page=1024:homes=first-touch". `seed` is the network's jitter's. Null with a message in
// `error` for a bad text.
std::unique_ptr<SvmMachine> make_plain_svm(std::string_view parameters, std::uint64_t seed,
                                           std::string& error);

}  // namespace substrata::svm
