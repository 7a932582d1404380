/* The NUMAchine monitors beyond PAPI's calls: registers, bulk reads of SRAM, tables and profiles, interrupts;
 * C99 and C++20.
 *
 * Modelled after G. Lemieux, "Hardware Performance Monitoring in Multiprocessors", M.A.Sc. thesis, University
 * of Toronto, 1996: a processor card's monitor (chapter 4) for each processor, a memory card's (appendix A)
 * for each station. The cards exist from the first call until the process ends and keep their settings and
 * counts from run to run; substrata_run("numachine", ...) and substrata_follow("numachine", ...) put a
 * machine around them.
 *
 * Functions return 0, or a negative number (PAPI's error numbers); substrata_feed_error() then has the
 * message. A failed call has no effect. Every function may be called from any thread, while a machine runs
 * too; the machine waits for the call between two of its steps. They may be called from the interrupt and
 * miss handlers below.
 */
#ifndef SUBSTRATA_NUMACHINE_H
#define SUBSTRATA_NUMACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "export.h"
#include "feed.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SUBSTRATA_NUMACHINE_PROCESSORS 256u
#define SUBSTRATA_NUMACHINE_STATIONS 64u

/* Word addresses in a processor card's monitor. 0x0 to 0xf are table 4.4's; the thesis gives none for what
 * follows them, those are this library's. */
enum substrata_numachine_register {
  SUBSTRATA_NUMACHINE_PR = 0x0,
  SUBSTRATA_NUMACHINE_PW = 0x1,
  SUBSTRATA_NUMACHINE_CW = 0x2,
  SUBSTRATA_NUMACHINE_CF = 0x3,
  SUBSTRATA_NUMACHINE_AWHI = 0x4,
  SUBSTRATA_NUMACHINE_AWLO = 0x5,
  SUBSTRATA_NUMACHINE_AFHI = 0x6,
  SUBSTRATA_NUMACHINE_AFLO = 0x7,
  SUBSTRATA_NUMACHINE_GPCM0 = 0x8,
  SUBSTRATA_NUMACHINE_SCM = 0xc,
  SUBSTRATA_NUMACHINE_GPCE = 0xe,
  SUBSTRATA_NUMACHINE_SRAMCE = 0xf,
  SUBSTRATA_NUMACHINE_COUNTERS = 0x10,       /* four, 32 bits */
  SUBSTRATA_NUMACHINE_COUNTERS_RESET = 0x14, /* the same, a read resets (section 4.3.3) */
  SUBSTRATA_NUMACHINE_INTERRUPTS = 0x18,     /* bits 0-3 counters, 4 SRAM; a one written clears */
  SUBSTRATA_NUMACHINE_TIMESTAMP = 0x1a,      /* two words, upper first; bus cycles of 20 ns */
  SUBSTRATA_NUMACHINE_TIMESTAMP_RESET = 0x1c,
  SUBSTRATA_NUMACHINE_BARRIER = 0x21, /* a write sets bits (section 4.3.3) */
  SUBSTRATA_NUMACHINE_BARRIER_CLEAR = 0x22,
  SUBSTRATA_NUMACHINE_INTERRUPT = 0x23, /* two; a write sets bits and raises bit 5 of the interrupts */
  SUBSTRATA_NUMACHINE_TRACE = 0x25,     /* 1: the SRAM holds packets, four words each (section 5.2) */
  SUBSTRATA_NUMACHINE_TRACED = 0x26,
  SUBSTRATA_NUMACHINE_WATCHDOG = 0x27, /* misses of a line above the average, bit 6 (section 3.3.2) */
  SUBSTRATA_NUMACHINE_WATCHED = 0x28,
  SUBSTRATA_NUMACHINE_SLOW = 0x29,         /* latency of a request in bus cycles, bit 7 */
  SUBSTRATA_NUMACHINE_SLOW_ADDRESS = 0x2a, /* two words, upper first */
  SUBSTRATA_NUMACHINE_SLOW_LATENCY = 0x2c,
  SUBSTRATA_NUMACHINE_SRAM = 0x10000,       /* 65536 words */
  SUBSTRATA_NUMACHINE_ACCUMULATE = 0x20000, /* a word written is added to the SRAM word */
  SUBSTRATA_NUMACHINE_PROFILE = 0x30000,    /* a store sets PR and counts one in the SRAM word */
  SUBSTRATA_NUMACHINE_PHASE_READ = 0x40000  /* a read sets PR and gives what it was (section 3.3.1) */
};

/* Word and doubleword access. A doubleword takes an even address and has its upper half there. -1: no such
 * processor, a reserved, read-only or odd address. */
SUBSTRATA_API int substrata_numachine_read(uint32_t cpu, uint32_t address, uint32_t* value);
SUBSTRATA_API int substrata_numachine_write(uint32_t cpu, uint32_t address, uint32_t value);
SUBSTRATA_API int substrata_numachine_read_doubleword(uint32_t cpu, uint32_t address, uint64_t* value);
SUBSTRATA_API int substrata_numachine_write_doubleword(uint32_t cpu, uint32_t address, uint64_t value);
/* The same write to processors 0 to cpus-1 at one moment (the system's broadcast write, section 4.2). */
SUBSTRATA_API int substrata_numachine_broadcast(uint32_t cpus, uint32_t address, uint32_t value);
/* Bulk access to SRAM words first to first+count-1. */
SUBSTRATA_API int substrata_numachine_read_sram(uint32_t cpu, uint32_t first, uint32_t count,
                                                uint32_t* words);
SUBSTRATA_API int substrata_numachine_fill_sram(uint32_t cpu, uint32_t first, uint32_t count, uint32_t value);
/* The latencies, in bus cycles, of one of the compact latency timer's 128 values (section 4.4.5). */
SUBSTRATA_API int substrata_numachine_bucket(uint32_t compact, uint32_t* first, uint32_t* last);
/* A hard configuration (section 4.3.1): loads a counter circuit, given as text, in place of the Master Configuration
 * Controller, while a machine runs too. GPCE and SRAMCE still enable the counters and the SRAM. Null, or a text without
 * statements: that controller again, with its registers as they were. docs/reference/numachine.md has the language. -1:
 * the text is no circuit or does not fit; the message says line and column. */
SUBSTRATA_API int substrata_numachine_configure(uint32_t cpu, const char* text);
/* Every card of processors and memories as it was at the first call. */
SUBSTRATA_API int substrata_numachine_reset(void);

/* Is called when an enabled overflow interrupt of that processor's monitor comes up, in the thread that runs
 * the machine; null ends it. pending: as in SUBSTRATA_NUMACHINE_INTERRUPTS. */
typedef void (*substrata_numachine_interrupt)(void* owner, uint32_t cpu, uint32_t pending);
SUBSTRATA_API int substrata_numachine_on_interrupt(substrata_numachine_interrupt call, void* owner);

/* One FIFO of a memory card (appendix A). by_cycle / cycles is the time average of the depth, by_change /
 * changes the population average. */
struct substrata_numachine_fifo {
  uint64_t depth;
  uint64_t maximum;
  uint64_t by_cycle;
  uint64_t cycles;
  uint64_t by_change;
  uint64_t changes;
};
/* A memory card's four: incoming transactions, incoming packets, outgoing transactions, outgoing packets. */
SUBSTRATA_API int substrata_numachine_fifos(uint32_t station, struct substrata_numachine_fifo fifos[4]);
/* One queue by the metrics of section 3.3.3, since the last reset. wait_cycles / cycles is the time-average length. */
struct substrata_numachine_queue {
  uint64_t transactions;
  uint64_t wait_cycles; /* bus cycles, as all here: of all transactions together */
  uint64_t longest_wait;
  uint64_t service_cycles;
  uint64_t longest_service;
  uint64_t longest_queue; /* the most that waited in one cycle, of all phases */
  uint64_t cycles;
};
/* A station's four: of its memory, its network cache, its bus, its outgoing link on its ring. phase: 0 to 15, the bits
 * of PhaseID that travel with transactions (table 4.1); -1: all. */
SUBSTRATA_API int substrata_numachine_queues(uint32_t station, int32_t phase,
                                             struct substrata_numachine_queue queues[4]);
/* The memory state hit table (table A.1): rows LV, LI, GV, GI; columns read, read exclusive, update (with
 * upgrades), write-back. */
SUBSTRATA_API int substrata_numachine_state_hits(uint32_t station, uint64_t table[4][4]);
/* Page use of one memory ("frequent flyer miles"). */
struct substrata_numachine_page {
  uint64_t page; /* address / page size */
  uint32_t use[SUBSTRATA_NUMACHINE_STATIONS];
  int32_t hint; /* the station it should move to, -1: stay */
  uint32_t reserved;
};
/* Fills in the most used pages first; *count holds the capacity before and the number of pages after the call. */
SUBSTRATA_API int substrata_numachine_pages(uint32_t station, struct substrata_numachine_page* pages,
                                            uint32_t* count);

/* Informing memory operations (section 3.3.1) with the TRIGGER pin (section 3.3.3): at a miss response the
 * machine asks `trigger` (null: always active), and while it is active calls `handler` and charges ten
 * processor cycles for it. Both get the transaction as published at the processor's bus probe point. Holds
 * for machines that begin afterwards; a null handler ends it. */
typedef int (*substrata_numachine_trigger)(void* owner, uint32_t cpu,
                                           const struct substrata_transaction* response);
typedef void (*substrata_numachine_handler)(void* owner, uint32_t cpu,
                                            const struct substrata_transaction* response);
SUBSTRATA_API int substrata_numachine_on_miss(substrata_numachine_trigger trigger,
                                              substrata_numachine_handler handler, void* owner);

/* ---- what the last machine found out: of a followed live program up to now, else of the run that ended last */

/* A data object with the misses on its lines and why they happen (docs/reference/numachine.md has the rules). Workloads
 * name their arrays, the access tracer the variables and allocation sites of a live program; "" holds what has no
 * name. */
struct substrata_numachine_object {
  char name[128];
  char cause[40]; /* "conflict misses", "false sharing", "true sharing", "migratory data", "producer and
                     consumers", "hot spot", "lock", "compulsory or capacity misses" */
  uint64_t lines;
  uint64_t other_misses;
  uint64_t invalidation_misses;
  uint64_t ownership_misses;
  uint64_t invalidations; /* that found a copy */
  uint64_t nacks;
  uint64_t queue_cycles; /* bus cycles waited for its memory */
};
/* Most misses first; *count holds the capacity before and the number of objects after the call. */
SUBSTRATA_API int substrata_numachine_objects(struct substrata_numachine_object* objects, uint32_t* count);

/* A lock, condition or barrier of the last live program that was followed, or of the last workload whose locks or
 * barriers are accesses (parameters locks and barriers). Times are bus cycles of the model. */
struct substrata_numachine_wait {
  char name[128]; /* of the variable or allocation site; of an OpenMP barrier, of the region's function */
  char kind[16];  /* "lock", "condition", "barrier" */
  uint64_t address;
  uint64_t uses;
  uint64_t waited; /* of these */
  uint64_t wait_cycles;
  uint64_t longest_wait;
  uint64_t held_cycles; /* of a lock, by one thread alone */
  uint32_t processors;  /* that used it; the 65th counts as the first */
  uint32_t reserved;
};
/* Most waited for first; *count as above. */
SUBSTRATA_API int substrata_numachine_waits(struct substrata_numachine_wait* waits, uint32_t* count);

/* Time that a processor of that machine lost: to locks that were taken and conditions that did not hold yet
 * (synchronisation, section 3.1.3), and at barriers (load imbalance, section 3.1.4). */
struct substrata_numachine_loss {
  uint64_t synchronisation_cycles; /* bus cycles, as all here */
  uint64_t imbalance_cycles;
};
/* -1: the last machine had no such processor, or followed nothing. */
SUBSTRATA_API int substrata_numachine_lost(uint32_t cpu, struct substrata_numachine_loss* loss);

/* A line of a processor's secondary cache whose misses (without invalidation and ownership misses) exceed the
 * processor's average by more than 16 (section 3.3.2's average-based watch). */
struct substrata_numachine_spike {
  uint32_t cpu;
  uint32_t index; /* of the line in the cache */
  uint64_t misses;
  double average;
  char objects[256]; /* names of the objects that miss there, most misses first */
};
SUBSTRATA_API int substrata_numachine_spikes(struct substrata_numachine_spike* spikes, uint32_t* count);
/* The whole profile of one processor: misses by line index. */
SUBSTRATA_API int substrata_numachine_profile(uint32_t cpu, uint32_t* misses, uint32_t* count);

/* What the model knows exactly of one processor, to hold the monitors' counts and estimates against. */
struct substrata_numachine_truth {
  uint64_t instructions;
  uint64_t loads;
  uint64_t stores;
  uint64_t pipeline[16];   /* processor cycles in each state of table 2.3 */
  uint64_t misses[4];      /* table 4.8: ownership, cancelled ownership, invalidation, other */
  uint64_t miss_cycles[4]; /* bus cycles */
  uint64_t ownership_unsuccessful;
  uint64_t nacks;
  uint64_t responses[32]; /* by the response state register (table 4.9) */
  uint64_t invalidation_hits;
  uint64_t invalidation_hits_estimated;   /* by the state machine of figure 4.8a */
  uint64_t invalidation_misses_estimated; /* figure 4.8b */
  uint64_t whole_miss_cycles;             /* processor cycles */
  uint64_t apparent_miss_cycles;          /* less what computation hid */
  uint64_t exceptions;
  uint64_t restart_cycles; /* processor cycles to fill the pipeline after them */
  uint64_t branches_mispredicted;
  uint64_t informed; /* miss handlers called */
};
/* -1: the last machine had no such processor. */
SUBSTRATA_API int substrata_numachine_known(uint32_t cpu, struct substrata_numachine_truth* truth);

#ifdef __cplusplus
}
#endif

#endif
