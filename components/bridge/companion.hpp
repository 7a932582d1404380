// Calls of another PAPI made beside the thread that wants them, so that one which does not return holds up nobody.
#pragma once

#include <memory>
#include <optional>

namespace substrata::bridge {

// Makes the call in a thread that stands beside the calling one, always the same for it, since that PAPI keeps what it
// knows of each thread apart. The other thread takes no signals and works in the CUDA context of the calling one. What
// the call gave; nothing when it did not return within so many seconds: then it keeps the other thread and what it was
// given, whenever it returns, and the calling thread's next call gets another one. PAPI_ENOMEM where no thread can be
// made. In a forked child the calling thread begins anew. Thread-safe.
std::optional<int> call_beside(unsigned seconds, std::shared_ptr<void> given, int (*call)(void* given));

}  // namespace substrata::bridge
