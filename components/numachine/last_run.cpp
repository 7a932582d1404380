// Keeps the findings of the last machine, and gives them out through the C interface.
#include "numachine/last_run.hpp"

#include <substrata/numachine.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <mutex>
#include <utility>

#include "base/guard.hpp"
#include "numachine/live.hpp"

namespace substrata::numachine {
namespace {

struct Kept {
  std::mutex mutex;
  LastRun run;
};
Kept& kept() {
  static Kept* const all = new Kept;
  return *all;
}

void copy_text(const std::string& text, char* out, std::size_t capacity) {
  std::snprintf(out, capacity, "%s", text.c_str());
}

}  // namespace

void keep_last_run(Model& model, const NameAt& name_at, Synchronisation synchronisation) {
  LastRun run;
  std::vector<std::uint64_t> locks;
  for (const Waits& waits : synchronisation.waits) {
    if (waits.kind != WaitKind::kBarrier) locks.push_back(waits.address);
  }
  run.objects = explain_misses(model, name_at, locks);
  run.spikes = find_spikes(model, kSpikeThreshold, name_at);
  for (std::uint32_t cpu = 0; cpu < model.processors(); ++cpu) {
    run.truths.push_back(model.truth(cpu));
    run.profiles.push_back(model.profile(cpu));
  }
  run.waits = std::move(synchronisation.waits);
  run.lost = std::move(synchronisation.lost);
  const std::lock_guard lock(kept().mutex);
  kept().run = std::move(run);
}

LastRun last_run() {
  const std::lock_guard lock(kept().mutex);
  return kept().run;
}

}  // namespace substrata::numachine

using namespace substrata;
using namespace substrata::numachine;

// As many of the last run's as fit; *count says how many there are.
template <typename To, typename From, typename Fill>
static int hand_out(To* to, uint32_t* count, std::vector<From> LastRun::*which, const char* what,
                    const Fill& fill) {
  if (count == nullptr || (to == nullptr && *count != 0))
    return fail(Code::kInvalid, "no place for %s that are to be read", what);
  return guarded([&] {
    refresh_live_findings();
    const LastRun run = last_run();
    const std::vector<From>& all = run.*which;
    for (std::size_t i = 0; i < all.size() && i < *count; ++i) {
      to[i] = {};
      fill(all[i], to[i]);
    }
    *count = static_cast<uint32_t>(all.size());
    return 0;
  });
}

extern "C" {

int substrata_numachine_objects(struct substrata_numachine_object* objects, uint32_t* count) {
  return hand_out(objects, count, &LastRun::objects, "the objects", [](const ObjectMisses& from, auto& to) {
    copy_text(from.name, to.name, sizeof to.name);
    copy_text(name_of(from.cause), to.cause, sizeof to.cause);
    to.lines = from.lines;
    to.other_misses = from.other;
    to.invalidation_misses = from.invalidation;
    to.ownership_misses = from.ownership;
    to.invalidations = from.invalidations;
    to.nacks = from.nacks;
    to.queue_cycles = from.queue_cycles;
  });
}

int substrata_numachine_spikes(struct substrata_numachine_spike* spikes, uint32_t* count) {
  return hand_out(spikes, count, &LastRun::spikes, "the cache lines", [](const Spike& from, auto& to) {
    to.cpu = from.cpu;
    to.index = from.index;
    to.misses = from.misses;
    to.average = from.average;
    std::string names;
    for (const std::string& name : from.objects) names += (names.empty() ? "" : ", ") + name;
    copy_text(names, to.objects, sizeof to.objects);
  });
}

int substrata_numachine_waits(struct substrata_numachine_wait* waits, uint32_t* count) {
  return hand_out(waits, count, &LastRun::waits, "the locks and barriers", [](const Waits& from, auto& to) {
    constexpr Time cycle = Parameters::bus_ps;
    constexpr const char* kKinds[] = {"lock", "condition", "barrier"};
    copy_text(from.name, to.name, sizeof to.name);
    copy_text(kKinds[static_cast<std::size_t>(from.kind)], to.kind, sizeof to.kind);
    to.address = from.address;
    to.uses = from.uses;
    to.waited = from.waited;
    to.wait_cycles = from.wait / cycle;
    to.longest_wait = from.longest / cycle;
    to.held_cycles = from.held / cycle;
    to.processors = static_cast<uint32_t>(std::popcount(from.processors));
  });
}

int substrata_numachine_lost(uint32_t cpu, struct substrata_numachine_loss* loss) {
  if (loss == nullptr) return fail(Code::kInvalid, "no place for what the processor lost");
  return guarded([&] {
    refresh_live_findings();
    const LastRun run = last_run();
    if (cpu >= run.lost.size())
      return fail(Code::kInvalid, "the last machine had %zu processors that were followed, %u was asked for",
                  run.lost.size(), cpu);
    loss->synchronisation_cycles = run.lost[cpu].locks / Parameters::bus_ps;
    loss->imbalance_cycles = run.lost[cpu].barriers / Parameters::bus_ps;
    return 0;
  });
}

int substrata_numachine_profile(uint32_t cpu, uint32_t* misses, uint32_t* count) {
  if (count == nullptr || (misses == nullptr && *count != 0))
    return fail(Code::kInvalid, "no place for the profile that is to be read");
  return guarded([&] {
    refresh_live_findings();
    const LastRun run = last_run();
    if (cpu >= run.profiles.size())
      return fail(Code::kInvalid, "the last machine had %zu processors, %u was asked for",
                  run.profiles.size(), cpu);
    const auto& profile = run.profiles[cpu];
    std::copy_n(profile.begin(), std::min<std::size_t>(*count, profile.size()), misses);
    *count = static_cast<uint32_t>(profile.size());
    return 0;
  });
}

int substrata_numachine_known(uint32_t cpu, struct substrata_numachine_truth* truth) {
  if (truth == nullptr) return fail(Code::kInvalid, "no place for what is known of the processor");
  return guarded([&] {
    refresh_live_findings();
    const LastRun run = last_run();
    if (cpu >= run.truths.size())
      return fail(Code::kInvalid, "the last machine had %zu processors, %u was asked for", run.truths.size(),
                  cpu);
    const Truth& from = run.truths[cpu];
    *truth = {};
    truth->instructions = from.instructions();
    truth->loads = from.loads;
    truth->stores = from.stores;
    std::copy_n(from.pipeline, 16, truth->pipeline);
    std::copy_n(from.misses, 4, truth->misses);
    std::copy_n(from.miss_cycles, 4, truth->miss_cycles);
    truth->ownership_unsuccessful = from.ownership_unsuccessful;
    truth->nacks = from.nacks;
    std::copy_n(from.responses, 32, truth->responses);
    truth->invalidation_hits = from.invalidation_hits;
    truth->invalidation_hits_estimated = from.invalidation_hits_estimated;
    truth->invalidation_misses_estimated = from.invalidation_misses_estimated;
    truth->whole_miss_cycles = from.whole_miss_cycles;
    truth->apparent_miss_cycles = from.apparent_miss_cycles;
    truth->exceptions = from.exceptions;
    truth->restart_cycles = from.restart_cycles;
    truth->branches_mispredicted = from.branches_mispredicted;
    truth->informed = from.informed;
    return 0;
  });
}
}
