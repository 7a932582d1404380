// The program's transfers of data as transactions.
#pragma once

#include <atomic>
#include <cstdint>

namespace substrata::one_liner {

// As components/appio numbers kinds: reads are 0, writes follow the nine counts of a kind, then what recv received.
inline constexpr uint32_t kTransferWrite = 9;

// From now on, or no longer.
void publish_transfers(bool on);

}  // namespace substrata::one_liner
