// What PAPI knows: components, events, the machine, the program, memory, time.
#include <string.h>

#include "common.h"

int main(void) {
  begin();
  long events = 0;
  for (int component = 0; component < PAPI_num_components(); ++component) {
    const PAPI_component_info_t* info = PAPI_get_component_info(component);
    if (info == NULL || PAPI_get_component_index(info->name) != component) return 1;
    int code = PAPI_NATIVE_MASK;
    if (info->disabled) continue;
    for (int more = PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, component); more == PAPI_OK;
         more = PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, component)) {
      char name[PAPI_MAX_STR_LEN];
      must(PAPI_event_code_to_name(code, name), "PAPI_event_code_to_name");
      if (PAPI_get_event_component(code) != component) return 1;
      ++events;
    }
  }
  int code = 0;
  static PAPI_event_info_t event;
  must(PAPI_event_name_to_code(TASK_CLOCK, &code), "PAPI_event_name_to_code");
  must(PAPI_query_event(code), "PAPI_query_event");
  must(PAPI_get_event_info(code, &event), "PAPI_get_event_info");
  printf("%d components, %ld events; %s: %s (%s)\n", PAPI_num_components(), events, event.symbol,
         event.long_descr, event.units);

  const PAPI_hw_info_t* machine = PAPI_get_hardware_info();
  const PAPI_exe_info_t* program = PAPI_get_executable_info();
  const PAPI_shlib_info_t* libraries = PAPI_get_shared_lib_info();
  PAPI_dmem_info_t memory;
  if (machine == NULL || program == NULL || libraries == NULL) return 1;
  must(PAPI_get_dmem_info(&memory), "PAPI_get_dmem_info");
  printf("%s, %d processors, %d counters, clock %d MHz; %s with %d libraries, %lld KiB resident\n",
         machine->model_string, machine->totalcpus, PAPI_num_hwctrs(), PAPI_get_opt(PAPI_CLOCKRATE, NULL),
         program->fullname, libraries->count, memory.resident);

  const long long real = PAPI_get_real_nsec(), own = PAPI_get_virt_nsec();
  compute(1000000);
  if (PAPI_get_real_nsec() <= real || PAPI_get_virt_nsec() <= own || PAPI_get_real_cyc() == 0) return 1;

  void* kind = NULL;
  while (PAPI_enum_dev_type(PAPI_DEV_TYPE_ENUM__ALL, &kind) == PAPI_OK) {
    const char* name = NULL;
    must(PAPI_get_dev_type_attr(kind, PAPI_DEV_TYPE_ATTR__CHAR_NAME, &name), "PAPI_get_dev_type_attr");
    printf("devices: %s\n", name);
  }
  // A refusal has a number and a text.
  if (PAPI_add_event(-7, code) != PAPI_ENOEVST || strlen(PAPI_strerror(PAPI_ENOEVST)) == 0) return 1;
  PAPI_shutdown();
  return 0;
}
