// Shared virtual memory on the plain network, made from a text of parameters: the machine `svm`.
#ifndef SUBSTRATA_SHARED_VIRTUAL_MEMORY_PLAIN_SVM_HPP
#define SUBSTRATA_SHARED_VIRTUAL_MEMORY_PLAIN_SVM_HPP

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "svm_machine.hpp"
#include "workloads/spec.hpp"

namespace substrata::svm {

// What the text may set.
std::span<const workloads::Parameter> plain_svm_parameters() noexcept;

// "mode=automatic:page=1024:homes=first-touch". `seed` is the network's jitter's. Null with a message in
// `error` for a bad text.
std::unique_ptr<SvmMachine> make_plain_svm(std::string_view parameters, std::uint64_t seed,
                                           std::string& error);

}  // namespace substrata::svm

#endif
