// What is to be done when a thread ends.
#pragma once

namespace substrata {

// A duty of the calling thread at its end; a thread-local object of constant initialisation and trivial
// destruction. A thread-local object with a destructor would not do: the C library ends the process when it
// has no memory to note it.
struct AtThreadEnd {
  void (*run)() noexcept;
  AtThreadEnd* next = nullptr;
  bool noted = false;
};

// Notes the duty, once; the last one noted is run first, after the destructors of thread-local objects. The
// main thread's are run if it ends by pthread_exit, not when the process exits. False where memory is
// lacking: nothing is noted then.
bool at_thread_end(AtThreadEnd& duty) noexcept;

}  // namespace substrata
