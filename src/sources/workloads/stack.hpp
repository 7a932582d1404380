// A stack of its own for each process of a workload, and the switch between it and the engine's.
#pragma once

#include <cstddef>

namespace substrata::workloads {

// A function that runs on its own stack and can be left and re-entered at any depth of calls. The sanitizers
// are notified of each switch. The body must run to its end before the stack is destroyed if it owns anything,
// and no exception may leave it. Thread-bound: resumed only on the thread that resumed it first.
class Stack {
 public:
  using Body = void (*)(void* argument);

  // Maps `bytes` (rounded up to pages) and a guard page below. Throws std::bad_alloc.
  Stack(std::size_t bytes, Body body, void* argument);
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  ~Stack();

  // Runs the body until it calls suspend() or returns. Not from inside a body. Only while not finished().
  void resume() noexcept;
  // From inside the body: back to resume()'s caller.
  void suspend() noexcept;
  bool finished() const noexcept { return finished_; }

 private:
  static void enter() noexcept;
  void leave(bool for_ever) noexcept;

  std::byte* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  std::size_t guard_bytes_ = 0;
  Body body_;
  void* argument_;
  bool finished_ = false;
  void* inside_ = nullptr;   // where the body was left (stack pointer or ucontext_t)
  void* outside_ = nullptr;  // where resume() was called
  // What the sanitizers want to know of the two stacks; other builds have no use for it.
  [[maybe_unused]] void* inside_shadow_ = nullptr;
  [[maybe_unused]] void* outside_shadow_ = nullptr;
  [[maybe_unused]] const void* outside_bottom_ = nullptr;
  [[maybe_unused]] std::size_t outside_bytes_ = 0;
};

}  // namespace substrata::workloads
