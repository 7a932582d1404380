// A ring whose words change as they like between the calls of its producer and its reader: nothing is read outside of
// it, no packet is longer than there is space for, and both go on.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "owl/ring.hpp"

namespace {

using namespace substrata::owl;

// Numbers taken from the input one after the other; 0 when there are no more.
struct Input {
  const std::uint8_t* at;
  std::size_t left;
  template <typename T>
  T next() {
    T value{};
    const std::size_t bytes = left < sizeof value ? left : sizeof value;
    std::memcpy(&value, at, bytes);
    at += bytes;
    left -= bytes;
    return value;
  }
};

constexpr std::uint64_t kRingBytes = 4096;

void look(substrata_owl_reader& reader) {
  unsigned char data[256];
  substrata_owl_packet packet{};
  const int got = reader.peek(&packet, data, sizeof data);
  if (got == 1 && packet.bytes > sizeof data) std::abort();
  if (got > 1) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input{data, size};
  RingProducer ring;
  const auto policy = static_cast<std::uint32_t>(input.next<std::uint8_t>() % 2);
  if (ring.create(nullptr, kRingBytes, policy, 75) != 0) return 0;
  ring.publish();
  auto reader = std::make_unique<substrata_owl_reader>();
  if (reader->open(ring.memory().path().c_str(), 0) != 0) std::abort();
  auto* const words = reinterpret_cast<std::atomic<std::uint64_t>*>(&ring.memory().header());
  std::uint64_t written = 0;
  while (input.left > 0) {
    switch (input.next<std::uint8_t>() % 6) {
      case 0: {
        unsigned char packet[255] = {};
        bool near_full = false;
        written +=
            ring.push(packet, input.next<std::uint8_t>(), input.next<std::uint8_t>(), &near_full) ? 1 : 0;
        if (ring.lost() > written) std::abort();
        break;
      }
      case 1:
        look(*reader);
        break;
      case 2:
        reader->consume();
        break;
      case 3: {
        const std::size_t place = input.next<std::uint16_t>() % ((kRingOffset + kRingBytes) / 8);
        words[place].store(input.next<std::uint64_t>(), std::memory_order_relaxed);
        break;
      }
      case 4: {
        auto another = std::make_unique<substrata_owl_reader>();
        reader.reset();
        if (another->open(ring.memory().path().c_str(), 0) != 0) return 0;
        reader = std::move(another);
        break;
      }
      default: {
        char name[8] = {};
        std::memcpy(name, &words[8], sizeof name - 1);
        static_cast<void>(reader->write_register(name, input.next<std::uint64_t>()));
        break;
      }
    }
  }
  return 0;
}
