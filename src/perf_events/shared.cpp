// What all sets of one opened substrate share.
#include <sys/mman.h>

#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include "perf_events/event_set.hpp"

namespace substrata::perf {

Shared::Shared(const Host& the_host, const Kernel& the_kernel, std::unique_ptr<Encoder> encoder,
               PmuKind the_kind)
    : host(the_host),
      kernel(the_kernel),
      kind(the_kind),
      catalogue(the_host, the_kernel, std::move(encoder), the_kind) {
  void* const page =
      ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED) {
    if (::madvise(page, 1, MADV_WIPEONFORK) == 0) {
      mark_page_ = page;
      mark_ = new (page) std::atomic<int>(1);
    } else {
      ::munmap(page, 1);
    }
  }
  const char* const asked =
      host.setting == nullptr ? nullptr : host.setting(host.context, "SUBSTRATA_USER_READS");
  // A page read in a forked child would touch memory that is not there: without the mark, system calls only.
  user_reads = mark_ != nullptr && kernel.counter != nullptr && kind == PmuKind::kCore &&
               !(asked != nullptr && std::strcmp(asked, "0") == 0);
  const std::string root = host.root == nullptr ? "" : host.root;
  user_read_bits = user_reads && read_line(root + "/proc/sys/kernel/perf_user_access").value_or("") == "1";
}

Shared::~Shared() {
  if (mark_page_ != nullptr) ::munmap(mark_page_, sizeof(std::atomic<int>));
}

uint32_t Shared::generation() noexcept {
  if (mark_ != nullptr && mark_->load(std::memory_order_relaxed) == 0 && mark_->exchange(1) == 0)
    ++generation_;
  return generation_.load(std::memory_order_relaxed);
}

int64_t Shared::now_ns() const noexcept {
  if (host.now_ns != nullptr) return host.now_ns(host.context);
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

}  // namespace substrata::perf
