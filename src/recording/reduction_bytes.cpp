// A reduction as bytes, for the process that adds it to its own.
#include <cstring>
#include <utility>

#include "recording/reduction.hpp"

namespace substrata::recording {
namespace {

constexpr std::uint64_t kMostNames = 1u << 16;  // of series or regions

void put(ByteWriter& out, double number) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof bits);
  out.number(bits);
}
bool get(ByteReader& in, double* number) {
  std::uint64_t bits = 0;
  if (!in.number(&bits)) return false;
  std::memcpy(number, &bits, sizeof bits);
  return true;
}

void put(ByteWriter& out, const Tally& tally) {
  out.number(tally.count);
  for (const double number : {tally.sum, tally.squares, tally.least, tally.most}) put(out, number);
}
bool get(ByteReader& in, Tally* tally) {
  return in.number(&tally->count) && get(in, &tally->sum) && get(in, &tally->squares) &&
         get(in, &tally->least) && get(in, &tally->most);
}

void put(ByteWriter& out, const Properties& properties) {
  out.number(properties.size());
  for (const auto& [name, value] : properties) {
    out.text(name);
    out.text(value);
  }
}
bool get(ByteReader& in, Properties* properties) {
  std::uint64_t count = 0;
  if (!in.number(&count, in.left())) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string name, value;
    if (!in.text(&name) || !in.text(&value)) return false;
    properties->emplace_back(std::move(name), std::move(value));
  }
  return true;
}

}  // namespace

ByteWriter Reduction::encode() const {
  ByteWriter out;
  out.text(kReductionName);
  out.text(reference_);
  for (const std::int64_t number : {real_minus_raw_, step_ns_, begin_, end_, uncertainty_ns_})
    out.signed_number(number);
  for (const std::uint64_t number : {writers_, not_ended_, by_wall_}) out.number(number);
  put(out, recorder_busy_ns_);
  put(out, recorder_wall_ns_);
  put(out, first_);
  put(out, first_end_);
  out.number(series_.size());
  for (const auto& [key, one] : series_) {
    const auto& [name, unit, component, scope, kind, origin] = key;
    for (const std::string* text : {&name, &unit, &component, &scope, &one.text}) out.text(*text);
    out.byte(kind);
    out.byte(origin);
    out.number(one.place);
    put(out, one.spread);
    out.number(one.stretches.size());
    for (const auto& [number, stretch] : one.stretches) {
      out.signed_number(number);
      out.number(stretch.writers);
      for (const double value : {stretch.sum, stretch.least, stretch.most}) put(out, value);
    }
  }
  out.number(regions_.size());
  for (const auto& [name, span] : regions_) {
    out.text(name);
    out.number(span.passes);
    out.signed_number(span.begin);
    out.signed_number(span.end);
    out.number(span.place);
    put(out, span.seconds);
  }
  return out;
}

bool Reduction::decode(ByteReader& in) {
  *this = Reduction();
  Reduction read;
  std::string mark;
  std::uint64_t count = 0;
  if (!in.text(&mark) || mark != kReductionName || !in.text(&read.reference_)) return false;
  for (std::int64_t* number :
       {&read.real_minus_raw_, &read.step_ns_, &read.begin_, &read.end_, &read.uncertainty_ns_})
    if (!in.signed_number(number)) return false;
  for (std::uint64_t* number : {&read.writers_, &read.not_ended_, &read.by_wall_})
    if (!in.number(number)) return false;
  if (read.step_ns_ < 1 || !get(in, &read.recorder_busy_ns_) || !get(in, &read.recorder_wall_ns_) ||
      !get(in, &read.first_) || !get(in, &read.first_end_) || !in.number(&count, kMostNames))
    return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string name, unit, component, scope;
    One one;
    std::uint8_t kind = 0, origin = 0;
    std::uint64_t place = 0, stretches = 0;
    for (std::string* text : {&name, &unit, &component, &scope, &one.text})
      if (!in.text(text)) return false;
    if (!in.byte(&kind) || kind > 2 || !in.byte(&origin) || !in.number(&place) || !get(in, &one.spread) ||
        !in.number(&stretches, in.left()))
      return false;
    one.place = static_cast<std::size_t>(place);
    for (std::uint64_t k = 0; k < stretches; ++k) {
      std::int64_t number = 0;
      Stretch stretch;
      if (!in.signed_number(&number) || !in.number(&stretch.writers) || !get(in, &stretch.sum) ||
          !get(in, &stretch.least) || !get(in, &stretch.most))
        return false;
      one.stretches[number] = stretch;
    }
    read.series_[{name, unit, component, scope, kind, origin}] = std::move(one);
  }
  if (!in.number(&count, kMostNames)) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string name;
    Span span;
    std::uint64_t place = 0;
    if (!in.text(&name) || !in.number(&span.passes) || !in.signed_number(&span.begin) ||
        !in.signed_number(&span.end) || !in.number(&place) || !get(in, &span.seconds))
      return false;
    span.place = static_cast<std::size_t>(place);
    read.regions_[name] = span;
  }
  *this = std::move(read);
  return true;
}

}  // namespace substrata::recording
