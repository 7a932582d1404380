// Commands: rules that report a bottleneck.
#include <substrata/myrinet.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "myrinet/bottleneck.hpp"
#include "myrinet/process_recorder.hpp"

using namespace substrata;
using namespace substrata::myrinet;

namespace {

// The rules in use. A number is a place; places are used again.
struct Rules {
  static constexpr size_t kMost = 64;
  std::mutex mutex;
  std::unique_ptr<IdleLatencies> idle;  // made by the first rule
  std::vector<std::shared_ptr<BottleneckWatch>> watches;
  std::shared_ptr<BottleneckWatch> of(uint32_t number) {
    const std::lock_guard lock(mutex);
    return number < watches.size() ? watches[number] : nullptr;
  }
};

Rules& rules() {
  static auto* const all = new Rules;
  return *all;
}

std::string objection(const substrata_myrinet_rule& rule) {
  if (rule.struct_size < sizeof rule) return "struct_size is not set";
  if (rule.node != SUBSTRATA_MYRINET_ALL && rule.node >= kMostNodes)
    return "node " + std::to_string(rule.node) + " is asked for; there are at most " +
           std::to_string(kMostNodes);
  if (rule.program != SUBSTRATA_MYRINET_ALL && rule.program > UINT16_MAX)
    return "there is no program tag " + std::to_string(rule.program);
  if (rule.latency >= kLatencies) return "there is no latency " + std::to_string(rule.latency);
  if (rule.window_ns == 0) return "a window of at least 1 ns is needed";
  if (!(rule.ratio > 0)) return "a ratio above 0 is needed";
  return {};
}

}  // namespace

extern "C" {

int substrata_myrinet_watch(const substrata_myrinet_rule* rule, substrata_myrinet_firing_function function,
                            void* owner, uint32_t* number) {
  return command([&](Recorder&) {
    if (rule == nullptr || number == nullptr)
      return fail(Code::kInvalid, "a rule and a place for its number");
    if (const std::string wrong = objection(*rule); !wrong.empty())
      return fail(Code::kInvalid, "%s", wrong.c_str());
    Rules& all = rules();
    const std::lock_guard lock(all.mutex);
    const auto place = std::find(all.watches.begin(), all.watches.end(), nullptr);
    const auto index = static_cast<size_t>(place - all.watches.begin());
    if (index == Rules::kMost)
      return fail(Code::kNoMemory, "there are %zu rules already; take one back first", Rules::kMost);
    if (all.idle == nullptr) all.idle = std::make_unique<IdleLatencies>();
    if (index == all.watches.size()) all.watches.emplace_back();
    auto made = std::make_shared<BottleneckWatch>(*rule, *all.idle, function, owner);
    if (const Status refused = made->begin(); !refused.ok())
      return fail(static_cast<int>(refused.code), "the rule cannot observe: %s",
                  refused.note != nullptr ? refused.note : "no reason given");
    all.watches[index] = std::move(made);
    *number = static_cast<uint32_t>(index);
    return 0;
  });
}

int substrata_myrinet_fired(uint32_t number, uint64_t* times, substrata_myrinet_firing* last) {
  return command([&](Recorder&) {
    const std::shared_ptr<BottleneckWatch> watch = rules().of(number);
    if (watch == nullptr) return fail(Code::kInvalid, "there is no rule %u", number);
    if (last != nullptr && last->struct_size < sizeof *last)
      return fail(Code::kInvalid, "a firing with struct_size set is needed");
    const uint64_t fired = watch->fired(last);
    if (times != nullptr) *times = fired;
    return 0;
  });
}

int substrata_myrinet_unwatch(uint32_t number) {
  return command([&](Recorder&) {
    std::shared_ptr<BottleneckWatch> watch;
    {
      Rules& all = rules();
      const std::lock_guard lock(all.mutex);
      if (number < all.watches.size()) watch.swap(all.watches[number]);
    }
    if (watch == nullptr) return fail(Code::kInvalid, "there is no rule %u", number);
    watch->end();
    return 0;
  });
}

}  // extern "C"
