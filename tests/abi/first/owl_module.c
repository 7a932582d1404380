/* A module of the first interface of Owl's modules: counts the bytes of transactions above an address. */
#include <stdlib.h>
#include <substrata/owl_module.h>

struct above {
  uint64_t address, bytes;
};

static const struct substrata_owl_register kFrom = {"from", "first address", 64, 0, UINT64_MAX, 0, 0};
static const struct substrata_owl_metric kBytes = {"BYTES", "of the transactions", "bytes", 0, 0};

static void cost(const struct substrata_owl_module* self, const uint64_t* registers,
                 struct substrata_owl_cost* out) {
  (void)self, (void)registers;
  out->counters = 1, out->table_bits = 0, out->comparators = 1;
}
static const char* create(const struct substrata_owl_module* self, const uint64_t* registers,
                          const struct substrata_owl_services* services, void** instance) {
  struct above* made = calloc(1, sizeof *made);
  (void)self, (void)services;
  if (made != NULL) made->address = registers[0];
  *instance = made;
  return made == NULL ? "no memory" : NULL;
}
static void observe(void* instance, const struct substrata_transaction* batch, size_t count) {
  struct above* self = instance;
  for (; count > 0; --count, ++batch)
    if (batch->address >= self->address) self->bytes += batch->size;
}
static void read_metrics(void* instance, uint64_t* out) { *out = ((struct above*)instance)->bytes; }

static const struct substrata_owl_module kFirst = {.struct_size = sizeof(struct substrata_owl_module),
                                                   .abi = SUBSTRATA_OWL_MODULE_ABI,
                                                   .name = "first",
                                                   .summary = "built with the first interface of modules",
                                                   .packets = "",
                                                   .registers = &kFrom,
                                                   .register_count = 1,
                                                   .metric_count = 1,
                                                   .metrics = &kBytes,
                                                   .cost = cost,
                                                   .create = create,
                                                   .destroy = free,
                                                   .observe = observe,
                                                   .read = read_metrics};
static const struct substrata_owl_module* const kModules[] = {&kFirst, NULL};

SUBSTRATA_OWL_ENTRY substrata_owl_modules(void);
SUBSTRATA_OWL_ENTRY substrata_owl_modules(void) { return kModules; }
