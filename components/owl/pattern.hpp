// Packets of the pattern reducer, and what gives the addresses back.
#pragma once

#include <substrata/owl.h>

#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace substrata::owl {

// The table of the paper's section 4.3: 200 patterns of up to 100 addresses.
inline constexpr uint32_t kMostPatterns = 200;
inline constexpr uint32_t kLongestPattern = 100;

enum PatternPacketKind : uint32_t {
  kLiteral = 0,
  kPoint = 1,
  kDefinition = 2,
  kWideLiteral = 3,
  kGappedPoint = 4
};

// The head of every packet. Literal: symbol is the detail field. Point: symbol is the pattern's number,
// address that of its first access. Definition: symbol the number, address (first access's detail << 32 |
// steps), then the steps. Wide literal: the detail field follows as 64 bits. Point with gaps: a point, then each access
// that stands among the pattern's.
struct PatternPacket {
  uint32_t kind;
  uint32_t symbol;
  uint64_t address;
};

// One access of a pattern, as it follows the one before.
struct PatternStep {
  int32_t distance;  // of the addresses
  uint32_t symbol;   // the detail field
  bool operator==(const PatternStep&) const = default;
};

// An access in a gap: it comes behind so many of the pattern.
struct PatternGap {
  uint64_t position;
  uint64_t address;
};

// Sends a definition through the services of a module.
template <typename Sender>
void emit_definition(const Sender& services, uint32_t number, uint32_t first_detail, const PatternStep* steps,
                     uint32_t count) noexcept {
  unsigned char packet[sizeof(PatternPacket) + sizeof(PatternStep) * kLongestPattern];
  const PatternPacket head{kDefinition, number, uint64_t{first_detail} << 32 | count};
  std::memcpy(packet, &head, sizeof head);
  std::memcpy(packet + sizeof head, steps, count * sizeof(PatternStep));
  services.emit(packet, sizeof head + count * sizeof(PatternStep));
}

}  // namespace substrata::owl

// Thread-compatible.
struct substrata_owl_expander {
 public:
  int take(const void* packet, size_t bytes, void (*call)(void*, uint64_t, uint64_t), void* owner);

 private:
  struct Pattern {
    uint32_t head;
    std::vector<substrata::owl::PatternStep> steps;
  };
  std::unordered_map<uint32_t, Pattern> patterns_;
};
