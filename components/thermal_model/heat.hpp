// The thermal model of a processor package: heat as a function of use, temperature as the response of two RC
// elements to that heat.
//
// Elements and their parameters are those of HotSpot 6.0's example configuration
// (examples/example1/example.config of github.com/uvahotspot/HotSpot; the method: Skadron et al.,
// "Temperature-Aware Microarchitecture", ISCA 2003): a die of 16 mm x 16 mm (HotSpot's ev6 floorplan) with
// its interface material and copper heat spreader in one element, the heat sink and its convection in the
// other, in Foster form (the rises add up). Lateral spreading and the growth of leakage with temperature are
// left out.
//
// Power follows use linearly from idle to peak (Fan, Weber, Barroso, "Power Provisioning for a
// Warehouse-sized Computer", ISCA 2007); an idle processor takes 30 % of its peak (Barroso, Hoelzle, "The
// Case for Energy-Proportional Computing", IEEE Computer 2007: "less than one-third").
#pragma once

#include <cmath>

namespace substrata::thermal_model {

// One resistance and one capacity.
struct Element {
  double k_per_w;
  double j_per_k;
};

inline constexpr double kDieArea_m2 = 16e-3 * 16e-3;
inline constexpr double kSpreaderArea_m2 = 30e-3 * 30e-3;
inline constexpr double kSinkArea_m2 = 60e-3 * 60e-3;

// Die 0.15 mm of silicon, 20 um of interface material, 1 mm of copper, 6.9 mm of the sink's base to go
// through.
inline constexpr Element kDie{
    0.15e-3 / (130.0 * kDieArea_m2) + 20e-6 / (4.0 * kDieArea_m2) + 1e-3 / (400.0 * kSpreaderArea_m2) +
        6.9e-3 / (400.0 * kSinkArea_m2),
    0.15e-3 * kDieArea_m2 * 1.6303e6 + 20e-6 * kDieArea_m2 * 4.0e6 + 1e-3 * kSpreaderArea_m2 * 3.55e6};
// Convection: r_convec and c_convec.
inline constexpr Element kSink{0.1, 140.4};

// What a user may set.
struct Parameters {
  double peak_w = 65.0;         // heat at full use
  double idle_fraction = 0.30;  // of the peak, at no use
  double ambient_c = 45.0;      // 318.15 K: air inside the case
};

// Heat given off at a use of 0 to 1, in watts.
inline double power_w(const Parameters& parameters, double use) noexcept {
  return parameters.peak_w * (parameters.idle_fraction + (1.0 - parameters.idle_fraction) * use);
}

// The rises of both elements above the ambient, in kelvin.
class Package {
 public:
  // As after a long time at this power.
  void settle(double watts) noexcept {
    die_k_ = watts * kDie.k_per_w;
    sink_k_ = watts * kSink.k_per_w;
  }

  // Exact for a power that is constant over these seconds.
  void advance(double watts, double seconds) noexcept {
    die_k_ = step(kDie, die_k_, watts, seconds);
    sink_k_ = step(kSink, sink_k_, watts, seconds);
  }

  double rise_k() const noexcept { return die_k_ + sink_k_; }

 private:
  static double step(const Element& element, double rise, double watts, double seconds) noexcept {
    const double settled = watts * element.k_per_w;
    return settled + (rise - settled) * std::exp(-seconds / (element.k_per_w * element.j_per_k));
  }

  double die_k_ = 0;
  double sink_k_ = 0;
};

}  // namespace substrata::thermal_model
