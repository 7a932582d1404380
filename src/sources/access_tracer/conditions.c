/* std::condition_variable, whose plain wait is in the C++ library: a file of its own, linked into C++ programs
 * that wait for one. */
#include "sources/access_tracer/locks.h"

struct unique_lock { /* std::unique_lock<std::mutex> */
  void* mutex;
  _Bool owns;
};
void __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(void*, struct unique_lock*);
void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(void* condition,
                                                                      struct unique_lock* lock) {
  struct substrata_memory_thread* const thread = substrata_memory_watched();
  void* const mutex = lock->mutex;
  if (thread != NULL) substrata_memory_waits(thread, PC, condition, mutex);
  __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(condition, lock);
  if (thread != NULL) substrata_memory_locked(thread, PC, mutex, 0);
}
