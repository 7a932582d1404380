// molecules.c compiled with calls at its accesses, as the access tracer has them.
#include "papers/molecules_loads.h"

#include "papers/load_hooks.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN __attribute__((no_sanitize("thread")))

// Each record behind the size that the allocator keeps, on a multiple of 16 bytes.
enum { kArena = 1 << 22, kBefore = 16, kStack = 65536, kStatic = 4096 };
static _Alignas(64) unsigned char arena[kArena];
static size_t used;

PLAIN static void* take(size_t count, size_t size) {
  const size_t bytes = (count * size + 8 + 15) / 16 * 16;
  if (used + kBefore + bytes > kArena) return NULL;
  void* const at = arena + used + kBefore;
  used += bytes;
  return at;
}
PLAIN static void give_back(void* pointer) { (void)pointer; }

#define calloc take
#define free give_back
#define main molecules_main
int molecules_main(int argc, char** argv);
/* The program itself, its accesses hooked. NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "papers/owl_programs/molecules.c"
#undef main

PLAIN uint64_t substrata_molecules_loads(void (*load)(void* owner, uint64_t address), void* owner) {
  used = 0;
  first = NULL;
  if (!make_atoms() || !find_neighbours()) return 0;
  // Atoms from 512 MiB on, the stack below 768 MiB, everything else from 256 MiB on.
  const struct load_region regions[] = {
      {(uintptr_t)arena, kArena, 0x20000000},
      {(uintptr_t)__builtin_frame_address(0) - kStack, kStack, 0x30000000 - kStack},
      {(uintptr_t)&first, kStatic, 0x10000000}};
  substrata_hear_loads(regions, 3, load, owner);
  find_forces();
  substrata_hear_loads(NULL, 0, NULL, NULL);
  uint64_t pairs = 0;
  for (const struct atom* a = first; a != NULL; a = a->next) pairs += (uint64_t)a->neighbours;
  return pairs;
}
