// Translation, instruction mixes, branches and basic blocks of the modelled processors.
#include "numachine/execution.hpp"

#include <algorithm>

#include "numachine/model.hpp"

namespace substrata::numachine {

bool Tlb::map(std::uint64_t pair) noexcept {
  if (pair == last_) return true;
  last_ = pair;
  if (std::find(pairs_.begin(), pairs_.end(), pair) != pairs_.end()) return true;
  pairs_[random_] = pair;
  return false;
}

bool BranchPredictor::foresees(std::uint64_t from, std::uint64_t to) noexcept {
  constexpr unsigned kMostTrust = 3;
  if (entries_.empty()) return true;
  // Code addresses differ in bits above their lowest.
  Entry& entry = entries_[(from ^ from >> 4) & (entries_.size() - 1)];
  if (entry.from != from) {
    entry = {from, to, 1};
    return false;
  }
  if (entry.to == to) {
    entry.trust = std::min(entry.trust + 1, kMostTrust);
    return true;
  }
  if (entry.trust == 0) {
    entry.to = to;
    entry.trust = 1;
  } else {
    --entry.trust;
  }
  return false;
}

// Instructions that are not among those of the inner loop.
void Model::execute(Cpu& c, Pipeline state, std::uint64_t instructions) {
  charge(c, state, instructions);
  c.unpublished.instructions += instructions;
  c.unpublished.any = true;
}

// A miss is an exception; its handler is software, which loads no data in the model.
void Model::translate(std::uint32_t cpu, std::uint64_t address, unsigned size, Time& now) {
  Execution& e = executions_[cpu];
  if (p_.execution.tlb_pairs == 0) return;
  Cpu& c = cpus_[cpu];
  const std::uint64_t pair_bytes = 2 * p_.shape.page_bytes;
  const std::uint64_t last = (address + std::max(1U, size) - 1) / pair_bytes;
  e.tlb.executed(1);
  for (std::uint64_t pair = address / pair_bytes; pair <= last; ++pair) {
    if (e.tlb.map(pair)) continue;
    const Time before = now;
    flush(c);
    bring_card(c, now);
    take_exception(c, now);
    execute(c, Pipeline::kOtherInteger, p_.execution.refill_cycles);
    now += p_.execution.refill_cycles * p_.processor_ps;
    e.tlb.executed(p_.execution.refill_cycles);
    ++c.truth.tlb_misses;
    ++c.unpublished.tlb_misses;
    c.truth.tlb_cycles += (now - before) / p_.processor_ps;
    c.unpublished.tlb_cycles += (now - before) / p_.processor_ps;
  }
}

void Model::compute_mix(std::uint32_t cpu, std::uint64_t cycles, Time& now) {
  const ExecutionParameters& mix = p_.execution;
  Execution& e = executions_[cpu];
  Cpu& c = cpus_[cpu];
  compute(cpu, cycles, now);
  e.tlb.executed(cycles);
  if (!mix.has_mix()) return;
  // All of them are among the instructions; a NOP is any other integer instruction to the pipeline.
  const std::uint64_t branches = e.branches.of(cycles, mix.mix_branches);
  const std::uint64_t floats = std::min(cycles - branches, e.floats.of(cycles, mix.mix_floats));
  const std::uint64_t taken = (branches + (e.taken ? 0 : 1)) / 2;
  e.taken = e.taken != ((branches & 1U) != 0);
  c.computed -= branches + floats;
  execute(c, Pipeline::kBranchTaken, taken);
  execute(c, Pipeline::kBranchUntaken, branches - taken);
  execute(c, Pipeline::kOtherFloat, floats);
  c.truth.nops += e.nops.of(cycles, mix.mix_nops);
  const std::uint64_t slips = e.slips.of(cycles, mix.mix_slips);
  const std::uint64_t float_slips = e.float_slips.of(cycles, mix.mix_float_slips);
  charge(c, Pipeline::kIntegerSlip, slips);
  charge(c, Pipeline::kFloatSlip, float_slips);
  now += (slips + float_slips) * p_.processor_ps;
}

// A branch of the program leads to a basic block.
void Model::branch_to(std::uint32_t cpu, std::uint64_t from, std::uint64_t block, bool mispredicted,
                      Time& now) {
  Execution& e = executions_[cpu];
  Cpu& c = cpus_[cpu];
  if (from == 0) from = e.branch_block;
  if (p_.execution.predictor_entries != 0 && block != 0)
    mispredicted = from != 0 && !e.predictor.foresees(from, block);
  e.branch_block = block;
  e.tlb.executed(1);
  branch(cpu, mispredicted, now);
  // The profiling store of the block takes the place of the NOP, where it needs no other instruction.
  if (p_.execution.empty_delay_slots && p_.execution.blocks != BlockProfile::kCount) {
    ++c.computed;
    ++c.truth.nops;
    now += p_.processor_ps;
    e.tlb.executed(1);
  }
  if (block != 0) enter_block(cpu, number_of_block(block), now);
}

// Blocks are numbered as a compiler would, those with small addresses by these.
std::uint32_t Model::number_of_block(std::uint64_t address) {
  if (address < kSramWords) return static_cast<std::uint32_t>(address);
  const auto next = static_cast<std::uint32_t>(blocks_.size() % kSramWords);
  return blocks_.try_emplace(address, next).first->second;
}

void Model::enter_block(std::uint32_t cpu, std::uint32_t number, Time& now) {
  const BlockProfile profile = p_.execution.blocks;
  if (profile == BlockProfile::kNone) return;
  Execution& e = executions_[cpu];
  Cpu& c = cpus_[cpu];
  flush(c);
  bring_card(c, now);
  std::uint64_t integers = 0;
  if (profile == BlockProfile::kCount) {
    c.card->write(kProfilingStore + number, 0);
  } else {
    const bool resets = profile == BlockProfile::kDifference;
    integers = resets ? 2 : 4;
    std::uint32_t stamp = 0;
    c.card->read((resets ? kTimestampReset : kTimestamp) + 1, &stamp);
    if (e.in_block) c.card->write(kSramAccumulate + e.block, resets ? stamp : stamp - e.timestamp);
    e.timestamp = stamp;
  }
  e.in_block = true;
  e.block = number;
  execute(c, Pipeline::kStore, 1);
  execute(c, Pipeline::kOtherInteger, integers);
  ++c.truth.stores;
  ++c.unpublished.stores;
  c.truth.profiling_instructions += 1 + integers;
  now += (1 + integers) * p_.processor_ps;
  e.tlb.executed(1 + integers);
}

}  // namespace substrata::numachine
