// Adds values to rows, and finds the period of each transaction.
#include "owl/table_stage.hpp"

#include <substrata/result.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <ctime>

namespace substrata::owl {
namespace {

// Of the stamps that a probe point's source gives; 0: they are no times.
uint64_t ticks_of(uint32_t probe) noexcept {
  auto info = client::sized<substrata_probe_info>();
  if (substrata_probe_at(probe, &info) != 0) return 0;
  auto source = client::sized<substrata_source_info>();
  for (uint32_t i = 0; substrata_source_at(i, &source) == 0; ++i)
    if (std::strcmp(source.name, info.source) == 0) return source.ticks_per_second;
  return 0;
}

uint64_t now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

uint32_t quantile_of(uint64_t value) noexcept {
  if (value < 16) return static_cast<uint32_t>(value);
  const auto power = static_cast<uint32_t>(std::bit_width(value)) - 1;
  return 16 + (power - 4) * 8 + static_cast<uint32_t>(value >> (power - 3) & 7);
}

TableStage::TableStage(const Stage& stage)
    : stage_(stage),
      keys_(static_cast<uint32_t>(stage.keys.size()) + (stage.every.is_set() ? 1 : 0)),
      only_counts_(keys_ == 0 && stage.values.size() == 1 && stage.values[0].kind == Aggregate::kCount),
      table_(keys_, stage.words, only_counts_ ? 1 : stage.rows),
      buffers_((keys_ + stage.values.size()) * kColumn) {}

void TableStage::compute(Columns& columns, const View& view, const Surroundings& around) noexcept {
  uint64_t* out = buffers_.data();
  if (stage_.every.is_set()) {
    compute_periods(view);
    out += kColumn;
  }
  for (const KeyColumn& key : stage_.keys) {
    std::copy_n(columns.evaluate(key.value, view, around), view.count, out);
    out += kColumn;
  }
  for (const ValueColumn& value : stage_.values) {
    if (value.kind != Aggregate::kCount)
      std::copy_n(columns.evaluate(value.value, view, around), view.count, out);
    out += kColumn;
  }
}

// Periods count from that of the first transaction.
void TableStage::compute_periods(const View& view) noexcept {
  if (stage_.every.transactions != 0) {
    for (size_t i = 0; i < view.count; ++i) buffers_[i] = seen_++ / stage_.every.transactions;
    return;
  }
  if (view.count != 0 && view[0].probe != probe_) {
    probe_ = view[0].probe;
    ticks_ = ticks_of(probe_);
  }
  const uint64_t now = ticks_ == 0 ? now_ns() : 0;
  for (size_t i = 0; i < view.count; ++i) {
    const uint64_t ns = ticks_ == 0 ? now
                        : ticks_ == 1'000'000'000
                            ? view[i].time
                            : static_cast<uint64_t>(static_cast<long double>(view[i].time) * 1e9L /
                                                    static_cast<long double>(ticks_));
    const uint64_t period = ns / stage_.every.ns;
    if (!begun_) begin_ = period;
    begun_ = true;
    buffers_[i] = period >= begin_ ? period - begin_ : 0;
  }
}

void TableStage::add(uint64_t* row, size_t i) const noexcept {
  const uint64_t* column = buffers_.data() + keys_ * kColumn;
  for (const ValueColumn& each : stage_.values) {
    const uint64_t value = column[i];
    switch (each.kind) {
      case Aggregate::kCount:
        ++row[0];
        break;
      case Aggregate::kSum:
        row[0] += value;
        break;
      case Aggregate::kAverage:
        row[0] += value;
        ++row[1];
        break;
      case Aggregate::kMinimum:
        // Kept inverted: a new row's word is 0.
        row[0] = std::max(row[0], ~value);
        break;
      case Aggregate::kMaximum:
        row[0] = std::max(row[0], value);
        break;
      case Aggregate::kHistogram:
        ++row[std::bit_width(value)];
        break;
      case Aggregate::kQuantiles:
        ++row[quantile_of(value)];
        break;
    }
    row += words_of(each.kind);
    column += kColumn;
  }
}

}  // namespace substrata::owl
