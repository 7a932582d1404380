// Fuzzes what Owl reads from others: compositions, log packets and pattern packets.
#include <substrata/owl.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const char* const text = reinterpret_cast<const char*>(data + 1);
  char name[64];
  if (data[0] % 3 == 0) {
    static_cast<void>(substrata_owl_check(text, size - 1, "fuzz", name, sizeof name));
  } else if (data[0] % 3 == 1) {
    uint32_t transactions = 0;
    if (size >= 9) std::memcpy(&transactions, data + 5, 4);
    if (transactions > 100'000) return 0;  // runs of right guesses are only as long as the packet says
    static_cast<void>(substrata_owl_expand_log(
        text, size - 1, [](void*, const substrata_transaction*) {}, nullptr));
  } else {
    substrata_owl_expander* expander = nullptr;
    if (substrata_owl_expander_open(&expander) != 0) return 0;
    for (size_t at = 1; at < size;) {
      const size_t length = data[at] < size - at ? data[at] : size - at;
      static_cast<void>(substrata_owl_expander_take(
          expander, data + at, length, [](void*, uint64_t, uint64_t) {}, nullptr));
      at += length + 1;
    }
    substrata_owl_expander_close(expander);
  }
  return 0;
}
