/* What a shim in a running program reports to a recorder outside it: a file that both map. */
#ifndef SUBSTRATA_LIVE_BOARD_H
#define SUBSTRATA_LIVE_BOARD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The recorder makes the file with all of it zero but the head, and names it in SUBSTRATA_MPI_LIVE. A rank
 * takes the next free entry of `ranks` by adding to ranks_used; when none is free it leaves the board alone. Every
 * field is read and written atomically (relaxed; release and acquire where said); one rank writes an entry.
 * Times are CLOCK_MONOTONIC_RAW. */
#define SUBSTRATA_LIVE_MAGIC UINT64_C(0x324556494C425553) /* "SUBLIVE2" */
#define SUBSTRATA_LIVE_RANKS 1024u
#define SUBSTRATA_LIVE_SECTIONS 1024u
#define SUBSTRATA_LIVE_NAME 64u
#define SUBSTRATA_LIVE_CLOCKS 16u

typedef struct substrata_live_rank {
  uint64_t rank_plus_1; /* 0: the entry is not filled yet; written last, with release */
  uint64_t messages;    /* sent so far */
  uint64_t bytes;       /* their payload */
  uint64_t modelled;    /* 1: messages inside of collectives are expanded by a model */
  uint64_t reserved[4];
} substrata_live_rank;

/* The program went into a section of this name, or out of all (""). */
typedef struct substrata_live_section {
  uint64_t ready; /* 1 once name and time are there; written last, with release */
  int64_t time_ns;
  char name[SUBSTRATA_LIVE_NAME];
} substrata_live_section;

/* At time_ns of this node's clock that of `reference` (as substrata's records name clocks) showed time_ns +
 * offset_ns, within +- uncertainty_ns. */
typedef struct substrata_live_clock {
  uint64_t ready; /* 1 once the rest is there; written last, with release */
  int64_t time_ns;
  int64_t offset_ns;
  int64_t uncertainty_ns;
  char reference[96];
} substrata_live_clock;

typedef struct substrata_live_board {
  uint64_t magic;
  uint64_t ranks_used;    /* may pass SUBSTRATA_LIVE_RANKS: those beyond have no entry */
  uint64_t sections_used; /* may pass SUBSTRATA_LIVE_SECTIONS: those beyond are lost */
  uint64_t clocks_used;   /* may pass SUBSTRATA_LIVE_CLOCKS: those beyond are lost */
  uint64_t reserved[4];
  substrata_live_rank ranks[SUBSTRATA_LIVE_RANKS];
  substrata_live_section sections[SUBSTRATA_LIVE_SECTIONS];
  substrata_live_clock clocks[SUBSTRATA_LIVE_CLOCKS];
} substrata_live_board;

#ifdef __cplusplus
}
#endif

#endif
