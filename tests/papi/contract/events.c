/* Questions about names and numbers of events, and about the components that have them. */
#define _GNU_SOURCE
#include <stddef.h>

#include "questions.h"

void events(void) {
  int code = 0, count;
  char name[PAPI_HUGE_STR_LEN] = "";
  static PAPI_event_info_t info;
  const char* const spellings[] = {"PAPI_TOT_CYC",
                                   "papi_tot_cyc",
                                   "NO_SUCH",
                                   "TASK-CLOCK",
                                   "perf_event::TASK-CLOCK",
                                   "perf_event:::perf::TASK-CLOCK",
                                   "perf::task-clock",
                                   "perf::NOPE",
                                   "nosuchcomponent:::x",
                                   "perf::TASK-CLOCK:u=1",
                                   "perf::TASK-CLOCK:cpu=0",
                                   "perf::TASK-CLOCK:",
                                   "perf::TASK-CLOCK::",
                                   "perf::TASK-CLOCK:=1",
                                   "perf::TASK-CLOCK:u=2",
                                   "perf::TASK-CLOCK:u=",
                                   "perf::TASK-CLOCK:nosuch",
                                   "perf::TASK-CLOCK:nosuch=1",
                                   "perf::TASK-CLOCK:u=1:",
                                   "perf::TASK-CLOCK:period=1000:freq=100",
                                   "perf::TASK-CLOCK,u",
                                   "perf::TASK-CLOCK u",
                                   " perf::TASK-CLOCK",
                                   "perf::TASK-CLOCK "};
  chapter = "events";
  for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++)
    ASK_ASIDE("PAPI_event_name_to_code", spellings[i], PAPI_event_name_to_code((char*)spellings[i], &code));
  for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++)
    ASK_ASIDE("PAPI_add_named_event", spellings[i], PAPI_add_named_event(empty_set(), spellings[i]));
  ASK_ASIDE("PAPI_event_name_to_code", "NULL name", PAPI_event_name_to_code(NULL, &code));
  ASK_ASIDE("PAPI_event_name_to_code", "NULL code", PAPI_event_name_to_code("PAPI_TOT_CYC", NULL));
  ASK("PAPI_event_code_to_name", "0", PAPI_event_code_to_name(0, name));
  ASK("PAPI_event_code_to_name", "no such preset", PAPI_event_code_to_name(kBadPreset, name));
  ASK("PAPI_event_code_to_name", "no such native event", PAPI_event_code_to_name(kBadNative, name));
  ASK_ASIDE("PAPI_event_code_to_name", "NULL", PAPI_event_code_to_name(clock_code, NULL));
  ASK("PAPI_event_code_to_name", "good", PAPI_event_code_to_name(clock_code, name));
  report_text("name", "good", name);
  ASK("PAPI_get_event_info", "0", PAPI_get_event_info(0, &info));
  ASK_ASIDE("PAPI_get_event_info", "NULL", PAPI_get_event_info(clock_code, NULL));
  ASK("PAPI_get_event_info", "no such preset", PAPI_get_event_info(kBadPreset, &info));
  ASK("PAPI_get_event_info", "no such native event", PAPI_get_event_info(kBadNative, &info));
  ASK("PAPI_get_event_info", "good", PAPI_get_event_info(clock_code, &info));
  report_text("symbol", "good", info.symbol);
  ASK("component_index", "good", info.component_index);
  ASK("PAPI_get_event_info", "preset", PAPI_get_event_info(PAPI_FP_OPS, &info));
  report_text("symbol", "preset", info.symbol);
  ASK("event_type", "PAPI_L1_DCM", (PAPI_get_event_info(PAPI_L1_DCM, &info), info.event_type));
  ASK("event_type", "PAPI_BR_PRC", (PAPI_get_event_info(PAPI_BR_PRC, &info), info.event_type));
  ASK("event_type", "PAPI_FP_OPS", (PAPI_get_event_info(PAPI_FP_OPS, &info), info.event_type));
  ASK("event_type", "PAPI_TLB_DM", (PAPI_get_event_info(PAPI_TLB_DM, &info), info.event_type));
  ASK("PAPI_query_event", "0", PAPI_query_event(0));
  ASK("PAPI_query_event", "-1", PAPI_query_event(-1));
  ASK("PAPI_query_event", "no such preset", PAPI_query_event(kBadPreset));
  ASK("PAPI_query_event", "no such native event", PAPI_query_event(kBadNative));
  ASK("PAPI_query_event", "good", PAPI_query_event(clock_code));
  ASK("PAPI_query_named_event", "good", PAPI_query_named_event(kClock));
  ASK("PAPI_query_named_event", "no such name", PAPI_query_named_event("NOPE"));
  ASK_ASIDE("PAPI_query_named_event", "NULL", PAPI_query_named_event(NULL));
  ASK_ASIDE("PAPI_enum_event", "NULL", PAPI_enum_event(NULL, PAPI_ENUM_FIRST));
  code = 0x20000000;
  ASK("PAPI_enum_event", "no event's code", PAPI_enum_event(&code, PAPI_ENUM_EVENTS));
  code = 0;
  ASK("PAPI_enum_event", "0", PAPI_enum_event(&code, PAPI_ENUM_EVENTS));
  code = -1;
  ASK("PAPI_enum_event", "-1", PAPI_enum_event(&code, PAPI_ENUM_EVENTS));
  ASK("PAPI_enum_event", "-1, no such modifier", PAPI_enum_event(&code, 77));
  code = PAPI_PRESET_MASK;
  ASK("PAPI_enum_event", "first preset", PAPI_enum_event(&code, PAPI_ENUM_FIRST));
  for (count = 1; PAPI_enum_event(&code, PAPI_ENUM_EVENTS) == PAPI_OK;) count++;
  ASK("presets", "counted", count);
  ASK("PAPI_enum_event", "after the last preset", PAPI_enum_event(&code, PAPI_ENUM_EVENTS));
  ASK("PAPI_enum_cmp_event", "after the last preset", PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, 0));
  code = PAPI_UE_MASK;
  ASK("PAPI_enum_event", "first of the user's, who has none", PAPI_enum_event(&code, PAPI_ENUM_FIRST));
  ASK("PAPI_enum_event", "next of the user's, who has none", PAPI_enum_event(&code, PAPI_ENUM_EVENTS));
  ASK("PAPI_event_code_to_name", "the user's, who has none", PAPI_event_code_to_name(PAPI_UE_MASK, name));
  code = PAPI_NATIVE_MASK;
  ASK("PAPI_enum_cmp_event", "first of component 0", PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, 0));
  while (PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, 0) == PAPI_OK) continue;
  ASK("PAPI_enum_cmp_event", "after the last", PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, 0));
  code = kBadNative;
  ASK("PAPI_enum_cmp_event", "no such native event", PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, 0));
  code = PAPI_NATIVE_MASK;
  ASK("PAPI_enum_cmp_event", "first of a disabled component",
      PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, PAPI_get_component_index("sde")));
  ASK("PAPI_enum_cmp_event", "component 99", PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, 99));
  ASK("PAPI_enum_cmp_event", "component -1", PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, -1));
  ASK("PAPI_enum_cmp_event", "no such modifier", PAPI_enum_cmp_event(&code, 77, 0));
  ASK("PAPI_get_event_component", "0", PAPI_get_event_component(0));
  ASK("PAPI_get_event_component", "software event", PAPI_get_event_component(clock_code));
  ASK("PAPI_get_event_component", "preset", PAPI_get_event_component(PAPI_TOT_CYC));
  ASK("PAPI_get_event_component", "no such native event", PAPI_get_event_component(kBadNative));
  ASK("PAPI_get_component_info(99) there", "", PAPI_get_component_info(99) != NULL);
  ASK("PAPI_get_component_info(-1) there", "", PAPI_get_component_info(-1) != NULL);
  report_text("name", "component 0", PAPI_get_component_info(0)->name);
  ASK("CmpIdx", "component 0", PAPI_get_component_info(0)->CmpIdx);
  ASK("PAPI_get_component_index", "nosuch", PAPI_get_component_index("nosuch"));
  ASK("PAPI_get_component_index", "perf_event", PAPI_get_component_index("perf_event"));
  ASK_ASIDE("PAPI_get_component_index", "NULL", PAPI_get_component_index(NULL));
  ASK("PAPI_num_cmp_hwctrs", "99", PAPI_num_cmp_hwctrs(99));
}

/* What programs read of a component before they use it. */
void components(void) {
  chapter = "components";
  static const char* const both[] = {"perf_event", "perf_event_uncore", "sde", "sysdetect", "appio",
                                     "coretemp",   "example",           "io",  "lmsensors", "net",
                                     "powercap",   "stealtime"};
  for (size_t i = 0; i < sizeof both / sizeof both[0]; ++i) {
    const PAPI_component_info_t* const info = PAPI_get_component_info(PAPI_get_component_index(both[i]));
    if (info == NULL) continue;
#define FIELD(name) report(#name, both[i], info->name)
    report_text("short_name", both[i], info->short_name);
    report_text("support_version", both[i], info->support_version);
    FIELD(disabled);
    FIELD(num_cntrs);
    FIELD(num_mpx_cntrs);
    FIELD(num_native_events);
    FIELD(default_domain);
    FIELD(available_domains);
    FIELD(default_granularity);
    FIELD(available_granularities);
    FIELD(hardware_intr_sig);
    FIELD(component_type);
    FIELD(hardware_intr);
    FIELD(precise_intr);
    FIELD(posix1b_timers);
    FIELD(kernel_profile);
    FIELD(kernel_multiplex);
    FIELD(fast_counter_read);
    FIELD(fast_real_timer);
    FIELD(fast_virtual_timer);
    FIELD(attach);
    FIELD(attach_must_ptrace);
    FIELD(cntr_umasks);
    FIELD(cpu);
    FIELD(inherit);
    report_text("first pmu_names", both[i], info->pmu_names[0]);
    report_text("second pmu_names", both[i], info->pmu_names[0] != NULL ? info->pmu_names[1] : NULL);
#undef FIELD
  }
}
