/* Owl: capsules at any probe points, modules at run time, results in ring buffers in main memory (Schulz et
 * al., "Owl: Next Generation System Monitoring", Computing Frontiers 2005); the C interface beside the
 * substrate `owl`, C99 and C++20.
 *
 *   probe points -> capsule (registers, budget, one module) -> ring buffer -> readers,
 *   in this process or another
 *
 * ERRORS: functions returning int give 0, or a negative number (PAPI's: -1 invalid argument, -2 no memory, -3
 * the operating system refused, -7 no such name, -8 already there or conflicting, -20 too small);
 * substrata_owl_error() then has a message: what was asked, what refused, what to do. A failed call has no
 * effect.
 *
 * THREADS: every function may be called from any thread; one reader belongs to one thread at a time. From
 * inside a near-full or signal callback only the functions of readers and substrata_owl_write_register may be
 * called. */
#ifndef SUBSTRATA_OWL_H
#define SUBSTRATA_OWL_H

#include <substrata/export.h>
#include <substrata/owl_module.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The message of the calling thread's last failed call; "" before one. Valid until the thread's next call.
 */
SUBSTRATA_API const char* substrata_owl_error(void);

/* ------------------------------------------------------------------------------------- the module library */

/* What a module is, without its functions. Strings stay valid until the process ends. */
struct substrata_owl_module_info {
  uint32_t struct_size; /* sizeof, set by the caller */
  uint32_t register_count;
  uint32_t metric_count;
  uint32_t reserved;
  const char* name;
  const char* summary;
  const char* packets;
  const char* origin; /* "built-in", the shared object's path, or the composition's file */
  const struct substrata_owl_register* registers;
  const struct substrata_owl_metric* metrics;
  struct substrata_owl_cost cost; /* with the registers' initial values */
};

SUBSTRATA_API uint32_t substrata_owl_module_count(void);
/* In alphabetical order. -1: no such index. */
SUBSTRATA_API int substrata_owl_module_at(uint32_t index, struct substrata_owl_module_info* out);
SUBSTRATA_API int substrata_owl_module_find(const char* name, struct substrata_owl_module_info* out);

/* Adds the modules of a shared object, all or none. It is loaded in a child process first, so that one that
 * crashes or hangs while loading is refused like any other; each refusal is also kept for
 * substrata_owl_refusal. Another file at a path that was loaded before replaces its modules for capsules attached
 * afterwards. What is loaded stays until the process ends. -8: a name is taken. */
SUBSTRATA_API int substrata_owl_load(const char* path);
/* Adds a module that is part of the program itself. It must stay valid until the process ends. */
SUBSTRATA_API int substrata_owl_add(const struct substrata_owl_module* module);
/* Takes a module that was loaded, added or composed out of the library: its name is free, and nothing new is
 * made of it. Capsules and compositions that have it go on; what was loaded stays until the process ends. -7: no
 * such module; -8: it is built in. */
SUBSTRATA_API int substrata_owl_unload(const char* name);
/* The index-th refusal since the start, as a message; null after the last. */
SUBSTRATA_API const char* substrata_owl_refusal(uint32_t index);

/* Composes a module out of modules of the library (docs/reference/owl.md describes the language) and adds it. `origin`
 * names the text in errors, which point at line and column. */
SUBSTRATA_API int substrata_owl_compose(const char* text, size_t bytes, const char* origin);
/* Only checks the text; the module's name is copied into name (capacity bytes, may be null). */
SUBSTRATA_API int substrata_owl_check(const char* text, size_t bytes, const char* origin, char* name,
                                      size_t capacity);
/* Adds every "*.owl" and "*.so" file of a folder, in alphabetical order; refused ones are kept for
 * substrata_owl_refusal. Gives the number of files added, or -3. The folder in SUBSTRATA_OWL_LIBRARY is added
 * when the library is first used. */
SUBSTRATA_API int substrata_owl_load_folder(const char* folder);

/* ----------------------------------------------------------------------------------------------- capsules */

struct substrata_owl_capsule;
struct substrata_owl_reader;

enum substrata_owl_policy {
  SUBSTRATA_OWL_DROP_NEW = 0,     /* a full ring drops the new packet */
  SUBSTRATA_OWL_OVERWRITE_OLD = 1 /* a full ring overwrites its oldest packets, read or not */
};

enum substrata_owl_capsule_flags {
  /* Each thread that publishes gets an instance of the module of its own, made at its first batch and used
   * without a lock that two publishers share. What the instances count is merged into one when it is read
   * (substrata_owl_read_metric, substrata_owl_write_back) and when the capsule stops. Sums are those of one
   * instance; what depends on the order among threads (evictions, a sampler's choice) is each thread's own.
   * Events that count are exact at any time, those that are levels are as of the last merge. Modules without
   * a merge function keep their one instance behind a lock. So do threads for whose instances the budget has
   * no space left. */
  SUBSTRATA_OWL_PER_THREAD = 1u << 0
};

/* A new capsule. Zero everywhere but struct_size, probes and module means: all defaults. */
struct substrata_owl_capsule_options {
  uint32_t struct_size;
  uint32_t policy;       /* enum substrata_owl_policy */
  const char* name;      /* in events and reports, [A-Za-z0-9_.*-]+; null: the first probe pattern */
  const char* probes;    /* names or patterns of probe points, separated by commas */
  const char* module;    /* by name */
  const char* registers; /* "counters=64:block=64", initial values for the rest; null: all initial */
  const char*
      ring_path; /* a link to the ring, which ends with the capsule; only a link of an ended program is replaced */
  uint64_t ring_bytes;        /* rounded up to a power of two, 4096 to 2^34; 0: 1 MiB */
  uint32_t near_full_percent; /* where the near-full signal is given, 1 to 100; 0: 75 */
  uint32_t flags;             /* of enum substrata_owl_capsule_flags */
  struct substrata_owl_cost
      budget; /* fields that are 0: 65536 counters, 2^26 table bits, 65536 comparators */
};

/* Makes a capsule with its module, at rest. -7: no such module or probe point (a pattern with '*' or '?' may
 * match none yet); -8: the name is taken, or the module needs more than the budget. */
SUBSTRATA_API int substrata_owl_attach(const struct substrata_owl_capsule_options* options,
                                       struct substrata_owl_capsule** out);
/* Begins and ends to observe; calls count, the first start begins, the last stop ends. Stopping delivers what
 * was published before. Counters go on where they were. */
SUBSTRATA_API int substrata_owl_start(struct substrata_owl_capsule* capsule);
SUBSTRATA_API int substrata_owl_stop(struct substrata_owl_capsule* capsule);
/* Stops and frees the capsule; events on it go on to be listed and give their last values. Null is allowed.
 * Never from inside a callback. */
SUBSTRATA_API void substrata_owl_detach(struct substrata_owl_capsule* capsule);
/* Lets the module emit what it has not emitted yet, after flushing the feed. */
SUBSTRATA_API int substrata_owl_write_back(struct substrata_owl_capsule* capsule);

/* Configuration registers. They lie in the ring's shared memory, so a reader in another process can write
 * them too (substrata_owl_reader_write_register). -8: the register is not live: it keeps the value it was attached
 * with. -3: a writer in another process is stopped while it writes. */
SUBSTRATA_API int substrata_owl_read_register(struct substrata_owl_capsule* capsule, const char* name,
                                              uint64_t* value);
SUBSTRATA_API int substrata_owl_write_register(struct substrata_owl_capsule* capsule, const char* name,
                                               uint64_t value);
/* Several of them, "low0=4096:high0=8191", at once: the module never sees some of the new values with others of the old
 * ones. Of several wrong ones the first is refused, and none is written. */
SUBSTRATA_API int substrata_owl_write_registers(struct substrata_owl_capsule* capsule,
                                                const char* assignments);

struct substrata_owl_statistics {
  uint32_t struct_size;
  uint32_t running;
  uint64_t events_seen;      /* transactions */
  uint64_t packets_injected; /* written into the ring */
  uint64_t bytes_injected;   /* their payload */
  uint64_t dropped;   /* packets that did not fit, or were overwritten before a consumer was given them */
  uint64_t near_full; /* near-full signals */
  uint64_t signals;   /* of the module, on transactions */
  struct substrata_owl_cost cost;
  struct substrata_owl_cost budget;
};
/* After flushing the feed. */
SUBSTRATA_API int substrata_owl_read_statistics(struct substrata_owl_capsule* capsule,
                                                struct substrata_owl_statistics* out);
/* One metric of the module, after flushing the feed. -7: no such metric. */
SUBSTRATA_API int substrata_owl_read_metric(struct substrata_owl_capsule* capsule, const char* name,
                                            uint64_t* value);

/* Called in the publisher's thread when the ring's fill passes the mark from below. One callback; null: none.
 */
SUBSTRATA_API int substrata_owl_on_near_full(struct substrata_owl_capsule* capsule,
                                             void (*call)(void* owner, struct substrata_owl_capsule* capsule),
                                             void* owner);
/* Called in the publisher's thread on the transaction itself when the module signals. */
SUBSTRATA_API int substrata_owl_on_signal(struct substrata_owl_capsule* capsule,
                                          void (*call)(void* owner, const struct substrata_transaction* cause,
                                                       uint32_t reason),
                                          void* owner);

/* ---------------------------------------------------------------------------------------------- one-liners */

/* Observes what one line of the language asks, "mem.accesses: filter(write) -> count by object"
 * (docs/reference/owl.md describes it), in this process, and appends what it counts to the open file `file`, a line of
 * JSON each: first what the tables hold, then rows of what was counted since the last write. */
struct substrata_owl_query;
SUBSTRATA_API int substrata_owl_query_start(const char* text, size_t bytes, const char* origin, int file,
                                            struct substrata_owl_query** out);
/* Checks the text alone. The patterns of its probe points, with commas, are copied to probes (may be null). */
SUBSTRATA_API int substrata_owl_query_check(const char* text, size_t bytes, const char* origin, char* probes,
                                            size_t capacity);
/* Appends what was counted since, after flushing the feed. */
SUBSTRATA_API int substrata_owl_query_write(struct substrata_owl_query* query);
/* Writes, then ends. Null is allowed. */
SUBSTRATA_API int substrata_owl_query_stop(struct substrata_owl_query* query);

/* ------------------------------------------------------------------------------------------- ring buffers */

/* Where the ring can be opened, also by another process of the same user, until detach; who has it open then
 * keeps it. */
SUBSTRATA_API const char* substrata_owl_ring_path(struct substrata_owl_capsule* capsule);

enum substrata_owl_reader_flags {
  SUBSTRATA_OWL_WATCH = 1u << 0 /* only looks: frees no space, may miss packets (which it counts) */
};
/* One reader without SUBSTRATA_OWL_WATCH is the ring's consumer: what it consumes is freed. Its place is
 * kept in the ring, so that a restarted consumer goes on where the last one stopped. -3: no such file; -1: no
 * ring, with the reason; -8: there is a consumer. */
SUBSTRATA_API int substrata_owl_reader_open(const char* path, uint32_t flags,
                                            struct substrata_owl_reader** out);
SUBSTRATA_API void substrata_owl_reader_close(struct substrata_owl_reader* reader);

/* One packet. */
struct substrata_owl_packet {
  uint64_t sequence; /* number of the packet in its ring, from 0 */
  uint32_t stage;    /* which sub-module of a composed module emitted it; 0 otherwise */
  uint32_t bytes;
};
/* Copies the next packet to `data` without consuming it. 1: done; 0: none is there; -20: `capacity` is too small,
 * the packet's bytes are filled in; -1: the ring is damaged. */
SUBSTRATA_API int substrata_owl_reader_peek(struct substrata_owl_reader* reader,
                                            struct substrata_owl_packet* packet, void* data, size_t capacity);
/* Consumes the packet that was peeked at last. A consumer killed before it meets the same packet again. */
SUBSTRATA_API void substrata_owl_reader_consume(struct substrata_owl_reader* reader);
/* Packets that were overwritten before this reader came to them, since the place where it began, exactly. */
SUBSTRATA_API uint64_t substrata_owl_reader_lost(struct substrata_owl_reader* reader);
/* Waits until the producer gives a near-full signal, at most so long; 1: it did, 0: it did not. Gives the
 * signals since the reader's last wait only once. */
SUBSTRATA_API int substrata_owl_reader_wait(struct substrata_owl_reader* reader, uint32_t milliseconds);
/* The capsule takes the value with its next batch. -7: no such register, -8: it is not live. */
SUBSTRATA_API int substrata_owl_reader_write_register(struct substrata_owl_reader* reader, const char* name,
                                                      uint64_t value);
/* Several, at once. */
SUBSTRATA_API int substrata_owl_reader_write_registers(struct substrata_owl_reader* reader,
                                                       const char* assignments);

/* ---------------------------------------------------------------------------------------- objects by name */

/* Names [address, address + bytes) for reports. A later one hides an earlier one where they overlap. Arrays
 * of workloads on the memory machine are added by themselves while a capsule exists. */
SUBSTRATA_API int substrata_owl_object_add(const char* name, uint64_t address, uint64_t bytes);
/* The name of the object that holds the address, or null. Valid until the process ends. */
SUBSTRATA_API const char* substrata_owl_object_at(uint64_t address);
SUBSTRATA_API void substrata_owl_objects_clear(void);

/* ----------------------------------------------------------------------------- expanding what was emitted */

/* Gives the transactions back that a packet of the module `log` holds, one call each. -1: the packet is
 * damaged; the message has the offset. */
SUBSTRATA_API int substrata_owl_expand_log(const void* packet, size_t bytes,
                                           void (*call)(void* owner,
                                                        const struct substrata_transaction* each),
                                           void* owner);

/* Gives the addresses back that packets of the module `pattern` stand for. Packets of one module in their
 * order, none left out. */
struct substrata_owl_expander;
SUBSTRATA_API int substrata_owl_expander_open(struct substrata_owl_expander** out);
SUBSTRATA_API void substrata_owl_expander_close(struct substrata_owl_expander* expander);
/* detail: what the reduced transaction's detail field held, the number of a pattern one level below or 0. */
SUBSTRATA_API int substrata_owl_expander_take(struct substrata_owl_expander* expander, const void* packet,
                                              size_t bytes,
                                              void (*call)(void* owner, uint64_t address, uint64_t detail),
                                              void* owner);

/* --------------------------------------------------------------------------------------------- recruiting */

/* A rule as text (docs/reference/owl.md describes it):
 *   watch NUMBER per NUMBER every N [of NUMBER]
 *   when above RATIO | below RATIO | rising FACTOR | falling FACTOR
 *   attach MODULE at PROBES [with REGISTERS]
 *   act mark WORD | act signal NAME
 *   for N
 *   report conflicts | objects | levels | metrics | rings
 * A NUMBER is METRIC of CAPSULE, which must exist, or an event of the layer. When the ratio meets the condition the
 * named modules are attached, observe until the number that says when to look has grown by N, and are then stopped and
 * reported on. */
struct substrata_owl_rule;
SUBSTRATA_API int substrata_owl_recruit(const char* text, struct substrata_owl_rule** out);
/* How often it acted, and the report of the last time ("" before); the text is valid until the rule's next
 * call. */
SUBSTRATA_API int substrata_owl_recruited(struct substrata_owl_rule* rule, uint64_t* times,
                                          const char** report);
SUBSTRATA_API void substrata_owl_dismiss(struct substrata_owl_rule* rule);

#ifdef __cplusplus
}
#endif

#endif
