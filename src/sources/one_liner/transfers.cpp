// The program's transfers of data, as libsubstrata_appio.so sees them, at the probe point io.calls.
#include <substrata/feed.hpp>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <new>

#include "sources/one_liner/transfers.hpp"

namespace substrata::one_liner {
namespace {

constexpr client::feed::Source kSource{
    .name = "io",
    .summary = "Calls that transfer data, seen by the preloaded library of the component appio"};

// Of each thread. The key's value ends with it: a thread-local object with a destructor would end the process where
// there is no memory to note it.
class Publishers {
 public:
  Publishers() { has_key_ = pthread_key_create(&key_, end) == 0; }
  // The calling thread's, which may not be open yet; null where there is no memory for it.
  client::feed::Publisher* own() {
    if (!has_key_) return nullptr;
    if (void* const made = pthread_getspecific(key_)) return static_cast<client::feed::Publisher*>(made);
    auto* const made = new (std::nothrow) client::feed::Publisher;
    if (made != nullptr && pthread_setspecific(key_, made) == 0) return made;
    delete made;
    return nullptr;
  }

 private:
  static void end(void* made) { delete static_cast<client::feed::Publisher*>(made); }
  pthread_key_t key_ = 0;
  bool has_key_ = false;
};
Publishers& publishers() {
  static auto* const all = new Publishers;  // threads may outlive the destructors of the program's end
  return *all;
}

// The calling thread publishes, and what it writes meanwhile is not the program's.
thread_local bool busy = false;

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
  if (busy) return;
  busy = true;
  auto* const publisher = publishers().own();
  if (publisher != nullptr && !*publisher)
    static_cast<void>(kSource.try_publisher("io.calls",
                                            "Calls that transfer data; initiator the thread, target and "
                                            "detail the descriptor, start the begin of the "
                                            "call",
                                            0, publisher));
  if (publisher != nullptr && *publisher) {
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
    publisher->publish(call);
  }
  busy = false;
}
