/* The feed: transactions of real programs, workloads, and recorded traces, on their way from their
 * publishers to models of monitors; the C interface between both, C99 and C++20.
 *
 *   a publisher (one thread's ring at one probe point)  ->  probe point  ->  observers, in batches
 *
 * A probe point is a place where transactions pass: "mem.cpu0.l1-l2", "myrinet.node3.lanai.send",
 * "mpi.rank2.send", "os.page-faults". It has a name and a source. Any number of observers may watch one; a
 * probe point without observers costs its publisher one predictable branch.
 *
 * WHAT HOLDS
 *   - Nothing is lost. A full ring is run through the observers by the publisher itself; substrata_flush lets
 * a reader do it earlier. There are no threads behind the scenes.
 *   - Order: the transactions of one publisher reach every observer in the order of their commits. Between
 *     publishers only the time stamps give the order.
 *   - A batch holds transactions of one probe point. One observer never runs in two threads at once (unless
 * it asked for that), so a model needs no locks of its own.
 *   - An observer may publish at other probe points from inside its callback (a cache model publishes its
 *     misses). A circle of them is refused at run time: a publisher that is asked to publish from inside the
 *     delivery of its own full ring gets no slot, and the transaction is counted in
 * substrata_probe_info.refused.
 *   - Subscribing delivers what is published after the call returns; unsubscribing delivers what was
 * published before, then returns with no callback running. From inside a callback both take effect with the
 * next batch.
 *
 * ERRORS: functions returning int give 0, or a negative number (PAPI's error numbers: -1 invalid argument, -2
 * no memory, -3 the operating system refused, -7 no such name, -8 already there, -18 not supported here);
 * substrata_feed_error() then has a message: what was asked, what refused, what to do. A failed call has no
 * effect.
 *
 * THREADS: every function may be called from any thread, except that one publisher belongs to one thread at a
 * time. Nothing here may be called from a signal handler, except substrata_reserve and substrata_commit on a
 * publisher that the interrupted thread does not use.
 */
#ifndef SUBSTRATA_FEED_H
#define SUBSTRATA_FEED_H

#include <stddef.h>
#include <stdint.h>
#include <substrata/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when a structure below changes meaning; structures with struct_size grow at their end without it. */
#define SUBSTRATA_FEED_ABI 1

/* The ABI the library was built with, to be compared with SUBSTRATA_FEED_ABI. */
SUBSTRATA_API uint32_t substrata_feed_abi(void);
/* The message for the calling thread's last failed call; "" before one. Valid until the thread's next call.
 */
SUBSTRATA_API const char* substrata_feed_error(void);

/* ---------------------------------------------------------------------------------------- the transaction */

/* What happened. The meaning of address, size, detail, target for each kind is in its line; what a line does
 * not name is 0. Values from SUBSTRATA_KIND_OWN on belong to the probe point's source, which documents them.
 */
enum substrata_kind {
  SUBSTRATA_KIND_NONE = 0,
  /* memory: address (virtual for programs, simulated for workloads), size in bytes */
  SUBSTRATA_READ = 1,
  SUBSTRATA_WRITE = 2,
  SUBSTRATA_ATOMIC = 3, /* read and write in one */
  SUBSTRATA_FETCH = 4,  /* instructions */
  /* program structure: address is the function or object, size of an object, site the caller */
  SUBSTRATA_ENTER = 8,
  SUBSTRATA_EXIT = 9,
  SUBSTRATA_ALLOCATE = 10,
  SUBSTRATA_FREE = 11,
  SUBSTRATA_BRANCH = 12,      /* state: SUBSTRATA_HIT predicted, SUBSTRATA_MISS mispredicted */
  SUBSTRATA_PHASE_BEGIN = 13, /* phase: the one entered */
  SUBSTRATA_PHASE_END = 14,
  SUBSTRATA_INSTRUCTIONS = 15, /* detail: how many, without memory access, since the last transaction */
  /* caches and buses: address of the line, size of the line */
  SUBSTRATA_FILL = 16,       /* a line comes in */
  SUBSTRATA_WRITE_BACK = 17, /* a dirty line goes out */
  SUBSTRATA_EVICT = 18,      /* a clean line is dropped */
  SUBSTRATA_INVALIDATE = 19,
  SUBSTRATA_UPGRADE = 20,        /* ownership without data */
  SUBSTRATA_READ_EXCLUSIVE = 21, /* data with ownership */
  SUBSTRATA_UPDATE = 22,         /* the new value is sent to holders */
  SUBSTRATA_INTERVENTION = 23,   /* the owner is asked for its dirty line */
  SUBSTRATA_NACK = 24,           /* refused, to be retried */
  SUBSTRATA_RESPONSE = 25,
  /* messages: size in bytes, address of the payload if known, detail the message's number between these two
     ends */
  SUBSTRATA_SEND = 32,
  SUBSTRATA_RECEIVE = 33,    /* start: the sender's time stamp */
  SUBSTRATA_PACKET = 34,     /* a piece of a message on a network; detail: packet number of the sender */
  SUBSTRATA_COLLECTIVE = 35, /* a collective call as a whole; detail: which one, as the source documents */
  SUBSTRATA_DMA = 36,
  SUBSTRATA_CLOCK_SYNC = 37,
  SUBSTRATA_IO = 38,
  /* shared virtual memory: address of the page */
  SUBSTRATA_PAGE_FAULT = 48,
  SUBSTRATA_PAGE_FETCH = 49, /* request for a page, to its home */
  SUBSTRATA_PAGE_REPLY = 50,
  SUBSTRATA_TWIN = 51,
  SUBSTRATA_DIFF = 52,
  SUBSTRATA_AUTOMATIC_UPDATE = 53,
  SUBSTRATA_PAGE_MIGRATE = 54,
  /* synchronisation: address or detail is the lock's or barrier's number */
  SUBSTRATA_LOCK = 64,
  SUBSTRATA_UNLOCK = 65,
  SUBSTRATA_BARRIER = 66,
  SUBSTRATA_WAIT = 67, /* time: end, start: begin of a wait */
  /* measurements that arrive as transactions */
  SUBSTRATA_SAMPLE = 80,  /* site: program counter, address: data address if known */
  SUBSTRATA_COMMAND = 81, /* a monitor's register was written: address the register, detail the value */
  SUBSTRATA_KIND_OWN = 0x1000
};

/* How it ended or what was found. Values from SUBSTRATA_STATE_OWN on belong to the source. */
enum substrata_state {
  SUBSTRATA_STATE_NONE = 0,
  SUBSTRATA_HIT = 1,
  SUBSTRATA_MISS = 2,
  SUBSTRATA_CLEAN = 3,
  SUBSTRATA_DIRTY = 4,
  /* coherence: what the line was */
  SUBSTRATA_INVALID = 5,
  SUBSTRATA_SHARED = 6,
  SUBSTRATA_EXCLUSIVE = 7,
  SUBSTRATA_MODIFIED = 8,
  SUBSTRATA_LOCAL_VALID = 9,
  SUBSTRATA_LOCAL_INVALID = 10,
  SUBSTRATA_GLOBAL_VALID = 11,
  SUBSTRATA_GLOBAL_INVALID = 12,
  SUBSTRATA_NOT_IN = 13,
  /* the way of a message */
  SUBSTRATA_QUEUED = 16,    /* the request is seen by the network interface */
  SUBSTRATA_FETCHED = 17,   /* it is in the interface's memory */
  SUBSTRATA_INJECTED = 18,  /* its last word is in the network */
  SUBSTRATA_ARRIVED = 19,   /* its last word is out of the network */
  SUBSTRATA_DELIVERED = 20, /* it is in the receiver's memory */
  SUBSTRATA_DROPPED = 21,
  SUBSTRATA_CORRUPT = 22,
  SUBSTRATA_MISROUTED = 23,
  /* requests */
  SUBSTRATA_GRANTED = 24,
  SUBSTRATA_CANCELLED = 25,
  SUBSTRATA_RETRIED = 26,
  SUBSTRATA_STATE_OWN = 0x1000
};

enum substrata_transaction_flags {
  SUBSTRATA_FLAG_MODELLED = 1u << 0,   /* made by a model, not seen in reality (an expanded collective) */
  SUBSTRATA_FLAG_COLLECTIVE = 1u << 1, /* a message inside a collective operation */
  SUBSTRATA_FLAG_INTERNAL = 1u << 2,   /* of the runtime or protocol, not of the program itself */
  SUBSTRATA_FLAG_SYNCHRONISING = 1u << 3,
  SUBSTRATA_FLAG_SAMPLED = 1u << 4, /* not every transaction of its kind was taken */
  SUBSTRATA_FLAG_PARTIAL = 1u << 5, /* more parts of the same transaction follow */
  SUBSTRATA_FLAG_SPANNED = 1u << 6, /* stands for a range (memcpy, memset), not for one access */
  SUBSTRATA_FLAG_OWN = 1u << 12     /* this bit and the three above it belong to the source */
};

/* "None" or "all" as initiator or target. */
#define SUBSTRATA_NOBODY 0xffffffffu

/* One transaction, 64 bytes, one cache line: Owl's Monitor Hardware Interface (Schulz et al., "Owl: Next
 * Generation System Monitoring", Computing Frontiers 2005, section 3.1: the standardised interface by which
 * any module observes any kind of transaction). Fields that a probe point does not know are 0. */
struct substrata_transaction {
  uint64_t time;  /* when it happened, in ticks of the probe point's time base */
  uint64_t start; /* when it began, same ticks; of a received message the sender's time stamp; 0: not known */
  uint64_t address;   /* as the kind says */
  uint64_t site;      /* code address that caused it (return address of the call), 0: not known */
  uint64_t detail;    /* as the kind says */
  uint32_t initiator; /* who caused it: process, rank, CPU or node, as the probe point's info says */
  uint32_t target;    /* who is to act: receiver, home, CPU or node */
  uint32_t size;      /* bytes; what is longer is published in parts with SUBSTRATA_FLAG_PARTIAL */
  uint16_t kind;      /* enum substrata_kind */
  uint16_t state;     /* enum substrata_state */
  uint16_t program;   /* program tag: which of several programs that run at once */
  uint16_t phase;     /* phase of the program: region number, PhaseID or category; 0: none */
  uint16_t flags;     /* enum substrata_transaction_flags */
  uint16_t probe;     /* number of the probe point in this process; set by substrata_commit */
};
typedef struct substrata_transaction substrata_transaction;

#ifdef __cplusplus
static_assert(sizeof(struct substrata_transaction) == 64, "one transaction is one cache line");
#else
typedef char substrata_transaction_is_64_bytes[sizeof(struct substrata_transaction) == 64 ? 1 : -1];
#endif

/* ---------------------------------------------------------------------------------- sources, probe points */

/* What kind of thing makes the transactions. */
enum substrata_source_kind {
  SUBSTRATA_SOURCE_LIVE = 0,    /* a running program or the operating system */
  SUBSTRATA_SOURCE_MACHINE = 1, /* a machine model that runs a workload or follows a live program */
  SUBSTRATA_SOURCE_TRACE = 2,   /* a recorded trace */
  SUBSTRATA_SOURCE_TEST = 3     /* generated */
};

/* Whose time the stamps are. Latencies of live messages are given in real or in virtual time. */
enum substrata_time_base {
  SUBSTRATA_TIME_NONE = 0,     /* no time: the stamps are sequence numbers */
  SUBSTRATA_TIME_REAL = 1,     /* CLOCK_MONOTONIC_RAW of this host */
  SUBSTRATA_TIME_VIRTUAL = 2,  /* compute time scaled by a stated factor plus modelled communication */
  SUBSTRATA_TIME_SIMULATED = 3 /* a machine model's own time */
};

/* One source. The strings of a filled-in info are the library's and stay valid until the process ends. */
struct substrata_source_info {
  uint32_t struct_size;      /* sizeof, set by the caller of every function that takes or fills one */
  uint32_t kind;             /* enum substrata_source_kind */
  const char* name;          /* "memory", "mpi", "replay": [a-z0-9_-]+ */
  const char* summary;       /* one line */
  const char* why_not;       /* not available here: reason and cure; null: available */
  uint32_t time_base;        /* enum substrata_time_base */
  uint32_t probe_count;      /* filled in */
  uint64_t ticks_per_second; /* of its stamps; 1000000000 for nanoseconds; 0 with SUBSTRATA_TIME_NONE */
};

/* One probe point. */
struct substrata_probe_info {
  uint32_t struct_size;
  uint32_t number;     /* filled in: the probe field of its transactions; dense from 0 */
  const char* name;    /* dotted: "<machine>.<place>.<what>", [A-Za-z0-9_.-]+ */
  const char* text;    /* one line: what passes here, what initiator and target are */
  const char* source;  /* name of its source */
  uint32_t publishers; /* filled in: open now */
  uint32_t observers;  /* filled in: subscribed now */
  uint64_t
      delivered;    /* filled in: transactions run through observers so far; compact records (compact.h) where
                          only such are taken */
  uint64_t refused; /* filled in: transactions refused because observers publish in a circle */
};

/* Registers a source, or changes why_not, time base and ticks of the one with that name. Strings are copied.
 */
SUBSTRATA_API int substrata_source_add(const struct substrata_source_info* info);
SUBSTRATA_API uint32_t substrata_source_count(void);
/* Fills in the index-th source in order of registration. -1: no such index. */
SUBSTRATA_API int substrata_source_at(uint32_t index, struct substrata_source_info* out);

/* Finds or adds the probe point of that name and gives its number. An existing one keeps its text and source.
 * The source must be registered. Probe points are never removed; there may be 65535. */
SUBSTRATA_API int substrata_probe_add(const struct substrata_probe_info* info, uint32_t* number);
SUBSTRATA_API int substrata_probe_find(const char* name, uint32_t* number);
SUBSTRATA_API uint32_t substrata_probe_count(void);
SUBSTRATA_API int substrata_probe_at(uint32_t number, struct substrata_probe_info* out);

/* --------------------------------------------------------------------------------------------- publishing */

/* One thread's ring at one probe point. Made by substrata_publisher_open; the fields belong to the inline
 * functions below. More state of the library follows them. */
struct substrata_publisher {
  uint32_t observed; /* does anyone watch? written by subscribe and unsubscribe */
  uint32_t mask;     /* slots of the ring - 1 */
  uint64_t limit;    /* head at which the ring must be run through the observers */
  struct substrata_transaction* ring;
  uint16_t probe;
  uint16_t reserved[3];
  uint64_t head; /* transactions committed so far */
};

/* Opens a publisher at a probe point. slots: size of the ring, rounded up to a power of two, which bounds the
 * length of a batch; 0: 512. Allocates. Any number may be open at one probe point. */
SUBSTRATA_API int substrata_publisher_open(uint32_t probe, uint32_t slots, struct substrata_publisher** out);
/* Delivers what the ring holds and frees it. Null is allowed. */
SUBSTRATA_API void substrata_publisher_close(struct substrata_publisher* publisher);
/* From now on *epoch grows by one, atomically, each time after `observed` of this publisher changed: a
 * publisher that remembers whether it is watched compares epochs instead of asking at every transaction.
 * Several publishers may share one. It must live until the publisher is closed. Null: no more. */
SUBSTRATA_API void substrata_publisher_epoch(struct substrata_publisher* publisher, uint64_t* epoch);
/* Runs the full ring through the observers and gives the next slot; null in a circle. Called by
 * substrata_reserve. */
SUBSTRATA_API struct substrata_transaction* substrata_make_room(struct substrata_publisher* publisher);
/* Publishes an array as one batch without copying, after what the ring holds. Every probe field must hold the
 * publisher's probe. Does nothing without observers. The array must stay until it returns. */
SUBSTRATA_API void substrata_publish_all(struct substrata_publisher* publisher,
                                         const struct substrata_transaction* transactions, size_t count);

/* Runs what the publisher holds through the observers now; by its thread. Does nothing from inside a
 * delivery of it. */
SUBSTRATA_API void substrata_publisher_deliver(struct substrata_publisher* publisher);

/* Does anyone watch this publisher's probe point? Lets a publisher skip work that only makes transactions. */
static inline int substrata_observed(const struct substrata_publisher* publisher) {
  return __builtin_expect(__atomic_load_n(&publisher->observed, __ATOMIC_RELAXED) != 0u, 0);
}

/* The slot for the next transaction, to be filled in whole (it holds an old one) and then committed; null if
 * there is no observer. */
static inline struct substrata_transaction* substrata_reserve(struct substrata_publisher* publisher) {
  if (!substrata_observed(publisher)) return NULL;
  if (__builtin_expect(publisher->head == publisher->limit, 0)) return substrata_make_room(publisher);
  return publisher->ring + (publisher->head & publisher->mask);
}

/* Publishes the slot that substrata_reserve gave. */
static inline void substrata_commit(struct substrata_publisher* publisher) {
  const uint64_t head = publisher->head;
  publisher->ring[head & publisher->mask].probe = publisher->probe;
  __atomic_store_n(&publisher->head, head + 1u, __ATOMIC_RELEASE);
}

/* Both in one: publishes a copy. */
static inline void substrata_publish(struct substrata_publisher* publisher,
                                     const struct substrata_transaction* transaction) {
  struct substrata_transaction* slot = substrata_reserve(publisher);
  if (slot != NULL) {
    *slot = *transaction;
    substrata_commit(publisher);
  }
}

/* Runs what the rings hold at this moment through the observers, and what observers publish meanwhile. Waits
 * for a batch that another thread is delivering. Does nothing from inside a callback. Allocates nothing.
 * After it returns, observers have seen every transaction committed before the call by the calling thread or
 * by threads that synchronised with it. */
SUBSTRATA_API void substrata_flush(void);

/* ---------------------------------------------------------------------------------------------- observing */

/* Is given batches, in the delivering thread. Must not throw. */
typedef void (*substrata_batch_function)(void* owner, const struct substrata_transaction* batch,
                                         size_t count);

enum substrata_observer_flags {
  SUBSTRATA_OBSERVER_CONCURRENT =
      1u << 0 /* may run in several threads at once (batches of different publishers) */
};

struct substrata_observer; /* a function with its owner, and the lock under which it runs */

SUBSTRATA_API int substrata_observer_create(substrata_batch_function call, void* owner, uint32_t flags,
                                            struct substrata_observer** out);
/* Unsubscribes it everywhere and frees it; never from inside a callback. Null is allowed. */
SUBSTRATA_API void substrata_observer_destroy(struct substrata_observer* observer);

/* Observes every probe point whose name matches one of the patterns, those of today and those added later.
 * Patterns: names separated by commas, '*' for any characters, '?' for one: "mem.cpu*.accesses,mpi.*". A
 * probe point that matches twice, or was observed already, is observed once. -7: the pattern is a plain name
 * and no such probe point exists yet (it is observed all the same only when the pattern holds a '*' or '?').
 */
SUBSTRATA_API int substrata_subscribe(struct substrata_observer* observer, const char* patterns);
/* Ends what substrata_subscribe began, for every probe point that matches; null: everywhere. A null or "*"
 * pattern also ends the observation of probe points to come; any other pattern leaves the remaining
 * subscriptions as they are. */
SUBSTRATA_API int substrata_unsubscribe(struct substrata_observer* observer, const char* patterns);

/* ------------------------------------------------------------------------------------------------- places */

/* What lies at an address of this program: a variable, the heap objects of an allocation site, a stack. */
struct substrata_place {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t low;    /* this name holds from here */
  uint64_t length; /* so far */
  char name[128];
};
/* Fills in *out but for struct_size. 0, or -7: not known, or not now. It must not wait for threads of the
 * program. */
typedef int (*substrata_place_function)(uint64_t address, struct substrata_place* out);
/* The one that knows the places of this process from now on; null: nobody. */
SUBSTRATA_API void substrata_places(substrata_place_function call);
/* Asks it. -7: nobody knows, or not now. */
SUBSTRATA_API int substrata_place_at(uint64_t address, struct substrata_place* out);

/* ------------------------------------------------------------------------------------------------- phases */

/* Regions of the program by number: the phase field. The high-level interface's regions set it; a program may
 * as well. The number of a name (1 and up; the same for the same name; 0 for null or when 65535 are taken).
 */
SUBSTRATA_API uint16_t substrata_region(const char* name);
/* The name of a region's number, or null. */
SUBSTRATA_API const char* substrata_region_name(uint16_t region);
/* The calling thread's phase, used by live publishers for their transactions; new threads begin with the
 * phase that substrata_set_phase last gave to any thread. Returns the old one. */
SUBSTRATA_API uint16_t substrata_set_phase(uint16_t phase);
SUBSTRATA_API uint16_t substrata_phase(void);
/* For publishers that need it at every transaction: **substrata_phase_place() is the calling thread's phase,
 * for that thread only and as long as it lives, to be read by a relaxed atomic load each time. */
SUBSTRATA_API const uint16_t* const* substrata_phase_place(void);

/* ------------------------------------------------------------------------------------------------- traces */

/* Records what passes at probe points into a file: compact, seekable, self-describing, readable to the last
 * complete block after a crash (docs/reference/feeds.md describes the format). */
struct substrata_recorder;

struct substrata_record_options {
  uint32_t struct_size;
  uint32_t block_transactions; /* a block is written after so many; 0: 16384. A crash loses at most the last
                                  block */
  int32_t compression_level;   /* zstd's, 1 to 19; 0: 3 */
  uint32_t reserved;
  const char* comment; /* kept in the file's header: what was run; null: "" */
};

struct substrata_record_summary {
  uint32_t struct_size;
  uint32_t probes;
  uint64_t transactions;
  uint64_t blocks;
  uint64_t file_bytes;
};

/* Begins to record every probe point that matches (as substrata_subscribe). The file is replaced. options may
 * be null. */
SUBSTRATA_API int substrata_record_start(const char* path, const char* patterns,
                                         const struct substrata_record_options* options,
                                         struct substrata_recorder** out);
/* Brings all that was published so far to the file, as complete blocks. */
SUBSTRATA_API int substrata_record_flush(struct substrata_recorder* recorder);
/* Ends the recording: flushes, writes the index, closes, frees, in every case. The error is the first that
 * occurred while recording (disk full); the file is then readable up to there. summary may be null. */
SUBSTRATA_API int substrata_record_stop(struct substrata_recorder* recorder,
                                        struct substrata_record_summary* summary);

/* A trace file open for reading. */
struct substrata_trace;

struct substrata_trace_info {
  uint32_t struct_size;
  uint32_t format_version;
  uint32_t probes;
  uint32_t complete;     /* 1: the recording was ended properly and the index is there; 0: cut off */
  uint64_t transactions; /* in the complete blocks */
  uint64_t blocks;       /* complete ones */
  uint64_t file_bytes;
  uint64_t
      readable_bytes;    /* up to here the file is whole; smaller than file_bytes: the offset of the damage */
  int64_t recorded_at_s; /* seconds since 1970 */
  const char* comment;   /* valid until close */
  const char* damage;    /* null, or a message: what is wrong at offset readable_bytes; valid until close */
};

/* Opens a trace. A file that is not a trace, or has a damaged header, fails with -1 and the offset in the
 * message. A file cut off or damaged further on opens: info says how far it reads. */
SUBSTRATA_API int substrata_trace_open(const char* path, struct substrata_trace** out);
SUBSTRATA_API void substrata_trace_close(struct substrata_trace* trace);
SUBSTRATA_API int substrata_trace_describe(const struct substrata_trace* trace,
                                           struct substrata_trace_info* out);
/* The index-th recorded probe point; number is its index in the file, delivered how many transactions it has.
 */
SUBSTRATA_API int substrata_trace_probe(const struct substrata_trace* trace, uint32_t index,
                                        struct substrata_probe_info* out);
SUBSTRATA_API int substrata_trace_source(const struct substrata_trace* trace, uint32_t index,
                                         struct substrata_source_info* out);
/* Gives the next batch as it was recorded (*count 0: the end). The probe fields hold indices into the file's
 * probe points. *batch is valid until the next call. -1: damage met; the message has the offset and what was
 * read before. */
SUBSTRATA_API int substrata_trace_next(struct substrata_trace* trace,
                                       const struct substrata_transaction** batch, size_t* count);
/* Goes to a transaction by its number from 0; the next batch begins with it. -1: there are fewer. */
SUBSTRATA_API int substrata_trace_seek(struct substrata_trace* trace, uint64_t transaction);

struct substrata_replay_summary {
  uint32_t struct_size;
  uint32_t probes;       /* published at */
  uint64_t transactions; /* replayed (published, whether watched or not) */
  uint64_t batches;
  uint64_t skipped;  /* of probe points that the patterns left out */
  uint32_t complete; /* as in substrata_trace_info */
  uint32_t reserved;
};

/* Publishes a recorded trace at the probe points of the same names (added if they do not exist), in the
 * recorded order and the recorded batches, in the calling thread, and flushes. patterns: which probe points,
 * null: all. A trace that holds a machine's input and its output should be replayed with one of them only, if
 * that machine observes. A cut-off or damaged file is replayed as far as it is whole, then -1 with the
 * message; summary is filled in any case and may be null. */
SUBSTRATA_API int substrata_replay(const char* path, const char* patterns,
                                   struct substrata_replay_summary* summary);

struct substrata_import_summary {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t lines;
  uint64_t transactions;
  uint64_t ignored_lines; /* valgrind's own messages */
};

/* Turns the text of `valgrind --tool=lackey --trace-mem=yes` ("-": standard input) into a trace with the
 * probe points mem.cpu0.accesses (loads L, stores S, modifies M as SUBSTRATA_ATOMIC) and mem.cpu0.fetches
 * (I). Stamps are sequence numbers. -1: a line that is neither; the message has its number and offset, the
 * trace holds what came before. */
SUBSTRATA_API int substrata_import_lackey(const char* text_path, const char* trace_path,
                                          struct substrata_import_summary* summary);

/* --------------------------------------------------------------------------- machines and their workloads */

/* How to run a workload on a machine model. Zero everywhere but struct_size means: all defaults. */
struct substrata_run_options {
  uint32_t struct_size;
  uint32_t processes;        /* processors or nodes; 0: the machine's default */
  uint64_t seed;             /* everything is decided by seed and parameters; 0 is a seed like others */
  const char* parameters;    /* of the machine: "l1=32768:line=64"; null: defaults */
  const char* record;        /* trace to record to; a file is gone where the run is refused; null: none */
  const char* record_probes; /* patterns of what to record; null: "*", all */
  uint16_t program;          /* program tag of its transactions */
  uint16_t reserved[3];
};

struct substrata_run_result {
  uint32_t struct_size;
  uint32_t correct;          /* 1: the program's own result was checked and is right */
  uint64_t simulated_ticks;  /* the machine's time at the end */
  uint64_t ticks_per_second; /* of it */
  uint64_t operations;       /* of the workload: accesses, messages, synchronisations */
  uint64_t transactions;     /* published at the machine's probe points while they were watched */
  char message[256];         /* what was run and what the check found */
};

/* A machine model, as it makes itself known. The structure and its strings must stay until the process ends.
 */
struct substrata_machine {
  uint32_t struct_size;
  uint32_t default_processes;
  uint32_t max_processes;
  uint32_t reserved;
  const char* name;       /* "memory", "shrimp": [a-z0-9_]+ */
  const char* summary;    /* one line */
  const char* parameters; /* what options.parameters takes: "name=default text; ..." */
  /* Runs the workload to its end in the calling thread and publishes at the machine's probe points. A wrong
   * spec, or a size the machine cannot hold: negative, with the message in result->message. */
  int (*run)(const char* workload, const struct substrata_run_options* options,
             struct substrata_run_result* result);
  struct substrata_machine* next; /* the registry's; null when added */
  /* Optional, both or none (a shorter struct_size has none). Begins to model the live programs or the replay
   * that publish at the probe points which the machine takes as its input; options->parameters as for run. On
   * refusal null, with the message in result->message. unfollow ends it and frees it. */
  void* (*follow)(const struct substrata_run_options* options, struct substrata_run_result* result);
  void (*unfollow)(void* following);
};

/* A workload, as it makes itself known; same lifetime rule. */
struct substrata_workload {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;       /* "fft" */
  const char* summary;    /* one line: what it computes and how its result is checked */
  const char* parameters; /* "points=65536 complex points, a power of 4; ..." */
  struct substrata_workload* next;
};

/* Adds to the lists, which begin with what the library has built in; at any time, before main too. -8: the
 * name is taken. */
SUBSTRATA_API int substrata_machine_add(struct substrata_machine* machine);
SUBSTRATA_API int substrata_workload_add(struct substrata_workload* workload);
/* The lists in alphabetical order; null at the end. */
SUBSTRATA_API const struct substrata_machine* substrata_machine_at(uint32_t index);
SUBSTRATA_API const struct substrata_workload* substrata_workload_at(uint32_t index);

/* Runs a workload ("fft:points=65536", "radix:keys=2097152:radix=1024") on a machine ("numachine"), between
 * PAPI_start and PAPI_stop for example, and flushes what it published. options and result may be null.
 * Returns 0 when the run ended, whether or not the check held (result->correct); -7: no such machine or
 * workload. */
SUBSTRATA_API int substrata_run(const char* machine, const char* workload,
                                const struct substrata_run_options* options,
                                struct substrata_run_result* result);

/* Lets a machine model what live programs or a replay publish ("memory" models caches on mem.cpu*.accesses),
 * so that its own probe points come alive, until substrata_unfollow, which flushes first. options may be
 * null; processes, seed and record are not used. -18: this machine only runs workloads. */
struct substrata_following;
SUBSTRATA_API int substrata_follow(const char* machine, const struct substrata_run_options* options,
                                   struct substrata_following** out);
SUBSTRATA_API void substrata_unfollow(struct substrata_following* following);

#ifdef __cplusplus
}
#endif

#endif
