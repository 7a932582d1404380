/* What the chapters of the client share: the events they count, sets to ask of, and each chapter's questions. */
#pragma once

#include <papi.h>

#include "asking.h"

static const char kClock[] = "perf::TASK-CLOCK", kFaults[] = "perf::PAGE-FAULTS",
                  kMajorFaults[] = "perf::MAJOR-FAULTS";
enum { kUnused = 4711, kBadPreset = (int)0x80007fff, kBadNative = (int)0x43ffffff };
extern int clock_code, faults_code, major_code;
extern long long values[16], cycles;

unsigned long by_pthread(void);
void on_overflow(int set, void* address, long long vector, void* context);
/* Whether the library is initialised and the three events have codes. */
int up(void);
int empty_set(void);
int bound_set(void);
int clock_set(void);
int state(int set);

void before_initialisation(void);
void life_of_the_library(void);
void eventsets(void);
void threads(void);
void options(void);
void events(void);
void components(void);
void machine(void);
void translations(void);
void profiles(void);
void rates_and_regions(void);
