/* Questions about options: of the library, of a component and of an eventset. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "questions.h"

static int set_set_option(int option, int set, int value) {
  static PAPI_option_t ask;
  memset(&ask, 0, sizeof ask);
  if (option == PAPI_DOMAIN || option == PAPI_GRANUL) {
    ask.domain.eventset = set;
    ask.domain.domain = value;
  } else {
    ask.inherit.eventset = set;
    ask.inherit.inherit = value;
  }
  return PAPI_set_opt(option, &ask);
}

void options(void) {
  static PAPI_option_t option;
  chapter = "options";
  ASK("PAPI_set_opt", "no such option", PAPI_set_opt(9999, &option));
  ASK("PAPI_get_opt", "no such option", PAPI_get_opt(9999, &option));
  ASK("PAPI_set_opt(DEFDOM)", "NULL", PAPI_set_opt(PAPI_DEFDOM, NULL));
  ASK("PAPI_get_opt(DEFDOM)", "NULL", PAPI_get_opt(PAPI_DEFDOM, NULL));
  ASK("PAPI_get_opt(DEFGRN)", "NULL", PAPI_get_opt(PAPI_DEFGRN, NULL));
  ASK("PAPI_get_opt(DOMAIN)", "NULL", PAPI_get_opt(PAPI_DOMAIN, NULL));
  ASK("PAPI_get_opt(HWINFO)", "NULL", PAPI_get_opt(PAPI_HWINFO, NULL));
  ASK("PAPI_get_opt(PROFIL)", "", PAPI_get_opt(PAPI_PROFIL, &option));
  ASK("PAPI_get_opt(DATA_ADDRESS)", "", PAPI_get_opt(PAPI_DATA_ADDRESS, &option));
  ASK("PAPI_get_opt(USER_EVENTS_FILE)", "", PAPI_get_opt(PAPI_USER_EVENTS_FILE, &option));
  ASK("PAPI_get_opt(MAX_CPUS)", "", PAPI_get_opt(PAPI_MAX_CPUS, NULL));
  ASK("PAPI_get_opt(CLOCKRATE) > 0", "", PAPI_get_opt(PAPI_CLOCKRATE, NULL) > 0);
  ASK("PAPI_get_opt(LIB_VERSION)", "", PAPI_get_opt(PAPI_LIB_VERSION, NULL));
  ASK("PAPI_get_cmp_opt(MAX_HWCTRS)", "component 99", PAPI_get_cmp_opt(PAPI_MAX_HWCTRS, NULL, 99));
  ASK("PAPI_get_opt(PRELOAD)", "", PAPI_get_opt(PAPI_PRELOAD, &option));
  report_text("lib_preload_env", "", option.preload.lib_preload_env);
  ASK("lib_preload_sep", "", option.preload.lib_preload_sep);
  report_text("lib_dir_env", "", option.preload.lib_dir_env);
  ASK("lib_dir_sep", "", option.preload.lib_dir_sep);
  ASK("PAPI_get_opt(DEBUG)", "", PAPI_get_opt(PAPI_DEBUG, &option));
  ASK("debug level", "", option.debug.level);
  ASK("a debug handler", "", option.debug.handler != NULL);
  ASK("PAPI_get_opt(DEF_ITIMER)", "", PAPI_get_opt(PAPI_DEF_ITIMER, &option));
  ASK("itimer_num", "", option.itimer.itimer_num);
  ASK("itimer_sig", "", option.itimer.itimer_sig);
  ASK("itimer ns", "", option.itimer.ns);
  ASK("PAPI_get_opt(DEF_MPX_NS)", "", PAPI_get_opt(PAPI_DEF_MPX_NS, &option));
  ASK("multiplex ns", "", option.multiplex.ns);
  ASK("PAPI_get_opt(EXEINFO)", "", PAPI_get_opt(PAPI_EXEINFO, &option));
  ASK("PAPI_get_opt(SHLIBINFO)", "", PAPI_get_opt(PAPI_SHLIBINFO, &option));
  ASK("PAPI_get_opt(HWINFO)", "", PAPI_get_opt(PAPI_HWINFO, &option));
  ASK("PAPI_get_opt(COMPONENTINFO)", "", PAPI_get_opt(PAPI_COMPONENTINFO, &option));
  ASK("PAPI_set_domain", "0", PAPI_set_domain(0));
  ASK("PAPI_set_domain", "0x40", PAPI_set_domain(0x40));
  ASK("PAPI_set_domain", "all", PAPI_set_domain(PAPI_DOM_ALL));
  ASK("PAPI_set_domain", "user", PAPI_set_domain(PAPI_DOM_USER));
  ASK("PAPI_set_cmp_domain", "component 99", PAPI_set_cmp_domain(PAPI_DOM_USER, 99));
  ASK("PAPI_set_granularity", "0", PAPI_set_granularity(0));
  ASK("PAPI_set_granularity", "process group", PAPI_set_granularity(PAPI_GRN_PROCG));
  ASK("PAPI_set_granularity", "thread", PAPI_set_granularity(PAPI_GRN_THR));
  ASK("PAPI_set_cmp_granularity", "component 99", PAPI_set_cmp_granularity(PAPI_GRN_THR, 99));
  ASK("PAPI_set_opt(DOMAIN)", "0x40", set_set_option(PAPI_DOMAIN, clock_set(), 0x40));
  ASK("PAPI_set_opt(DOMAIN)", "no such set", set_set_option(PAPI_DOMAIN, kUnused, PAPI_DOM_ALL));
  ASK("PAPI_set_opt(DOMAIN)", "all, software event", set_set_option(PAPI_DOMAIN, clock_set(), PAPI_DOM_ALL));
  const int running = clock_set();
  PAPI_start(running);
  ASK("PAPI_set_opt(DOMAIN)", "running", set_set_option(PAPI_DOMAIN, running, PAPI_DOM_ALL));
  PAPI_stop(running, values);
  ASK("PAPI_set_opt(INHERIT)", "empty set", set_set_option(PAPI_INHERIT, bound_set(), PAPI_INHERIT_ALL));
  ASK("PAPI_set_opt(INHERIT)", "software event", set_set_option(PAPI_INHERIT, clock_set(), PAPI_INHERIT_ALL));
  ASK("PAPI_set_opt(GRANUL)", "system", set_set_option(PAPI_GRANUL, bound_set(), PAPI_GRN_SYS));
  ASK("PAPI_set_opt(CPU_ATTACH)", "cpu 0", set_set_option(PAPI_CPU_ATTACH, bound_set(), 0));
  ASK("PAPI_set_opt(CPU_ATTACH)", "cpu 999", set_set_option(PAPI_CPU_ATTACH, bound_set(), 999));
  ASK("PAPI_attach", "no such process", PAPI_attach(clock_set(), 99999999));
  ASK("PAPI_attach", "own process", PAPI_attach(clock_set(), (unsigned long)getpid()));
  ASK("PAPI_attach", "no component", PAPI_attach(empty_set(), (unsigned long)getpid()));
  ASK("PAPI_detach", "not attached", PAPI_detach(clock_set()));
  option.attach.eventset = clock_set();
  ASK("PAPI_get_opt(ATTACH)", "not attached", PAPI_get_opt(PAPI_ATTACH, &option));
  ASK("PAPI_get_opt(DETACH)", "not attached", PAPI_get_opt(PAPI_DETACH, &option));
  const int of_set[] = {PAPI_MULTIPLEX, PAPI_DOMAIN, PAPI_GRANUL, PAPI_INHERIT, PAPI_ATTACH, PAPI_DETACH};
  const char* const set_option[] = {"PAPI_get_opt(MULTIPLEX)", "PAPI_get_opt(DOMAIN)",
                                    "PAPI_get_opt(GRANUL)",    "PAPI_get_opt(INHERIT)",
                                    "PAPI_get_opt(ATTACH)",    "PAPI_get_opt(DETACH)"};
  for (int i = 0; i < 6; ++i) {
    memset(&option, 0, sizeof option);
    option.domain.eventset = empty_set(); /* each option's first field */
    ASK(set_option[i], "empty set", PAPI_get_opt(of_set[i], &option));
    option.domain.eventset = clock_set();
    ASK(set_option[i], "set that was only made", PAPI_get_opt(of_set[i], &option));
  }
  memset(&option, 0, sizeof option);
  option.multiplex.eventset = clock_set();
  PAPI_get_opt(PAPI_MULTIPLEX, &option);
  ASK("ns", "not multiplexed", option.multiplex.ns);
  option.multiplex.ns = -1;
  ASK("PAPI_set_opt(MULTIPLEX)", "-1 ns", PAPI_set_opt(PAPI_MULTIPLEX, &option));
  ASK("PAPI_get_cmp_opt(SHLIBINFO)", "", PAPI_get_cmp_opt(PAPI_SHLIBINFO, &option, 0));
  for (int domain = 4; domain < 8; ++domain) {
    char text[16];
    snprintf(text, sizeof text, "%d", domain);
    ASK("PAPI_set_domain", text, PAPI_set_domain(domain));
    ASK("PAPI_set_opt(DOMAIN)", text, set_set_option(PAPI_DOMAIN, clock_set(), domain));
  }
  ASK("PAPI_get_opt(DEFDOM)", "after all of these", PAPI_get_opt(PAPI_DEFDOM, NULL));
  ASK("PAPI_multiplex_init", "", PAPI_multiplex_init());
  ASK("PAPI_set_multiplex", "no component", PAPI_set_multiplex(empty_set()));
  ASK("PAPI_set_multiplex", "assigned", PAPI_set_multiplex(bound_set()));
  const int set = clock_set();
  int positions[8], number = 8;
  ASK("PAPI_get_overflow_event_index", "no set",
      PAPI_get_overflow_event_index(kUnused, 1, positions, &number));
  ASK("PAPI_get_overflow_event_index", "vector 0", PAPI_get_overflow_event_index(set, 0, positions, &number));
  ASK("PAPI_get_overflow_event_index", "NULL", PAPI_get_overflow_event_index(set, 1, NULL, &number));
  ASK("PAPI_get_overflow_event_index", "vector 1", PAPI_get_overflow_event_index(set, 1, positions, &number));
  ASK("PAPI_overflow", "event not in the set", PAPI_overflow(set, faults_code, 1000, 0, on_overflow));
  ASK("PAPI_overflow", "no handler", PAPI_overflow(set, clock_code, 1000, 0, NULL));
  ASK("PAPI_overflow", "threshold -1", PAPI_overflow(set, clock_code, -1, 0, on_overflow));
  ASK("PAPI_overflow", "a flag of profil's", PAPI_overflow(set, clock_code, 1000000, 1, on_overflow));
  ASK("PAPI_overflow", "off with it", PAPI_overflow(set, clock_code, 0, 1, on_overflow));
  ASK("PAPI_overflow", "both ways", PAPI_overflow(clock_set(), clock_code, 1000000, 0xc0, on_overflow));
  ASK("PAPI_overflow", "remove what was never set", PAPI_overflow(set, clock_code, 0, 0, on_overflow));
  unsigned short buckets[16];
  ASK("PAPI_profil", "event not in the set",
      PAPI_profil(buckets, sizeof buckets, (vptr_t)(uintptr_t)options, 65536, set, faults_code, 100000,
                  PAPI_PROFIL_POSIX));
  const unsigned scales[] = {0, 1, 0xffff, 0x10001, 0x1ffff, 0x20001, 0xffffffff};
  for (int i = 0; i < 7; ++i) {
    char text[24];
    snprintf(text, sizeof text, "scale 0x%x", scales[i]);
    ASK("PAPI_profil", text,
        PAPI_profil(buckets, sizeof buckets, (vptr_t)(uintptr_t)options, scales[i], clock_set(), clock_code,
                    100000, PAPI_PROFIL_POSIX));
  }
  ASK("PAPI_profil", "two sizes of buckets, registers of addresses",
      PAPI_profil(buckets, sizeof buckets, (vptr_t)(uintptr_t)options, 65536, clock_set(), clock_code, 100000,
                  PAPI_PROFIL_INST_EAR | PAPI_PROFIL_BUCKET_16 | PAPI_PROFIL_BUCKET_32));
  ASK("PAPI_profil", "unknown flags",
      PAPI_profil(buckets, sizeof buckets, (vptr_t)(uintptr_t)options, 65536, set, clock_code, 100000,
                  0x70000));
}
