// Units that people read: seconds instead of nanoseconds, degrees instead of thousandths of one.
#pragma once

#include <deque>
#include <string_view>

#include "recording/timeline.hpp"

namespace substrata::recording {

// A value times `factor` is in `unit`. Words are those of network adapters, of 4 bytes.
struct BaseUnit {
  double factor = 1;
  std::string_view unit;
};
constexpr BaseUnit base_unit(std::string_view unit) noexcept {
  constexpr struct {
    std::string_view scaled;
    BaseUnit base;
  } kKnown[] = {{"ns", {1e-9, "s"}},       {"us", {1e-6, "s"}},         {"ms", {1e-3, "s"}},
                {"mdegC", {1e-3, "degC"}}, {"mW", {1e-3, "W"}},         {"uW", {1e-6, "W"}},
                {"nJ", {1e-9, "J"}},       {"uJ", {1e-6, "J"}},         {"mJ", {1e-3, "J"}},
                {"mV", {1e-3, "V"}},       {"mA", {1e-3, "A"}},         {"kB", {1e3, "bytes"}},
                {"KiB", {1024, "bytes"}},  {"MiB", {1048576, "bytes"}}, {"words", {4, "bytes"}},
                {"MHz", {1e6, "Hz"}},      {"kHz", {1e3, "Hz"}}};
  for (const auto& known : kKnown)
    if (known.scaled == unit) return known.base;
  return {1, unit};
}

// What a count of the unit is by the second: seconds a second are processors, joules a second watts.
constexpr std::string_view rate_unit(std::string_view base) noexcept {
  return base == "s" ? "CPUs" : base == "J" ? "W" : std::string_view();
}

// A counter of energy. Where one has not moved it was not renewed, for nothing runs on 0 W: that is no value.
inline bool counts_energy(const SeriesInfo& about) noexcept {
  return about.kind == Kind::kCount && base_unit(about.unit).unit == "J";
}

// The timeline in such units, of energy with those samples only that saw its counter renewed. Its series with another
// unit lie in `series`, which must outlive it, without their recorded values.
Timeline in_base_units(const Timeline& timeline, std::deque<Series>* series);

}  // namespace substrata::recording
