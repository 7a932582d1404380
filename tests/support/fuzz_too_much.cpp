// A fuzz target that takes what its limits forbid: memory for an input that begins with 'm', time for one with 't'.
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  if (data[0] == 'm') {
    const std::vector<char> memory(std::size_t{65} << 20, 'x');
    return memory.back() == 'x' ? 0 : 1;
  }
  const auto seconds = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const double begin = seconds();
  while (data[0] == 't' && seconds() - begin < 1.2) continue;
  return 0;
}
