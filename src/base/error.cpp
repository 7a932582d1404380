// The texts of refusals: a pool of slots, one for each thread that was ever refused.
#include "base/error.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "base/sanitizers.hpp"

#ifdef SUBSTRATA_TSAN
extern "C" void AnnotateIgnoreWritesBegin(const char* file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char* file, int line);
#endif

namespace substrata {
namespace {

constexpr size_t kTextBytes = 1024;
constexpr size_t kSlots = 32;

// The owners stand apart, so that a search does not touch the texts.
struct Block {
  std::atomic<Block*> next{nullptr};
  std::atomic<pid_t> owners[kSlots] = {};  // 0: free
  char texts[kSlots][kTextBytes] = {};
};
constinit Block first_block;

struct Slot {
  std::atomic<pid_t>* owner = nullptr;
  char* text = nullptr;
};
constinit thread_local Slot own __attribute__((tls_model("initial-exec")));

pid_t thread_id() noexcept { return static_cast<pid_t>(syscall(SYS_gettid)); }

bool ended(pid_t thread) noexcept { return syscall(SYS_tgkill, getpid(), thread, 0) != 0 && errno == ESRCH; }

// The first slot that `take` makes the caller's.
template <typename Take>
Slot search(const Take& take) noexcept {
  for (Block* block = &first_block; block != nullptr; block = block->next.load(std::memory_order_acquire)) {
    for (size_t i = 0; i < kSlots; ++i) {
      if (take(block->owners[i])) return {&block->owners[i], block->texts[i]};
    }
  }
  return {};
}

Slot grow(pid_t me) noexcept {
  void* const pages =
      mmap(nullptr, sizeof(Block), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return {};
  auto* const fresh = static_cast<Block*>(pages);  // zeros are an empty block
  fresh->owners[0].store(me, std::memory_order_relaxed);
  Block* last = &first_block;
  Block* none = nullptr;
  while (!last->next.compare_exchange_strong(none, fresh, std::memory_order_acq_rel)) {
    last = none;
    none = nullptr;
  }
  return {&fresh->owners[0], fresh->texts[0]};
}

Slot claim() noexcept {
  const pid_t me = thread_id();
  using Owner = std::atomic<pid_t>;
  // One under this number is of this thread, claimed by a signal handler in between, or of one that has
  // ended.
  Slot slot = search([&](Owner& owner) { return owner.load(std::memory_order_acquire) == me; });
  if (slot.text == nullptr)
    slot = search([&](Owner& owner) {
      pid_t nobody = 0;
      return owner.load(std::memory_order_relaxed) == 0 &&
             owner.compare_exchange_strong(nobody, me, std::memory_order_acq_rel);
    });
  if (slot.text == nullptr)
    slot = search([&](Owner& owner) {
      pid_t other = owner.load(std::memory_order_relaxed);
      return ended(other) && owner.compare_exchange_strong(other, me, std::memory_order_acq_rel);
    });
  return slot.text != nullptr ? slot : grow(me);
}

// The thread that forks lives on in the child under another number.
void follow_into_child() noexcept {
  if (own.text != nullptr) own.owner->store(thread_id(), std::memory_order_release);
}
[[maybe_unused]] const int following = pthread_atfork(nullptr, nullptr, follow_into_child);

// A slot's owner before may have read its text last, and the kernel alone knows that its thread has ended since: to the
// thread sanitizer, the next owner's writes would race with those reads.
struct WritesOfTheOwner {
#ifdef SUBSTRATA_TSAN
  WritesOfTheOwner() noexcept { AnnotateIgnoreWritesBegin(__FILE__, __LINE__); }
  ~WritesOfTheOwner() { AnnotateIgnoreWritesEnd(__FILE__, __LINE__); }
  WritesOfTheOwner(const WritesOfTheOwner&) = delete;
  WritesOfTheOwner& operator=(const WritesOfTheOwner&) = delete;
#endif
};

// What stands in the text from now on; a constant where there is no place for a text.
const char* keep(std::string_view text) noexcept {
  [[maybe_unused]] const WritesOfTheOwner writes{};
  if (own.text == nullptr) {
    const int error = errno;
    const Slot slot = claim();
    errno = error;
    if (slot.text == nullptr) return "no memory is left for the reason";
    slot.text[0] = '\0';
    own.owner = slot.owner;
    own.text = slot.text;
  }
  const size_t length = std::min(text.size(), kTextBytes - 1);
  std::memmove(own.text, text.data(), length);
  own.text[length] = '\0';
  // The next owner of the slot sees what was written, though it learns of this thread's end from the kernel.
  own.owner->store(own.owner->load(std::memory_order_relaxed), std::memory_order_release);
  return own.text;
}

// Formatted aside first: an argument may be the text before.
const char* keep_formatted(const char* format, va_list arguments) noexcept {
  char fresh[kTextBytes];
  std::vsnprintf(fresh, sizeof fresh, format, arguments);
  return keep(fresh);
}

}  // namespace

Status refuse(Code code, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  const char* const text = keep_formatted(format, arguments);
  va_end(arguments);
  return Status{code, 0, text};
}

Status refuse_system(int os_error, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  const char* const text = keep_formatted(format, arguments);
  va_end(arguments);
  return Status{Code::kSystem, os_error, text};
}

Status refuse(Code code, int os_error, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  const char* const text = keep_formatted(format, arguments);
  va_end(arguments);
  return Status{code, os_error, text};
}

Status refuse(Code code, int os_error, std::string_view text) noexcept {
  return Status{code, os_error, keep(text)};
}

int fail(Code code, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  keep_formatted(format, arguments);
  va_end(arguments);
  return static_cast<int>(code);
}

int fail(int code, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  keep_formatted(format, arguments);
  va_end(arguments);
  return code;
}

const char* last_refusal() noexcept { return own.text != nullptr ? own.text : ""; }

Status keep_note(Status status) noexcept {
  if (status.ok() || status.note == nullptr || status.note == own.text) return status;
  status.note = keep(status.note);
  return status;
}

}  // namespace substrata
