// AMD's GPUs as their kernel driver, amdgpu, shows them: where each is, events that are numbers in its files, and
// events that only AMD's own library has.
#pragma once

#include <substrata/substrate.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/guard.hpp"
#include "base/shared_library.hpp"
#include "sysfs/files_and.hpp"
#include "sysfs/number_files.hpp"

namespace substrata::sysfs {

struct AmdGpu {
  std::string folder;   // /sys/class/drm/card0/device, root included
  std::string sensors;  // its hwmon folder, "" where it has none
};

// In the order of their cards. Allocates.
std::vector<AmdGpu> amd_gpus(const Host& host);

// Not ok, with the cure, where there is none. Allocates.
Status need_amd_gpu(const Host& host);

// An event that every GPU has whose driver shows the file.
struct AmdGpuNumber {
  const char* name;  // a '*' stands for the number of the GPU
  // Of the device; behind a "sensor/" of its hwmon folder; a '@' there stands for the number of the temperature with
  // the label.
  const char* file;
  const char* label;       // "edge", "junction", "mem"; null: not a temperature
  const char* other_file;  // that other chips have instead, or null
  const char* unit;
  const char* text;
  int64_t times, by;
  bool starred;     // the line of the level that is in force: "1: 1725Mhz *"
  bool is_written;  // PAPI_write sets it within <file>_min and <file>_max
  // The event of each level of a starred file; a '@' stands for the level's number.
  const char* levels = nullptr;
  uint32_t word = 0;   // which of the file's words, where there are several
  bool waits = false;  // a read takes a second
  bool counts = false;
  const char* key = nullptr;  // the beginning of the number's line, where the file has several
};

namespace amd {

// In the unit of the file, or in one of `by` of them.
constexpr AmdGpuNumber level(const char* name, const char* file, const char* unit, const char* text,
                             int64_t by = 1) {
  return {name, file, nullptr, nullptr, unit, text, 1, by, false, false};
}
// The driver counts for a second when the file is read: "<received> <sent> <largest packet>".
constexpr AmdGpuNumber throughput(const char* name, const char* unit, const char* text, uint32_t word) {
  return {name, "pcie_bw", nullptr, nullptr, unit, text, 1, 1, false, false, nullptr, word, true, false};
}
constexpr AmdGpuNumber replays(const char* name) {
  return {name,    "pcie_replay_count",
          nullptr, nullptr,
          "",      "PCI Express packets sent again by",
          1,       1,
          false,   false,
          nullptr, 0,
          false,   true};
}

}  // namespace amd

// A library of AMD's, loaded and started.
class AmdLibrary {
 public:
  virtual ~AmdLibrary();
  // How many GPUs it knows.
  virtual uint32_t count() const noexcept = 0;
  // Where on the bus one is: domain << 32 | bus << 8 | device << 3 | function. 0, or the library's answer.
  virtual int place(uint32_t gpu, uint64_t* place) const noexcept = 0;
  // A number of the library's. 0, or the library's answer, kNoFunction where it lacks the function.
  virtual int read(uint32_t gpu, int what, int64_t argument, int64_t* value) const noexcept = 0;
  // In words.
  std::string text(int answer) const;

  static constexpr int kNoFunction = -1;
  static constexpr int kNotStated = -2;  // all bits of the number are set, by which AMD's libraries say so

 protected:
  // Loads the file from below the folder that the variable names, and nothing else where it is set. False with a
  // message.
  bool load(const Host& host, const char* variable, const char* file, const char* package, std::string* why);
  // Energy in uJ by a function that gives counts, and how many uJ one is.
  template <typename Gpu>
  static int energy_of(int (*function)(Gpu, uint64_t*, float*, uint64_t*), Gpu gpu, int64_t* value) noexcept {
    uint64_t counts = 0, time = 0;
    float each = 0;
    if (function == nullptr) return kNoFunction;
    const int answer = function(gpu, &counts, &each, &time);
    *value = std::llround(static_cast<double>(counts) * static_cast<double>(each));
    return answer;
  }

  SharedLibrary library_;
  const char* file_ = "";
  bool began_ = false;
  int (*shut_down_)() = nullptr;
  int (*words_)(int, const char**) = nullptr;
};

// An event that a GPU has by its library.
struct AmdLibraryNumber {
  const char* name;  // a '*' stands for the number of the GPU
  const char* unit;
  const char* text;
  bool counts;
  int what;  // of AmdLibrary::read
  int64_t argument;
  bool rare = false;  // many GPUs lack it: left out where it is not there, as PAPI does
};

// One of them in an eventset.
class AmdLibraryValue {
 public:
  void set(const AmdLibrary* library, uint32_t gpu, const AmdLibraryNumber* number) noexcept {
    library_ = library;
    gpu_ = gpu;
    number_ = number;
  }
  Status read(const char* name, int64_t* value) const noexcept;
  Status fell(const char* name) const noexcept;

 private:
  const AmdLibrary* library_ = nullptr;
  uint32_t gpu_ = 0;
  const AmdLibraryNumber* number_ = nullptr;
};
using AmdSampler = FilesAnd<AmdLibraryValue>;

// A device of such events; the whole scan of one.
class AmdGpuNumbers : public NumberFilesAnd<AmdLibraryValue> {
 public:
  using NumberFilesAnd::NumberFilesAnd;

 protected:
  Status scan(const AmdGpuNumber* numbers, size_t count);
  void add_levels(const AmdGpuNumber& number, const std::string& path, const std::string& gpu);
  // After that, those whose names the files have not. `library` may be null, with the reason in `why`.
  void scan(std::unique_ptr<AmdLibrary> library, const std::string& why, const AmdLibraryNumber* numbers,
            size_t count);

 private:
  std::unique_ptr<AmdLibrary> library_;
};

// The device of a substrate with these events. `begin` is
//   std::unique_ptr<AmdLibrary> (const Host&, std::string* why);
template <const auto& numbers, auto begin, const auto& library_numbers>
class AmdGpus : public AmdGpuNumbers {
 public:
  using AmdGpuNumbers::AmdGpuNumbers;
  Status scan() {
    const Status status = AmdGpuNumbers::scan(numbers, std::size(numbers));
    if (!status.ok()) return status;
    std::string why;
    std::unique_ptr<AmdLibrary> library = begin(host_, &why);
    AmdGpuNumbers::scan(std::move(library), why, library_numbers, std::size(library_numbers));
    return kSuccess;
  }
  static Status detect(const Host& host) { return need_amd_gpu(host); }
};

}  // namespace substrata::sysfs
