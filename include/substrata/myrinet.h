/* The Myrinet monitor: what its firmware keeps of the packets that pass modelled network interfaces, and its
 * commands.
 *
 * The monitor is that of Liao, Martonosi and Clark, "Performance Monitoring in a Myrinet-Connected Shrimp
 * Cluster" (SPDT 1998): statistics in the memory of each network interface, read by the host afterwards. It
 * observes the probe points myrinet.node<i>.lanai.send and myrinet.node<i>.lanai.receive of the cluster
 * model; every number here is modelled.
 *
 * ERRORS: functions returning int give 0 or a negative number (PAPI's error numbers, as in substrata/feed.h);
 * substrata_myrinet_error() then has a message. A failed call has no effect. THREADS: every function may be
 * called from any thread, none from a signal handler or from inside an observer's callback.
 */
#ifndef SUBSTRATA_MYRINET_H
#define SUBSTRATA_MYRINET_H

#include <stddef.h>
#include <stdint.h>
#include <substrata/export.h>
#include <substrata/feed.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The latencies of a packet (section 2.3), picked out of its transactions as time - start:
 * source: the request is seen in the interface's queue, to the end of the DMA into the interface's memory
 *         (SUBSTRATA_FETCHED);
 * lanai:  from there to the end of the insertion into the network (SUBSTRATA_INJECTED);
 * net:    from the start of the transport, where source ends, to the arrival of the last word, by two clocks
 *         (SUBSTRATA_ARRIVED);
 * dest:   from the last word to the end of the DMA into the receiver's memory (SUBSTRATA_DELIVERED). */
enum substrata_myrinet_latency {
  SUBSTRATA_MYRINET_SOURCE = 0,
  SUBSTRATA_MYRINET_LANAI = 1,
  SUBSTRATA_MYRINET_NET = 2,
  SUBSTRATA_MYRINET_DEST = 3
};
#define SUBSTRATA_MYRINET_LATENCIES 4

/* Packet types; in bits 56 to 63 of a transaction's detail, above the sender's packet number. */
enum substrata_myrinet_type {
  SUBSTRATA_MYRINET_DATA = 0, /* of a trace */
  SUBSTRATA_MYRINET_MESSAGE = 1,
  SUBSTRATA_MYRINET_PAGE_REQUEST = 2,
  SUBSTRATA_MYRINET_PAGE_REPLY = 3,
  SUBSTRATA_MYRINET_DIFF = 4,
  SUBSTRATA_MYRINET_LOCK = 5,
  SUBSTRATA_MYRINET_BARRIER = 6,
  SUBSTRATA_MYRINET_PROTOCOL = 7,   /* homes of pages and the like */
  SUBSTRATA_MYRINET_COLLECTIVE = 8, /* inside a collective operation of a live MPI program */
  SUBSTRATA_MYRINET_STREAM = 9,     /* of a stream of bytes: opening, data, credits, end */
  SUBSTRATA_MYRINET_TYPES = 16      /* capacity of the arrays */
};

/* The most interfaces of a cluster, and program tags with statistics of their own, which a log's phases are. */
#define SUBSTRATA_MYRINET_MOST_NODES 256
#define SUBSTRATA_MYRINET_MOST_PROGRAMS 64

/* How the statistics of one interface are laid out (section 2.3). */
struct substrata_myrinet_shape {
  uint32_t struct_size;      /* sizeof, set by the caller */
  uint32_t nodes;            /* that can be distinguished as sender or receiver; default 8 */
  uint32_t programs;         /* program tags with statistics of their own, 0 to programs - 1; default 1 */
  uint32_t length_bins;      /* default 128 */
  uint32_t length_bin_bytes; /* default 32, eight words */
  uint32_t latency_bins;     /* default 64; the last holds everything longer */
  uint32_t latency_bin_ns[SUBSTRATA_MYRINET_LATENCIES]; /* default 1000, of the net latency 2000 */
};
/* The interface's memory (section 2.1). */
#define SUBSTRATA_MYRINET_SRAM_BYTES 1048576u

/* The paper's shape; struct_size must be set. */
SUBSTRATA_API int substrata_myrinet_default_shape(struct substrata_myrinet_shape* out);
/* How many bytes of each interface's memory a shape takes, statistics of packets and of operations (below);
 * null: the shape in use. -1: no such shape. */
SUBSTRATA_API int substrata_myrinet_memory(const struct substrata_myrinet_shape* shape, uint64_t* bytes);
/* Uses this shape from now on and forgets what was recorded. -1: it is not a shape, or does not fit the
 * interface's memory (the message has both byte counts); -10: recording is under way. */
SUBSTRATA_API int substrata_myrinet_configure(const struct substrata_myrinet_shape* shape);

/* Histograms in host memory, with the interface's memory as a cache of them (section 6), so that bins may be
 * finer than fit the interface, and packet records. What an interface has counted and not yet written to the
 * host lies in lines of 16 counts; a line goes to the host by one DMA of 72 bytes, which takes about 4 us of
 * modelled time: when the interface is idle and half of its lines are in use, or at once, holding up packets,
 * when a line is needed and none is free. Sums stay on the interface. Packet records are moved three at a
 * time; only records that do not fit into the ring are lost. */
struct substrata_myrinet_host {
  uint32_t struct_size;  /* sizeof, set by the caller */
  uint32_t cache_lines;  /* of each interface, at least 4; 0: 256 */
  uint32_t trace_ring;   /* packet records of each interface that the host can hold; 0: no trace */
  uint32_t trace_buffer; /* packet records that an interface holds, at least 3; 0: 64 if there is a trace */
};
/* How many bytes of each interface's memory (sums, cache, records), and of the host's for each interface,
 * that takes. Either place may be null. -1: no such shape or store. */
SUBSTRATA_API int substrata_myrinet_host_memory(const struct substrata_myrinet_shape* shape,
                                                const struct substrata_myrinet_host* host,
                                                uint64_t* interface_bytes, uint64_t* host_bytes);
/* As substrata_myrinet_configure, with histograms in host memory: for machines that begin after it, until
 * substrata_myrinet_configure. Every command works as before; reading histograms makes the host fetch what
 * the interfaces still hold, in no modelled time. Recording may start and stop while a machine runs. -1: no
 * such shape or store, or it does not fit the interface's memory (the message has both byte counts); -2: it
 * would take more than 1 GiB of host memory; -10: recording is under way. */
SUBSTRATA_API int substrata_myrinet_configure_host(const struct substrata_myrinet_shape* shape,
                                                   const struct substrata_myrinet_host* host);
/* What the interfaces moved since the store was configured or cleared. */
struct substrata_myrinet_host_counts {
  uint32_t struct_size; /* sizeof, set by the caller */
  uint32_t reserved;
  uint64_t written_idle;   /* lines, by an idle interface */
  uint64_t written_forced; /* lines, while packets waited */
  uint64_t fetched;        /* lines, by a reading host */
  uint64_t lines_in_use;   /* now */
  uint64_t trace_records;  /* made: read, or dropped, or still to be read */
  uint64_t trace_dropped;  /* the ring was full */
  uint64_t trace_transfers;
  uint64_t trace_forced; /* of them while packets waited */
};
/* Of one interface, or SUBSTRATA_MYRINET_ALL. -1: no such node, or histograms are not in host memory. */
SUBSTRATA_API int substrata_myrinet_host_counted(uint32_t node, struct substrata_myrinet_host_counts* out);
/* A record: a packet sent, made at its sender when it has been inserted (each attempt), or a packet received,
 * made at its receiver when it is in host memory. */
struct substrata_myrinet_packet {
  uint64_t time_ns;  /* when that was, modelled time; of a packet received by the receiver's clock */
  uint64_t detail;   /* the sender's packet number, its type in bits 56 to 63 */
  int64_t first_ns;  /* source latency; of a packet received the net latency */
  int32_t second_ns; /* LANai latency; destination latency; INT32_MAX: at least so long */
  uint32_t bytes;
  uint16_t peer;
  uint16_t program;
  uint8_t received; /* 0: sent */
  uint8_t reserved[3];
};
/* Takes up to `capacity` of a node's oldest records; *count: so many. Any thread, also while a machine runs. -1:
 * no such node, no place, or there is no trace. */
SUBSTRATA_API int substrata_myrinet_trace(uint32_t node, struct substrata_myrinet_packet* out,
                                          uint32_t capacity, uint32_t* count);

/* Recording, on the fly (section 2.1): what passes between start and stop is added to what is there. Starting
 * twice, or stopping what does not run, is not an error. */
SUBSTRATA_API int substrata_myrinet_start(void);
SUBSTRATA_API int substrata_myrinet_stop(void);
/* Forgets what was recorded; also while recording. */
SUBSTRATA_API int substrata_myrinet_clear(void);
/* Packets that were recorded, and transactions that were not, because their node or program does not fit into
 * the shape. Either may be null. */
SUBSTRATA_API int substrata_myrinet_recorded(uint64_t* packets, uint64_t* left_out);

/* All nodes, or all programs, together. */
#define SUBSTRATA_MYRINET_ALL 0xffffffffu

/* What a histogram or a signature is over. */
enum substrata_myrinet_axis {
  SUBSTRATA_MYRINET_BY_SIZE = 0,     /* x: bin of the packet's length */
  SUBSTRATA_MYRINET_BY_SENDER = 1,   /* x: node */
  SUBSTRATA_MYRINET_BY_RECEIVER = 2, /* x: node */
  SUBSTRATA_MYRINET_BY_TYPE = 3      /* x: enum substrata_myrinet_type */
};

/* The histogram of one latency for one x, as kept at one interface (or the sum of all): latency_bins counts.
 * Source and lanai are kept at the sender, net and dest at the receiver. -1: no such node, program, axis, x,
 * or capacity for fewer than latency_bins counts. */
SUBSTRATA_API int substrata_myrinet_histogram(uint32_t node, uint32_t program,
                                              enum substrata_myrinet_latency latency,
                                              enum substrata_myrinet_axis axis, uint32_t x, uint64_t* counts,
                                              uint32_t capacity);

/* One point of a performance signature (section 2.4). */
struct substrata_myrinet_point {
  uint32_t x;
  uint32_t x_end;         /* by size: lengths x to x_end - 1 bytes; else x + 1 */
  uint64_t sent;          /* packets that gave source and lanai latencies */
  uint64_t received;      /* packets that gave net and dest latencies */
  double average_ns[4];   /* of each latency; 0 without packets */
  double deviation_ns[4]; /* standard deviation */
  double median_ns[4];    /* upper ends of histogram bins; in the last bin by the longest latency there */
  double p99_ns[4];
};
/* The points that have packets, by increasing x. *count: how many there are; no more than `capacity` are written.
 * `out` may be null when capacity is 0. */
SUBSTRATA_API int substrata_myrinet_signature(uint32_t node, uint32_t program,
                                              enum substrata_myrinet_axis axis,
                                              struct substrata_myrinet_point* out, uint32_t capacity,
                                              uint32_t* count);

/* Operations of the communication layer above the packets (section 6 of the paper asks for such an
 * interface): what a process waits for as one thing, although several packets make it up. The layer stamps
 * each packet with its operation (a transaction's `site`: kind + 1 in bits 56 to 63, the operation's number
 * at its node in bits 0 to 54, bit 55 set in a packet that goes to that node; 0: of no operation) and
 * publishes each operation that has ended at the probe point myrinet.node<i>.operation: start and time are
 * its begin and end, site its stamp, address the page's address, the number of the lock or barrier, or the
 * receiver of a message, size the bytes and detail the packets sent for it. */
enum substrata_myrinet_operation_kind {
  SUBSTRATA_MYRINET_PAGE_FETCH = 0,   /* from the access to a page until it is there */
  SUBSTRATA_MYRINET_PAGE_HOME = 1,    /* the directory is asked where a page lives */
  SUBSTRATA_MYRINET_LOCK_ACQUIRE = 2, /* diffs of what was written before included */
  SUBSTRATA_MYRINET_LOCK_RELEASE = 3, /* the same */
  SUBSTRATA_MYRINET_BARRIER_PART = 4, /* one process's: from its arrival to its departure; diffs included */
  SUBSTRATA_MYRINET_MESSAGE_SEND = 5, /* from the call until the message is in the receiver's memory */
  SUBSTRATA_MYRINET_BROADCAST = 6,    /* from the call until the last message is in its receiver's memory */
  SUBSTRATA_MYRINET_STREAM_OPEN = 7,  /* of a stream: the call, waiting included */
  SUBSTRATA_MYRINET_STREAM_WRITE = 8,
  SUBSTRATA_MYRINET_STREAM_READ = 9, /* its packets are the credits; the data are the write's */
  SUBSTRATA_MYRINET_STREAM_CLOSE = 10,
  SUBSTRATA_MYRINET_OTHER_COLLECTIVE = 11, /* as a broadcast; of an MPI program: from its first message on */
  SUBSTRATA_MYRINET_OPERATION_KINDS = 12
};
/* "page-fetch", ...; null: no such kind. */
SUBSTRATA_API const char* substrata_myrinet_operation_name(uint32_t kind);
/* The histogram of an operation's duration has bins that grow with it, four to a doubling; the last holds
 * everything longer. */
#define SUBSTRATA_MYRINET_OPERATION_BINS 96
/* Where a bin begins, in ns; bin 96: 0. */
SUBSTRATA_API uint64_t substrata_myrinet_operation_bin_ns(uint32_t bin);

/* The operations of one kind. */
struct substrata_myrinet_operation_point {
  uint32_t kind; /* enum substrata_myrinet_operation_kind */
  uint32_t reserved;
  uint64_t count;      /* that have ended */
  uint64_t packets;    /* sent for them, each attempt; those of operations under way included */
  uint64_t bytes;      /* of these packets */
  double average_ns;   /* from begin to end; 0 without operations, as all that follows */
  double deviation_ns; /* standard deviation */
  double median_ns;    /* upper ends of histogram bins, or the longest if that is less */
  double p90_ns;
  double p99_ns;
  double longest_ns;
  double part_ns[SUBSTRATA_MYRINET_LATENCIES]; /* each latency summed over the packets, for one operation on
                                                  average; packets may pass at once, and net contains lanai */
};
/* What was recorded between start and stop, by kind: the kinds that have operations or packets. The node is
 * the one whose process began them, whichever interface measured the packets. *count: how many there are; no
 * more than `capacity` are written. `out` may be null when capacity is 0. */
SUBSTRATA_API int substrata_myrinet_operations(uint32_t node, uint32_t program,
                                               struct substrata_myrinet_operation_point* out,
                                               uint32_t capacity, uint32_t* count);
/* The histogram of one kind. -1: no such node, program or kind, or capacity for fewer than
 * SUBSTRATA_MYRINET_OPERATION_BINS counts. */
SUBSTRATA_API int substrata_myrinet_operation_histogram(uint32_t node, uint32_t program, uint32_t kind,
                                                        uint64_t* counts, uint32_t capacity);

/* A rule that notices a bottleneck while a program runs (section 6 of the paper asks for it): the packets of
 * one interface within a window of modelled time, their average latency against that of the same packets
 * alone in the cluster. */
struct substrata_myrinet_rule {
  uint32_t struct_size;   /* sizeof, set by the caller */
  uint32_t node;          /* whose interface; SUBSTRATA_MYRINET_ALL: each of them by itself */
  uint32_t program;       /* of this tag; SUBSTRATA_MYRINET_ALL: any */
  uint32_t latency;       /* enum substrata_myrinet_latency */
  uint32_t least_packets; /* a window with fewer does not fire; 0: 1 */
  uint32_t reserved;
  uint64_t window_ns; /* at least 1; windows begin at its multiples */
  double ratio;       /* fires when the average is more than so many times the idle cluster's; above 0 */
};
/* A window that went beyond the limit. */
struct substrata_myrinet_firing {
  uint32_t struct_size; /* sizeof */
  uint32_t node;
  uint64_t begin_ns; /* of the window, modelled time */
  uint64_t packets;
  double average_ns; /* of the latency */
  double idle_ns;    /* the same packets alone in the cluster, on average */
  double ratio;
};
/* Called in the thread that publishes, while the program runs: when a packet after the window has been seen,
 * at the latest when its probe point's batch is full or substrata_flush() is called. Must be quick and, as
 * any observer, call no function of this header. */
typedef void (*substrata_myrinet_firing_function)(void* owner, const struct substrata_myrinet_firing* firing);
/* From now on until substrata_myrinet_unwatch; independent of start and stop. `function` may be null for who
 * asks substrata_myrinet_fired. -1: no such rule; -2: no memory, or 64 rules already. */
SUBSTRATA_API int substrata_myrinet_watch(const struct substrata_myrinet_rule* rule,
                                          substrata_myrinet_firing_function function, void* owner,
                                          uint32_t* number);
/* How often the rule has fired; `last`, which may be null, is written if it has. May be called from any
 * thread while the program runs. -1: no such number. */
SUBSTRATA_API int substrata_myrinet_fired(uint32_t number, uint64_t* times,
                                          struct substrata_myrinet_firing* last);
/* The function is not called any more when this returns. -1: no such number. */
SUBSTRATA_API int substrata_myrinet_unwatch(uint32_t number);

/* Two workloads at once on one cluster (section 4.2), with the program tags 0 and 1, each as
 * substrata_run("myrinet", ...) would run it alone: they share interfaces, network and, by time slices
 * without coscheduling, each node's processor. options->program and record are not used. The results of both
 * are filled in, at least struct_size of each must be set. -1: what is asked for cannot be run. */
SUBSTRATA_API int substrata_myrinet_run_together(const char* first, const char* second,
                                                 const struct substrata_run_options* options,
                                                 struct substrata_run_result* first_result,
                                                 struct substrata_run_result* second_result);

/* Where the second program's processes are best placed beside the first's, from what was recorded of both when process
 * p of each was on node p (section 6: jobs that migrate by the performance data): by how many nodes they are to be
 * shifted so that its busy interfaces and the first's are different ones; the parameter `shift` of the next run
 * together. By the time that packets spent in each interface, as the signatures of the two program tags have it. -1:
 * fewer than two programs or nodes in the statistics. */
SUBSTRATA_API int substrata_myrinet_placement(uint32_t nodes, uint32_t* shift);

/* An experiment with the global clock alone (sections 2.2 and 3.2): the cluster for some time, with its
 * synchronisations and, around each, two endless streams of full packets, one of them into node 0. */
struct substrata_myrinet_clock_options {
  uint32_t struct_size; /* sizeof, set by the caller */
  uint32_t nodes;       /* 0: 8 */
  uint64_t seed;
  double seconds;         /* simulated; 0: 3600 */
  double period_seconds;  /* 0: 300 */
  double drift_ppm;       /* clocks are off by up to so much */
  uint32_t no_correction; /* 1: nodes do not correct their measured drift */
  uint32_t no_load;       /* 1: no streams */
  uint32_t no_stamps;     /* 1: no time stamps inside long operations */
  uint32_t no_priority;   /* 1: clock packets wait like others */
  double wander_ppb;      /* a clock's drift changes by so much within half an hour; 0: 2, negative: none */
};
struct substrata_myrinet_clock_result {
  uint32_t struct_size;
  uint32_t rounds;
  double error_ns;      /* largest of any node against node 0, once every node knows its drift */
  double pair_error_ns; /* largest between two nodes: by so much net latencies are wrong */
  uint64_t clock_packets;
  uint64_t load_packets;
};
/* Runs it in the calling thread; nothing is published. -1: what is asked for cannot be. */
SUBSTRATA_API int substrata_myrinet_clock_experiment(const struct substrata_myrinet_clock_options* options,
                                                     struct substrata_myrinet_clock_result* result);

/* A parallel program as it was logged while it ran, run again on one cluster of its own with the monitor at
 * each interface: each node computes, sends and waits for messages in the order in which its process did.
 * What `substrata signature` does with an MPI program's messages (docs/reference/myrinet.md). */
struct substrata_myrinet_operation {
  uint64_t compute_ns; /* the process computes so long before it */
  uint64_t bytes;      /* of the message */
  uint32_t peer;       /* the other node */
  uint32_t number;     /* of a receive: which of the messages from peer to here, from 1 */
  uint32_t group;   /* of a send inside a collective operation: its communicator, and in `number` which of its
                          operations; the same in all messages of an operation, at all nodes. 0: of none */
  uint16_t phase;   /* below `phases`: the host keeps a copy of the statistics for each */
  uint8_t type;     /* enum substrata_myrinet_type */
  uint8_t receives; /* 1: waits until that message is there; 0: sends one */
};
struct substrata_myrinet_carry_options {
  uint32_t struct_size; /* sizeof, set by the caller */
  uint32_t nodes;       /* 2 to 256 */
  uint32_t phases;      /* 0: 1 */
  uint32_t reserved;
  uint64_t seed;          /* of faults and clocks */
  const char* parameters; /* of the machine "myrinet", without nodes; null: its defaults */
};
/* Sums over one interface's packets, as the events of these names count them. Of all nodes together, once
 * everything is carried: sent = received + checksum_errors + dropped + misrouted, and the same for bytes. */
struct substrata_myrinet_counts {
  uint32_t struct_size; /* sizeof, set by the caller */
  uint32_t reserved;
  uint64_t packets_sent; /* each attempt */
  uint64_t packets_received;
  uint64_t bytes_sent;
  uint64_t bytes_received;
  uint64_t checksum_errors; /* faults, at the interface that found them */
  uint64_t dropped;
  uint64_t misrouted;
  uint64_t bytes_lost; /* bytes of the faulty packets */
  int64_t latency_sum_ns[SUBSTRATA_MYRINET_LATENCIES];
};
/* What became of it. */
struct substrata_myrinet_outcome {
  uint32_t struct_size; /* sizeof, set by the caller */
  uint32_t reserved;
  uint64_t simulated_ns; /* from the begin to the last delivery */
  uint64_t messages;     /* sent and delivered */
  uint64_t unmatched;    /* receives of messages that were never sent: given up when nothing else went on */
};
struct substrata_myrinet_carried;

/* Carries a program's messages to the last one, in the calling thread; nothing is published. operations[n]
 * are the counts[n] operations of node n. A process waits where its interface's queue is full. Takes about
 * 200 KB for each node and phase that has packets. -1: what is asked for cannot be; -2: no memory, or more
 * than 1 GiB of statistics. */
SUBSTRATA_API int substrata_myrinet_carry(const struct substrata_myrinet_operation* const* operations,
                                          const size_t* counts,
                                          const struct substrata_myrinet_carry_options* options,
                                          struct substrata_myrinet_carried** out);
SUBSTRATA_API int substrata_myrinet_carried_outcome(const struct substrata_myrinet_carried* carried,
                                                    struct substrata_myrinet_outcome* out);
/* Of one node or all, one phase or all (SUBSTRATA_MYRINET_ALL). -1: no such node or phase. */
SUBSTRATA_API int substrata_myrinet_carried_counts(const struct substrata_myrinet_carried* carried,
                                                   uint32_t node, uint32_t phase,
                                                   struct substrata_myrinet_counts* out);
/* As substrata_myrinet_signature; of one phase or all. */
SUBSTRATA_API int substrata_myrinet_carried_signature(const struct substrata_myrinet_carried* carried,
                                                      uint32_t node, uint32_t phase,
                                                      enum substrata_myrinet_axis axis,
                                                      struct substrata_myrinet_point* out, uint32_t capacity,
                                                      uint32_t* count);
/* As substrata_myrinet_operations. A collective operation is one of the node that sends its first message, until its
 * last message is delivered; each node's packets of it are its own. */
SUBSTRATA_API int substrata_myrinet_carried_operations(const struct substrata_myrinet_carried* carried,
                                                       uint32_t node, uint32_t phase,
                                                       struct substrata_myrinet_operation_point* out,
                                                       uint32_t capacity, uint32_t* count);
/* Null is allowed. */
SUBSTRATA_API void substrata_myrinet_carried_free(struct substrata_myrinet_carried* carried);

/* The message of the calling thread's last failed call; "" before one. */
SUBSTRATA_API const char* substrata_myrinet_error(void);

#ifdef __cplusplus
}
#endif

#endif
