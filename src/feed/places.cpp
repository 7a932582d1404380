// Who knows what lies at an address of this program.
#include <substrata/feed.h>

#include <atomic>

#include "base/guard.hpp"

namespace {

std::atomic<substrata_place_function> known{nullptr};

}  // namespace

extern "C" {

void substrata_places(substrata_place_function call) { known.store(call); }

int substrata_place_at(uint64_t address, substrata_place* out) {
  using namespace substrata;
  return guarded([&] {
    if (out == nullptr || out->struct_size < sizeof *out)
      return fail(Code::kInvalid, "substrata_place_at needs a place whose struct_size is set");
    const substrata_place_function call = known.load();
    if (call == nullptr || call(address, out) != 0)
      return fail(Code::kNoEvent, "nothing is known of address 0x%llx now",
                  static_cast<unsigned long long>(address));
    return 0;
  });
}

}  // extern "C"
