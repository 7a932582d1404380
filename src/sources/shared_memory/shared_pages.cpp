// Shared pages of live processes: the calls of include/substrata/shared_pages.h.
#include "sources/shared_memory/shared_pages.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "base/callers_size.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"

using substrata::Code;
using substrata::fail;
using substrata::guarded;
using substrata::pages::Geometry;
using substrata::pages::PageState;
using substrata::pages::raw_ns;
using substrata::pages::Segment;

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
    if (options == nullptr || out == nullptr ||
        options->struct_size < offsetof(substrata_shared_pages_options, wait_ms))
      return fail(Code::kInvalid,
                  "substrata_shared_pages_open needs options with their struct_size and a place");
    const substrata_shared_pages_options wanted = substrata::taken_in(options);
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
        (code = substrata::pages::watch(pages.get())) != 0)
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
                  "substrata_shared_pages_count needs a memory and counts with their struct_size");
    const std::lock_guard<std::mutex> guard(pages->calls);
    substrata::hand_out(pages->counts, out);
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
  substrata::pages::unwatch(pages);
  delete pages;
}

}  // extern "C"
