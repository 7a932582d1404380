// The network model's text form.
#include "sources/mpi/virtual_clock.hpp"

#include "base/json.hpp"
#include "base/parse.hpp"

namespace substrata::mpi {

std::string parse_network_model(std::string_view text, NetworkModel* out) {
  NetworkModel model = *out;
  while (!text.empty()) {
    const size_t end = text.find(':') == std::string_view::npos ? text.size() : text.find(':');
    const std::string_view item = text.substr(0, end);
    text.remove_prefix(end == text.size() ? end : end + 1);
    const size_t equals = item.find('=');
    const std::string_view name = item.substr(0, equals);
    double* value = name == "factor"     ? &model.factor
                    : name == "overhead" ? &model.overhead_ns
                    : name == "latency"  ? &model.latency_ns
                    : name == "byte"     ? &model.byte_ns
                                         : nullptr;
    if (value == nullptr)
      return "'" + std::string(name) + "' is not known; factor, overhead, latency and byte are";
    const std::string_view number = equals == std::string_view::npos ? "" : item.substr(equals + 1);
    double read = -1;
    if (!parse_number(number, &read) || !(read >= 0) || read > 1e12)
      return "'" + std::string(item) + "' needs a number from 0 to 1e12";
    *value = read;
  }
  *out = model;
  return {};
}

std::string describe(const NetworkModel& model) {
  return "factor=" + number_text(model.factor, 6) + ":overhead=" + number_text(model.overhead_ns, 6) +
         ":latency=" + number_text(model.latency_ns, 6) + ":byte=" + number_text(model.byte_ns, 6);
}

}  // namespace substrata::mpi
