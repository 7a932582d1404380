/* Teams, barriers, critical sections and locks of OpenMP, as GCC calls them in libgomp. Linked into a program only
 * where it calls one of them. */
#include <stdbool.h>

#include "sources/access_tracer/locks.h"

/* Of one parallel region; its barriers are known by the region's function and a number. */
struct team {
  void (*function)(void*);
  void* data;
  uint64_t first_opening;
};
enum { kMostOpenings = 1 << 20 }; /* of one region */
static uint64_t teams;
struct place {
  const struct team* team;
  uint64_t opening;
};
static __thread struct place mine __attribute__((tls_model("local-exec")));

int omp_get_num_threads(void);

static void meet(uintptr_t pc) {
  const struct team* const team = mine.team;
  if (team == NULL) return;
  const uint64_t opening = team->first_opening + mine.opening++ % kMostOpenings;
  struct substrata_memory_thread* const thread = substrata_memory_watched();
  if (thread != NULL)
    substrata_memory_meets(thread, pc, (uintptr_t)team->function, opening, (unsigned)omp_get_num_threads());
}

/* The threads of a team begin together and end together. */
static void run_in_team(void* argument) {
  const struct team* const team = argument;
  const struct place before = mine;
  mine.team = team;
  mine.opening = 0;
  meet((uintptr_t)team->function);
  team->function(team->data);
  meet((uintptr_t)team->function);
  mine = before;
}
static struct team new_team(void (*function)(void*), void* data) {
  return (struct team){function, data, __atomic_add_fetch(&teams, 1, __ATOMIC_RELAXED) * kMostOpenings};
}

/* clang-format off */
#define PARALLEL(name, parameters, arguments)                                     \
  void __real_##name parameters;                                                  \
  void __wrap_##name parameters {                                                 \
    struct team team = new_team(function, data);                                  \
    function = run_in_team;                                                       \
    data = &team;                                                                 \
    __real_##name arguments;                                                      \
  }
#define CHUNKS(name)                                                              \
  PARALLEL(name, (void (*function)(void*), void* data, unsigned threads, long begin, long end, long step, \
                        long chunk, unsigned flags), (function, data, threads, begin, end, step, chunk, flags))
#define CHOSEN(name)                                                              \
  PARALLEL(name, (void (*function)(void*), void* data, unsigned threads, long begin, long end, long step, \
                        unsigned flags), (function, data, threads, begin, end, step, flags))
PARALLEL(GOMP_parallel, (void (*function)(void*), void* data, unsigned threads, unsigned flags),
         (function, data, threads, flags))
PARALLEL(GOMP_parallel_sections,
         (void (*function)(void*), void* data, unsigned threads, unsigned count, unsigned flags),
         (function, data, threads, count, flags))
CHUNKS(GOMP_parallel_loop_static)
CHUNKS(GOMP_parallel_loop_dynamic)
CHUNKS(GOMP_parallel_loop_guided)
CHUNKS(GOMP_parallel_loop_nonmonotonic_dynamic)
CHUNKS(GOMP_parallel_loop_nonmonotonic_guided)
CHOSEN(GOMP_parallel_loop_runtime)
CHOSEN(GOMP_parallel_loop_nonmonotonic_runtime)
CHOSEN(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

/* The end of a work-sharing construct without nowait is a barrier. */
#define MEETING(name)                                                             \
  void __real_##name(void);                                                       \
  void __wrap_##name(void) {                                                      \
    meet(PC);                                                                     \
    __real_##name();                                                              \
  }
MEETING(GOMP_barrier)
MEETING(GOMP_loop_end)
MEETING(GOMP_sections_end)

/* Sections without an object of the program's have these. */
static _Alignas(64) char openmp_critical[64];
static _Alignas(64) char openmp_atomic[64];
#define TAKING(name, parameters, arguments, lock)                                 \
  void __real_##name parameters;                                                  \
  void __wrap_##name parameters {                                                 \
    struct substrata_memory_thread* const thread = substrata_memory_watched();    \
    if (thread != NULL) substrata_memory_asks(thread, PC, lock);                  \
    __real_##name arguments;                                                      \
    if (thread != NULL) substrata_memory_locked(thread, PC, lock, 0);             \
  }
#define GIVING(name, parameters, arguments, lock)                                 \
  void __real_##name parameters;                                                  \
  void __wrap_##name parameters {                                                 \
    struct substrata_memory_thread* const thread = substrata_memory_watched();    \
    if (thread != NULL) substrata_memory_unlocks(thread, PC, lock);               \
    __real_##name arguments;                                                      \
  }
TAKING(GOMP_critical_start, (void), (), openmp_critical)
GIVING(GOMP_critical_end, (void), (), openmp_critical)
TAKING(GOMP_critical_name_start, (void** name), (name), name)
GIVING(GOMP_critical_name_end, (void** name), (name), name)
TAKING(GOMP_atomic_start, (void), (), openmp_atomic)
GIVING(GOMP_atomic_end, (void), (), openmp_atomic)
TAKING(omp_set_lock, (void* lock), (lock), lock)
GIVING(omp_unset_lock, (void* lock), (lock), lock)
TAKING(omp_set_nest_lock, (void* lock), (lock), lock)
GIVING(omp_unset_nest_lock, (void* lock), (lock), lock)
#define TESTING(name)                                                             \
  int __real_##name(void* lock);                                                  \
  int __wrap_##name(void* lock) {                                                 \
    const int taken = __real_##name(lock);                                        \
    struct substrata_memory_thread* const thread = substrata_memory_watched();    \
    if (thread != NULL && taken != 0) substrata_memory_locked(thread, PC, lock, 0); \
    return taken;                                                                 \
  }
TESTING(omp_test_lock)
TESTING(omp_test_nest_lock)
/* clang-format on */
