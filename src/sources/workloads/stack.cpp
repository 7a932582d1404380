// Switches stacks: seven registers on x86-64, ucontext elsewhere, with the sanitizers' marks around it.
#include "sources/workloads/stack.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#include "base/sanitizers.hpp"

#if !defined(__x86_64__) || defined(SUBSTRATA_STACK_UCONTEXT)
#include <ucontext.h>
#define SUBSTRATA_STACK_PORTABLE 1
#endif

#ifdef SUBSTRATA_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef SUBSTRATA_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#ifndef SUBSTRATA_STACK_PORTABLE
// Saves what the System V ABI lets a callee change nothing of, on the old stack, and continues on the new
// one. The floating-point control words stay: no workload changes them.
extern "C" void substrata_workloads_switch_stack(void** from, void* to) noexcept;
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".globl substrata_workloads_switch_stack\n"
    ".hidden substrata_workloads_switch_stack\n"
    ".type substrata_workloads_switch_stack,@function\n"
    "substrata_workloads_switch_stack:\n"
    "  pushq %rbp\n"
    "  pushq %rbx\n"
    "  pushq %r12\n"
    "  pushq %r13\n"
    "  pushq %r14\n"
    "  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n"
    "  popq %r14\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbx\n"
    "  popq %rbp\n"
    "  ret\n"
    ".size substrata_workloads_switch_stack, .-substrata_workloads_switch_stack\n");
#endif

namespace substrata::workloads {
namespace {
thread_local Stack* entering = nullptr;  // handed to enter(), which takes no argument

void switch_stack(void** from, void* to) noexcept {
#ifdef SUBSTRATA_STACK_PORTABLE
  swapcontext(static_cast<ucontext_t*>(*from), static_cast<ucontext_t*>(to));
#else
  substrata_workloads_switch_stack(from, to);
#endif
}
}  // namespace

Stack::Stack(std::size_t bytes, Body body, void* argument) : body_(body), argument_(argument) {
  guard_bytes_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  mapping_bytes_ = (bytes + guard_bytes_ - 1) / guard_bytes_ * guard_bytes_ + guard_bytes_;
  void* mapped = mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(mapped);
  if (mprotect(mapping_, guard_bytes_, PROT_NONE) != 0) {
    munmap(mapping_, mapping_bytes_);
    throw std::bad_alloc();
  }
#ifdef SUBSTRATA_STACK_PORTABLE
  auto* context = new ucontext_t;
  getcontext(context);
  context->uc_stack.ss_sp = mapping_ + guard_bytes_;
  context->uc_stack.ss_size = mapping_bytes_ - guard_bytes_;
  context->uc_link = nullptr;
  makecontext(context, &Stack::enter, 0);
  inside_ = context;
  outside_ = new ucontext_t;
#else
  // As if enter() had been called and had switched away at once: its return address, then six registers.
  auto** top = reinterpret_cast<void**>(mapping_ + mapping_bytes_);
  top[-1] = nullptr;
  top[-2] = reinterpret_cast<void*>(&Stack::enter);
  inside_ = top - 8;
#endif
#ifdef SUBSTRATA_TSAN
  inside_shadow_ = __tsan_create_fiber(0);
#endif
}

Stack::~Stack() {
#ifdef SUBSTRATA_STACK_PORTABLE
  delete static_cast<ucontext_t*>(inside_);
  delete static_cast<ucontext_t*>(outside_);
#endif
#ifdef SUBSTRATA_TSAN
  __tsan_destroy_fiber(inside_shadow_);
#endif
  munmap(mapping_, mapping_bytes_);
}

void Stack::enter() noexcept {
  Stack* self = entering;
#ifdef SUBSTRATA_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &self->outside_bottom_, &self->outside_bytes_);
#endif
  self->body_(self->argument_);
  self->finished_ = true;
  self->leave(true);
}

void Stack::resume() noexcept {
  entering = this;
#ifdef SUBSTRATA_ASAN
  __sanitizer_start_switch_fiber(&outside_shadow_, mapping_ + guard_bytes_, mapping_bytes_ - guard_bytes_);
#endif
#ifdef SUBSTRATA_TSAN
  outside_shadow_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(inside_shadow_, 0);
#endif
  switch_stack(&outside_, inside_);
#ifdef SUBSTRATA_ASAN
  __sanitizer_finish_switch_fiber(outside_shadow_, nullptr, nullptr);
#endif
}

void Stack::suspend() noexcept { leave(false); }

void Stack::leave([[maybe_unused]] bool for_ever) noexcept {
#ifdef SUBSTRATA_ASAN
  __sanitizer_start_switch_fiber(for_ever ? nullptr : &inside_shadow_, outside_bottom_, outside_bytes_);
#endif
#ifdef SUBSTRATA_TSAN
  __tsan_switch_to_fiber(outside_shadow_, 0);
#endif
  switch_stack(&inside_, outside_);
#ifdef SUBSTRATA_ASAN
  __sanitizer_finish_switch_fiber(inside_shadow_, &outside_bottom_, &outside_bytes_);
#endif
}

}  // namespace substrata::workloads
