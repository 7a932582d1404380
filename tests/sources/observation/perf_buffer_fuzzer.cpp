// Any bytes as the kernel's buffer of samples, at any place of its two ends: what is taken out lies inside of it.
#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "observation/perf_buffer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kEnds = 2 * sizeof(uint64_t);
  if (size <= kEnds) return 0;
  const size_t bytes = size - kEnds;
  std::vector<uint64_t> memory((sizeof(perf_event_mmap_page) + bytes) / sizeof(uint64_t) + 1);
  auto& page = *reinterpret_cast<perf_event_mmap_page*>(memory.data());
  page.data_offset = sizeof page;
  page.data_size = bytes;
  std::memcpy(reinterpret_cast<unsigned char*>(memory.data()) + sizeof page, data + kEnds, bytes);
  uint64_t tail = 0, count = 0;
  std::memcpy(&tail, data, sizeof tail);
  std::memcpy(&count, data + sizeof tail, sizeof count);
  page.data_tail = tail >> 1;
  page.data_head = page.data_tail + count % (2 * bytes);
  std::vector<substrata::pages::Sample> samples;
  uint64_t lost = 0;
  substrata::pages::Buffer::take_records(substrata::SampleRing{&page}, samples, lost);
  if (page.data_tail != page.data_head || samples.size() > size / sizeof(samples[0])) std::abort();
  return 0;
}
