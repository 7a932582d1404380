// Any bytes as the kernel's buffer of samples, at any place of its two ends: what is taken out lies inside of it.
#include <linux/perf_event.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "sources/observation/perf_buffer.hpp"
#include "sources/observation/raw_samples.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kEnds = 2 * sizeof(uint64_t);
  if (size <= kEnds) return 0;
  perf_event_mmap_page page{};
  page.data_size = size - kEnds;
  uint64_t tail = 0, count = 0;
  std::memcpy(&tail, data, sizeof tail);
  std::memcpy(&count, data + sizeof tail, sizeof count);
  page.data_tail = tail >> 1;
  page.data_head = page.data_tail + count % (2 * page.data_size);
  const std::vector<unsigned char> buffer(data + kEnds, data + size);
  std::vector<substrata::pages::Sample> samples;
  uint64_t lost = 0;
  substrata::pages::Buffer::take_records({&page, buffer.data()}, samples, lost);
  // The shorter of the two records that are taken is 32 bytes in the buffer.
  const size_t most = page.data_size / sizeof(substrata::pages::SwitchRecord);
  if (page.data_tail != page.data_head || samples.size() > most) std::abort();

  // The same bytes as the description of a tracepoint, and as what it has: no field lies outside.
  using substrata::pages::RawFields;
  using substrata::pages::RawSample;
  const RawFields fields = RawFields::of({reinterpret_cast<const char*>(data), size});
  RawSample sample{};
  std::memcpy(&sample, data, std::min(size, sizeof sample));
  const size_t bytes = sample.bytes(size);
  if (bytes > sizeof sample.raw) std::abort();
  for (const auto* field : {&fields.detail, &fields.address, &fields.size})
    if (field->bytes > 8 || (field->of(sample, bytes) != 0 && field->offset + uint64_t{field->bytes} > bytes))
      std::abort();
  return 0;
}
