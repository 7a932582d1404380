// Looks an address up: heap, variables, stacks, in that order.
#include "sources/access_tracer/objects.hpp"

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
    uint32_t& object = variables_.try_emplace(variable->low, kNone).first->second;
    if (object == kNone) object = add(variable->plain_name(), "variable", variable->size);
    return {variable->low, variable->size, object};
  }
  for (const Stack& stack : stacks_) {
    if (address - stack.low >= stack.length) continue;
    uint32_t& object = stack_objects_.try_emplace(stack.thread, kNone).first->second;
    if (object == kNone) object = add("stack of thread " + std::to_string(stack.thread), "stack", 0);
    return {stack.low, stack.length, object};
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
  return symbol != nullptr ? symbol->plain_name() : "(unknown)";
}

std::string Objects::code_name(uintptr_t address) {
  const Symbol* const symbol = symbols().function_at(address);
  return symbol != nullptr ? symbol->plain_name() : objects_[elsewhere_].name;
}

std::string Objects::place_name(uintptr_t pc) {
  const Symbol* symbol = symbols().function_at(pc - 1);
  char text[40];
  std::snprintf(text, sizeof text, "+0x%zx", static_cast<size_t>(pc - (symbol != nullptr ? symbol->low : 0)));
  return (symbol != nullptr ? symbol->plain_name() : "") + text;
}

void Objects::allocated(uintptr_t block, size_t size, uintptr_t site) {
  uint32_t& number = heap_sites_.try_emplace(site, kNone).first->second;
  if (number == kNone) number = add("heap of " + place_name(site), "heap", 0);
  objects_[number].site = site;
  heap_[block] = {size, number};
  objects_[number].bytes += size;
  ++objects_[number].allocations;
}

Symbols::Origin Objects::site_of(uint32_t object) {
  const uintptr_t site = objects_[object].site;
  // The call stands before the place that it returns to.
  return site != 0 ? symbols().origin_of(site - 1) : Symbols::Origin{};
}

void Objects::add_stack(uint32_t thread, uintptr_t low, uintptr_t length) {
  stacks_.push_back({low, length, thread});
}

void Objects::remove_stack(uint32_t thread) {
  std::erase_if(stacks_, [&](const Stack& stack) { return stack.thread == thread; });
}

Symbols& Objects::symbols() {
  if (symbols_ == nullptr) symbols_ = std::make_unique<Symbols>();
  return *symbols_;
}

uint32_t Objects::add(std::string name, const char* kind, uint64_t bytes) {
  objects_.push_back({std::move(name), kind, bytes});
  return count() - 1;
}

}  // namespace substrata::access_tracer
