// Shared pages of live processes: views and their protection, faults, twins and diffs.
#include <signal.h>
#include <substrata/shared_pages.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <substrata/feed.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/borrowed_signal.hpp"
#include "base/guard.hpp"
#include "segment.hpp"

using substrata::BorrowedSignal;
using substrata::Code;
using substrata::fail;
using substrata::ForkLock;
using substrata::guarded;
using substrata::pages::Geometry;
using substrata::pages::Segment;

namespace {

enum class PageState : uint8_t { kInvalid, kReadable, kWritable };

uint64_t raw_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

// What a fault did, kept until the next synchronisation: nothing may be published from a signal handler.
struct Done {
  uint64_t begin;
  uint64_t end;
  uint32_t page;
  uint16_t kind;
};

enum class Access { kRead, kWrite, kUnknown };

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

class Mapping {
 public:
  Mapping() = default;
  ~Mapping() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  bool map(size_t bytes, int protection, int flags, int descriptor) {
    void* const memory = mmap(nullptr, bytes, protection, flags, descriptor, 0);
    if (memory == MAP_FAILED) return false;
    memory_ = static_cast<unsigned char*>(memory);
    bytes_ = bytes;
    madvise(memory_, bytes_, MADV_DONTFORK);
    return true;
  }
  unsigned char* at(uint64_t offset) const noexcept { return memory_ + offset; }

 private:
  unsigned char* memory_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace

struct substrata_shared_pages {
  substrata_shared_pages(std::unique_ptr<Segment> joined, const Geometry& shape, uint32_t number)
      : segment(std::move(joined)),
        geometry(shape),
        process(number),
        owner(getpid()),
        states(shape.pages, PageState::kInvalid),
        seen(shape.pages, 0) {
    // Between two synchronisations a page is fetched once and gets one twin.
    for (std::vector<Done>* each : {&done, &ended_done}) each->reserve(2 * shape.pages);
    for (std::vector<uint32_t>* each : {&stored, &ended_stored, &outdated}) each->reserve(2 * shape.pages);
  }

  bool is_home(uint64_t page) const noexcept { return geometry.home(page) == process; }

  int map_views(const std::string& name);
  int open_publisher();
  bool covers(const void* address) const noexcept {
    const auto* const byte = static_cast<const unsigned char*>(address);
    return byte >= view.at(0) && byte < view.at(0) + geometry.bytes();
  }
  // In the signal handler. False: not ours to mend.
  bool serve(const void* address, Access access) noexcept;
  void release();
  void acquire();
  void publish(uint16_t kind, uint64_t begin, uint64_t end, uint64_t page, uint64_t bytes,
               uint64_t detail = 0);
  template <typename Wait>
  int synchronise(uint16_t kind, uint64_t detail, const Wait& wait);

  const std::unique_ptr<Segment> segment;
  const Geometry geometry;
  const uint32_t process;
  const pid_t owner;
  Mapping view;   // what the program uses: protected; at home pages the home copy itself
  Mapping copy;   // the same private memory, always open
  Mapping twins;  // of pages that were stored to
  std::vector<PageState> states;
  std::vector<uint32_t> seen;    // the home copy's version when it was fetched
  std::vector<uint32_t> stored;  // pages that were stored to in this interval
  std::vector<Done> done;        // what faults did in it
  // Of the interval that is being ended; for the functions alone.
  std::vector<uint32_t> ended_stored;
  std::vector<Done> ended_done;
  std::vector<uint32_t> outdated;
  substrata_shared_pages_counts counts{};
  substrata::client::feed::Publisher publisher;
  // Between threads that fault and one that synchronises: a spin lock, because it is taken in a signal
  // handler.
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
  std::mutex calls;  // the functions, one at a time

 private:
  bool protect(uint64_t page, int protection, uint64_t pages = 1) const noexcept {
    return mprotect(view.at(page * geometry.page_bytes), pages * geometry.page_bytes, protection) == 0;
  }
  void enter() noexcept {
    while (busy.test_and_set(std::memory_order_acquire)) {
    }
  }
  void leave() noexcept { busy.clear(std::memory_order_release); }
  uint64_t send_diff(uint64_t page) noexcept;
  uint64_t end_stores(uint64_t page) noexcept;
};

namespace {

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

int watch(substrata_shared_pages* pages) {
  const std::lock_guard guard(open_lock);
  auto* const slot = std::find(std::begin(open_memories), std::end(open_memories), nullptr);
  if (slot == std::end(open_memories))
    return fail(Code::kNoMemory, "a process can have %zu memories of shared pages; close one", kMostOpen);
  if (const int held = segmentation_fault.hold(SIGSEGV); held < 0)
    return fail(Code::kSystem, "SIGSEGV cannot be handled: %s", std::strerror(-held));
  slot->store(pages, std::memory_order_release);
  return 0;
}

void unwatch(substrata_shared_pages* pages) {
  const std::lock_guard guard(open_lock);
  auto* const slot = std::find(std::begin(open_memories), std::end(open_memories), pages);
  if (slot == std::end(open_memories)) return;
  slot->store(nullptr, std::memory_order_release);
  segmentation_fault.release();
}

}  // namespace

int substrata_shared_pages::map_views(const std::string& name) {
  const uint64_t bytes = geometry.bytes();
  const int memory = memfd_create("substrata-shared-pages", MFD_CLOEXEC);
  const bool mapped =
      memory >= 0 && ftruncate(memory, static_cast<off_t>(bytes)) == 0 &&
      view.map(bytes, PROT_NONE, MAP_SHARED, memory) &&
      copy.map(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory) &&
      twins.map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  bool homes = mapped;
  uint64_t first = 0;
  while (first < geometry.pages && !is_home(first)) ++first;
  uint64_t last = first;
  while (last < geometry.pages && is_home(last)) states[last++] = PageState::kReadable;
  if (mapped && last > first) {
    unsigned char* const at = view.at(first * geometry.page_bytes);
    homes = mmap(at, (last - first) * geometry.page_bytes, PROT_READ, MAP_SHARED | MAP_FIXED,
                 segment->descriptor(),
                 static_cast<off_t>(segment->home_offset() + first * geometry.page_bytes)) == at;
    madvise(at, (last - first) * geometry.page_bytes, MADV_DONTFORK);
  }
  const int error = errno;
  if (memory >= 0) close(memory);
  if (homes) return 0;
  return fail(Code::kSystem, "shared pages '%s': %llu bytes cannot be mapped: %s", name.c_str(),
              static_cast<unsigned long long>(bytes), std::strerror(error));
}

int substrata_shared_pages::open_publisher() {
  constexpr substrata::client::feed::Source kSource{
      "shared-pages", "Shared virtual memory of live processes, by page protection"};
  const std::string name = "shared-pages.process" + std::to_string(process);
  return kSource.try_publisher(name.c_str(),
                               "Fetches, twins, diffs, invalidations, locks and barriers of one process",
                               1024, &publisher);
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

// Writes what differs from the twin into the home copy. Returns the bytes of a diff: changed words, and 4 a
// run.
uint64_t substrata_shared_pages::send_diff(uint64_t page) noexcept {
  const uint64_t offset = page * geometry.page_bytes;
  const unsigned char* const now = copy.at(offset);
  const unsigned char* const twin = twins.at(offset);
  unsigned char* const home = segment->home_copies() + offset;
  const auto differs = [&](uint32_t word) { return std::memcmp(now + word, twin + word, 4) != 0; };
  uint64_t bytes = 0;
  for (uint32_t word = 0; word < geometry.page_bytes;) {
    if (!differs(word)) {
      word += 4;
      continue;
    }
    const uint32_t begin = word;
    while (word < geometry.page_bytes && differs(word)) word += 4;
    std::memcpy(home + begin, now + begin, word - begin);
    bytes += 4 + (word - begin);
  }
  return bytes;
}

void substrata_shared_pages::publish(uint16_t kind, uint64_t begin, uint64_t end, uint64_t page,
                                     uint64_t bytes, uint64_t detail) {
  substrata_transaction* const slot = publisher.reserve();
  if (slot == nullptr) return;
  *slot = {};
  slot->time = end;
  slot->start = begin;
  slot->address = page * geometry.page_bytes;
  slot->detail = detail;
  slot->initiator = process;
  slot->target = geometry.home(page);
  slot->size = static_cast<uint32_t>(bytes);
  slot->kind = kind;
  publisher.commit();
}

// Ends the interval: every page stored to becomes readable only, and its changes go home.
void substrata_shared_pages::release() {
  const uint64_t whole_begin = raw_ns();
  enter();
  ended_stored.swap(stored);
  ended_done.swap(done);
  leave();
  // Published without the spin lock: an observer may itself use the memory.
  for (const Done& each : ended_done)
    publish(each.kind, each.begin, each.end, each.page, geometry.page_bytes);
  ended_done.clear();
  std::sort(ended_stored.begin(), ended_stored.end());
  for (const uint32_t page : ended_stored) {
    const uint64_t begin = raw_ns();
    enter();
    const uint64_t bytes = states[page] == PageState::kWritable ? end_stores(page) : 0;
    leave();
    if (bytes == 0) continue;
    ++counts.diffs;
    counts.diff_bytes += bytes;
    publish(SUBSTRATA_DIFF, begin, raw_ns(), page, bytes);
  }
  ended_stored.clear();
  counts.release_ns += raw_ns() - whole_begin;
}

// With the spin lock: a page stored to becomes readable, its changes go home. Returns the bytes of the diff.
uint64_t substrata_shared_pages::end_stores(uint64_t page) noexcept {
  protect(page, PROT_READ);
  states[page] = PageState::kReadable;
  const uint64_t bytes = is_home(page) ? 0 : send_diff(page);
  if (is_home(page) || bytes > 0) {
    const uint32_t before = segment->version(page).fetch_add(1, std::memory_order_acq_rel);
    // It was not changed elsewhere since it was fetched: this copy is as new as the home's.
    if (before == seen[page]) ++seen[page];
  }
  return bytes;
}

// Makes copies invalid that others have outdated.
void substrata_shared_pages::acquire() {
  const uint64_t begin = raw_ns();
  uint64_t run_begin = 0;
  uint64_t run = 0;
  const auto close_run = [&] {
    if (run > 0) protect(run_begin, PROT_NONE, run);
    run = 0;
  };
  enter();
  for (uint64_t page = 0; page < geometry.pages; ++page) {
    if (is_home(page) || states[page] == PageState::kInvalid ||
        segment->version(page).load(std::memory_order_acquire) == seen[page])
      continue;
    // Stored to by another thread since the release.
    if (states[page] == PageState::kWritable) {
      const uint64_t bytes = end_stores(page);
      counts.diffs += bytes > 0 ? 1 : 0;
      counts.diff_bytes += bytes;
    }
    states[page] = PageState::kInvalid;
    outdated.push_back(static_cast<uint32_t>(page));
    if (run > 0 && run_begin + run != page) close_run();
    if (run == 0) run_begin = page;
    ++run;
  }
  close_run();
  leave();
  const uint64_t end = raw_ns();
  counts.acquire_ns += end - begin;
  counts.invalidations += outdated.size();
  for (const uint32_t page : outdated) publish(SUBSTRATA_INVALIDATE, begin, end, page, 0);
  outdated.clear();
}

template <typename Wait>
int substrata_shared_pages::synchronise(uint16_t kind, uint64_t detail, const Wait& wait) {
  const std::lock_guard<std::mutex> guard(calls);
  if (const int refused = segment->usable()) return refused;
  release();
  const uint64_t begin = raw_ns();
  const int code = wait();
  const uint64_t end = raw_ns();
  counts.wait_ns += end - begin;
  if (code != 0) return code;
  publish(kind, begin, end, 0, 0, detail);
  if (kind != SUBSTRATA_UNLOCK) acquire();
  return 0;
}

extern "C" {

int substrata_shared_pages_open(const substrata_shared_pages_options* options, substrata_shared_pages** out) {
  return guarded([&] {
    substrata_shared_pages_options wanted{};
    if (options == nullptr || out == nullptr ||
        options->struct_size < offsetof(substrata_shared_pages_options, wait_ms))
      return fail(Code::kInvalid,
                  "substrata_shared_pages_open needs options with their struct_size and a place");
    std::memcpy(static_cast<void*>(&wanted), options, std::min<size_t>(options->struct_size, sizeof wanted));
    const std::string name = wanted.name == nullptr ? "" : wanted.name;
    constexpr const char* kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    if (name.empty() || name.size() > 64 || name.find_first_not_of(kAllowed) != std::string::npos)
      return fail(Code::kInvalid,
                  "shared pages need a name of 1 to 64 letters, digits, '.', '_' or '-', not '%s'",
                  name.c_str());
    if (wanted.processes == 0 || wanted.processes > SUBSTRATA_SHARED_PAGES_PROCESSES ||
        wanted.process >= wanted.processes)
      return fail(Code::kInvalid,
                  "shared pages '%s' need 1 to %u processes and a number below theirs, not %u of %u",
                  name.c_str(), SUBSTRATA_SHARED_PAGES_PROCESSES, wanted.process, wanted.processes);
    const auto system_page = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
    Geometry geometry;
    geometry.processes = wanted.processes;
    geometry.page_bytes = wanted.page_bytes == 0 ? system_page : wanted.page_bytes;
    if (geometry.page_bytes % system_page != 0 || geometry.page_bytes > (1u << 24))
      return fail(Code::kInvalid, "pages of %u bytes were asked for; a multiple of %u up to 16 MB is needed",
                  geometry.page_bytes, system_page);
    geometry.pages = wanted.bytes / geometry.page_bytes + (wanted.bytes % geometry.page_bytes != 0 ? 1 : 0);
    if (geometry.pages == 0 || geometry.pages > SUBSTRATA_SHARED_PAGES_MOST)
      return fail(Code::kInvalid,
                  "shared pages '%s': %llu bytes are %llu pages; 1 to %u are possible, ask for larger pages",
                  name.c_str(), static_cast<unsigned long long>(wanted.bytes),
                  static_cast<unsigned long long>(geometry.pages), SUBSTRATA_SHARED_PAGES_MOST);
    int code = 0;
    std::unique_ptr<Segment> segment = Segment::join(name, geometry, wanted.process, wanted.wait_ms, &code);
    if (segment == nullptr) return code;
    auto pages = std::make_unique<substrata_shared_pages>(std::move(segment), geometry, wanted.process);
    if ((code = pages->map_views(name)) != 0 || (code = pages->open_publisher()) != 0 ||
        (code = watch(pages.get())) != 0)
      return code;
    *out = pages.release();
    return 0;
  });
}

void* substrata_shared_pages_memory(const substrata_shared_pages* pages) {
  return pages == nullptr ? nullptr : pages->view.at(0);
}

int substrata_shared_pages_lock(substrata_shared_pages* pages, uint32_t lock) {
  return guarded([&] {
    if (pages == nullptr || lock >= SUBSTRATA_SHARED_PAGES_LOCKS)
      return fail(Code::kInvalid, "shared pages have the locks 0 to %u", SUBSTRATA_SHARED_PAGES_LOCKS - 1);
    const int code = pages->synchronise(SUBSTRATA_LOCK, lock, [&] { return pages->segment->lock(lock); });
    if (code == 0) ++pages->counts.lock_acquires;
    return code;
  });
}

int substrata_shared_pages_unlock(substrata_shared_pages* pages, uint32_t lock) {
  return guarded([&] {
    if (pages == nullptr || lock >= SUBSTRATA_SHARED_PAGES_LOCKS)
      return fail(Code::kInvalid, "shared pages have the locks 0 to %u", SUBSTRATA_SHARED_PAGES_LOCKS - 1);
    return pages->synchronise(SUBSTRATA_UNLOCK, lock, [&] { return pages->segment->unlock(lock); });
  });
}

int substrata_shared_pages_barrier(substrata_shared_pages* pages) {
  return guarded([&] {
    if (pages == nullptr) return fail(Code::kInvalid, "substrata_shared_pages_barrier needs a memory");
    const uint64_t number = pages->counts.barriers;
    const int code = pages->synchronise(SUBSTRATA_BARRIER, number, [&] { return pages->segment->barrier(); });
    if (code == 0) ++pages->counts.barriers;
    return code;
  });
}

int substrata_shared_pages_count(substrata_shared_pages* pages, substrata_shared_pages_counts* out) {
  return guarded([&] {
    if (pages == nullptr || out == nullptr || out->struct_size < 8)
      return fail(Code::kInvalid,
                  "substrata_shared_pages_count needs a memory and room with its struct_size");
    const std::lock_guard<std::mutex> guard(pages->calls);
    substrata_shared_pages_counts counts = pages->counts;
    counts.struct_size = std::min<uint32_t>(out->struct_size, sizeof counts);
    std::memcpy(static_cast<void*>(out), &counts, counts.struct_size);
    return 0;
  });
}

void substrata_shared_pages_close(substrata_shared_pages* pages) {
  if (pages == nullptr) return;
  guarded([&] {
    const std::lock_guard<std::mutex> guard(pages->calls);
    pages->release();
    return 0;
  });
  unwatch(pages);
  delete pages;
}

}  // extern "C"
