// Makes, seals, names and opens the memory of rings.
#include "owl/ring_memory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <new>

#include "base/error.hpp"
#include "base/shared_file.hpp"

namespace substrata::owl {
namespace {

constexpr char kName[] = "substrata-owl-ring";
constexpr size_t kMarkBytes = 4096;

unsigned long long shown(uint64_t value) noexcept { return value; }

// What a link points to; "" where there is none.
std::string target_of(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t length = readlink(path.c_str(), target, sizeof target);
  return length > 0 ? std::string(target, static_cast<size_t>(length)) : std::string();
}

// A link to the ring of a process that has ended.
bool is_left_behind(const std::string& path) {
  const std::string target = target_of(path);
  if (!target.starts_with("/proc/") || target.find("/fd/") == std::string::npos) return false;
  const std::string file = target_of(target);
  return file.empty() ? access(target.c_str(), F_OK) != 0 && errno == ENOENT
                      : file.find(kName) == std::string::npos;
}

}  // namespace

RingMemory::~RingMemory() {
  if (header_ != nullptr) munmap(header_, bytes_);
  if (file_ >= 0) close(file_);
}

int RingMemory::map(uint64_t bytes, const char* path) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (at == MAP_FAILED) {
    return fail(Code::kSystem, "the ring '%s' of %llu bytes cannot be mapped: %s", path, shown(bytes),
                std::strerror(errno));
  }
  header_ = static_cast<RingHeader*>(at);
  words_ = reinterpret_cast<Shared<uint64_t>*>(static_cast<std::byte*>(at) + kRingOffset);
  bytes_ = bytes;
  return 0;
}

int RingMemory::link(const char* path) {
  target_ = path_;
  path_ = path;
  if (symlink(target_.c_str(), path) == 0) return 0;
  if (errno == EEXIST && is_left_behind(path_) && unlink(path) == 0 && symlink(target_.c_str(), path) == 0)
    return 0;
  target_.clear();
  return fail(Code::kSystem, "the ring '%s' cannot be made: %s", path, std::strerror(errno));
}

void RingMemory::remove_link() noexcept {
  if (target_.empty()) return;
  char target[PATH_MAX];
  const ssize_t length = readlink(path_.c_str(), target, sizeof target);
  if (length > 0 && target_ == std::string_view(target, static_cast<size_t>(length))) unlink(path_.c_str());
}

int RingMemory::create(const char* path, uint64_t words) {
  const char* const name = path != nullptr ? path : "memory";
  const uint64_t bytes = kRingOffset + words * 8;
  file_ = memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file_ < 0) return fail(Code::kSystem, "the ring '%s' cannot be made: %s", name, std::strerror(errno));
  if (const int error = reserve_file(file_, bytes)) {
    return fail(Code::kSystem, "the ring '%s' cannot have %llu bytes: %s", name, shown(bytes),
                std::strerror(error));
  }
  if (fchmod(file_, 0600) != 0 || fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail(Code::kSystem, "the ring '%s' cannot be sealed: %s", name, std::strerror(errno));
  if (const int refused = map(bytes, name)) return refused;
  new (header_) RingHeader{};
  word_count_ = words;
  header_->words = words;
  path_ = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_);
  return path != nullptr ? link(path) : 0;
}

int RingMemory::open(const char* path, bool consumer) {
  file_ = ::open(path, O_RDWR | O_CLOEXEC);
  if (file_ < 0) return fail(Code::kSystem, "the ring '%s' cannot be opened: %s", path, std::strerror(errno));
  struct stat about {};
  if (fstat(file_, &about) != 0 || !S_ISREG(about.st_mode) ||
      about.st_size < static_cast<off_t>(kRingOffset + 8)) {
    return fail(Code::kInvalid, "'%s' is not a ring: it is too short", path);
  }
  // Else whoever has it could cut it under this reader.
  const int seals = fcntl(file_, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return fail(Code::kInvalid, "'%s' is not a ring: it is not sealed memory", path);
  const uint64_t bytes = static_cast<uint64_t>(about.st_size);
  if (const int refused = map(bytes, path)) return refused;
  // Read once: others may write here.
  const uint64_t magic = header_->magic.load(std::memory_order_acquire);
  word_count_ = header_->words.load(std::memory_order_relaxed);
  register_count_ = header_->register_count.load(std::memory_order_relaxed);
  if (magic != RingHeader::kMagic || !std::has_single_bit(word_count_) ||
      word_count_ > (bytes - kRingOffset) / 8 || register_count_ > SUBSTRATA_OWL_MOST_REGISTERS) {
    return fail(Code::kInvalid, "'%s' is not a ring of this version: its header does not fit", path);
  }
  // The system gives the lock back when a consumer ends, also when it is killed.
  if (consumer && flock(file_, LOCK_EX | LOCK_NB) != 0) {
    return fail(Code::kConflict,
                "the ring '%s' has a consumer already; close that one, or watch with SUBSTRATA_OWL_WATCH",
                path);
  }
  path_ = path;
  return 0;
}

// The system gives the lock back when its holder is killed; one that is stopped is not waited for.
int RingMemory::write_registers(const RegisterValue* values, size_t count) noexcept {
  constexpr int kTries = 200;
  constexpr timespec kPause{0, 1'000'000};
  const std::lock_guard mine(writing_registers_);
  struct flock place {};
  place.l_type = F_WRLCK;
  place.l_whence = SEEK_SET;
  place.l_len = 1;
  for (int i = 0; fcntl(file_, F_OFD_SETLK, &place) != 0; ++i) {
    if ((errno != EAGAIN && errno != EACCES) || i == kTries)
      return fail(Code::kSystem, "the registers of the ring '%s' are locked by another process: %s",
                  path_.c_str(), std::strerror(errno));
    nanosleep(&kPause, nullptr);
  }
  const uint64_t before = header_->register_changes.load(std::memory_order_acquire);
  Shared<uint64_t>* const now = header_->values[before & 1];
  Shared<uint64_t>* const next = header_->values[(before + 1) & 1];
  for (uint32_t i = 0; i < SUBSTRATA_OWL_MOST_REGISTERS; ++i) next[i].store(now[i].load());
  for (size_t i = 0; i < count; ++i) next[values[i].number].store(values[i].value);
  header_->register_changes.store(before + 1, std::memory_order_release);
  place.l_type = F_UNLCK;
  fcntl(file_, F_OFD_SETLK, &place);
  return 0;
}

ForkMark::~ForkMark() {
  if (words_ != nullptr) munmap(words_, kMarkBytes);
}

int ForkMark::make() {
  void* const at = mmap(nullptr, kMarkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return fail(Code::kNoMemory, "no memory for a ring: %s", std::strerror(errno));
  words_ = static_cast<uint64_t*>(at);
  if (madvise(at, kMarkBytes, MADV_WIPEONFORK) != 0) process_ = getpid();
  words_[0] = 1;
  return 0;
}

}  // namespace substrata::owl
