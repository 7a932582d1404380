/* The module of good.c under another name, and counting in other steps: one file is put in the place of another. */
#define substrata_owl_modules modules_of_good
#include "good.c"
#undef substrata_owl_modules

static void read_steps(void* instance, uint64_t* out) {
  read_metrics(instance, out);
  out[0] *= MODULE_STEP;
}

SUBSTRATA_OWL_ENTRY substrata_owl_modules(void);
SUBSTRATA_OWL_ENTRY substrata_owl_modules(void) {
  static struct substrata_owl_module changed;
  static const struct substrata_owl_module* const all[] = {&changed, NULL};
  if (changed.name == NULL) { /* asked for again while a capsule runs */
    changed = large;
    changed.read = read_steps;
#ifdef MODULE_RENAMED
    changed.name = "renamed";
#else
    changed.name = "exchanged";
#endif
  }
  return all;
}
