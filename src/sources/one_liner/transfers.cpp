// The program's transfers of data, as libsubstrata_appio.so sees them, at the probe point io.calls.
#include <substrata/feed.hpp>

#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "transfers.hpp"

namespace substrata::one_liner {
namespace {

constexpr client::feed::Source kSource{
    .name = "io",
    .summary = "Calls that transfer data, seen by the preloaded library of the component appio"};

// The calling thread's. `busy`: it publishes, and what it writes meanwhile is not the program's.
struct Mine {
  client::feed::Publisher publisher;
  bool busy = false;
};
Mine& mine() {
  static thread_local Mine own;
  return own;
}

std::atomic<bool> wanted{false};

}  // namespace

void publish_transfers(bool on) { wanted = on; }

}  // namespace substrata::one_liner

extern "C" __attribute__((visibility("default"))) void substrata_appio_transfer(uint32_t kind, int file,
                                                                                bool is_socket, int64_t bytes,
                                                                                int64_t took_ns,
                                                                                const void* site) {
  using namespace substrata::one_liner;
  if (!wanted.load(std::memory_order_relaxed)) return;
  Mine& own = mine();
  if (own.busy) return;
  own.busy = true;
  if (!own.publisher)
    static_cast<void>(kSource.try_publisher("io.calls",
                                            "Calls that transfer data; initiator the thread, target and "
                                            "detail the descriptor, start the begin of the "
                                            "call",
                                            0, &own.publisher));
  if (own.publisher) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    substrata_transaction call{};
    call.time = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
    call.start = call.time - static_cast<uint64_t>(took_ns);
    call.detail = static_cast<uint64_t>(file);
    call.target = static_cast<uint32_t>(file);
    call.size = static_cast<uint32_t>(std::min<int64_t>(bytes, UINT32_MAX));
    const bool writes = kind == kTransferWrite;
    call.kind = is_socket ? (writes ? SUBSTRATA_SEND : SUBSTRATA_RECEIVE)
                          : (writes ? SUBSTRATA_WRITE : SUBSTRATA_READ);
    call.site = reinterpret_cast<uint64_t>(site);
    call.initiator = static_cast<uint32_t>(gettid());
    call.phase = substrata_phase();
    own.publisher.publish(call);
  }
  own.busy = false;
}
