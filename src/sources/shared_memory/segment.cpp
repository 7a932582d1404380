// Coming into, waiting in and leaving the memory file of shared pages.
#include "sources/shared_memory/segment.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <mutex>
#include <set>

#include "base/error.hpp"
#include "base/immortal.hpp"
#include "base/shared_file.hpp"

namespace substrata::pages {

// Zero bytes are its state before anybody came.
struct Segment::Control {
  uint32_t processes;
  uint32_t page_bytes;
  uint64_t pages;
  std::atomic<uint32_t> joined;
  std::atomic<uint32_t> arrived;                              // at the barrier
  std::atomic<uint32_t> generation;                           // of the barrier
  std::atomic<uint32_t> broken;                               // 1 and the number of a process that is gone
  std::atomic<uint32_t> locks[SUBSTRATA_SHARED_PAGES_LOCKS];  // 0: free; 1 and the holder's number
  std::atomic<uint32_t> lock_waiters[SUBSTRATA_SHARED_PAGES_LOCKS];
};

namespace {

constexpr off_t kEntrance = 4096;            // the byte whose lock makes coming and going one at a time
constexpr uint64_t kPatience = 200'000'000;  // ns between two looks at who is alive
constexpr uint32_t kDefaultWait = 60'000;    // ms

static_assert(std::atomic<uint32_t>::is_always_lock_free);

// Names open in this process: record locks do not part two holds of one process.
std::mutex open_names_mutex;
std::set<std::string>& open_names() {
  static Immortal<std::set<std::string>> names;
  return *names;
}

uint64_t now_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected, uint64_t nanoseconds) noexcept {
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(nanoseconds / 1'000'000'000u);
  limit.tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000u);
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, &limit, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word, int count) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

bool record_lock(int descriptor, int command, short type, off_t begin, off_t bytes) noexcept {
  struct flock wanted {};
  wanted.l_type = type;
  wanted.l_whence = SEEK_SET;
  wanted.l_start = begin;
  wanted.l_len = bytes;
  int result = 0;
  do {
    result = fcntl(descriptor, command, &wanted);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

// Whether another process holds one of these bytes.
bool held_by_another(int descriptor, off_t begin, off_t bytes) noexcept {
  struct flock asked {};
  asked.l_type = F_WRLCK;
  asked.l_whence = SEEK_SET;
  asked.l_start = begin;
  asked.l_len = bytes;
  return fcntl(descriptor, F_GETLK, &asked) == 0 && asked.l_type != F_UNLCK;
}

}  // namespace

std::unique_ptr<Segment> Segment::join(const std::string& name, const Geometry& geometry, uint32_t process,
                                       uint32_t wait_ms, int* code) {
  {
    const std::lock_guard<std::mutex> guard(open_names_mutex);
    if (!open_names().insert(name).second) {
      *code = fail(Code::kConflict, "shared pages '%s' are open in this process; a process takes part once",
                   name.c_str());
      return nullptr;
    }
  }
  std::unique_ptr<Segment> segment(new Segment);  // from here on its destructor leaves
  segment->name_ = name;
  segment->path_ = "/substrata-pages-" + std::to_string(geteuid()) + "-" + name;
  segment->geometry_ = geometry;
  segment->process_ = process;
  const char* const path = segment->path_.c_str();
  const auto refuse = [&](const char* what) {
    *code = fail(Code::kSystem, "shared pages '%s' (/dev/shm%s): %s: %s", name.c_str(), path, what,
                 std::strerror(errno));
    return nullptr;
  };

  // The file may be unlinked between its opening and the entrance; then there is a new one.
  struct stat status {};
  while (true) {
    segment->descriptor_ = shm_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (segment->descriptor_ < 0) return refuse("the memory file cannot be opened");
    if (!record_lock(segment->descriptor_, F_SETLKW, F_WRLCK, kEntrance, 1))
      return refuse("its entrance cannot be locked");
    if (fstat(segment->descriptor_, &status) != 0) return refuse("its state cannot be read");
    // Processes find each other by the name, so that anybody may have made such a file before.
    if (status.st_uid != geteuid() || (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
      close(segment->descriptor_);
      segment->descriptor_ = -1;  // it is not ours to take away
      errno = EACCES;
      return refuse("others made it or may write it; remove it");
    }
    if (status.st_nlink > 0) break;
    close(segment->descriptor_);
    segment->descriptor_ = -1;
  }

  const auto system_page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const auto round_up = [](uint64_t value, uint64_t to) { return (value + to - 1) / to * to; };
  const uint64_t versions_offset = round_up(sizeof(Control), 64);
  segment->home_offset_ =
      round_up(versions_offset + geometry.pages * sizeof(std::atomic<uint32_t>), system_page);
  segment->mapped_bytes_ = segment->home_offset_ + geometry.bytes();
  const bool fresh = !held_by_another(segment->descriptor_, 0, SUBSTRATA_SHARED_PAGES_PROCESSES);
  if (fresh) {
    errno = ftruncate(segment->descriptor_, 0) != 0
                ? errno
                : reserve_file(segment->descriptor_, segment->mapped_bytes_);
    if (errno != 0) return refuse("it cannot be given its size");
  } else if (static_cast<uint64_t>(status.st_size) != segment->mapped_bytes_) {
    *code = fail(Code::kInvalid,
                 "shared pages '%s' are open in other processes with another size; all need the same",
                 name.c_str());
    return nullptr;
  }
  segment->mapped_ =
      mmap(nullptr, segment->mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, segment->descriptor_, 0);
  if (segment->mapped_ == MAP_FAILED) {
    segment->mapped_ = nullptr;
    return refuse("it cannot be mapped");
  }
  madvise(segment->mapped_, segment->mapped_bytes_, MADV_DONTFORK);
  auto* const base = static_cast<unsigned char*>(segment->mapped_);
  segment->control_ = static_cast<Control*>(segment->mapped_);
  segment->versions_ = reinterpret_cast<std::atomic<uint32_t>*>(base + versions_offset);
  segment->home_ = base + segment->home_offset_;
  Control& control = *segment->control_;
  if (fresh) {
    control.processes = geometry.processes;
    control.page_bytes = geometry.page_bytes;
    control.pages = geometry.pages;
  } else if (control.processes != geometry.processes || control.page_bytes != geometry.page_bytes ||
             control.pages != geometry.pages) {
    *code =
        fail(Code::kInvalid,
             "shared pages '%s' are open for %u processes and pages of %u bytes; %u and %u were asked for",
             name.c_str(), control.processes, control.page_bytes, geometry.processes, geometry.page_bytes);
    return nullptr;
  } else if (control.joined.load() >= geometry.processes) {
    *code = fail(Code::kConflict, "all %u processes of shared pages '%s' have come already; use another name",
                 geometry.processes, name.c_str());
    return nullptr;
  }
  if (!record_lock(segment->descriptor_, F_SETLK, F_WRLCK, static_cast<off_t>(process), 1)) {
    *code = fail(Code::kConflict, "process %u of shared pages '%s' is there already", process, name.c_str());
    return nullptr;
  }
  control.joined.fetch_add(1);
  futex_wake(control.joined, INT_MAX);
  record_lock(segment->descriptor_, F_SETLK, F_UNLCK, kEntrance, 1);

  const uint64_t limit = now_ns() + uint64_t{wait_ms == 0 ? kDefaultWait : wait_ms} * 1'000'000u;
  while (true) {
    const uint32_t joined = control.joined.load();
    if (joined == geometry.processes) break;
    const uint64_t now = now_ns();
    if (now >= limit) {
      control.joined.fetch_sub(1);
      *code = fail(Code::kSystem, "only %u of %u processes came to shared pages '%s'", joined,
                   geometry.processes, name.c_str());
      return nullptr;
    }
    futex_wait(control.joined, joined, std::min(kPatience, limit - now));
  }
  *code = 0;
  return segment;
}

Segment::~Segment() {
  if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
  if (descriptor_ >= 0) {
    // The last one takes the file away.
    if (record_lock(descriptor_, F_SETLKW, F_WRLCK, kEntrance, 1) &&
        !held_by_another(descriptor_, 0, SUBSTRATA_SHARED_PAGES_PROCESSES))
      shm_unlink(path_.c_str());
    close(descriptor_);
  }
  const std::lock_guard<std::mutex> guard(open_names_mutex);
  open_names().erase(name_);
}

bool Segment::present(uint32_t process) const noexcept {
  return process == process_ || held_by_another(descriptor_, static_cast<off_t>(process), 1);
}

int Segment::usable() const {
  const uint32_t broken = control_->broken.load();
  if (broken == 0) return 0;
  return fail(Code::kSystem, "shared pages '%s' are of no use: process %u left while others needed it",
              name_.c_str(), broken - 1);
}

int Segment::break_down(uint32_t process, const char* while_what) {
  uint32_t whole = 0;
  control_->broken.compare_exchange_strong(whole, process + 1);
  control_->generation.fetch_add(1);
  futex_wake(control_->generation, INT_MAX);
  return fail(Code::kSystem, "shared pages '%s': process %u ended %s; start all of them again", name_.c_str(),
              process, while_what);
}

int Segment::lock(uint32_t lock) {
  std::atomic<uint32_t>& word = control_->locks[lock];
  while (true) {
    if (const int refused = usable()) return refused;
    uint32_t holder = 0;
    if (word.compare_exchange_strong(holder, process_ + 1, std::memory_order_acquire)) return 0;
    if (holder == process_ + 1)
      return fail(Code::kInvalid, "process %u has lock %u of shared pages '%s' already", process_, lock,
                  name_.c_str());
    control_->lock_waiters[lock].fetch_add(1);
    futex_wait(word, holder, kPatience);
    control_->lock_waiters[lock].fetch_sub(1);
    // Asked again: it may have unlocked and left in between.
    if (word.load() == holder && !present(holder - 1) && word.load() == holder)
      return break_down(holder - 1, "while it held a lock");
  }
}

int Segment::unlock(uint32_t lock) {
  uint32_t holder = process_ + 1;
  if (!control_->locks[lock].compare_exchange_strong(holder, 0, std::memory_order_release))
    return fail(Code::kInvalid, "process %u has not got lock %u of shared pages '%s'", process_, lock,
                name_.c_str());
  if (control_->lock_waiters[lock].load() != 0) futex_wake(control_->locks[lock], 1);
  return 0;
}

int Segment::barrier() {
  Control& control = *control_;
  if (const int refused = usable()) return refused;
  const uint32_t generation = control.generation.load();
  if (control.arrived.fetch_add(1) + 1 == geometry_.processes) {
    control.arrived.store(0);
    control.generation.fetch_add(1);
    futex_wake(control.generation, INT_MAX);
    return 0;
  }
  while (control.generation.load() == generation) {
    futex_wait(control.generation, generation, kPatience);
    if (control.generation.load() != generation) break;
    for (uint32_t process = 0; process < geometry_.processes; ++process)
      // Asked again: who left after the barrier was complete is not missed.
      if (!present(process) && control.generation.load() == generation)
        return break_down(process, "before it came to a barrier");
  }
  return usable();
}

}  // namespace substrata::pages
