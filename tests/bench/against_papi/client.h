/* What is measured of a libpapi, in the process that has loaded it. */
#ifndef BENCH_AGAINST_PAPI_CLIENT_H
#define BENCH_AGAINST_PAPI_CLIENT_H

struct measure {
  const char* name;
  const char* floor;          /* the bare system calls that it cannot do without, or null */
  int calls;                  /* in one block */
  int (*make)(void);          /* once, before its first block: 0 when it can be measured */
  double (*block)(int calls); /* nanoseconds a call; negative when a call failed */
};

/* Ends with a name that is null. */
extern const struct measure measures[];

/* Serves one driver: a line on the standard output says what bringing the library up cost, then for each line "NUMBER"
   on the standard input one block of that measure is run and its nanoseconds a call are written. */
int serve(void);

#endif
