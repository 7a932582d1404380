/* A C99 client of feed.h: compiles clean and reaches the inline fast path. */
#include <substrata/feed.h>

int feed_header_publishes_from_c(struct substrata_publisher* publisher) {
  struct substrata_transaction transaction = {0};
  struct substrata_transaction* slot;
  transaction.kind = SUBSTRATA_READ;
  transaction.address = 64;
  substrata_publish(publisher, &transaction);
  slot = substrata_reserve(publisher);
  if (slot == NULL) return substrata_observed(publisher) ? -1 : 0;
  *slot = transaction;
  substrata_commit(publisher);
  return 2;
}
