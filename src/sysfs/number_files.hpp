// Events that are numbers in text files of the kernel: a substrate says where each number stands, and this opens,
// reads, adds up and writes them.
#pragma once

#include <substrata/substrate.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sysfs/catalogue.hpp"
#include "sysfs/sampled_slots.hpp"
#include "sysfs/sysfs.hpp"

namespace substrata::sysfs {

// How a count starts again when it is at its end.
enum class Wrap : uint8_t {
  kNever,  // a count that falls was reset
  kBinary,  // at 2^32 or 2^64, whichever the two readings fit; a fall of less than half the way round is a reset
  kRange,  // at NumberSource::range
};

// Where a number stands and what is made of it.
struct NumberSource {
  std::string path;                // the file, root included
  std::string renewed;             // a file that changes when this value and others are renewed, "": none
  std::string key;                 // the beginning of the number's line; "": the first line
  std::string other_key;           // how other kernels write that beginning, "": as `key`
  uint32_t word = 0;               // which of the words behind it starts with the number
  bool more_follows = false;       // on the first line, more than the number: "12 J 4567 us"
  bool starred = false;            // instead of a key: on the line that ends with a star
  bool zero_without_line = false;  // the kernel writes the line when there is something to count
  bool reads_slowly = false;       // only opened, not read, to see whether it is there
  int64_t times = 1, by = 1;       // value: number * times / by
  double unit = 0;                 // where not 0, the value is the double number * unit
  Wrap wrap = Wrap::kNever;
  uint64_t range = 0;
  std::string written;                  // the file that a write sets, "": it cannot be written
  int64_t least = 1, most = INT64_MAX;  // what a write takes
  const char* permission =
      nullptr;  // behind the path, where the user may not read it: who may, and what to do
};

// The number's text in the file's text; empty where it is not there. Signal-safe.
std::string_view find_number(std::string_view text, const NumberSource& source) noexcept;

// The number at the front of `word`, as unsigned bits (a leading '-' is taken). What follows it must not be a part of
// a number: "1725Mhz" and "12@7.5" are 1725 and 12. False for anything else. Signal-safe.
bool number_at_front(std::string_view word, uint64_t* number) noexcept;

// A number that was written, with what it was before the first write.
struct Setting {
  std::atomic<bool> is_set{false};
  std::atomic<int64_t> before{0};
  std::atomic<int64_t> ours{0};
};

struct Number {
  NumberSource source;
  std::unique_ptr<Setting> setting;  // of one that can be written
};

// A row of a substrate's list of events, each the number in one file of each of its parts.
struct Quantity {
  const char* name;
  const char* file;
  const char* unit;
  const char* text;  // its beginning: what follows is whose it is
  bool counts = false;
  bool is_written = false;
  int64_t times = 1;
  EventFlags scope = kEventScopeNode;
};
CatalogueEntry entry_of(const Quantity& quantity, std::string name, const std::string& whose);

// The numbers that one eventset selected. See Measurement.
class NumberSampler {
 public:
  // Opens what the number needs. `number` and `name` live as long as the sampler. Allocates.
  Status add(const Number& number, const char* name, bool counts);

  uint32_t size() const noexcept { return static_cast<uint32_t>(selected_.size()); }
  bool counts(uint32_t i) const noexcept { return selected_[i].counts; }
  Status sample(int64_t* raw) noexcept;
  Status growth(uint32_t i, int64_t from, int64_t to, int64_t* out) const noexcept;
  // Sets those of the numbers that can be written; the others' values are ignored. All or none.
  Status write(const int64_t* values) noexcept;

 private:
  struct Selected {
    const Number* number = nullptr;
    const char* name = nullptr;
    bool counts = false;
  };
  struct File {
    std::string path;
    KeptFile file;
    bool whole = false;            // more than its first line is needed
    std::vector<uint32_t> events;  // positions in selected_
  };
  static constexpr uint32_t kAllThere = UINT32_MAX;
  Status sample_once(int64_t* raw) noexcept;
  uint32_t take_from(const File& file, std::string_view text, bool whole, int64_t* raw) const noexcept;
  Status failed(const char* name, int error) const noexcept;

  std::vector<Selected> selected_;
  std::vector<File> files_;
  KeptFile renewed_;  // open where values of several files must be of one moment
  std::vector<char> text_;
  std::vector<int64_t> now_;  // the values before a write
};

// A device of such events. Numbers that were written are as before once it is closed, unless another has set them
// since.
class NumberFiles : public SampledDevice {
 public:
  using SampledDevice::SampledDevice;
  ~NumberFiles();
  NumberFiles(const NumberFiles&) = delete;
  NumberFiles& operator=(const NumberFiles&) = delete;

  Status select(const uint32_t* events, uint32_t count, NumberSampler* out) const;

 protected:
  // Reads the number once, unless that takes long: an event is available if it is there now.
  void add(CatalogueEntry entry, NumberSource source);
  // An event that is known by name only, with the reason.
  void add_unavailable(CatalogueEntry entry, std::string why);
  // An event that is no number of a file: the device's own select() opens it.
  void add_other(CatalogueEntry entry);
  const Number& number(uint32_t event) const noexcept { return numbers_[event]; }

 private:
  std::vector<Number> numbers_;
};

// The table of a substrate that is a NumberFiles with a scan().
template <typename DeviceT, typename SamplerT = NumberSampler>
struct NumberSlots : SampledSlots<DeviceT, SamplerT> {
  using Slots = SampledSlots<DeviceT, SamplerT>;

  static Status write(Set* set, const int64_t* values) noexcept {
    return guarded([&] { return Slots::state_of(set)->measurement.sampler().write(values); });
  }
  static constexpr SubstrateTable table(SubstrateTable own) noexcept {
    own.write = write;
    return Slots::table(own);
  }
  static constexpr SubstrateTable table(const char* name, const char* summary,
                                        const char* event_names) noexcept {
    return table({.name = name, .summary = summary, .event_names = event_names});
  }
};

}  // namespace substrata::sysfs
