// What one eventset selected of a device that has numbers of files and others: the files are read together, the others
// one by one.
#pragma once

#include <substrata/substrate.h>

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sysfs/number_files.hpp"

namespace substrata::sysfs {

// An Other can be moved and has
//   Status read(const char* name, int64_t* value) noexcept;
//   Status fell(const char* name) const noexcept;  the refusal of a count that went backwards
// See Measurement.
template <typename Other>
class FilesAnd {
 public:
  Status add(const Number& number, const char* name, bool counts) {
    places_.push_back({name, files_.size(), false, counts});
    const Status status = files_.add(number, name, counts);
    scratch_.resize(files_.size());
    return status;
  }
  Other& add_other(const char* name, bool counts) {
    places_.push_back({name, static_cast<uint32_t>(others_.size()), true, counts});
    return others_.emplace_back();
  }

  uint32_t size() const noexcept { return static_cast<uint32_t>(places_.size()); }
  bool counts(uint32_t i) const noexcept { return places_[i].counts; }

  Status sample(int64_t* raw) noexcept {
    if (files_.size() > 0)
      if (const Status status = files_.sample(scratch_.data()); !status.ok()) return status;
    for (uint32_t i = 0; i < size(); ++i) {
      const Place& place = places_[i];
      if (!place.is_other)
        raw[i] = scratch_[place.at];
      else if (const Status status = others_[place.at].read(place.name, &raw[i]); !status.ok())
        return status;
    }
    return kSuccess;
  }

  Status growth(uint32_t i, int64_t from, int64_t to, int64_t* out) const noexcept {
    const Place& place = places_[i];
    if (!place.is_other) return files_.growth(place.at, from, to, out);
    *out = to - from;
    return *out >= 0 ? kSuccess : others_[place.at].fell(place.name);
  }

  // Sets those of the files that can be written.
  Status write(const int64_t* values) noexcept {
    for (uint32_t i = 0; i < size(); ++i)
      if (!places_[i].is_other) scratch_[places_[i].at] = values[i];
    return files_.write(scratch_.data());
  }

 private:
  struct Place {
    const char* name;
    uint32_t at;  // in the files or the others
    bool is_other;
    bool counts;
  };
  std::vector<Place> places_;
  NumberSampler files_;
  std::vector<int64_t> scratch_;
  std::vector<Other> others_;
};

// A device of both.
template <typename Other>
class NumberFilesAnd : public NumberFiles {
 public:
  using NumberFiles::NumberFiles;

  Status select(const uint32_t* events, uint32_t count, FilesAnd<Other>* out) const {
    FilesAnd<Other> sampler;
    for (uint32_t i = 0; i < count; ++i) {
      const CatalogueEntry& entry = catalogue_.entry(events[i]);
      const bool counts = entry.kind == ValueKind::kCount;
      const auto opener = openers_.find(events[i]);
      const Status status = opener == openers_.end()
                                ? sampler.add(number(events[i]), entry.name.c_str(), counts)
                                : opener->second(sampler.add_other(entry.name.c_str(), counts));
      if (!status.ok()) return status;
    }
    *out = std::move(sampler);
    return kSuccess;
  }

 protected:
  // Makes an Other ready in an eventset. May throw.
  using Opener = std::function<Status(Other&)>;
  // An event that is no number of a file.
  void add_other(CatalogueEntry entry, Opener open) {
    openers_.emplace(catalogue_.size(), std::move(open));
    NumberFiles::add_other(std::move(entry));
  }

 private:
  std::unordered_map<uint32_t, Opener> openers_;  // by event; of the others only
};

}  // namespace substrata::sysfs
