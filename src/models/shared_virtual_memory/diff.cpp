// A run is its offset and length in words, then the words.
#include "models/shared_virtual_memory/diff.hpp"

#include <cstdint>
#include <cstring>

namespace substrata::svm {
namespace {

constexpr std::size_t kWord = 4;       // grain of a diff
constexpr std::size_t kRunHeader = 4;  // offset and length of a run of changed words, in words, 16 bits each

}  // namespace

std::vector<std::byte> make_diff(const std::byte* twin, const std::byte* page, std::size_t bytes) {
  std::vector<std::byte> diff;
  const std::size_t words = bytes / kWord;
  const auto same = [&](std::size_t w) {
    return std::memcmp(twin + w * kWord, page + w * kWord, kWord) == 0;
  };
  for (std::size_t w = 0; w < words;) {
    if (same(w)) {
      ++w;
      continue;
    }
    std::size_t end = w + 1;
    while (end < words && !same(end)) ++end;
    const std::uint16_t header[2] = {static_cast<std::uint16_t>(w), static_cast<std::uint16_t>(end - w)};
    static_assert(sizeof(header) == kRunHeader);
    const auto* run = reinterpret_cast<const std::byte*>(header);
    diff.insert(diff.end(), run, run + kRunHeader);
    diff.insert(diff.end(), page + w * kWord, page + end * kWord);
    w = end;
  }
  return diff;
}

void apply_diff(std::byte* page, const std::vector<std::byte>& diff) {
  for (std::size_t at = 0; at < diff.size();) {
    std::uint16_t header[2];
    std::memcpy(header, diff.data() + at, kRunHeader);
    at += kRunHeader;
    std::memcpy(page + header[0] * kWord, diff.data() + at, header[1] * kWord);
    at += header[1] * kWord;
  }
}

}  // namespace substrata::svm
