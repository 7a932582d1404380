/* Compact batches: the memory accesses of a thread as records of eight bytes instead of transactions of 64, for a
 * publisher that has very many of them. C99 and C++20; feed.h is the rest of the feed.
 *
 *   a compact publisher  ->  probe point  ->  observers that take its format: the records, as they are
 *                                         ->  all others: the transactions that they stand for
 *
 * Formats are numbered and never change; what does not fit into one gets a new number. An observer that takes a
 * format also gets transactions, of publishers that have no compact form or another one.
 *
 * FORMAT 1, SUBSTRATA_COMPACT_ACCESSES. A record has what it is in bits 0 to 7 (enum substrata_compact_what), a size
 * less one in bits 8 to 15, an address or number in bits 16 to 63. What does not fit into its field, and the
 * site and detail where they are not 0, come in records of their own just before it. A batch never ends
 * between such a record and the one it belongs to. PHASE holds for all that follow at the same probe point; a
 * new observer begins with phase 0. The transactions have the publisher's initiator and are numbered from 1 in
 * their field `time`.
 */
#ifndef SUBSTRATA_COMPACT_H
#define SUBSTRATA_COMPACT_H

#include <stddef.h>
#include <stdint.h>
#include <substrata/export.h>
#include <substrata/feed.h>

#ifdef __cplusplus
extern "C" {
#endif

enum substrata_compact_format { SUBSTRATA_COMPACT_ACCESSES = 1 };

/* A plain read or write has an address below 2^48 that is a multiple of its size, a power of two up to 16: it
 * lies within one line of every cache whose lines have 16 bytes or more. */
enum substrata_compact_what {
  SUBSTRATA_COMPACT_READ = 0, /* plain */
  SUBSTRATA_COMPACT_WRITE = 1,
  SUBSTRATA_COMPACT_ANY_READ = 2, /* plain or not */
  SUBSTRATA_COMPACT_ANY_WRITE = 3,
  SUBSTRATA_COMPACT_ATOMIC = 4,
  SUBSTRATA_COMPACT_FETCH = 5,
  SUBSTRATA_COMPACT_INSTRUCTIONS = 6, /* number: how many */
  SUBSTRATA_COMPACT_BRANCH = 7,
  SUBSTRATA_COMPACT_MISPREDICTED = 8,
  SUBSTRATA_COMPACT_BARRIER = 9, /* detail: which opening; size: how many threads */
  SUBSTRATA_COMPACT_PHASE = 10,  /* number: the phase of what follows */
  /* of the next record that is none of these four */
  SUBSTRATA_COMPACT_SITE = 11,
  SUBSTRATA_COMPACT_DETAIL = 12,
  SUBSTRATA_COMPACT_SIZE = 13, /* where it is not 1 to 256 */
  SUBSTRATA_COMPACT_UPPER =
      14 /* bits 48 to 63 of the next record's address or number, one of those three too */
};

static inline uint64_t substrata_compact_record(unsigned what, unsigned size, uint64_t number) {
  return number << 16 | (uint64_t)((size - 1u) & 0xffu) << 8 | what;
}
/* May an access of a size that is a power of two up to 16 be a plain record? */
static inline int substrata_compact_is_plain(uint64_t address, unsigned size) {
  return (address & (UINT64_C(0xffff) << 48 | (size - 1u))) == 0;
}

/* Where the next record goes, in memory of the publisher's owner. The thread that publishes may itself write
 * single records that begin no group, while next is not end, the publisher is observed and `phase` is the
 * thread's phase: the record first, then next + 1 by a store that releases. All else is
 * substrata_compact_put's. */
struct substrata_compact_cursor {
  uint64_t* next;
  uint64_t* end;  /* the owner may lower it to next, so that it writes none itself */
  uint32_t phase; /* of the newest record */
  uint32_t reserved;
};

/* Opens a publisher at a probe point whose transactions are records of a format. Of the functions of feed.h it takes
 * substrata_publisher_close, _epoch and _deliver, substrata_observed and substrata_publish_all. records: how
 * many wait at most for a delivery, at least 16; 0: 1024. The cursor must live until the publisher is closed.
 * -18: no such format. */
SUBSTRATA_API int substrata_compact_open(uint32_t probe, uint32_t format, uint32_t initiator,
                                         uint32_t records, struct substrata_compact_cursor* cursor,
                                         struct substrata_publisher** out);
/* Publishes any transaction, as records where the format has such. time, initiator and probe are the
 * publisher's. */
SUBSTRATA_API void substrata_compact_put(struct substrata_publisher* publisher,
                                         const struct substrata_transaction* transaction);

struct substrata_compact_batch {
  uint32_t format;
  uint32_t probe;
  uint32_t initiator;
  uint32_t reserved;
  const uint64_t* records; /* valid until the observer returns */
  size_t count;
};
typedef void (*substrata_compact_function)(void* owner, const struct substrata_compact_batch* batch);

/* From now on the observer gets batches of this format as they are, in the same threads and under the same
 * rules as transactions. To be called before it subscribes. -18: no such format; the observer is as it was. */
SUBSTRATA_API int substrata_observer_take_compact(struct substrata_observer* observer, uint32_t format,
                                                  substrata_compact_function call);

#ifdef __cplusplus
}
#endif

#endif
