// The difference of two versions of a page, as it travels: runs of changed words.
#pragma once

#include <cstddef>
#include <vector>

namespace substrata::svm {

// Both of `bytes` bytes, a multiple of 4. Empty where they are equal.
std::vector<std::byte> make_diff(const std::byte* twin, const std::byte* page, std::size_t bytes);
// `diff` as made above, of a page of that size.
void apply_diff(std::byte* page, const std::vector<std::byte>& diff);

}  // namespace substrata::svm
