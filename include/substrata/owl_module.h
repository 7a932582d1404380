/* The interface between an Owl capsule and the analysis module it hosts: versioned, in C (C99 and C++20), so
 * that a shared object built anywhere adds modules to the library at run time.
 *
 * A module sees every transaction of its capsule and decides what to emit. It knows nothing of where the
 * capsule sits: the same binary runs between two caches, on a bus, at a network interface or at a page fault
 * handler (Schulz et al., "Owl: Next Generation System Monitoring", Computing Frontiers 2005, section 3.1).
 *
 * A shared object exports one function,
 *
 *   const struct substrata_owl_module* const* substrata_owl_modules(void);
 *
 * which gives a null-terminated list of modules that stay valid until the process ends.
 *
 * RULES: no function of a module throws, prints, exits or blocks; calls on one instance never overlap;
 * instances are independent of each other, and merge is the only call that is given two. observe and
 * configure allocate nothing, so that a capsule may sit on any path. */
#ifndef SUBSTRATA_OWL_MODULE_H
#define SUBSTRATA_OWL_MODULE_H

#include <substrata/feed.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when a structure below changes meaning. A capsule refuses a module of another number. */
#define SUBSTRATA_OWL_MODULE_ABI 1
#define SUBSTRATA_OWL_MOST_REGISTERS 32
#define SUBSTRATA_OWL_MOST_METRICS 48
/* The longest packet, in bytes. */
#define SUBSTRATA_OWL_MOST_PACKET 16384

/* What a capsule does for its module. Valid as long as the instance. To be called from observe, configure,
 * write_back and merge only. */
struct substrata_owl_services {
  uint32_t struct_size;
  uint32_t abi;
  void* capsule; /* first argument of the functions */
  /* Hands over a packet of 1 to SUBSTRATA_OWL_MOST_PACKET bytes, which the capsule writes into its ring
   * buffer in main memory by itself. A packet that does not fit is counted as dropped. */
  void (*emit)(void* capsule, const void* packet, uint32_t bytes);
  /* The same from a part of the module: the number is kept with the packet. */
  void (*emit_from)(void* capsule, const void* packet, uint32_t bytes, uint32_t stage);
  /* Hands transactions on: to the next sub-module of a composed module, else each as a packet of 64 bytes. */
  void (*forward)(void* capsule, const struct substrata_transaction* transactions, size_t count);
  /* Signals at once, on the transaction that is the cause (a violated assertion). `reason` is the module's.
   */
  void (*signal)(void* capsule, const struct substrata_transaction* cause, uint32_t reason);
};

/* A configuration register of the capsule, as the module uses it. */
struct substrata_owl_register {
  const char* name; /* [a-z][a-z0-9_]* */
  const char* text; /* one line, with the unit */
  uint64_t initial;
  uint64_t least;
  uint64_t most;
  uint32_t live; /* 1: may change while the capsule runs; configure is then called between two batches */
  uint32_t reserved;
};

/* A number that the module keeps. */
struct substrata_owl_metric {
  const char* name; /* [A-Z][A-Z0-9_]* */
  const char* text; /* one line */
  const char* unit; /* "" or "accesses", "bytes", ...: never null */
  uint32_t gauge;   /* 0: a count that grows; 1: a level */
  uint32_t reserved;
};

/* What a module would take of the capsule's programmable logic. */
struct substrata_owl_cost {
  uint64_t counters;    /* of 32 bits */
  uint64_t table_bits;  /* of memory beside the counters */
  uint64_t comparators; /* of 64 bits, working at once */
};

/* One module. Strings and arrays stay valid until the process ends. */
struct substrata_owl_module {
  uint32_t struct_size; /* sizeof(struct substrata_owl_module) */
  uint32_t abi;         /* SUBSTRATA_OWL_MODULE_ABI */
  const char* name;     /* [a-z][a-z0-9_-]* , at most 47 bytes */
  const char* summary;  /* one line: what it observes, what it emits */
  const char* packets;  /* how a packet reads: "u64 block, u64 accesses"; "": it emits none */
  const struct substrata_owl_register* registers;
  uint32_t register_count; /* at most SUBSTRATA_OWL_MOST_REGISTERS */
  uint32_t metric_count;   /* at most SUBSTRATA_OWL_MOST_METRICS */
  const struct substrata_owl_metric* metrics;
  /* The cost for these register values. Pure. `self` is this structure. */
  void (*cost)(const struct substrata_owl_module* self, const uint64_t* registers,
               struct substrata_owl_cost* out);
  /* Makes an instance. Null: done, *instance is set; else a message why not. May allocate. */
  const char* (*create)(const struct substrata_owl_module* self, const uint64_t* registers,
                        const struct substrata_owl_services* services, void** instance);
  void (*destroy)(void* instance);
  /* A batch of one probe point, in order. */
  void (*observe)(void* instance, const struct substrata_transaction* batch, size_t count);
  /* Emits what is only in the module so far (counters that were not yet written back); counts stay. Null:
   * nothing to write back. */
  void (*write_back)(void* instance);
  /* Fills in every metric. */
  void (*read)(void* instance, uint64_t* metrics);
  /* Live registers have new values. Null: none is live. */
  void (*configure)(void* instance, const uint64_t* registers);
  /* The module's own, for create and cost. */
  const void* context;
  /* May be null, and may be missing: struct_size then ends before it. A module that has it can be hosted in
   * several instances, one for each publishing thread (SUBSTRATA_OWL_PER_THREAD). Adds to `into` what `from`
   * has counted since it was made or last merged, and takes it from `from`, so that the counts of both
   * together stay what they were; `from` goes on observing afterwards. Both have the same registers. Neither
   * observes meanwhile. May emit, from either. */
  void (*merge)(void* into, void* from);
  /* May be null, and may be missing: nothing is known then. The bytes of the longest packet with these
   * registers. A capsule is refused where its ring cannot hold two of them. Pure. `self` is this structure. */
  uint32_t (*longest_packet)(const struct substrata_owl_module* self, const uint64_t* registers);
  /* May be null, and may be missing: nothing is known then. 1 if it hands transactions on with these registers, else
   * 0; a composition is refused where a sub-module that does not has another one behind it. Pure. */
  uint32_t (*forwards)(const struct substrata_owl_module* self, const uint64_t* registers);
};

typedef const struct substrata_owl_module* const* substrata_owl_modules_function(void);

/* Declares the entry point of a shared object of modules:
 *   SUBSTRATA_OWL_ENTRY substrata_owl_modules(void) { return modules; } */
#ifdef __cplusplus
#define SUBSTRATA_OWL_ENTRY \
  extern "C" __attribute__((visibility("default"))) const struct substrata_owl_module* const*
#else
#define SUBSTRATA_OWL_ENTRY __attribute__((visibility("default"))) const struct substrata_owl_module* const*
#endif

#ifdef __cplusplus
}
#endif

#endif
