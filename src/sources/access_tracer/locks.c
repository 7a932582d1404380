/* Locks of the program, which arrive here through the linker's --wrap: models of several processors learn in which
 * order they were held, and that a thread waited. Linked into a program only where it calls one of them. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "sources/access_tracer/locks.h"

typedef int spinlock; /* pthread_spinlock_t but for its volatile */
static int is_taken(int error) { return error == 0 || error == EOWNERDEAD; }

/* One that is free is taken at once; else the thread says that it waits before it does. */
#define LOCK(name, attempt, shared, parameters, arguments)                     \
  int __real_##name parameters;                                                \
  int __wrap_##name parameters {                                               \
    struct substrata_memory_thread* const thread = substrata_memory_watched(); \
    if (thread == NULL) return __real_##name arguments;                        \
    int error = __real_##attempt(lock);                                        \
    if (!is_taken(error)) {                                                    \
      substrata_memory_asks(thread, PC, lock);                                 \
      error = __real_##name arguments;                                         \
    }                                                                          \
    if (is_taken(error))                                                       \
      substrata_memory_locked(thread, PC, lock, shared);                       \
    else                                                                       \
      substrata_memory_gives_up(thread, PC, lock);                             \
    return error;                                                              \
  }
#define ATTEMPT(name, shared, type)                                              \
  int __real_##name(type* lock);                                                 \
  int __wrap_##name(type* lock) {                                                \
    const int error = __real_##name(lock);                                       \
    struct substrata_memory_thread* const thread = substrata_memory_watched();   \
    if (thread == NULL) return error;                                            \
    if (is_taken(error))                                                         \
      substrata_memory_locked(thread, PC, lock, shared);                         \
    else                                                                         \
      substrata_memory_publish(thread, (uintptr_t)lock, SUBSTRATA_MEMORY_ATOMIC, \
                               SUBSTRATA_MEMORY_LOCK_BYTES);                     \
    return error;                                                                \
  }
/* Said before, since another may have it at once. */
#define UNLOCK(name, type)                                                     \
  int __real_##name(type* lock);                                               \
  int __wrap_##name(type* lock) {                                              \
    struct substrata_memory_thread* const thread = substrata_memory_watched(); \
    if (thread != NULL) substrata_memory_unlocks(thread, PC, lock);            \
    return __real_##name(lock);                                                \
  }

/* clang-format off */
#define TIMED(type) (type* lock, const struct timespec* until)
#define CLOCKED(type) (type* lock, clockid_t clock, const struct timespec* until)

ATTEMPT(pthread_mutex_trylock, 0, pthread_mutex_t)
LOCK(pthread_mutex_lock, pthread_mutex_trylock, 0, (pthread_mutex_t* lock), (lock))
LOCK(pthread_mutex_timedlock, pthread_mutex_trylock, 0, TIMED(pthread_mutex_t), (lock, until))
LOCK(pthread_mutex_clocklock, pthread_mutex_trylock, 0, CLOCKED(pthread_mutex_t), (lock, clock, until))
UNLOCK(pthread_mutex_unlock, pthread_mutex_t)

ATTEMPT(pthread_rwlock_tryrdlock, 1, pthread_rwlock_t)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, 1, (pthread_rwlock_t* lock), (lock))
LOCK(pthread_rwlock_timedrdlock, pthread_rwlock_tryrdlock, 1, TIMED(pthread_rwlock_t), (lock, until))
LOCK(pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock, 1, CLOCKED(pthread_rwlock_t), (lock, clock, until))
ATTEMPT(pthread_rwlock_trywrlock, 0, pthread_rwlock_t)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, 0, (pthread_rwlock_t* lock), (lock))
LOCK(pthread_rwlock_timedwrlock, pthread_rwlock_trywrlock, 0, TIMED(pthread_rwlock_t), (lock, until))
LOCK(pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock, 0, CLOCKED(pthread_rwlock_t), (lock, clock, until))
UNLOCK(pthread_rwlock_unlock, pthread_rwlock_t)

ATTEMPT(pthread_spin_trylock, 0, spinlock)
LOCK(pthread_spin_lock, pthread_spin_trylock, 0, (spinlock* lock), (lock))
UNLOCK(pthread_spin_unlock, spinlock)

/* A wait comes after every post that was made before it. */
ATTEMPT(sem_trywait, 0, sem_t)
LOCK(sem_wait, sem_trywait, 0, (sem_t* lock), (lock))
LOCK(sem_timedwait, sem_trywait, 0, TIMED(sem_t), (lock, until))
LOCK(sem_clockwait, sem_trywait, 0, CLOCKED(sem_t), (lock, clock, until))
UNLOCK(sem_post, sem_t)

/* A wait for a condition gives the mutex back, and takes it again. */
#define CONDITION(name, parameters, arguments)                                    \
  int __real_##name parameters;                                                   \
  int __wrap_##name parameters {                                                  \
    struct substrata_memory_thread* const thread = substrata_memory_watched();    \
    if (thread == NULL) return __real_##name arguments;                           \
    substrata_memory_waits(thread, PC, condition, mutex);                         \
    const int error = __real_##name arguments;                                    \
    substrata_memory_locked(thread, PC, mutex, 0);                                \
    return error;                                                                 \
  }
CONDITION(pthread_cond_wait, (pthread_cond_t* condition, pthread_mutex_t* mutex), (condition, mutex))
CONDITION(pthread_cond_timedwait, (pthread_cond_t* condition, pthread_mutex_t* mutex, const struct timespec* until),
          (condition, mutex, until))
CONDITION(pthread_cond_clockwait, (pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                   const struct timespec* until), (condition, mutex, clock, until))
#define SIGNAL(name)                                                              \
  int __real_##name(pthread_cond_t* condition);                                   \
  int __wrap_##name(pthread_cond_t* condition) {                                  \
    struct substrata_memory_thread* const thread = substrata_memory_watched();    \
    if (thread != NULL)                                                           \
      substrata_memory_publish(thread, (uintptr_t)condition, SUBSTRATA_MEMORY_ATOMIC, SUBSTRATA_MEMORY_LOCK_BYTES); \
    return __real_##name(condition);                                              \
  }
SIGNAL(pthread_cond_signal)
SIGNAL(pthread_cond_broadcast)
/* clang-format on */
