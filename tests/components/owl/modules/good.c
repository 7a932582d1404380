/* A module in C99, as a user of the library would write it: counts transactions larger than a limit and emits
 * each. */
#include <stdlib.h>
#include <substrata/owl_module.h>

struct instance {
  struct substrata_owl_services services;
  uint64_t limit;
  uint64_t counted;
};

static const struct substrata_owl_register registers[] = {
    {"limit", "bytes above which a transaction is counted", 64, 0, UINT64_MAX, 1, 0},
};
static const struct substrata_owl_metric metrics[] = {
    {"LARGE", "transactions larger than the limit", "transactions", 0, 0},
};

static void cost(const struct substrata_owl_module* self, const uint64_t* values,
                 struct substrata_owl_cost* out) {
  (void)self;
  (void)values;
  out->counters = 1;
  out->table_bits = 64;
  out->comparators = 1;
}

static const char* create(const struct substrata_owl_module* self, const uint64_t* values,
                          const struct substrata_owl_services* services, void** instance) {
  struct instance* made = malloc(sizeof *made);
  (void)self;
  if (made == NULL) return "no memory";
  made->services = *services;
  made->limit = values[0];
  made->counted = 0;
  *instance = made;
  return NULL;
}

static void destroy(void* instance) { free(instance); }

static void observe(void* instance, const struct substrata_transaction* batch, size_t count) {
  struct instance* self = instance;
  size_t i;
  for (i = 0; i < count; ++i) {
    if (batch[i].size <= self->limit) continue;
    ++self->counted;
    self->services.emit(self->services.capsule, &batch[i].address, sizeof batch[i].address);
  }
}

static void read_metrics(void* instance, uint64_t* out) { out[0] = ((struct instance*)instance)->counted; }

static void configure(void* instance, const uint64_t* values) {
  ((struct instance*)instance)->limit = values[0];
}

static void merge(void* into, void* from) {
  ((struct instance*)into)->counted += ((struct instance*)from)->counted;
  ((struct instance*)from)->counted = 0;
}

static const struct substrata_owl_module large = {
    sizeof(struct substrata_owl_module),
    SUBSTRATA_OWL_MODULE_ABI,
    "large",
    "counts large transactions",
    "u64 address",
    registers,
    1,
    1,
    metrics,
    cost,
    create,
    destroy,
    observe,
    NULL,
    read_metrics,
    configure,
    NULL,
    merge,
    NULL,
};

static const struct substrata_owl_module* const list[] = {&large, NULL};

SUBSTRATA_OWL_ENTRY substrata_owl_modules(void);
SUBSTRATA_OWL_ENTRY substrata_owl_modules(void) { return list; }
