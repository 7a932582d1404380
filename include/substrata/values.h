/* What a transaction of the feed may be and carry beyond feed.h: data values (Schulz et al., "Owl", section 3.1: an
 * event's "addresses, values, or event types"), and what passes at the operating system's probe points. */
#ifndef SUBSTRATA_VALUES_H
#define SUBSTRATA_VALUES_H

#include <substrata/feed.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One of substrata_transaction.flags: detail is the data value, as a number of this machine's byte order: the first
 * eight bytes, or fewer where size is less. Of an access it is what is read or was written, of a message's contents
 * their begin, of a counter its growth since the last reading, of a gauge what it shows. Without the flag it is not
 * known. */
enum substrata_value_flags { SUBSTRATA_FLAG_VALUE = 1u << 7 };

/* Kinds of the source "os" (enum substrata_kind). */
enum substrata_system_kind {
  /* detail: the call's number, address: its first argument, size: what it returned where that is positive, target: the
     number of the error, start: when it began */
  SUBSTRATA_SYSTEM_CALL = 82,
  /* a tracepoint of the kernel; detail, address, size: numbers that it has */
  SUBSTRATA_TRACEPOINT = 83
};

#ifdef __cplusplus
}
#endif

#endif
