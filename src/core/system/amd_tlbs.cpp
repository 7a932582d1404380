// Decodes the leaves as AMD's Architecture Programmer's Manual, volume 3, appendix E.4 lays them out.
#include "core/system/amd_tlbs.hpp"

namespace substrata {
namespace {

struct Half {
  int entries;
  int ways;  // -1: full
};

// Of leaf 0x80000005: eight bits each.
Half plain(uint32_t half) {
  const uint32_t ways = half >> 8 & 0xff;
  return {static_cast<int>(half & 0xff), ways == 0xff ? -1 : static_cast<int>(ways)};
}

// Of the others: twelve bits of entries, four for the ways as a code; codes without a number here leave 0.
Half coded(uint32_t half) {
  constexpr int kWays[16] = {0, 1, 2, 3, 4, 6, 8, 0, 16, 0, 32, 48, 64, 96, 128, -1};
  return {static_cast<int>(half & 0xfff), kWays[half >> 12 & 0xf]};
}

// A register's lower half is for instructions, the upper one for data.
void add(uint32_t value, Half (*decode)(uint32_t), int64_t page_bytes, int share, size_t level,
         HardwareInfo* info) {
  if (level > info->levels.size()) return;
  for (const bool data : {false, true}) {
    const Half half = decode(data ? value >> 16 : value & 0xffff);
    if (half.entries < share) continue;
    info->levels[level - 1].tlbs.push_back({.type = data ? kMemoryData : kMemoryInstruction,
                                            .entries = half.entries / share,
                                            .page_bytes = page_bytes,
                                            .ways = half.ways});
  }
}

}  // namespace

void add_amd_tlbs(TlbRegisters level_1, TlbRegisters level_2, TlbRegisters gibibyte, HardwareInfo* info) {
  constexpr int64_t kKibi = 1 << 10, kMebi = 1 << 20, kGibi = 1 << 30;
  // A page of 4 MiB takes two entries of 2 MiB.
  add(level_1.a, plain, 4 * kMebi, 2, 1, info);
  add(level_1.a, plain, 2 * kMebi, 1, 1, info);
  add(level_1.b, plain, 4 * kKibi, 1, 1, info);
  add(gibibyte.a, coded, kGibi, 1, 1, info);
  add(level_2.a, coded, 4 * kMebi, 2, 2, info);
  add(level_2.a, coded, 2 * kMebi, 1, 2, info);
  add(level_2.b, coded, 4 * kKibi, 1, 2, info);
  add(gibibyte.b, coded, kGibi, 1, 2, info);
}

}  // namespace substrata
