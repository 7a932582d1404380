// The threads that measure: registration, their private storage, the user locks.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "base/visibility.hpp"

namespace substrata {

inline constexpr int kThreadSlots = 3;  // PAPI_NUM_TLS: user 1, user 2, high level
inline constexpr int kUserLocks = 2;    // PAPI_NUM_LOCK

// All thread-safe. Calls that need the library answer kNotInitialised before initialisation.

// PAPI_thread_init: how the client names its threads. Null is accepted and means: by the system's thread id.
SUBSTRATA_PRIVATE_API Status set_thread_id_function(unsigned long (*function)());
SUBSTRATA_PRIVATE_API bool thread_id_function_set() noexcept;  // PAPI_is_initialized's THREAD_LEVEL bit
// PAPI_thread_id: kMisc before set_thread_id_function (also before initialisation).
SUBSTRATA_PRIVATE_API Result<unsigned long> thread_id();

// Registration is implied by the first measurement of a thread; both are idempotent in effect.
SUBSTRATA_PRIVATE_API Status register_thread();
// Stops and destroys the calling thread's eventsets and forgets the thread. kMisc when it was not registered.
SUBSTRATA_PRIVATE_API Status unregister_thread();
// Ids of the living registered threads (the initialising thread is one). Empty before initialisation.
SUBSTRATA_PRIVATE_API std::vector<unsigned long> list_threads();

// PAPI_get_thr_specific, PAPI_set_thr_specific: kInvalid for a bad tag; a slot never set holds null.
SUBSTRATA_PRIVATE_API Result<void*> thread_specific(int tag);
SUBSTRATA_PRIVATE_API Status set_thread_specific(int tag, void* value);
// One entry per thread whose slot holds something: PAPI_TLS_ALL_THREADS.
struct ThreadValue {
  unsigned long id;
  void* value;
};
SUBSTRATA_PRIVATE_API Result<std::vector<ThreadValue>> all_thread_specific(int tag);

// PAPI_lock, PAPI_unlock: kInvalid for a bad number. Usable before initialisation. Renewed in a forked child.
SUBSTRATA_PRIVATE_API Status lock_user(int number);
SUBSTRATA_PRIVATE_API Status unlock_user(int number);

}  // namespace substrata
