// sde_lib.hpp in C++20: every member instantiated, and binary facts of sde_lib.h that programs were compiled
// with.
#include "sde_lib.hpp"

static_assert(PAPI_SDE_VERSION == 0x10000);
static_assert(sizeof(cset_list_object_t) == 32 && offsetof(cset_list_object_t, ptr) == 16);
static_assert(sizeof(papi_sde_fptr_struct_t) == 17 * sizeof(void*));
static_assert(offsetof(papi_sde_fptr_struct_t, record) == 13 * sizeof(void*));

void use_all_of_it(papi_sde::PapiSde& library);
void use_all_of_it(papi_sde::PapiSde& library) {
  static long long l = 0;
  static int i = 0;
  static double d = 0;
  static float f = 0;
  library.register_counter("l", PAPI_SDE_RO, l);
  library.register_counter("i", PAPI_SDE_RO, i);
  library.register_counter("d", PAPI_SDE_RO, d);
  library.register_counter("f", PAPI_SDE_RO, f);
  library.register_counter_cb(
      "cb", PAPI_SDE_RO, +[](long long* from) { return *from; }, l);
  library.describe_counter("l", "a counter");
  library.add_counter_to_group("l", "g", PAPI_SDE_SUM);
  library.unregister_counter("l");
  if (auto* counter = library.create_counter("c", PAPI_SDE_DELTA)) {
    *counter += 5;
    ++*counter;
    --*counter;
    counter->reset();
    delete counter;
  }
  if (auto* recorder = library.create_recorder("r", sizeof(int), papi_sde_compare_int)) {
    recorder->record(3);
    recorder->reset();
    delete recorder;
  }
  if (auto* set = library.create_counting_set("s")) {
    set->insert(3, 1);
    set->insert(sizeof(int), 3, 1);
    set->remove(sizeof(int), 3, 1);
    delete set;
  }
}
