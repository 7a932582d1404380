// Rows of passes in blocks that are never moved, so that a growing record is not copied.
#include "papi/high_level/passes.hpp"

#include <algorithm>
#include <utility>

namespace substrata::high_level {
namespace {

constexpr int64_t kRowsOfBlock = 512;

}  // namespace

void Spread::add(int64_t value) noexcept {
  sum += value;
  least = std::min(least, value);
  greatest = std::max(greatest, value);
  last = value;
}

void Spread::add(const Spread& other) noexcept {
  sum += other.sum;
  least = std::min(least, other.least);
  greatest = std::max(greatest, other.greatest);
  last = other.last;
}

Passes::Passes(size_t columns, bool only_sums) : quantities_(kClocks + columns), only_sums_(only_sums) {}

uint32_t Passes::region(std::string_view name) {
  if (last_region_ < names_.size() && names_[last_region_] == name) return last_region_;
  if (const auto known = numbers_.find(name); known != numbers_.end()) return last_region_ = known->second;
  const auto fresh = static_cast<uint32_t>(names_.size());
  names_.emplace_back(name);
  numbers_.emplace(names_.back(), fresh);
  return last_region_ = fresh;
}

Passes::Row* Passes::row(int64_t pass) const noexcept {
  int64_t* const block = blocks_[static_cast<size_t>(pass / kRowsOfBlock)].get();
  return reinterpret_cast<Row*>(block + (pass % kRowsOfBlock) * static_cast<int64_t>(1 + quantities_));
}

int64_t Passes::begin(int64_t parent) {
  if (only_sums_) return size_;
  if (size_ % kRowsOfBlock == 0 && static_cast<size_t>(size_ / kRowsOfBlock) == blocks_.size())
    blocks_.push_back(
        std::unique_ptr<int64_t[]>(new int64_t[static_cast<size_t>(kRowsOfBlock) * (1 + quantities_)]));
  Row* const fresh = row(size_);
  fresh->region = kOpen;
  fresh->parent = static_cast<int32_t>(parent);
  return size_++;
}

void Passes::read(int64_t pass, const int64_t* values) {
  if (only_sums_) return;
  Read read{pass, std::make_unique<int64_t[]>(quantities_)};
  std::copy_n(values, quantities_, read.values.get());
  const auto place = std::upper_bound(reads_.begin(), reads_.end(), pass,
                                      [](int64_t of, const Read& other) { return of < other.pass; });
  reads_.insert(place, std::move(read));
}

void Passes::end(int64_t pass, uint32_t region, const int64_t* values) {
  if (only_sums_) {
    add_to(&sums_, region, values);
  } else {
    Row* const ended = row(pass);
    std::copy_n(values, quantities_, ended->values());
    ended->region = region;
  }
  any_ended_ = true;
}

std::vector<const int64_t*> Passes::reads_of(int64_t pass) const {
  std::vector<const int64_t*> values;
  auto read = std::lower_bound(reads_.begin(), reads_.end(), pass,
                               [](const Read& other, int64_t of) { return other.pass < of; });
  for (; read != reads_.end() && read->pass == pass; ++read) values.push_back(read->values.get());
  return values;
}

void Passes::add_to(std::vector<RegionSum>* sums, uint32_t region, const int64_t* values) const {
  if (sums->size() <= region) sums->resize(region + 1);
  RegionSum& sum = (*sums)[region];
  sum.spreads.resize(quantities_);
  ++sum.passes;
  for (size_t i = 0; i < quantities_; ++i) sum.spreads[i].add(values[i]);
}

std::vector<RegionSum> Passes::sums() const {
  if (only_sums_) return sums_;
  std::vector<RegionSum> sums;
  for (int64_t pass = 0; pass < size_; ++pass)
    if (ended(pass)) add_to(&sums, region_of(pass), values_of(pass));
  return sums;
}

}  // namespace substrata::high_level
