/* The monitor boards of the modelled SHRIMP multicomputer: commands to their registers, bulk reads of their
 * histograms and traces. C99 and C++; shrimp.hpp has the same for C++.
 *
 * Source: Martonosi, Clark, Mesarina, "The SHRIMP Performance Monitor: Design and Applications" (SPDT 1996).
 * Everything here is modelled. There is one board for each node, 0 to 255. Boards take packets in while an
 * eventset with an event of the component `shrimp` runs (PAPI_start), from workloads on the machine `shrimp`,
 * from live programs it follows, and from replayed traces. They keep their registers and memory from one
 * eventset to the next.
 *
 * ERRORS: 0, or a negative PAPI error number (-1 invalid argument, -2 no memory); substrata_shrimp_error()
 * has the message. A failed call changes nothing. THREADS: every function may be called from any thread, and
 * from an overflow handler of a `shrimp` event. A command takes effect behind every packet that the calling
 * thread published before it.
 */
#ifndef SUBSTRATA_SHRIMP_H
#define SUBSTRATA_SHRIMP_H

#include <stddef.h>
#include <stdint.h>
#include <substrata/export.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SUBSTRATA_SHRIMP_NODES 256u
#define SUBSTRATA_SHRIMP_EVERY_NODE 0xffffffffu /* as `node` of a command: all boards */
#define SUBSTRATA_SHRIMP_WORDS (1u << 20)       /* of a histogram; 1 << 24 with the extension */
#define SUBSTRATA_SHRIMP_WORD_MOST ((UINT64_C(1) << 40) - 1)

/* The twelve nibbles of the five variables (section 3.3), to be added up to a selection of five. Legal are
 * the 190 selections whose latency nibbles are contiguous and that hold both nibbles of the sender or
 * neither. In the address the nibbles keep this order, the first one lowest. */
#define SUBSTRATA_SHRIMP_LATENCY(nibble) (1u << (nibble))    /* 0 (low) to 4 */
#define SUBSTRATA_SHRIMP_SIZE(nibble) (1u << (5 + (nibble))) /* 0 to 2 */
#define SUBSTRATA_SHRIMP_SENDER (3u << 8)
#define SUBSTRATA_SHRIMP_TAG (1u << 10)
#define SUBSTRATA_SHRIMP_CATEGORY (1u << 11)

/* Variants of the multiplexer, which is programmable logic (section 3.3): flags of a selection. In the order with the
 * sender behind the category, three multiplexers have 8 inputs and two have 7, the paper's numbers; in the order above
 * one has 7. Unrestricted, all 792 selections are legal, and each multiplexer has 8 inputs. */
#define SUBSTRATA_SHRIMP_SENDER_LAST (1u << 12)
#define SUBSTRATA_SHRIMP_UNRESTRICTED (1u << 13)

/* Registers, and what they hold after power-on. */
enum substrata_shrimp_register {
  SUBSTRATA_SHRIMP_RUN = 0,               /* 1: takes packets in. 1 */
  SUBSTRATA_SHRIMP_MODE = 1,              /* 0 histogram, 1 trace. 0 */
  SUBSTRATA_SHRIMP_MULTIPLEXER = 2,       /* a selection. Sender and size */
  SUBSTRATA_SHRIMP_LATENCY_SHIFT = 3,     /* 0 to 43. 0 */
  SUBSTRATA_SHRIMP_LATENCY_MINIMUM = 4,   /* shifted latencies below it become 0. 0 */
  SUBSTRATA_SHRIMP_LATENCY_MAXIMUM = 5,   /* above it: 0xfffff; no more than 20 bits are kept. 2^44-1 */
  SUBSTRATA_SHRIMP_CATEGORY_REGISTER = 6, /* 0 to 15. 0 */
  SUBSTRATA_SHRIMP_THRESHOLD = 7,         /* an incremented word above it interrupts. 2^40-1 */
  SUBSTRATA_SHRIMP_TRIGGER = 8,           /* 1: an interrupt switches from histogram to trace mode. 0 */
  SUBSTRATA_SHRIMP_TRACE_BASE = 9,        /* first word of the trace; writing it empties the trace. 0 */
  SUBSTRATA_SHRIMP_TRACE_LIMIT = 10,      /* the word behind the last one, 0: end of memory; empties it. 0 */
  SUBSTRATA_SHRIMP_TRACE_WRAP = 11,       /* a full trace stops (0) or overwrites its oldest entries (1). 0 */
  SUBSTRATA_SHRIMP_JUMPER =
      12, /* number of the nibble wired to the extended memory, or a signal; 12: none. 12 */
  SUBSTRATA_SHRIMP_SOURCE = 13 /* takes in packets (0) or uses of the EISA bus (1). 0 */
};

/* Signals of the network interface, as values of the jumper's register. */
#define SUBSTRATA_SHRIMP_JUMPER_KIND \
  13u /* bit 0 of the protocol, 1 synchronising, 2 collective, 3 more follow */
#define SUBSTRATA_SHRIMP_JUMPER_PAGE 14u  /* bits 12 to 15 of the address that the packet goes to */
#define SUBSTRATA_SHRIMP_JUMPER_BLOCK 15u /* bits 8 to 11 of it */

/* Of a use of the EISA bus, the latency is the time for which it waited, the size its bytes, the sender the node, and
 * the page tag who used the bus: */
#define SUBSTRATA_SHRIMP_BUS_OUT 1u     /* the interface, for a burst out of memory */
#define SUBSTRATA_SHRIMP_BUS_IN 2u      /* the interface, for a packet into memory */
#define SUBSTRATA_SHRIMP_BUS_COMMAND 3u /* the processor, for a command to its monitor */

/* The calling thread's last refusal; "" before one. Valid until the thread's next call. */
SUBSTRATA_API const char* substrata_shrimp_error(void);

/* Writes a register of `node` as a command of node `from`: any node may write any node's registers (section
 * 3.5). For EVERY_NODE all boards are written or none. */
SUBSTRATA_API int substrata_shrimp_command(uint32_t from, uint32_t node, uint32_t reg, uint64_t value);
SUBSTRATA_API int substrata_shrimp_register_value(uint32_t node, uint32_t reg, uint64_t* value);
/* Power-on state of all boards, page tags included. Event counters keep what they counted. */
SUBSTRATA_API void substrata_shrimp_power_on(void);

/* Memory, in words of 40 bits. Histogram and trace share it. Initialising and reading a range are one command
 * each. */
SUBSTRATA_API int substrata_shrimp_initialise(uint32_t from, uint32_t node, uint32_t first, uint32_t count,
                                              uint64_t value);
SUBSTRATA_API int substrata_shrimp_read(uint32_t node, uint32_t first, uint32_t count, uint64_t* out);
/* The sum of the words of all boards, word by word (as figure 4 adds up the nodes). */
SUBSTRATA_API int substrata_shrimp_read_sum(uint32_t first, uint32_t count, uint64_t* out);

/* The five variables of a packet. */
struct substrata_shrimp_variables {
  uint32_t latency; /* 20 bits, 100 ns before the shift */
  uint16_t size;    /* 12 bits, bytes */
  uint8_t sender;
  uint8_t tag;      /* 4 bits */
  uint8_t category; /* 4 bits */
  uint8_t reserved[3];
};
/* 0: the selection is legal; -1: substrata_shrimp_error() names the rule it breaks. */
SUBSTRATA_API int substrata_shrimp_check_selection(uint32_t selection);
/* Where a packet with these variables is counted under a selection. */
SUBSTRATA_API int substrata_shrimp_address(uint32_t selection,
                                           const struct substrata_shrimp_variables* variables,
                                           uint32_t* address);
/* The variables that lead to an address; nibbles that are not selected are 0. */
SUBSTRATA_API int substrata_shrimp_variables_of(uint32_t selection, uint32_t address,
                                                struct substrata_shrimp_variables* variables);

/* The trace, oldest entry first. */
struct substrata_shrimp_trace_entry {
  uint32_t address; /* the 20 selected bits */
  uint32_t clock;   /* the low 20 bits of the receiver's clock, 100 ns */
};
/* Copies up to `capacity` entries from the `first` on. `count` gets how many there are behind `first`, which may
 * be more. */
SUBSTRATA_API int substrata_shrimp_read_trace(uint32_t node, uint32_t first, uint32_t capacity,
                                              struct substrata_shrimp_trace_entry* out, uint32_t* count);

/* Takes the oldest waiting overflow address out of the node's queue: *found 0 when none waits. Addresses that
 * an overflow handler got are not queued. *overflowed (may be null): 1 when an address was dropped because 16
 * were waiting; reading it clears it. */
SUBSTRATA_API int substrata_shrimp_next_interrupt(uint32_t node, uint32_t* address, uint32_t* found,
                                                  uint32_t* overflowed);

/* The tag (0 to 15) of a page of 4096 bytes in a node's incoming page table, for packets to it. Protected:
 * only the system of the receiving node itself does that, so there is no remote form and no register. */
SUBSTRATA_API int substrata_shrimp_set_tag(uint32_t node, uint64_t page, uint32_t tag);

#ifdef __cplusplus
}
#endif

#endif
