// The invariants of the coherence protocol, its state as text, and what each copy of a line is worth.
#pragma once

#include <cstdint>
#include <string>

#include "numachine/protocol.hpp"

namespace substrata::numachine {

// Looks behind the interface that the machine uses.
struct ProtocolCheck {
  // A processor that holds the line modified writes it.
  static void note_write(Protocol& protocol, std::uint32_t cpu, std::uint64_t line) {
    protocol.cache_line(cpu, line).version = ++protocol.block(line).latest;
  }
  static std::uint32_t version_of(const Protocol& protocol, std::uint32_t cpu, std::uint64_t line) {
    return protocol.cache_line(cpu, line).version;
  }
  static bool is_stale(Protocol& protocol, std::uint32_t cpu, std::uint64_t line) {
    return version_of(protocol, cpu, line) != protocol.block(line).latest;
  }
  // A message about the first invariant of that line that does not hold, or an empty string.
  static std::string check(Protocol& protocol, std::uint64_t line) {
    const Protocol::Block known = protocol.block(line);
    const std::uint32_t home = protocol.home_of(line);
    const std::string where = "line " + std::to_string(line) + ": ";
    int writer = -1;
    for (std::uint32_t cpu = 0; cpu < protocol.processors(); ++cpu) {
      const Protocol::Line& own = protocol.cache_line(cpu, line);
      if (own.tag != line || own.state == CacheState::kInvalid) continue;
      if (own.version != known.latest)
        return where + "processor " + std::to_string(cpu) + " holds a stale copy";
      if (own.state == CacheState::kModified) {
        if (writer >= 0) return where + "two writers";
        writer = static_cast<int>(cpu);
      }
      const std::uint32_t station = protocol.station_of(cpu);
      if (station == home) {
        if ((known.processors & protocol.bit_of(cpu)) == 0)
          return where + "memory does not know of a copy on its station";
      } else {
        if (((known.stations >> station) & 1U) == 0)
          return where + "memory does not know of a station's copy";
        const Protocol::NetworkLine* const entry = protocol.network_line(station, line);
        if (entry != nullptr && (entry->processors & protocol.bit_of(cpu)) == 0)
          return where + "a network cache does not know of a copy on its station";
      }
    }
    for (std::uint32_t cpu = 0; writer >= 0 && cpu < protocol.processors(); ++cpu) {
      if (static_cast<int>(cpu) != writer && protocol.holds(cpu, line))
        return where + "a writer and a reader";
    }
    for (std::uint32_t station = 0; station < protocol.shape().stations; ++station) {
      const Protocol::NetworkLine* const entry = protocol.network_line(station, line);
      if (entry == nullptr) continue;
      if (station == home) return where + "its own station's network cache holds it";
      const bool owned = known.state == BlockState::kGlobalInvalid && known.stations == std::uint64_t{1}
                                                                                            << station;
      const bool valid = entry->state == BlockState::kLocalValid || entry->state == BlockState::kGlobalValid;
      if (valid && entry->version != known.latest) return where + "a network cache's valid copy is stale";
      switch (entry->state) {
        case BlockState::kLocalValid:
          if (!owned || writer >= 0)
            return where + "LV in a network cache without ownership, or with a writer";
          break;
        case BlockState::kLocalInvalid:
          if (!owned || writer < 0 || protocol.station_of(static_cast<std::uint32_t>(writer)) != station)
            return where + "LI in a network cache without its dirty owner";
          break;
        case BlockState::kGlobalValid:
          if (known.state != BlockState::kGlobalValid || ((known.stations >> station) & 1U) == 0)
            return where + "GV in a network cache that memory does not know of";
          break;
        case BlockState::kGlobalInvalid:
        case BlockState::kNotIn:
          break;
      }
    }
    switch (known.state) {
      case BlockState::kLocalValid:
      case BlockState::kGlobalValid:
        if (known.version != known.latest) return where + "memory's valid copy is stale";
        if (writer >= 0) return where + "a writer while memory is valid";
        if (known.state == BlockState::kLocalValid && known.stations != 0)
          return where + "LV with other stations";
        break;
      case BlockState::kLocalInvalid:
        if (writer < 0 || protocol.station_of(static_cast<std::uint32_t>(writer)) != home)
          return where + "LI at memory without its dirty owner";
        break;
      case BlockState::kGlobalInvalid: {
        if (known.stations == 0 || (known.stations & (known.stations - 1)) != 0)
          return where + "GI at memory without one owner station";
        const auto owner = static_cast<std::uint32_t>(__builtin_ctzll(known.stations));
        if (protocol.network_state(owner, line) != BlockState::kLocalValid &&
            (writer < 0 || protocol.station_of(static_cast<std::uint32_t>(writer)) != owner))
          return where + "GI at memory, and its owner station has no valid copy";
        break;
      }
      case BlockState::kNotIn:
        return where + "memory without a state";
    }
    return {};
  }
  // All states of the lines [0, lines), for exhaustive exploration.
  static std::string fingerprint(Protocol& protocol, std::uint64_t lines) {
    std::string text;
    for (std::uint64_t line = 0; line < lines; ++line) {
      const Protocol::Block& known = protocol.block(line);
      text += static_cast<char>('a' + static_cast<int>(known.state));
      text += static_cast<char>(known.processors);
      text += static_cast<char>(known.stations);
      for (std::uint32_t cpu = 0; cpu < protocol.processors(); ++cpu) {
        const Protocol::Line& own = protocol.cache_line(cpu, line);
        text += own.tag == line ? static_cast<char>('0' + static_cast<int>(own.state)) : '-';
      }
      for (std::uint32_t station = 0; station < protocol.shape().stations; ++station) {
        const Protocol::NetworkLine* const entry = protocol.network_line(station, line);
        text += entry == nullptr ? '-' : static_cast<char>('a' + static_cast<int>(entry->state));
        text += entry == nullptr ? '-' : static_cast<char>(entry->processors);
      }
    }
    return text;
  }
};

}  // namespace substrata::numachine
