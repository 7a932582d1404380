// The runtime's allocations fail while the program's succeed: the program must not notice. Prints what it caught.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

static std::atomic<bool> refuses{false};

void* operator new(std::size_t size) {
  if (refuses) throw std::bad_alloc();
  return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

static void* blocks[100];

int main() {
  const char* caught = "nothing";
  try {
    blocks[0] = std::malloc(16);
    refuses = true;
    for (int i = 1; i < 100; ++i) blocks[i] = std::malloc(16);
    refuses = false;
    for (void* block : blocks) std::free(block);
  } catch (const std::bad_alloc&) {
    caught = "bad_alloc";
  }
  refuses = false;
  std::puts(caught);
  return 0;
}
