// The transitions of the coherence protocol.
#include "numachine/protocol.hpp"

#include <algorithm>
#include <bit>

namespace substrata::numachine {

Protocol::Protocol(const ProtocolShape& shape)
    : shape_(shape),
      stations_(shape.stations),
      per_station_(shape.per_station),
      line_shift_(static_cast<unsigned>(std::countr_zero(shape.line_bytes))),
      page_shift_(static_cast<unsigned>(std::countr_zero(shape.page_bytes / shape.line_bytes))),
      lines_mask_(shape.page_bytes / shape.line_bytes - 1),
      data_mask_((shape.split ? shape.cache_lines / 2 : shape.cache_lines) - 1),
      half_shift_(shape.split ? static_cast<unsigned>(std::countr_zero(shape.cache_lines / 2)) : 0),
      caches_(std::size_t{shape.stations} * shape.per_station * shape.cache_lines),
      networks_(std::size_t{shape.stations} * shape.network_lines),
      lately_(std::clamp<std::uint64_t>(shape.cache_lines / 4, 1, 4096)) {}

Protocol::Protocol(const Protocol& other)
    : shape_(other.shape_),
      stations_(other.stations_),
      per_station_(other.per_station_),
      line_shift_(other.line_shift_),
      page_shift_(other.page_shift_),
      lines_mask_(other.lines_mask_),
      data_mask_(other.data_mask_),
      half_shift_(other.half_shift_),
      caches_(other.caches_),
      networks_(other.networks_),
      lately_(other.lately_.size()) {
  for (const auto& [page, blocks] : other.pages_) std::copy_n(blocks, lines_mask_ + 1, find_page(page));
}

void Protocol::warm_up() {
  constexpr std::uint64_t kBeyond = std::uint64_t{1} << 56;  // lines; no address of a program is so high
  for (std::uint64_t index = 0; index < shape_.cache_lines; ++index) {
    const std::uint64_t line = kBeyond + index;
    Block& known = block(line);
    known.processors = all_processors();
    const std::uint64_t all =
        shape_.stations == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << shape_.stations) - 1;
    known.stations = all & ~(std::uint64_t{1} << home_of(line));
    known.state = known.stations != 0 ? BlockState::kGlobalValid : BlockState::kLocalValid;
    for (std::uint32_t cpu = 0; cpu < processors(); ++cpu) {
      Line& own = cache_line(cpu, line);
      own.tag = line;
      own.state = CacheState::kShared;
    }
  }
}

Protocol::Block* Protocol::find_page(std::uint64_t page) {
  const std::size_t lines = lines_mask_ + 1;
  const auto [known, is_new] = pages_.try_emplace(page, nullptr);
  if (is_new) {
    if (free_blocks_ < lines) {
      // Small machines stay small; a large one's chunks are large pages' worth.
      const std::size_t most = std::max(lines, (std::size_t{2} << 20) / sizeof(Block));
      const std::size_t wanted = chunks_.empty() ? lines : chunks_.back().size() * 2;
      free_blocks_ = std::min(std::bit_ceil(wanted), most) / lines * lines;
      chunks_.emplace_back(free_blocks_);
    }
    free_blocks_ -= lines;
    known->second = chunks_.back().data() + free_blocks_;
  }
  lately_[page & (lately_.size() - 1)] = {page, known->second};
  return known->second;
}

void Protocol::expect(std::uint32_t cpu, std::uint64_t line) {
  const std::uint32_t station = station_of(cpu);
  __builtin_prefetch(&block(line), 1);
  const Line& own = cache_line(cpu, line);
  if (own.tag != line && own.state == CacheState::kModified && own.tag != kNoLine)
    __builtin_prefetch(&block(own.tag), 1);
  if (home_of(line) != station)
    __builtin_prefetch(&networks_[station * shape_.network_lines + (line & (shape_.network_lines - 1))], 1);
}

bool Protocol::holds(std::uint32_t cpu, std::uint64_t line) const noexcept {
  const Line& own = cache_line(cpu, line);
  return own.tag == line && own.state != CacheState::kInvalid;
}

Protocol::NetworkLine* Protocol::network_line(std::uint32_t station, std::uint64_t line) noexcept {
  NetworkLine& entry = networks_[station * shape_.network_lines + (line & (shape_.network_lines - 1))];
  return entry.tag == line && entry.state != BlockState::kNotIn ? &entry : nullptr;
}

BlockState Protocol::network_state(std::uint32_t station, std::uint64_t line) const noexcept {
  const NetworkLine& entry = networks_[station * shape_.network_lines + (line & (shape_.network_lines - 1))];
  return entry.tag == line ? entry.state : BlockState::kNotIn;
}

void Protocol::invalidate(std::uint32_t station, std::uint8_t processors, std::uint64_t line,
                          std::uint32_t except) {
  for (std::uint32_t i = 0; i < shape_.per_station; ++i) {
    const std::uint32_t cpu = station * shape_.per_station + i;
    if (((processors >> i) & 1U) == 0 || cpu == except) continue;
    Line& own = cache_line(cpu, line);
    const bool hit = own.tag == line && own.state != CacheState::kInvalid;
    deliveries_.push_back({cpu, line, hit, hit && own.state == CacheState::kModified});
    if (hit) own.state = CacheState::kInvalid;
  }
}

int Protocol::dirty_holder(std::uint32_t station, std::uint64_t line) const noexcept {
  for (std::uint32_t i = 0; i < shape_.per_station; ++i) {
    const std::uint32_t cpu = station * shape_.per_station + i;
    const Line& own = cache_line(cpu, line);
    if (own.tag == line && own.state == CacheState::kModified) return static_cast<int>(cpu);
  }
  return -1;
}

std::uint32_t Protocol::take(std::uint32_t cpu, std::uint64_t line, bool exclusive) {
  Line& own = cache_line(cpu, line);
  if (exclusive) {
    deliveries_.push_back({cpu, line, true, true});
    own.state = CacheState::kInvalid;
  } else {
    own.state = CacheState::kShared;
  }
  return own.version;
}

BlockState Protocol::write_back(std::uint32_t cpu, std::uint64_t line, std::uint32_t version) {
  const std::uint32_t station = station_of(cpu);
  const std::uint32_t home = home_of(line);
  if (home != station) {
    if (NetworkLine* entry = network_line(station, line); entry != nullptr) {
      entry->state = BlockState::kLocalValid;
      entry->processors = 0;
      entry->version = version;
      return BlockState::kNotIn;
    }
  }
  // Home, or past a network cache that has no place for it: no line is allocated for a write-back.
  Block& known = block(line);
  const BlockState met = known.state;
  known.state = BlockState::kLocalValid;
  known.processors = 0;
  known.stations = 0;
  known.version = version;
  return met;
}

void Protocol::fill(std::uint32_t cpu, std::uint64_t line, CacheState state, std::uint32_t version,
                    Step& step) {
  Line& own = cache_line(cpu, line);
  if (own.tag != line && own.tag != kNoLine && own.state != CacheState::kInvalid) {
    step.evicted = own.tag;
    step.evicted_dirty = own.state == CacheState::kModified;
    if (step.evicted_dirty) step.evicted_met = write_back(cpu, own.tag, own.version);
  }
  own.tag = line;
  own.state = state;
  own.version = version;
}

Protocol::NetworkLine& Protocol::allocate(std::uint32_t station, std::uint64_t line, Step& step) {
  NetworkLine& entry = networks_[station * shape_.network_lines + (line & (shape_.network_lines - 1))];
  if (entry.tag == line && entry.state != BlockState::kNotIn) return entry;
  if (entry.state == BlockState::kLocalValid) {
    // The only copy outside processor caches: it goes home. Processors here may still share it.
    Block& old = block(entry.tag);
    step.network_evicted_met = old.state;
    old.state = BlockState::kGlobalValid;
    old.version = entry.version;
    step.network_evicted = entry.tag;
  }
  // LI: a processor here has it dirty, its home knows the station as owner. GV, GI: nothing is lost.
  entry = {};
  entry.tag = line;
  // Processors may share the line from before it was dropped last, so all are taken to.
  entry.processors = all_processors();
  return entry;
}

Step Protocol::at_network_cache(std::uint32_t cpu, std::uint64_t line, Want want) {
  deliveries_.clear();
  Step step;
  const std::uint32_t station = station_of(cpu);
  NetworkLine* const entry = network_line(station, line);
  step.met = entry != nullptr ? entry->state : BlockState::kNotIn;
  if (entry == nullptr || entry->state == BlockState::kGlobalInvalid || want == Want::kUpdate) return step;
  if (want == Want::kRead) {
    if (entry->state == BlockState::kLocalInvalid) {
      const int owner = dirty_holder(station, line);
      step.owner = owner;
      entry->version = take(static_cast<std::uint32_t>(owner), line, false);
      entry->state = BlockState::kLocalValid;
      entry->processors = bit_of(static_cast<std::uint32_t>(owner));
    }
    entry->processors |= bit_of(cpu);
    step.served = step.network_cache = step.data = true;
    fill(cpu, line, CacheState::kShared, entry->version, step);
    return step;
  }
  if (entry->state == BlockState::kGlobalValid) return step;  // others have copies: the home must agree
  step.served = step.network_cache = true;
  step.data = !holds(cpu, line);
  std::uint32_t version = entry->version;
  if (entry->state == BlockState::kLocalInvalid) {
    const int owner = dirty_holder(station, line);
    step.owner = owner;
    version = take(static_cast<std::uint32_t>(owner), line, true);
  } else {
    invalidate(station, entry->processors, line, cpu);
  }
  entry->state = BlockState::kLocalInvalid;
  entry->processors = bit_of(cpu);
  fill(cpu, line, CacheState::kModified, version, step);
  return step;
}

Step Protocol::at_home(std::uint32_t cpu, std::uint64_t line, Want want) {
  deliveries_.clear();
  switch (want) {
    case Want::kRead:
      return read_at_home(cpu, line);
    case Want::kUpdate:
      return update_at_home(cpu, line);
    case Want::kExclusive:
    case Want::kUpgrade:
      break;
  }
  return own_at_home(cpu, line);
}

Protocol::AtHome Protocol::served_at_home(std::uint32_t cpu, std::uint64_t line) {
  AtHome begun{{}, station_of(cpu), home_of(line), block(line)};
  begun.step.met = begun.known.state;
  begun.step.served = true;
  return begun;
}

Step Protocol::read_at_home(std::uint32_t cpu, std::uint64_t line) {
  auto [step, station, home, known] = served_at_home(cpu, line);
  step.data = true;
  if (known.state == BlockState::kLocalInvalid) {
    step.owner = dirty_holder(home, line);
    known.version = take(static_cast<std::uint32_t>(step.owner), line, false);
    known.state = BlockState::kLocalValid;
    known.processors = bit_of(static_cast<std::uint32_t>(step.owner));
  } else if (known.state == BlockState::kGlobalInvalid) {
    const auto owner_station = static_cast<std::uint32_t>(__builtin_ctzll(known.stations));
    step.owner_station = static_cast<int>(owner_station);
    NetworkLine* const entry = network_line(owner_station, line);
    if (entry != nullptr && entry->state == BlockState::kLocalValid) {
      known.version = entry->version;
      entry->state = BlockState::kGlobalValid;
    } else {
      step.owner = dirty_holder(owner_station, line);
      known.version = take(static_cast<std::uint32_t>(step.owner), line, false);
      if (entry != nullptr) {
        entry->state = BlockState::kGlobalValid;
        entry->version = known.version;
        entry->processors = bit_of(static_cast<std::uint32_t>(step.owner));
      }
    }
    known.state = BlockState::kGlobalValid;
    known.processors = 0;
  }
  if (station == home) {
    known.processors |= bit_of(cpu);
  } else {
    known.state = BlockState::kGlobalValid;
    known.stations |= std::uint64_t{1} << station;
    const std::uint32_t version = known.version;
    NetworkLine& entry = allocate(station, line, step);
    entry.state = BlockState::kGlobalValid;
    entry.version = version;
    entry.processors |= bit_of(cpu);
  }
  fill(cpu, line, CacheState::kShared, block(line).version, step);
  return step;
}

Step Protocol::own_at_home(std::uint32_t cpu, std::uint64_t line) {
  auto [step, station, home, known] = served_at_home(cpu, line);
  step.data = !holds(cpu, line);
  std::uint32_t version = known.version;
  switch (known.state) {
    case BlockState::kLocalValid:
    case BlockState::kNotIn:
      invalidate(home, known.processors, line, cpu);
      break;
    case BlockState::kLocalInvalid:
      step.owner = dirty_holder(home, line);
      version = take(static_cast<std::uint32_t>(step.owner), line, true);
      break;
    case BlockState::kGlobalValid:
      invalidate(home, known.processors, line, cpu);
      for (std::uint32_t other = 0; other < shape_.stations; ++other) {
        if (other == home || ((known.stations >> other) & 1U) == 0) continue;
        NetworkLine* const entry = network_line(other, line);
        invalidate(other, entry != nullptr ? entry->processors : all_processors(), line, cpu);
        if (entry != nullptr) entry->state = BlockState::kGlobalInvalid;
        if (other != station) step.stations |= std::uint64_t{1} << other;
      }
      break;
    case BlockState::kGlobalInvalid: {
      const auto owner_station = static_cast<std::uint32_t>(__builtin_ctzll(known.stations));
      step.owner_station = static_cast<int>(owner_station);
      NetworkLine* const entry = network_line(owner_station, line);
      if (entry != nullptr && entry->state == BlockState::kLocalValid) {
        version = entry->version;
        invalidate(owner_station, entry->processors, line, cpu);
      } else {
        step.owner = dirty_holder(owner_station, line);
        version = take(static_cast<std::uint32_t>(step.owner), line, true);
      }
      if (entry != nullptr) entry->state = BlockState::kGlobalInvalid;
      break;
    }
  }
  if (station == home) {
    known.state = BlockState::kLocalInvalid;
    known.processors = bit_of(cpu);
    known.stations = 0;
  } else {
    known.state = BlockState::kGlobalInvalid;
    known.processors = 0;
    known.stations = std::uint64_t{1} << station;
    NetworkLine& entry = allocate(station, line, step);
    entry.state = BlockState::kLocalInvalid;
    entry.processors = bit_of(cpu);
  }
  fill(cpu, line, CacheState::kModified, version, step);
  return step;
}

// Section 3.3.2: memory stays the owner, every holder gets the new value.
Step Protocol::update_at_home(std::uint32_t cpu, std::uint64_t line) {
  auto [step, station, home, known] = served_at_home(cpu, line);
  const std::uint32_t version = ++known.latest;
  known.version = version;
  const auto update = [&](std::uint32_t of, std::uint8_t processors) {
    for (std::uint32_t i = 0; i < shape_.per_station; ++i) {
      if (((processors >> i) & 1U) == 0) continue;
      const std::uint32_t other = of * shape_.per_station + i;
      Line& own = cache_line(other, line);
      const bool hit = own.tag == line && own.state != CacheState::kInvalid;
      if (hit) own.version = version;
      if (other != cpu) deliveries_.push_back({other, line, hit, false});
    }
  };
  update(home, known.processors);
  for (std::uint32_t other = 0; other < shape_.stations; ++other) {
    if (other == home || ((known.stations >> other) & 1U) == 0) continue;
    NetworkLine* const entry = network_line(other, line);
    if (entry != nullptr) entry->version = version;
    update(other, entry != nullptr ? entry->processors : all_processors());
    if (other != station) step.stations |= std::uint64_t{1} << other;
  }
  return step;
}

}  // namespace substrata::numachine
