// A program with hooks as they were while every one of them was called: what they know of the runtime, declared
// here as it was then. It writes once.
#include <stdint.h>

enum { kWrite = 1, kSites = 8192, kLine = 64 };

void substrata_memory_begin(volatile uint64_t* salt, void* first);
void* substrata_memory_attach(void** place);
void substrata_memory_bind(void* thread, uintptr_t pc, uintptr_t address, unsigned kind, unsigned size);

static char beginning[kLine * (kSites + 1)] __attribute__((aligned(kLine)));
static void* current = beginning;
static volatile uint64_t salt = UINT64_C(0x9e3779b97f4a7c15);
long written;

int main(void) {
  substrata_memory_begin(&salt, beginning);
  void* const thread = substrata_memory_attach(&current);
  if (thread == 0) return 1;
  written = 1;
  substrata_memory_bind(thread, (uintptr_t)main + 1, (uintptr_t)&written, kWrite, sizeof written);
  return 0;
}
