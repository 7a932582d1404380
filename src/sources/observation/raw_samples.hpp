// From the kernel's samples of tracepoints to transactions.
#pragma once

#include <linux/perf_event.h>
#include <substrata/values.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

#include "base/parse.hpp"

namespace substrata::pages {

// What the kernel writes for PERF_SAMPLE_TID | TIME | CPU, in its order.
struct RecordHead {
  perf_event_header header;
  uint32_t process;
  uint32_t thread;
  uint64_t time;
  uint32_t processor;
  uint32_t reserved;
};

// With PERF_SAMPLE_RAW behind it. The fields of a tracepoint are at the offsets that its file `format` gives, from
// `raw` on; of long ones the first.
struct RawSample {
  RecordHead head;
  uint32_t raw_bytes;
  unsigned char raw[212];

  // How much of `raw` there is in a record of so many bytes.
  size_t bytes(size_t record) const noexcept {
    const size_t before = offsetof(RawSample, raw);
    return record < before ? 0 : std::min({record - before, size_t{raw_bytes}, sizeof raw});
  }
};

// An integer among the fields of a tracepoint. Without bytes: there is none.
struct RawField {
  uint32_t offset = 0;
  uint32_t bytes = 0;
  bool is_signed = false;

  uint64_t of(const RawSample& sample, size_t available) const noexcept {
    uint64_t value = 0;
    if (bytes == 0 || bytes > sizeof value || uint64_t{offset} + bytes > available) return 0;
    std::memcpy(&value, sample.raw + offset, bytes);
    const unsigned unused = 64 - 8 * bytes;
    return is_signed ? static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused) : value;
  }
};

// Which of a tracepoint's fields becomes which of a transaction's: what is called bytes, size, len or length the size,
// the first other integer the detail, the second the address.
struct RawFields {
  RawField detail, address, size;

  // The text of a tracepoint's file `format`.
  static RawFields of(std::string_view format) {
    RawFields out;
    for (size_t at = 0; (at = format.find("field:", at)) != std::string_view::npos;) {
      const size_t end = std::min(format.find('\n', at), format.size());
      const std::string_view line = format.substr(at + 6, end - at - 6);
      at = end;
      const std::string_view declared = line.substr(0, line.find(';'));
      const size_t space = declared.find_last_of(" *");
      const std::string_view name = space == std::string_view::npos ? declared : declared.substr(space + 1);
      const RawField field{static_cast<uint32_t>(number(line, "offset:")),
                           static_cast<uint32_t>(number(line, "size:")), number(line, "signed:") != 0};
      const bool is_integer =
          (field.bytes == 1 || field.bytes == 2 || field.bytes == 4 || field.bytes == 8) &&
          name.find('[') == std::string_view::npos && !declared.starts_with("__data_loc");
      if (!is_integer || name.starts_with("common_") || name == "__syscall_nr") continue;
      const bool is_size = name == "bytes" || name == "size" || name == "len" || name == "length";
      RawField& place = is_size ? out.size : out.detail.bytes == 0 ? out.detail : out.address;
      if (place.bytes == 0) place = field;
    }
    return out;
  }

 private:
  static uint64_t number(std::string_view line, std::string_view before) {
    uint64_t value = 0;
    const size_t at = line.find(before);
    if (at != std::string_view::npos) leading_number(line.substr(at + before.size()), &value);
    return value;
  }
};

// Begins and ends of system calls, of any processors, become one transaction each. Not thread-safe.
class SystemCalls {
 public:
  // By thread, in the order of time.
  void begin(const RawSample& sample, size_t bytes) {
    begun_[sample.head.thread] = {sample.head.time, kNumber.of(sample, bytes), kArgument.of(sample, bytes)};
  }
  // publish(transaction) where the begin was seen.
  template <typename Publish>
  void end(const RawSample& sample, size_t bytes, const Publish& publish) {
    const auto begun = begun_.find(sample.head.thread);
    if (begun == begun_.end()) return;
    constexpr int64_t kLastError = 4095;
    const auto returned = static_cast<int64_t>(kArgument.of(sample, bytes));
    substrata_transaction call{};
    call.time = sample.head.time;
    call.start = begun->second.time;
    call.detail = begun->second.number;
    call.address = begun->second.argument;
    call.initiator = sample.head.thread;
    call.kind = SUBSTRATA_SYSTEM_CALL;
    if (returned < 0 && returned >= -kLastError)
      call.target = static_cast<uint32_t>(-returned);
    else if (returned > 0)
      call.size = static_cast<uint32_t>(std::min<int64_t>(returned, UINT32_MAX));
    begun_.erase(begun);
    publish(call);
  }

 private:
  // raw_syscalls:sys_enter: the number and the arguments; sys_exit: the number and what is returned.
  static constexpr RawField kNumber{8, 8, true};
  static constexpr RawField kArgument{16, 8, false};
  struct Begun {
    uint64_t time, number, argument;
  };
  std::map<uint32_t, Begun> begun_;
};

}  // namespace substrata::pages
