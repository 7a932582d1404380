// Threads: registration, their storage, the locks for clients.
#include "core/eventset/threads.hpp"

#include <algorithm>

#include "papi/boundary.hpp"
#include "papi/high_level/regions.hpp"

using namespace substrata;
using namespace substrata::capi;

CAPI int PAPI_thread_init(unsigned long (*id_fn)(void)) {
  return answered([&] { return answer(set_thread_id_function(id_fn)); });
}

CAPI unsigned long PAPI_thread_id(void) {
  // The error travels in the unsigned result, as PAPI's does.
  return answered([] {
    const Result<unsigned long> id = thread_id();
    return id ? *id : static_cast<unsigned long>(answer(id.status()));
  });
}

CAPI int PAPI_register_thread(void) {
  return answered([] { return answer(register_thread()); });
}

CAPI int PAPI_unregister_thread(void) {
  return answered([] {
    high_level::Regions::instance().leave_thread();
    return answer(unregister_thread());
  });
}

// *number: in, places in tids; out, ids written, or threads there are when tids is null.
CAPI int PAPI_list_threads(PAPI_thread_id_t* tids, int* number) {
  return answered([&] {
    if (number == nullptr || (tids != nullptr && *number <= 0))
      return answer(refuse(Code::kInvalid, "no place to list the threads"));
    const std::vector<unsigned long> ids = list_threads();
    const int count = static_cast<int>(ids.size());
    if (tids != nullptr) {
      *number = std::min(*number, count);
      std::copy_n(ids.begin(), *number, tids);
    } else {
      *number = count;
    }
    return PAPI_OK;
  });
}

CAPI int PAPI_get_thr_specific(int tag, void** ptr) {
  return answered([&] {
    if (ptr == nullptr) return answer(refuse(Code::kInvalid, "no place to put the pointer"));
    if (tag < 0 || (tag & PAPI_TLS_ALL_THREADS) == 0) return answer_into(thread_specific(tag), ptr);
    // Every thread's: ptr is then a PAPI_all_thr_spec_t with space for `num` ids and values.
    auto* const all = reinterpret_cast<PAPI_all_thr_spec_t*>(ptr);
    const Result<std::vector<ThreadValue>> values = all_thread_specific(tag & ~PAPI_TLS_ALL_THREADS);
    if (!values) return answer(values.status());
    const int count = static_cast<int>(values->size());
    const bool counts_only = all->id == nullptr && all->data == nullptr;
    const int given = counts_only ? 0 : std::min(all->num, count);
    for (int i = 0; i < given; ++i) {
      if (all->id != nullptr) all->id[i] = (*values)[static_cast<size_t>(i)].id;
      if (all->data != nullptr) all->data[i] = (*values)[static_cast<size_t>(i)].value;
    }
    all->num = counts_only ? count : given;
    return PAPI_OK;
  });
}

CAPI int PAPI_set_thr_specific(int tag, void* ptr) {
  return answered([&] { return answer(set_thread_specific(tag, ptr)); });
}

CAPI int PAPI_lock(int lck) {
  return answered([&] { return answer(lock_user(lck)); });
}

CAPI int PAPI_unlock(int lck) {
  return answered([&] { return answer(unlock_user(lck)); });
}
