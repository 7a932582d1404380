// Runs a thread's last duties from the destructor of one key (pthread_key_create), which needs no memory.
#include "base/thread_end.hpp"

#include <pthread.h>

namespace substrata {
namespace {

constinit thread_local AtThreadEnd* first __attribute__((tls_model("initial-exec"))) = nullptr;

void run_all(void*) noexcept {
  while (first != nullptr) {
    AtThreadEnd* const duty = first;
    first = duty->next;
    duty->noted = false;
    duty->run();
  }
}

struct Key {
  pthread_key_t key = 0;
  bool made = pthread_key_create(&key, [](void* value) { run_all(value); }) == 0;
};
// Made while the library is loaded, so that it is one of the first keys: values of later ones take memory.
Key ends;

}  // namespace

bool at_thread_end(AtThreadEnd& duty) noexcept {
  if (duty.noted) return true;
  if (!ends.made || pthread_setspecific(ends.key, &ends) != 0) return false;
  duty.next = first;
  duty.noted = true;
  first = &duty;
  return true;
}

}  // namespace substrata
