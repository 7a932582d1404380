// The built-in programs, each in a file of its own.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sources/workloads/catalogue.hpp"

namespace substrata::workloads {

// Seeds lie below.
inline constexpr std::uint64_t kSeeds = std::uint64_t{1} << 32;
inline constexpr Parameter kSeedParameter{"seed", "of the input", 1, 0, kSeeds - 1};

// The entry of a program of type Kind, which is made from its parameters' values.
template <class Kind>
constexpr Workload workload(std::string_view name, std::string_view summary,
                            std::span<const Parameter> parameters) {
  return {name, summary, parameters,
          [](const Values& values) -> std::unique_ptr<Program> { return std::make_unique<Kind>(values); }};
}

// What a check says of a wrong result: "word 3 is 4 and should be 5".
template <typename Number>
std::string differs(std::string_view what, std::uint64_t index, Number is, Number should) {
  return std::string(what) + " " + std::to_string(index) + " is " + std::to_string(is) + " and should be " +
         std::to_string(should);
}

extern const Workload kConflict, kFalseSharing, kFft, kGauss, kHotSpot, kLu, kMigratory, kOcean, kPingPong,
    kPipeline, kPointerChase, kProducerConsumer, kRadix, kStream, kTrueSharing, kWaterSpatial;

}  // namespace substrata::workloads
