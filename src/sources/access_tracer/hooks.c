/* The functions that -fsanitize=thread calls at every memory access, defined to count instead of to look for
 * races. Linked statically into the traced program, so that a hook is a direct call and its state is a direct
 * thread-local. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "sources/access_tracer/locks.h"

/* Every thread begins with this table, in which no site matches: its first access attaches it. */
static struct substrata_memory_thread beginning;
__thread struct substrata_memory_thread* substrata_memory_current __attribute__((tls_model("local-exec"))) =
    &beginning;
/* Changed by the runtime whenever what an address belongs to may have changed, and by the feed whenever a
 * thread's probe point begins or ceases to be watched; no two of the first 2^32 values differ as two code
 * addresses of a program may. */
volatile uint64_t substrata_memory_salt = UINT64_C(0x9e3779b97f4a7c15);

/* The salt under which nothing asks for this thread's accesses: nothing observes it, and no summary is written. */
__thread uint64_t substrata_memory_idle __attribute__((tls_model("local-exec")));

#define LIKELY(x) __builtin_expect(!!(x), 1)

static int writes_itself(const struct substrata_memory_thread* thread, const uint64_t* next) {
  return next != thread->records.end &&
         __atomic_load_n(*thread->phase, __ATOMIC_RELAXED) == thread->records.phase;
}

/* A watched access that is not a plain record. What takes more than one - a new phase, an address of more than 48
 * bits - and a full buffer are the runtime's. */
static __attribute__((noinline)) void publish(struct substrata_memory_thread* thread, uintptr_t pc,
                                              uintptr_t address, unsigned kind, unsigned size) {
  uint64_t* const next = thread->records.next;
  if (address >> 48 != 0 || !writes_itself(thread, next)) {
    substrata_memory_publish_at(thread, pc, address, kind, size);
    return;
  }
  *next = substrata_compact_record(kind == SUBSTRATA_MEMORY_READ    ? SUBSTRATA_COMPACT_ANY_READ
                                   : kind == SUBSTRATA_MEMORY_WRITE ? SUBSTRATA_COMPACT_ANY_WRITE
                                                                    : SUBSTRATA_COMPACT_ATOMIC,
                                   size, address);
  __atomic_store_n(&thread->records.next, next + 1, __ATOMIC_RELEASE);
}

/* This thread's table; null: not now. */
static struct substrata_memory_thread* attached(void) {
  struct substrata_memory_thread* thread = substrata_memory_current;
  if (LIKELY(thread->runtime != NULL)) return thread;
  thread = substrata_memory_attach(&substrata_memory_current);
  if (thread != NULL) thread->idle = &substrata_memory_idle;
  return thread;
}

struct substrata_memory_thread* substrata_memory_watched(void) {
  if (substrata_memory_idle == substrata_memory_salt) return NULL;
  struct substrata_memory_thread* const thread = attached();
  return thread != NULL && substrata_memory_is_observed(thread) ? thread : NULL;
}

/* The site's object is another one, or unknown. */
static __attribute__((noinline)) void miss(uintptr_t address, uintptr_t pc, unsigned kind, unsigned size,
                                           unsigned slot) {
  struct substrata_memory_thread* const thread = attached();
  if (thread != NULL) substrata_memory_bind_slot(thread, slot, pc, address, kind, size);
}

/* A watched site has no length. */
static inline __attribute__((always_inline)) void seen_at(unsigned slot, uintptr_t pc, uintptr_t address,
                                                          unsigned kind, unsigned size) {
  const uint64_t salt = substrata_memory_salt;
  if (salt == substrata_memory_idle) return;
  struct substrata_memory_site* const site = &substrata_memory_current->sites[slot];
  if (LIKELY(site->key == (pc ^ salt))) {
    const uintptr_t offset = address - site->low;
    if (LIKELY(offset < site->length)) {
      ++site->count;
      return;
    }
    if (offset < site->extent) {
      /* Read anew, so that an access without a watcher needs no register for it. */
      struct substrata_memory_thread* const thread =
          *(struct substrata_memory_thread* volatile*)&substrata_memory_current;
      uint64_t* const next = thread->records.next;
      ++site->count;
      if (kind != SUBSTRATA_MEMORY_ATOMIC && substrata_compact_is_plain(address, size) &&
          writes_itself(thread, next)) {
        *next = substrata_compact_record(
            kind == SUBSTRATA_MEMORY_READ ? SUBSTRATA_COMPACT_READ : SUBSTRATA_COMPACT_WRITE, size, address);
        __atomic_store_n(&thread->records.next, next + 1, __ATOMIC_RELEASE);
        return;
      }
      publish(thread, pc, address, kind, size);
      return;
    }
  }
  miss(address, pc, kind, size, slot);
}
static inline __attribute__((always_inline)) void seen(uintptr_t pc, uintptr_t address, unsigned kind,
                                                       unsigned size) {
  seen_at(substrata_memory_slot(pc), pc, address, kind, size);
}

/* What the hooks that are part of the program's code (inlined_hooks.s) do not do themselves. They know of the
 * table of sites that each takes one cache line and that the first comes one line after the table's begin. */
_Static_assert(offsetof(struct substrata_memory_thread, sites) == 64, "inlined_hooks.s");
_Static_assert(sizeof(struct substrata_memory_site) == 64, "inlined_hooks.s");
_Static_assert(offsetof(struct substrata_memory_site, low) == 8, "inlined_hooks.s");
_Static_assert(offsetof(struct substrata_memory_site, length) == 16, "inlined_hooks.s");
_Static_assert(offsetof(struct substrata_memory_site, count) == 24, "inlined_hooks.s");
_Static_assert(SUBSTRATA_MEMORY_SITES == 8192, "inlined_hooks.s");
#define INLINED(name, kind, size)                                                      \
  void substrata_memory_##name##size(uintptr_t address, uintptr_t pc, unsigned slot) { \
    seen_at(slot, pc, address, kind, size);                                            \
  }
INLINED(read, SUBSTRATA_MEMORY_READ, 1)
INLINED(read, SUBSTRATA_MEMORY_READ, 2)
INLINED(read, SUBSTRATA_MEMORY_READ, 4)
INLINED(read, SUBSTRATA_MEMORY_READ, 8)
INLINED(read, SUBSTRATA_MEMORY_READ, 16)
INLINED(write, SUBSTRATA_MEMORY_WRITE, 1)
INLINED(write, SUBSTRATA_MEMORY_WRITE, 2)
INLINED(write, SUBSTRATA_MEMORY_WRITE, 4)
INLINED(write, SUBSTRATA_MEMORY_WRITE, 8)
INLINED(write, SUBSTRATA_MEMORY_WRITE, 16)

/* Sites are distinguished by their return address; volatile and unaligned accesses count as what they are. */
#define ACCESS(name, kind, size) \
  void __tsan_##name(void* address) { seen(PC, (uintptr_t)address, kind, size); }
// clang-format off
#define SIZES(prefix, kind)  \
  ACCESS(prefix##1, kind, 1) \
  ACCESS(prefix##2, kind, 2) \
  ACCESS(prefix##4, kind, 4) ACCESS(prefix##8, kind, 8) ACCESS(prefix##16, kind, 16)
SIZES(read, SUBSTRATA_MEMORY_READ)
SIZES(write, SUBSTRATA_MEMORY_WRITE)
SIZES(unaligned_read, SUBSTRATA_MEMORY_READ)
SIZES(unaligned_write, SUBSTRATA_MEMORY_WRITE)
SIZES(volatile_read, SUBSTRATA_MEMORY_READ)
SIZES(volatile_write, SUBSTRATA_MEMORY_WRITE)
SIZES(unaligned_volatile_read, SUBSTRATA_MEMORY_READ)
SIZES(unaligned_volatile_write, SUBSTRATA_MEMORY_WRITE)

/* A read and a write of one place by one instruction. */
#define READ_WRITE(name, size)                                 \
  void __tsan_##name(void* address) {                          \
    seen(PC, (uintptr_t)address, SUBSTRATA_MEMORY_READ, size); \
    seen(PC + 1, (uintptr_t)address, SUBSTRATA_MEMORY_WRITE,   \
         size); /* a site of its own: no code is there */      \
  }
READ_WRITE(read_write1, 1)
READ_WRITE(read_write2, 2)
READ_WRITE(read_write4, 4) READ_WRITE(read_write8, 8) READ_WRITE(read_write16, 16)
    READ_WRITE(unaligned_read_write2, 2) READ_WRITE(unaligned_read_write4, 4)
        READ_WRITE(unaligned_read_write8, 8) READ_WRITE(unaligned_read_write16, 16)
    // clang-format on

    void __tsan_vptr_read(void** address) {
  seen(PC, (uintptr_t)address, SUBSTRATA_MEMORY_READ, sizeof(void*));
}
void __tsan_vptr_update(void** address, void* value) {
  (void)value;
  seen(PC, (uintptr_t)address, SUBSTRATA_MEMORY_WRITE, sizeof(void*));
}

static void block(uintptr_t pc, uintptr_t address, unsigned kind, uint64_t size) {
  if (size == 0 || substrata_memory_idle == substrata_memory_salt) return;
  struct substrata_memory_thread* const thread = attached();
  if (thread != NULL) substrata_memory_range(thread, pc, address, kind, size);
}
void __tsan_read_range(void* address, unsigned long size) {
  block(PC, (uintptr_t)address, SUBSTRATA_MEMORY_READ, size);
}
void __tsan_write_range(void* address, unsigned long size) {
  block(PC, (uintptr_t)address, SUBSTRATA_MEMORY_WRITE, size);
}

#define BLOCK_FUNCTIONS(seen_as, done_by)                           \
  void* seen_as##memcpy(void* to, const void* from, size_t size) {  \
    block(PC, (uintptr_t)from, SUBSTRATA_MEMORY_READ, size);        \
    block(PC + 1, (uintptr_t)to, SUBSTRATA_MEMORY_WRITE, size);     \
    return done_by##memcpy(to, from, size);                         \
  }                                                                 \
  void* seen_as##memmove(void* to, const void* from, size_t size) { \
    block(PC, (uintptr_t)from, SUBSTRATA_MEMORY_READ, size);        \
    block(PC + 1, (uintptr_t)to, SUBSTRATA_MEMORY_WRITE, size);     \
    return done_by##memmove(to, from, size);                        \
  }                                                                 \
  void* seen_as##memset(void* to, int value, size_t size) {         \
    block(PC, (uintptr_t)to, SUBSTRATA_MEMORY_WRITE, size);         \
    return done_by##memset(to, value, size);                        \
  }
BLOCK_FUNCTIONS(__tsan_, __builtin_)
/* The program's own calls of these arrive here through the linker's --wrap; inlined ones are seen as plain
 * accesses. */
void* __real_memcpy(void*, const void*, size_t);
void* __real_memmove(void*, const void*, size_t);
void* __real_memset(void*, int, size_t);
BLOCK_FUNCTIONS(__wrap_, __real_)

/* Barriers, so that models of several processors know which waited for which. */
int __real_pthread_barrier_init(pthread_barrier_t*, const pthread_barrierattr_t*, unsigned);
int __real_pthread_barrier_wait(pthread_barrier_t*);
int __wrap_pthread_barrier_init(pthread_barrier_t* barrier, const pthread_barrierattr_t* attributes,
                                unsigned threads) {
  const int error = __real_pthread_barrier_init(barrier, attributes, threads);
  if (error == 0) substrata_memory_barrier_made(barrier, threads);
  return error;
}
int __wrap_pthread_barrier_wait(pthread_barrier_t* barrier) {
  struct substrata_memory_thread* const thread = attached();
  if (thread != NULL) substrata_memory_barrier(thread, PC, barrier);
  return __real_pthread_barrier_wait(barrier);
}

/* The functions that this thread is in, the innermost last, where their times are taken. Of deeper ones none is: what
 * lies above a function that was left by longjmp is taken as left with the next one. */
#define TIMED_DEPTH 64u
int substrata_memory_times;
static __thread struct {
  uintptr_t pc;
  uint64_t begin;
} timed[TIMED_DEPTH] __attribute__((tls_model("local-exec")));
static __thread unsigned depth __attribute__((tls_model("local-exec")));

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
static __attribute__((noinline)) void entered(uintptr_t pc) {
  if (depth < TIMED_DEPTH) {
    timed[depth].pc = pc;
    timed[depth].begin = now_ns();
  }
  ++depth;
}
static __attribute__((noinline)) void left(void) {
  if (depth == 0 || --depth >= TIMED_DEPTH) return;
  const uint64_t ns = now_ns() - timed[depth].begin;
  struct substrata_memory_thread* const thread = attached();
  if (thread != NULL) substrata_memory_ran(thread, timed[depth].pc, ns);
}

/* Counts entries of a function at the site of its own call of this hook. */
void __tsan_func_entry(void* caller) {
  (void)caller;
  seen(PC, PC, SUBSTRATA_MEMORY_CALL, 0);
  if (!LIKELY(substrata_memory_times == 0)) entered(PC);
}
void substrata_memory_entry(uintptr_t pc, unsigned slot) {
  seen_at(slot, pc, pc, SUBSTRATA_MEMORY_CALL, 0);
  if (!LIKELY(substrata_memory_times == 0)) entered(pc);
}
void __tsan_func_exit(void) {
  if (!LIKELY(substrata_memory_times == 0)) left();
}

/* Called where a basic block begins, in what is compiled with -fsanitize-coverage=trace-pc besides. A program may have
 * another runtime for that. */
__attribute__((weak)) void __sanitizer_cov_trace_pc(void) {
  struct substrata_memory_thread* const thread = substrata_memory_watched();
  if (thread == NULL) return;
  uint64_t* const next = thread->records.next;
  if (PC >> 48 != 0 || !writes_itself(thread, next)) {
    substrata_memory_branched(thread, PC);
    return;
  }
  *next = substrata_compact_record(SUBSTRATA_COMPACT_BRANCH, 1, PC);
  __atomic_store_n(&thread->records.next, next + 1, __ATOMIC_RELEASE);
}

/* Atomic operations are done here, sequentially consistent, which is at least what was asked for. A load is a read
 * and a store is a write; what reads and writes in one, successful or not, is one atomic access. */
typedef unsigned char a8;
typedef unsigned short a16;
typedef unsigned int a32;
typedef unsigned long long a64;
__extension__ typedef unsigned __int128 a128;
#define ATOMIC_ACCESS(kind) seen(PC, (uintptr_t)place, kind, sizeof *place)
#define ATOMIC ATOMIC_ACCESS(SUBSTRATA_MEMORY_ATOMIC)
// clang-format off
#define ATOMICS(bits)                                                                                        \
  a##bits __tsan_atomic##bits##_load(const volatile a##bits* place, int order) {                             \
    (void)order;                                                                                             \
    ATOMIC_ACCESS(SUBSTRATA_MEMORY_READ);                                                                    \
    return __atomic_load_n(place, __ATOMIC_SEQ_CST);                                                         \
  }                                                                                                          \
  void __tsan_atomic##bits##_store(volatile a##bits* place, a##bits value, int order) {                      \
    (void)order;                                                                                             \
    ATOMIC_ACCESS(SUBSTRATA_MEMORY_WRITE);                                                                   \
    __atomic_store_n(place, value, __ATOMIC_SEQ_CST);                                                        \
  }                                                                                                          \
  a##bits __tsan_atomic##bits##_exchange(volatile a##bits* place, a##bits value, int order) {                \
    (void)order;                                                                                             \
    ATOMIC;                                                                                                  \
    return __atomic_exchange_n(place, value, __ATOMIC_SEQ_CST);                                              \
  }                                                                                                          \
  FETCH(bits, add)                                                                                           \
  FETCH(bits, sub)                                                                                           \
  FETCH(bits, and) FETCH(bits, or) FETCH(bits, xor)                                                          \
      FETCH(bits, nand) int __tsan_atomic##bits##_compare_exchange_strong(                                   \
          volatile a##bits* place, a##bits* expected, a##bits value, int order, int failing) {               \
    (void)order, (void)failing;                                                                              \
    ATOMIC;                                                                                                  \
    return __atomic_compare_exchange_n(place, expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
  }                                                                                                          \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile a##bits* place, a##bits* expected, a##bits value, \
                                                  int order, int failing) {                                  \
    (void)order, (void)failing;                                                                              \
    ATOMIC;                                                                                                  \
    return __atomic_compare_exchange_n(place, expected, value, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
  }                                                                                                          \
  a##bits __tsan_atomic##bits##_compare_exchange_val(volatile a##bits* place, a##bits expected,              \
                                                     a##bits value, int order, int failing) {                \
    (void)order, (void)failing;                                                                              \
    ATOMIC;                                                                                                  \
    __atomic_compare_exchange_n(place, &expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);             \
    return expected;                                                                                         \
  }
#define FETCH(bits, operation)                                                                         \
  a##bits __tsan_atomic##bits##_fetch_##operation(volatile a##bits* place, a##bits value, int order) { \
    (void)order;                                                                                       \
    ATOMIC;                                                                                            \
    return __atomic_fetch_##operation(place, value, __ATOMIC_SEQ_CST);                                 \
  }
ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)
#ifdef SUBSTRATA_ACCESS_TRACER_128
ATOMICS(128)
#endif
// clang-format on
void __tsan_atomic_thread_fence(int order) {
  (void)order;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int order) {
  (void)order;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Called by a constructor of every instrumented file. */
void __tsan_init(void) {
  static int begun;
  if (begun) return;
  begun = 1;
  substrata_memory_begin(&substrata_memory_salt, &beginning);
  substrata_memory_times = substrata_memory_takes_times();
}
