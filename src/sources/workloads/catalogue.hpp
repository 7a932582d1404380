// The built-in workloads by name.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sources/workloads/process.hpp"
#include "sources/workloads/spec.hpp"

namespace substrata::workloads {

// One workload: what it is and how to make its program.
struct Workload {
  std::string_view name;
  std::string_view summary;  // what it computes and how its result is checked
  std::span<const Parameter> parameters;
  std::unique_ptr<Program> (*make)(const Values& values);
};

// All of them, in alphabetical order. Thread-safe.
std::span<const Workload* const> workloads() noexcept;
const Workload* find_workload(std::string_view name) noexcept;

// Makes the program of a spec such as "fft:points=65536". `seed` counts when the spec gives none. Null with a
// message in `error` for a bad spec; `full_text`, if not null, receives the spec with every parameter.
std::unique_ptr<Program> make_program(std::string_view spec, std::uint64_t seed, std::string& error,
                                      std::string* full_text = nullptr);

}  // namespace substrata::workloads
