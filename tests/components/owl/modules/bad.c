/* A shared object that is wrong in the way its build says. */
#if defined(BAD_ENTRY)
int another_function(void);
int another_function(void) { return 1; }
#else

#include <signal.h>

#define substrata_owl_modules good_modules
#include "good.c"
#undef substrata_owl_modules

static const char* refuse(const struct substrata_owl_module* self, const uint64_t* values,
                          const struct substrata_owl_services* services, void** instance) {
  (void)self;
  (void)values;
  (void)services;
  (void)instance;
#if defined(BAD_CRASH)
  raise(SIGSEGV);
#elif defined(BAD_ALARM)
  raise(SIGALRM); /* what the trial's limit of time does */
#endif
  return "it never starts";
}

static struct substrata_owl_module module;
static const struct substrata_owl_module* const bad_list[] = {&module, NULL};

SUBSTRATA_OWL_ENTRY substrata_owl_modules(void);
SUBSTRATA_OWL_ENTRY substrata_owl_modules(void) {
#if defined(BAD_EXIT)
  exit(0);
#endif
  module = large;
  module.name = "bad";
  module.create = refuse;
#if defined(BAD_VERSION)
  ++module.abi;
#endif
  return bad_list;
}
#endif
