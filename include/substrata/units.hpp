// Values with their unit in the type: amounts of which only like is compared with like, numbers whose unit is
// known at run time, and how the units of events become steps of either. Part of substrata/substrata.hpp.
#ifndef SUBSTRATA_UNITS_HPP
#define SUBSTRATA_UNITS_HPP

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <variant>

namespace substrata::client {

// An amount of one kind of thing, in the smallest step of its unit. Only like is compared with or added to
// like.
template <class Kind>
struct Amount {
  std::int64_t count = 0;
  // In the unit that Kind::kName names, for example degrees Celsius.
  constexpr double in_units() const noexcept { return static_cast<double>(count) / Kind::kStepsPerUnit; }

  friend constexpr auto operator<=>(const Amount&, const Amount&) = default;
  friend constexpr Amount operator+(Amount a, Amount b) noexcept { return {a.count + b.count}; }
  friend constexpr Amount operator-(Amount a, Amount b) noexcept { return {a.count - b.count}; }
};

// How a unit's name in an event becomes steps of an amount.
struct UnitName {
  std::string_view name;
  std::int64_t steps;
};

struct TemperatureKind {
  static constexpr const char* kName = "degC";
  static constexpr double kStepsPerUnit = 1e3;
  static constexpr UnitName kUnits[] = {{"mdegC", 1}, {"degC", 1000}};
};
struct EnergyKind {
  static constexpr const char* kName = "J";
  static constexpr double kStepsPerUnit = 1e6;
  static constexpr UnitName kUnits[] = {{"uJ", 1}, {"mJ", 1000}, {"J", 1'000'000}};
};
struct PowerKind {
  static constexpr const char* kName = "W";
  static constexpr double kStepsPerUnit = 1e6;
  static constexpr UnitName kUnits[] = {{"uW", 1}, {"mW", 1000}, {"W", 1'000'000}};
};
struct BytesKind {
  static constexpr const char* kName = "bytes";
  static constexpr double kStepsPerUnit = 1;
  static constexpr UnitName kUnits[] = {{"bytes", 1}};
};
struct PacketsKind {
  static constexpr const char* kName = "packets";
  static constexpr double kStepsPerUnit = 1;
  static constexpr UnitName kUnits[] = {{"packets", 1}};
};

using Temperature = Amount<TemperatureKind>;  // count is in thousandths of a degree Celsius
using Energy = Amount<EnergyKind>;            // count is in microjoules
using Power = Amount<PowerKind>;              // count is in microwatts
using Bytes = Amount<BytesKind>;
using Packets = Amount<PacketsKind>;

// A number whose unit is known at run time only (Slot::unit()): every event can be read as one.
struct Number {
  std::variant<std::int64_t, std::uint64_t, double> value;
  double as_double() const noexcept {
    return std::visit([](auto held) { return static_cast<double>(held); }, value);
  }
  // The integer; throws std::bad_variant_access for a double, std::range_error for one beyond 2^63 - 1.
  std::int64_t as_int() const {
    if (const auto* wide = std::get_if<std::uint64_t>(&value)) {
      if (*wide > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        throw std::range_error("the value does not fit into 64 bits with a sign");
      return static_cast<std::int64_t>(*wide);
    }
    return std::get<std::int64_t>(value);
  }
};

// What a type of value accepts: `steps(unit)` is how many of its steps one of the event's unit is, nothing
// where the unit is of another kind. Specialise it for types of your own.
template <class Unit>
struct UnitTraits;

template <class Kind>
struct UnitTraits<Amount<Kind>> {
  static constexpr const char* name() { return Kind::kName; }
  static constexpr std::optional<std::int64_t> steps(std::string_view unit) {
    for (const UnitName& known : Kind::kUnits)
      if (known.name == unit) return known.steps;
    return std::nullopt;
  }
  static constexpr Amount<Kind> from_steps(std::int64_t count) { return {count}; }
};

template <>
struct UnitTraits<std::chrono::nanoseconds> {
  static constexpr const char* name() { return "ns"; }
  static constexpr std::optional<std::int64_t> steps(std::string_view unit) {
    constexpr UnitName kUnits[] = {{"ns", 1}, {"us", 1000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};
    for (const UnitName& known : kUnits)
      if (known.name == unit) return known.steps;
    return std::nullopt;
  }
  static constexpr std::chrono::nanoseconds from_steps(std::int64_t count) {
    return std::chrono::nanoseconds(count);
  }
};

}  // namespace substrata::client

#endif
