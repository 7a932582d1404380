// Looks an address up: heap, variables, stacks, in that order.
#include "objects.hpp"

#include <cstdio>
#include <utility>

namespace substrata::access_tracer {
namespace {

constexpr uintptr_t kPage = 4096;

}  // namespace

Extent Objects::locate(uintptr_t address) {
  if (auto next = heap_.upper_bound(address); next != heap_.begin()) {
    --next;
    if (address - next->first < next->second.size)
      return {next->first, next->second.size, next->second.object};
  }
  if (const Symbol* variable = symbols().variable_at(address)) {
    const auto [at, is_new] = variables_.try_emplace(variable->low, 0u);
    if (is_new) at->second = add(variable->name, "variable", variable->size);
    return {variable->low, variable->size, at->second};
  }
  for (Stack& stack : stacks_) {
    if (address - stack.low >= stack.length) continue;
    if (stack.object == kNone)
      stack.object = add("stack of thread " + std::to_string(stack.thread), "stack", 0);
    return {stack.low, stack.length, stack.object};
  }
  if (elsewhere_ == kNone) elsewhere_ = add("(elsewhere)", "other", 0);
  return {address & ~(kPage - 1), kPage, elsewhere_};
}

uint32_t Objects::calls() {
  if (calls_ == kNone) calls_ = add("(calls)", "call", 0);
  return calls_;
}

std::string Objects::function_name(uintptr_t pc) {
  const Symbol* symbol = symbols().function_at(pc - 1);
  return symbol != nullptr ? symbol->name : "(unknown)";
}

std::string Objects::place_name(uintptr_t pc) {
  const Symbol* symbol = symbols().function_at(pc - 1);
  char text[40];
  std::snprintf(text, sizeof text, "+0x%zx", static_cast<size_t>(pc - (symbol != nullptr ? symbol->low : 0)));
  return (symbol != nullptr ? symbol->name : "") + text;
}

void Objects::allocated(uintptr_t block, size_t size, uintptr_t site) {
  const auto [at, is_new] = heap_sites_.try_emplace(site, 0u);
  if (is_new) at->second = add("heap of " + place_name(site), "heap", 0);
  Object& object = objects_[at->second];
  object.bytes += size;
  ++object.allocations;
  heap_[block] = {size, at->second};
}

void Objects::add_stack(uint32_t thread, uintptr_t low, uintptr_t length) {
  stacks_.push_back({low, length, thread});
}

const Symbols& Objects::symbols() {
  if (symbols_ == nullptr) symbols_ = std::make_unique<Symbols>();
  return *symbols_;
}

uint32_t Objects::add(std::string name, const char* kind, uint64_t bytes) {
  objects_.push_back({std::move(name), kind, bytes});
  return count() - 1;
}

}  // namespace substrata::access_tracer
