// Refusals with a text: what was asked, what refused it, what to do. Each thread has one place for the text
// of its last refusal; every getter of such a text reads it.
#pragma once

#include <substrata/substrate.h>

#include <string_view>

#include "base/visibility.hpp"

// Refusing has to work where nothing else does: in a signal handler, in an exit handler or the destructor of
// a late thread-local object, and when memory is exhausted. So it allocates nothing and registers no
// destructor. A thread finds its text through two initial-exec words. The text itself, 1 KB, is not
// thread-local: a library that is loaded at run time (dlopen) gets its initial-exec block out of some 1.6 KB
// that all such libraries share, and a block of any other kind is allocated with malloc at a thread's first
// access, which ends the process when malloc fails. Texts are slots of a static pool instead, claimed under
// the thread's number at its first refusal. A slot whose thread has ended (the kernel knows) is claimed by
// another; where all are in use the pool grows by pages of its own. Only if these are refused too is the text
// lost, not the code.
namespace substrata {

// The note is the text, valid until the thread's next refusal. An argument may be the text before. Texts are
// cut at 1023 bytes. Thread-safe, signal-safe.
SUBSTRATA_PRIVATE_API Status refuse(Code code, const char* format, ...) noexcept
    __attribute__((format(printf, 2, 3)));

// As refuse, with the number that a system call left in errno.
Status refuse_system(int os_error, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));
Status refuse(Code code, int os_error, const char* format, ...) noexcept
    __attribute__((format(printf, 3, 4)));
// With a text that is made already.
Status refuse(Code code, int os_error, std::string_view text) noexcept;

// For C functions whose result is one of PAPI's numbers: keeps the text and gives the code back.
int fail(Code code, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));
int fail(int code, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));

// The text of the calling thread's last refusal, "" if there was none. Signal-safe.
SUBSTRATA_PRIVATE_API const char* last_refusal() noexcept;

// Copies a substrate's note into the calling thread's text, so that it outlives the substrate's next call.
Status keep_note(Status status) noexcept;

}  // namespace substrata
