// The table of objects, and what machines publish of theirs.
#include "owl/objects.hpp"
#include "base/immortal.hpp"

#include <substrata/feed.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace substrata::owl {
namespace {

struct ObjectTable {
  std::mutex mutex;
  struct Range {
    uint64_t end;  // the first byte behind it
    const char* name;
  };
  std::map<uint64_t, Range> ranges;  // by their first byte, none overlaps another
  std::set<std::string, std::less<>> names;
};

// Kept to the end of the process: names are handed out.
ObjectTable& table() noexcept {
  static auto* const made = new ObjectTable;
  return *made;
}

// A machine publishes the arrays of a run: address, size, and in detail the number of the region with the array's
// name.
void add_arrays(void*, const substrata_transaction* batch, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (batch[i].kind != SUBSTRATA_ALLOCATE) continue;
    const char* const name = substrata_region_name(static_cast<uint16_t>(batch[i].detail));
    try {
      if (name != nullptr && batch[i].size != 0) add_object(name, batch[i].address, batch[i].size);
    } catch (...) {
      // No memory for a name: the address stays a number.
    }
  }
}

}  // namespace

void add_object(std::string_view name, uint64_t address, uint64_t bytes) {
  ObjectTable& all = table();
  const std::lock_guard lock(all.mutex);
  const char* const kept = all.names.emplace(name).first->c_str();
  const uint64_t end = bytes > ~address ? ~uint64_t{0} : address + bytes;
  // What it covers goes; what it covers in part is cut.
  auto at = all.ranges.lower_bound(address);
  if (at != all.ranges.begin()) {
    const auto before = std::prev(at);
    const ObjectTable::Range old = before->second;
    if (old.end > address) {
      before->second.end = address;
      if (old.end > end) all.ranges.emplace(end, old);
    }
  }
  while (at != all.ranges.end() && at->first < end) {
    const ObjectTable::Range old = at->second;
    at = all.ranges.erase(at);
    if (old.end > end) {
      all.ranges.emplace(end, old);
      break;
    }
  }
  if (address < end) all.ranges.insert_or_assign(address, ObjectTable::Range{end, kept});
}

const char* object_at(uint64_t address, uint64_t* low, uint64_t* high) noexcept {
  ObjectTable& all = table();
  const std::lock_guard lock(all.mutex);
  auto at = all.ranges.upper_bound(address);
  if (at == all.ranges.begin()) return nullptr;
  --at;
  if (address >= at->second.end) return nullptr;
  *low = at->first;
  *high = at->second.end;
  return at->second.name;
}

const char* object_at(uint64_t address) noexcept {
  uint64_t low = 0;
  uint64_t high = 0;
  return object_at(address, &low, &high);
}

void clear_objects() noexcept {
  ObjectTable& all = table();
  const std::lock_guard lock(all.mutex);
  all.ranges.clear();
}

void observe_objects() noexcept {
  static Immortal<client::feed::Observer> observer;
  [[maybe_unused]] static const bool once =
      (*observer).try_create(add_arrays, nullptr) == 0 && (*observer).try_subscribe("mem.objects*") == 0;
}

}  // namespace substrata::owl
