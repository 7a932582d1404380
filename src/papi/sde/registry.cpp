// Every publishing library and event of the process: names to numbers and handles.
#include "papi/sde/registry.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>

namespace substrata::sde {
namespace {

constexpr std::string_view kSeparator = "::";
constexpr const char* kQuartileNames[] = {":MIN", ":Q1", ":MED", ":Q3", ":MAX"};

// Which block of the number table an id is in, and where.
std::pair<std::size_t, std::uint32_t> place_of(std::uint32_t id, std::uint32_t first_block) {
  const std::uint32_t scaled = id / first_block + 1;
  const auto block = static_cast<std::size_t>(std::bit_width(scaled)) - 1;
  return {block, id - first_block * ((1u << block) - 1)};
}

bool reaches(const Counter& from, const Counter& to) {
  if (&from == &to) return true;
  const Source* source = from.source();
  if (source == nullptr) return false;
  return std::any_of(source->members.begin(), source->members.end(),
                     [&](const Counter* member) { return reaches(*member, to); });
}

bool summable(const Source& source) {
  switch (source.event_class) {
    case SUBSTRATA_SDE_VARIABLE:
    case SUBSTRATA_SDE_CALLBACK:
    case SUBSTRATA_SDE_CREATED:
    case SUBSTRATA_SDE_GROUP:
    case SUBSTRATA_SDE_RECORDER_COUNT:
      return true;
    default:
      return false;
  }
}

std::unique_ptr<Source> group_like(const Source& former) {
  auto group = std::make_unique<Source>();
  group->event_class = SUBSTRATA_SDE_GROUP;
  group->type = former.type;
  group->mode = former.mode;
  group->group_flags = former.group_flags;
  return group;
}

}  // namespace

// Declared before the lock is taken, so that the waiting is done after it is given back.
class Registry::Releases {
 public:
  Releases() = default;
  Releases(const Releases&) = delete;
  Releases& operator=(const Releases&) = delete;
  ~Releases() {
    for (const auto& [counter, former] : former_) counter->release(former);
  }
  // So that add() cannot fail.
  void reserve(std::size_t more) { former_.reserve(former_.size() + more); }
  void add(Counter& counter, Source* former) noexcept {
    if (former != nullptr) former_.emplace_back(&counter, former);
  }

 private:
  std::vector<std::pair<Counter*, Source*>> former_;
};

Registry& Registry::instance() {
  // Never destroyed: programs publish and tools read until the very end of the process.
  static Registry* const registry = new Registry;
  return *registry;
}

const char* Registry::intern(std::string_view text) { return texts_.emplace(text).first->c_str(); }

Library& Registry::library_of(std::string_view name) {
  std::unique_ptr<Library>& library = libraries_[std::string(name)];
  if (library == nullptr) {
    library = std::make_unique<Library>();
    library->name = name;
  }
  return *library;
}

Library* Registry::open_library(std::string_view name) {
  const std::lock_guard lock(mutex_);
  Library& library = library_of(name);
  library.open.store(true, std::memory_order_release);
  return &library;
}

int Registry::close_library(Library& library) {
  Releases releases;
  const std::lock_guard lock(mutex_);
  if (!library.open.load(std::memory_order_acquire)) return SDE_EINVAL;
  // Groups hold members of their own library only, so all of them go and none needs a new member list.
  releases.reserve(library.counters.size());
  for (Counter* counter : library.counters) releases.add(*counter, counter->retire());
  library.open.store(false, std::memory_order_release);
  return SDE_OK;
}

Counter* Registry::at(std::uint32_t id) const noexcept {
  if (id >= count()) return nullptr;
  const auto [block, offset] = place_of(id, kFirstBlock);
  return blocks_[block].load(std::memory_order_acquire)[offset].load(std::memory_order_acquire);
}

Counter* Registry::find(const Library& library, std::string_view event) {
  const std::lock_guard lock(mutex_);
  const auto found = by_name_.find(library.name + std::string(kSeparator) + std::string(event));
  return found == by_name_.end() || found->second->gone() ? nullptr : found->second;
}

// The counter behind a name, made if need be. Whatever throws leaves at most unused memory behind.
Counter* Registry::counter_of(Library& library, std::string_view event) {
  std::string full = library.name + std::string(kSeparator) + std::string(event);
  const auto found = by_name_.find(full);
  if (found != by_name_.end()) return found->second;
  const std::uint32_t id = count_.load(std::memory_order_relaxed);
  const auto [block, offset] = place_of(id, kFirstBlock);
  if (block >= kBlocks) throw std::bad_alloc();
  Slot* slots = blocks_[block].load(std::memory_order_relaxed);
  if (slots == nullptr) {
    block_memory_.push_back(std::make_unique<Slot[]>(std::size_t{kFirstBlock} << block));
    slots = block_memory_.back().get();
    blocks_[block].store(slots, std::memory_order_release);
  }
  library.counters.reserve(library.counters.size() + 1);
  counters_.push_back(std::make_unique<Counter>(id, &library, intern(full)));
  Counter* const counter = counters_.back().get();
  by_name_.emplace(std::move(full), counter);
  library.counters.push_back(counter);
  slots[offset].store(counter, std::memory_order_release);
  count_.store(id + 1, std::memory_order_release);
  return counter;
}

int Registry::publish_locked(Library& library, std::string_view event, std::unique_ptr<Source>& source,
                             Counter** counter) {
  Counter* const place = counter_of(library, event);
  *counter = place;
  if (place->live()) return place->source()->event_class == source->event_class ? SDE_OK : SDE_EINVAL;
  const bool created = source->event_class == SUBSTRATA_SDE_CREATED;
  place->replace(std::move(source));
  place->revive();
  if (place->overflow_wanted()) {
    // Asked to overflow before its kind was known: increments report by themselves, all else by a
    // timer.
    place->watch();
    if (created)
      place->want_overflow(false);
    else
      ask_tool_for_timer();
  }
  return SDE_OK;
}

int Registry::publish(Library& library, std::string_view event, std::unique_ptr<Source> source,
                      Counter** counter) {
  const std::lock_guard lock(mutex_);
  if (!library.open.load(std::memory_order_acquire)) return SDE_EINVAL;
  return publish_locked(library, event, source, counter);
}

int Registry::publish_recorder(Library& library, std::string_view event, std::size_t value_size,
                               Recorder::Compare compare, Counter** counter) {
  struct Part {
    std::string name;
    std::unique_ptr<Source> source;
  };
  const auto recorder = std::make_shared<Recorder>(value_size, compare);
  std::vector<Part> parts;
  const auto add = [&](const char* suffix, int event_class, int quarter) {
    auto source = std::make_unique<Source>();
    source->event_class = event_class;
    source->recorder = recorder;
    source->quarter = quarter;
    parts.push_back({std::string(event) + suffix, std::move(source)});
  };
  add("", SUBSTRATA_SDE_RECORDER, 0);
  add(":CNT", SUBSTRATA_SDE_RECORDER_COUNT, 0);
  if (compare != nullptr)
    for (int quarter = 0; quarter <= 4; ++quarter)
      add(kQuartileNames[quarter], SUBSTRATA_SDE_QUARTILE, quarter);

  const std::lock_guard lock(mutex_);
  if (!library.open.load(std::memory_order_acquire)) return SDE_EINVAL;
  Counter* const place = counter_of(library, event);
  *counter = place;
  if (place->live()) return place->source()->event_class == SUBSTRATA_SDE_RECORDER ? SDE_OK : SDE_EINVAL;
  for (const Part& part : parts) {
    const auto taken = by_name_.find(library.name + std::string(kSeparator) + part.name);
    if (taken != by_name_.end() && taken->second->live()) return SDE_EINVAL;
  }
  for (Part& part : parts) {
    Counter* ignored = nullptr;
    publish_locked(library, part.name, part.source, &ignored);
  }
  return SDE_OK;
}

// Takes a counter back, out of every group first, so that no group reads what is gone.
void Registry::withdraw(Counter& counter, Releases& releases) {
  for (Counter* other : counter.library()->counters) {
    const Source* former = other->source();
    if (former == nullptr || former->event_class != SUBSTRATA_SDE_GROUP) continue;
    if (std::find(former->members.begin(), former->members.end(), &counter) == former->members.end())
      continue;
    std::unique_ptr<Source> group = group_like(*former);
    std::copy_if(former->members.begin(), former->members.end(), std::back_inserter(group->members),
                 [&](const Counter* member) { return member != &counter; });
    releases.reserve(1);
    releases.add(*other, other->replace(std::move(group)));
  }
  releases.reserve(1);
  releases.add(counter, counter.retire());
}

int Registry::unpublish(Library& library, std::string_view event) {
  Releases releases;
  const std::lock_guard lock(mutex_);
  const auto found = by_name_.find(library.name + std::string(kSeparator) + std::string(event));
  if (found == by_name_.end() || found->second->gone()) return SDE_EINVAL;
  Counter& counter = *found->second;
  std::vector<Counter*> going = {&counter};
  if (counter.live() && counter.source()->event_class == SUBSTRATA_SDE_RECORDER) {
    const Recorder* recorder = counter.source()->recorder.get();
    for (Counter* other : library.counters)
      if (other != &counter && other->live() && other->source()->recorder.get() == recorder)
        going.push_back(other);
  }
  for (Counter* one : going) withdraw(*one, releases);
  return SDE_OK;
}

int Registry::describe(Library& library, std::string_view event, const char* text) {
  const std::lock_guard lock(mutex_);
  const auto found = by_name_.find(library.name + std::string(kSeparator) + std::string(event));
  if (found == by_name_.end() || found->second->gone()) return SDE_EINVAL;
  found->second->describe(intern(text));
  return SDE_OK;
}

int Registry::add_to_group(Library& library, std::string_view event, std::string_view group_name,
                           std::uint32_t flags) {
  Releases releases;
  const std::lock_guard lock(mutex_);
  if (!library.open.load(std::memory_order_acquire)) return SDE_EINVAL;
  const auto found = by_name_.find(library.name + std::string(kSeparator) + std::string(event));
  if (found == by_name_.end() || !found->second->live()) return SDE_EINVAL;
  Counter& member = *found->second;
  if (!summable(*member.source())) return SDE_EINVAL;
  const int type = member.source()->floating() ? PAPI_SDE_double : PAPI_SDE_long_long;

  Counter* const group = counter_of(library, group_name);
  const Source* former = group->source();
  std::unique_ptr<Source> next;
  if (former == nullptr) {
    next = std::make_unique<Source>();
    next->event_class = SUBSTRATA_SDE_GROUP;
    next->type = type;
    next->group_flags = flags;
  } else {
    if (former->event_class != SUBSTRATA_SDE_GROUP || former->group_flags != flags || former->type != type)
      return SDE_EINVAL;
    next = group_like(*former);
    next->members = former->members;
  }
  if (reaches(member, *group)) return SDE_EINVAL;
  next->members.push_back(&member);
  if (former == nullptr) {
    Counter* ignored = nullptr;
    return publish_locked(library, group_name, next, &ignored);
  }
  releases.reserve(1);
  releases.add(*group, group->replace(std::move(next)));
  return SDE_OK;
}

int Registry::find_or_await(std::string_view full_name, Counter** counter) {
  const std::lock_guard lock(mutex_);
  const auto found = by_name_.find(std::string(full_name));
  if (found != by_name_.end()) {
    found->second->revive();
    *counter = found->second;
    return SDE_OK;
  }
  const std::size_t split = full_name.find(kSeparator);
  if (split == 0 || split == std::string_view::npos || split + kSeparator.size() == full_name.size())
    return SDE_ENOEVNT;
  *counter = counter_of(library_of(full_name.substr(0, split)), full_name.substr(split + kSeparator.size()));
  return SDE_OK;
}

}  // namespace substrata::sde
