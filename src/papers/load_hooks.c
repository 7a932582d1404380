// The functions that the compiler's calls name. They stand apart from what calls them: compilers know these names.
#include "papers/load_hooks.h"

#include <stddef.h>
#include <string.h>

static const struct load_region* places;
static int place_count;
static void (*heard)(void*, uint64_t);
static void* heard_owner;

void substrata_hear_loads(const struct load_region* regions, int count, void (*load)(void*, uint64_t),
                          void* owner) {
  places = regions;
  place_count = count;
  heard = load;
  heard_owner = owner;
}

static void seen(const void* at) {
  int place = 0;
  while (place < place_count && (uintptr_t)at - places[place].from >= places[place].bytes) ++place;
  if (place < place_count) heard(heard_owner, places[place].as + ((uintptr_t)at - places[place].from));
}

#define HOOK __attribute__((visibility("hidden")))
#define LOADS(name)                  \
  HOOK void __tsan_##name(void* at); \
  void __tsan_##name(void* at) { seen(at); }
#define STORES(name)                 \
  HOOK void __tsan_##name(void* at); \
  void __tsan_##name(void* at) { (void)at; }
#define ACCESSES(bytes)              \
  LOADS(read##bytes)                 \
  LOADS(unaligned_read##bytes)       \
  LOADS(read_write##bytes)           \
  LOADS(unaligned_read_write##bytes) \
  STORES(write##bytes)               \
  STORES(unaligned_write##bytes)

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
STORES(func_entry)
HOOK void __tsan_func_exit(void);
void __tsan_func_exit(void) {}
HOOK void __tsan_init(void);
void __tsan_init(void) {}
HOOK void __tsan_read_range(void* at, unsigned long bytes);
void __tsan_read_range(void* at, unsigned long bytes) { (void)at, (void)bytes; }
HOOK void __tsan_write_range(void* at, unsigned long bytes);
void __tsan_write_range(void* at, unsigned long bytes) { (void)at, (void)bytes; }
HOOK void* __tsan_memset(void* to, int value, size_t bytes);
void* __tsan_memset(void* to, int value, size_t bytes) { return memset(to, value, bytes); }
HOOK void* __tsan_memcpy(void* to, const void* from, size_t bytes);
void* __tsan_memcpy(void* to, const void* from, size_t bytes) { return memcpy(to, from, bytes); }
