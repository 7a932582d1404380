// The table of texts, and the two that know objects: those added by name, and who publishes a program's accesses.
#include "owl/names.hpp"

#include <substrata/feed.h>

#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "owl/objects.hpp"

namespace substrata::owl {
namespace {

constexpr size_t kMostTexts = 1 << 20;

struct Texts {
  std::mutex mutex;
  std::map<std::string, uint32_t, std::less<>> numbers;
  std::deque<const char*> texts;  // by number - 1
};

// Kept to the end of the process: texts are handed out.
Texts& texts() noexcept {
  static auto* const made = new Texts;
  return *made;
}

}  // namespace

uint32_t number_of(std::string_view text) noexcept {
  Texts& all = texts();
  const std::lock_guard lock(all.mutex);
  try {
    if (const auto known = all.numbers.find(text); known != all.numbers.end()) return known->second;
    if (all.texts.size() == kMostTexts) return 0;
    all.texts.push_back(nullptr);
    const auto number = static_cast<uint32_t>(all.texts.size());
    all.texts.back() = all.numbers.emplace(text, number).first->first.c_str();
    return number;
  } catch (...) {
    if (!all.texts.empty() && all.texts.back() == nullptr) all.texts.pop_back();
    return 0;
  }
}

const char* text_of(uint64_t number) noexcept {
  Texts& all = texts();
  const std::lock_guard lock(all.mutex);
  return number == 0 || number > all.texts.size() ? "?" : all.texts[number - 1];
}

uint64_t ObjectNames::look_up(uint64_t address) noexcept {
  Range found{address, 1, 0};
  uint64_t high = 0;
  substrata_place place{};
  place.struct_size = sizeof place;
  if (const char* const name = object_at(address, &found.low, &high); name != nullptr) {
    found.length = high - found.low;
    found.name = number_of(name);
  } else if (substrata_place_at(address, &place) == 0) {
    found = {place.low, place.length, number_of(place.name)};
  }
  ranges_[next_++ % ranges_.size()] = found;
  return found.name;
}

}  // namespace substrata::owl
