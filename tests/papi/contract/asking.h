/* One answer of a PAPI library, one line: "chapter <tab> call <tab> situation <tab> answer". */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern const char* chapter;

static inline void report(const char* call, const char* situation, long long answer) {
  printf("%s\t%s\t%s\t%lld\n", chapter, call, situation, answer);
  fflush(stdout);
}

static inline void report_text(const char* call, const char* situation, const char* text) {
  printf("%s\t%s\t%s\t%s\n", chapter, call, situation, text != NULL ? text : "NULL");
  fflush(stdout);
}

/* In this process: its effects stay for the rows that follow. */
#define ASK(call, situation, expression) report(call, situation, (long long)(expression))

/* In a child: for calls that bring some library down, and for effects that must not stay. */
#define ASK_ASIDE(call, situation, expression)                        \
  do {                                                                \
    int ends[2];                                                      \
    if (pipe(ends) != 0) exit(2);                                     \
    fflush(stdout);                                                   \
    const pid_t child = fork();                                       \
    if (child == 0) {                                                 \
      const int nowhere = open("/dev/null", O_WRONLY);                \
      dup2(nowhere, 2);                                               \
      alarm(20);                                                      \
      const long long answer = (long long)(expression);               \
      _exit(write(ends[1], &answer, sizeof answer) != sizeof answer); \
    }                                                                 \
    close(ends[1]);                                                   \
    long long answer = 0;                                             \
    const ssize_t got = read(ends[0], &answer, sizeof answer);        \
    close(ends[0]);                                                   \
    waitpid(child, NULL, 0);                                          \
    if (got == (ssize_t)sizeof answer)                                \
      report(call, situation, answer);                                \
    else                                                              \
      report_text(call, situation, "dies");                           \
  } while (0)
