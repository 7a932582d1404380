// Faults in shared pages: which pages are fetched, and which get a twin.
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <mutex>

#include "base/borrowed_signal.hpp"
#include "base/error.hpp"
#include "base/fork_lock.hpp"
#include "sources/shared_memory/shared_pages.hpp"

using namespace substrata;
using namespace substrata::pages;

namespace {

Access access_of(const void* context) noexcept {
#if defined(__x86_64__)
  constexpr greg_t kWriteBit = 2;  // of the processor's page fault code
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  return (registers[REG_ERR] & kWriteBit) != 0 ? Access::kWrite : Access::kRead;
#else
  (void)context;
  return Access::kUnknown;
#endif
}

// The open memories of this process, for the signal handler.
constexpr size_t kMostOpen = 16;
std::atomic<substrata_shared_pages*> open_memories[kMostOpen];
ForkLock open_lock;

void on_segmentation_fault(int signal, siginfo_t* info, void* context);
BorrowedSignal segmentation_fault(on_segmentation_fault, SA_ONSTACK | SA_NODEFER);

void on_segmentation_fault(int signal, siginfo_t* info, void* context) {
  const int kept_errno = errno;
  if (info->si_code > 0) {
    for (const auto& slot : open_memories) {
      substrata_shared_pages* const pages = slot.load(std::memory_order_acquire);
      if (pages == nullptr || pages->owner != getpid() || !pages->covers(info->si_addr)) continue;
      if (!pages->serve(info->si_addr, access_of(context))) break;
      errno = kept_errno;
      return;
    }
  }
  errno = kept_errno;
  segmentation_fault.pass_on(signal, info, context);
}

}  // namespace

int substrata::pages::watch(substrata_shared_pages* pages) {
  const std::lock_guard guard(open_lock);
  auto* const slot = std::find(std::begin(open_memories), std::end(open_memories), nullptr);
  if (slot == std::end(open_memories))
    return fail(Code::kNoMemory, "a process can have %zu memories of shared pages; close one", kMostOpen);
  if (const int held = segmentation_fault.hold(SIGSEGV); held < 0)
    return fail(Code::kSystem, "SIGSEGV cannot be handled: %s", std::strerror(-held));
  slot->store(pages, std::memory_order_release);
  return 0;
}

void substrata::pages::unwatch(substrata_shared_pages* pages) {
  const std::lock_guard guard(open_lock);
  auto* const slot = std::find(std::begin(open_memories), std::end(open_memories), pages);
  if (slot == std::end(open_memories)) return;
  slot->store(nullptr, std::memory_order_release);
  segmentation_fault.release();
}

bool substrata_shared_pages::serve(const void* address, Access access) noexcept {
  const uint64_t page =
      static_cast<uint64_t>(static_cast<const unsigned char*>(address) - view.at(0)) / geometry.page_bytes;
  const uint64_t offset = page * geometry.page_bytes;
  enter();
  ++counts.faults;
  const uint64_t begin = raw_ns();
  uint64_t now = begin;
  bool mended = true;
  const bool was_invalid = states[page] == PageState::kInvalid;
  if (was_invalid) {
    // The version first: a change that comes while the page is copied makes the copy outdated.
    seen[page] = segment->version(page).load(std::memory_order_acquire);
    std::memcpy(copy.at(offset), segment->home_copies() + offset, geometry.page_bytes);
    states[page] = PageState::kReadable;
    ++counts.fetches;
    now = raw_ns();
    done.push_back({begin, now, static_cast<uint32_t>(page), SUBSTRATA_PAGE_FETCH});
    if (access != Access::kWrite) mended = protect(page, PROT_READ);
  }
  // Where the processor does not say what the access was, a fault at a page that can be read is a store.
  // Another thread may have mended it meanwhile; a read is then simply made again.
  if (states[page] == PageState::kReadable &&
      (access == Access::kWrite || (access == Access::kUnknown && !was_invalid))) {
    const uint64_t twin_begin = now;
    if (is_home(page)) {
      ++counts.home_writes;
    } else {
      std::memcpy(twins.at(offset), copy.at(offset), geometry.page_bytes);
      ++counts.twins;
    }
    states[page] = PageState::kWritable;
    stored.push_back(static_cast<uint32_t>(page));
    mended = protect(page, PROT_READ | PROT_WRITE);
    now = raw_ns();
    if (!is_home(page)) done.push_back({twin_begin, now, static_cast<uint32_t>(page), SUBSTRATA_TWIN});
  }
  counts.fault_ns += now - begin;
  leave();
  return mended;
}
