/* A shared object that is wrong in the way its build says. */
#include <signal.h>
#include <stdlib.h>
#include <substrata/owl_module.h>

#if defined(BAD_ENTRY)
int another_function(void);
int another_function(void) { return 1; }
#else

static void cost(const struct substrata_owl_module* self, const uint64_t* values,
                 struct substrata_owl_cost* out) {
  (void)self;
  (void)values;
  (void)out;
}
static const char* create(const struct substrata_owl_module* self, const uint64_t* values,
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
static void destroy(void* instance) { (void)instance; }
static void observe(void* instance, const struct substrata_transaction* batch, size_t count) {
  (void)instance;
  (void)batch;
  (void)count;
}
static void read_metrics(void* instance, uint64_t* out) {
  (void)instance;
  (void)out;
}

static const struct substrata_owl_module module = {.struct_size = sizeof(struct substrata_owl_module),
#if defined(BAD_VERSION)
                                                   .abi = SUBSTRATA_OWL_MODULE_ABI + 1,
#else
                                                   .abi = SUBSTRATA_OWL_MODULE_ABI,
#endif
                                                   .name = "bad",
                                                   .summary = "is refused",
                                                   .packets = "",
                                                   .cost = cost,
                                                   .create = create,
                                                   .destroy = destroy,
                                                   .observe = observe,
                                                   .read = read_metrics};
static const struct substrata_owl_module* const list[] = {&module, NULL};

SUBSTRATA_OWL_ENTRY substrata_owl_modules(void);
SUBSTRATA_OWL_ENTRY substrata_owl_modules(void) {
#if defined(BAD_EXIT)
  exit(0);
#endif
  return list;
}
#endif
