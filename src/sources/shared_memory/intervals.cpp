// What a synchronisation does with the pages: changes go home as diffs, outdated copies become invalid.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "sources/shared_memory/shared_pages.hpp"

using namespace substrata::pages;

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
