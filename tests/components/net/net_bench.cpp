// What a read of net costs: one and sixteen events against the bare system call on the same table. The
// smallest of many blocks is printed, since a busy machine only adds to it.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

#include <substrata/substrate.h>

extern "C" substrata::EntryPoint substrata_entry_net;

namespace {

using namespace substrata;

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

template <typename Work>
double smallest_ns(Work&& work) {
  constexpr int kBlocks = 200;
  constexpr int kCalls = 50;
  double smallest = 1e18;
  for (int block = 0; block < kBlocks; ++block) {
    const int64_t begin = now_ns();
    for (int call = 0; call < kCalls; ++call) work();
    smallest = std::min(smallest, static_cast<double>(now_ns() - begin) / kCalls);
  }
  return smallest;
}

}  // namespace

int main() {
  Host host;
  host.now_ns = [](void*) noexcept { return now_ns(); };
  SubstrateTable table;
  Device* device = nullptr;
  if (substrata_entry_net(&host, &table) != 0 || !table.detect(&host).ok() ||
      !table.open(&host, &device).ok()) {
    std::puts("net is not here");
    return 1;
  }
  const int descriptor = ::open("/proc/net/dev", O_RDONLY | O_CLOEXEC);
  std::vector<char> text(65536);
  // The kernel shows the end of the table by a read of nothing, which any careful reader has to make.
  const double floor = smallest_ns([&] {
    int64_t have = 0;
    for (ssize_t got = 1; got > 0; have += got) {
      got = ::pread(descriptor, text.data() + have, text.size() - static_cast<size_t>(have), have);
      if (got < 0) break;
    }
  });
  ::close(descriptor);
  std::printf("bare pread of /proc/net/dev to its end: %.0f ns\n", floor);
  for (const uint32_t count : {1u, 16u}) {
    if (table.event_count(device) < count) break;
    std::vector<uint32_t> events(count);
    for (uint32_t i = 0; i < count; ++i) events[i] = i;
    std::vector<int64_t> values(count);
    Set* set = nullptr;
    if (!table.create_set(device, nullptr, &set).ok()) return 1;
    if (!table.program(set, events.data(), count).ok() || !table.start(set).ok()) return 1;
    const double cost = smallest_ns([&] { table.read(set, values.data()); });
    std::printf("read of %u events of one interface: %.0f ns, %.2f of the floor\n", count, cost,
                cost / floor);
    table.stop(set);
    table.destroy_set(set);
  }
  table.close(device);
  return 0;
}
