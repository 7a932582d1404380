// Eventsets through the layer, as a client has them.
#include "metric/parts.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "core/eventset/event_set.hpp"
#include "core/eventset/library.hpp"
#include "core/eventset/measure.hpp"

namespace substrata::metric {
namespace {

// The message of a refusal outlives the next call.
std::string note_of(const Status& status) { return status.note != nullptr ? status.note : "it is refused"; }

}  // namespace

void Parts::release() {
  // Handles of an earlier life of the library may belong to other eventsets
  // now.
  if (epoch_ == Library::instance().epoch())
    for (const Set& set : sets_) {
      cleanup_event_set(set.handle);
      destroy_event_set(set.handle);
    }
  sets_.clear();
  places_.clear();
}

Status Parts::program(std::vector<metrics::Bound> bound) {
  release();
  bound_ = std::move(bound);
  epoch_ = Library::instance().epoch();
  const Status status = add_all();
  if (status.ok()) return kSuccess;
  const Status kept = refuse(status.code, "%s", note_of(status).c_str());
  release();
  bound_.clear();
  return kept;
}

Status Parts::add_all() {
  for (const metrics::Bound& one : bound_) {
    auto& terms = places_.emplace_back();
    for (const metrics::Bound::Term& term : one.terms) {
      auto& events = terms.emplace_back();
      for (const std::string& event : term.events)
        if (const Status status = add(event, &events.emplace_back()); !status.ok()) return status;
    }
  }
  for (Set& set : sets_) set.details.resize(set.codes.size());
  return kSuccess;
}

Status Parts::add(const std::string& event, Place* place) {
  Catalogue& catalogue = Library::instance().catalogue();
  const Result<uint32_t> code = catalogue.find(event);
  if (!code) return code.error();
  const Result<int> component = catalogue.component_of(*code);
  if (!component) return component.error();
  size_t at = 0;
  while (at < sets_.size() && sets_[at].component != *component) ++at;
  if (at == sets_.size()) {
    const Result<int> handle = create_event_set();
    if (!handle) return handle.error();
    sets_.push_back({*component, *handle, {}});
    if (const Status status = put_beneath(*handle); !status.ok()) return status;
  }
  Set& set = sets_[at];
  const auto known = std::find(set.codes.begin(), set.codes.end(), *code);
  *place = {at, static_cast<size_t>(known - set.codes.begin())};
  if (known != set.codes.end()) return kSuccess;
  if (const Status status = add_event(set.handle, *code); !status.ok()) return status;
  set.codes.push_back(*code);
  return kSuccess;
}

Status Parts::start() {
  begun_ns_ = clock_now_ns();
  ended_ns_ = 0;
  for (size_t i = 0; i < sets_.size(); ++i) {
    const Status status = start_set(sets_[i].handle);
    if (status.ok()) continue;
    const std::string note = note_of(status);
    while (i-- > 0) (void)stop_set(sets_[i].handle, nullptr);
    return refuse(status.code, "%s", note.c_str());
  }
  return kSuccess;
}

Status Parts::stop() {
  ended_ns_ = clock_now_ns();
  Status first = kSuccess;
  for (const Set& set : sets_)
    if (const Status status = stop_set(set.handle, nullptr); !status.ok() && first.ok()) first = status;
  return first;
}

Status Parts::reset() {
  for (const Set& set : sets_)
    if (const Status status = reset_set(set.handle); !status.ok()) return status;
  begun_ns_ = clock_now_ns();
  if (ended_ns_ != 0) ended_ns_ = begun_ns_;
  return kSuccess;
}

metrics::Number Parts::number_of(const Place& place, double factor) const {
  const Set& set = sets_[place.set];
  const ValueDetail& detail = set.details[place.position];
  metrics::Number out;
  out.present = true;
  out.value = static_cast<double>(detail.value) * factor;
  out.scaled = (detail.flags & kValueScaled) != 0;
  out.modelled = (detail.flags & kValueModelled) != 0;
  if (out.scaled)
    out.uncertainty = metrics::scaling_uncertainty(out.value, static_cast<double>(detail.enabled_ns),
                                                   static_cast<double>(detail.running_ns));
  return out;
}

Status Parts::read(std::vector<metrics::Number>* out, int64_t* time_ns) {
  const int64_t before = clock_now_ns();
  for (Set& set : sets_)
    if (const Status status =
            read_set_details(set.handle, set.details.data(), static_cast<uint32_t>(set.details.size()));
        !status.ok())
      return status;
  *time_ns = before + (clock_now_ns() - before) / 2;
  const int64_t until = ended_ns_ != 0 ? ended_ns_ : *time_ns;
  const double elapsed_s = 1e-9 * static_cast<double>(until - begun_ns_);
  out->clear();
  for (size_t m = 0; m < bound_.size(); ++m) {
    const metrics::Metric& metric = *bound_[m].metric;
    std::vector<metrics::Number> terms;
    for (size_t t = 0; t < bound_[m].terms.size(); ++t) {
      std::vector<metrics::Number> numbers;
      for (size_t e = 0; e < bound_[m].terms[t].events.size(); ++e)
        numbers.push_back(number_of(places_[m][t][e], bound_[m].terms[t].factors[e]));
      terms.push_back(metrics::fold(metric.terms[t].fold, numbers));
    }
    out->push_back(metrics::evaluate(metric, terms, elapsed_s, metrics::processors_online()));
  }
  return kSuccess;
}

}  // namespace substrata::metric
