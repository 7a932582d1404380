// libsubstrata_appio.so, to be preloaded into a program: counts its calls of open, close, read, write, lseek, select,
// fread, fwrite and recv.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <new>

#include "appio/counters.hpp"

namespace {

using namespace substrata::appio;

// A block of counters in the list of all; blocks are never given back, so that a reader may hold on to one.
struct Block {
  Counters counters{};
  std::atomic<bool> used{true};
  Block* next = nullptr;
};

std::atomic<Block*> all_blocks{nullptr};
std::atomic<int64_t> open_files{0};
__attribute__((tls_model("initial-exec"))) thread_local Block* own_block = nullptr;

void give_back(void* block) noexcept {
  own_block = nullptr;
  static_cast<Block*>(block)->used.store(false, std::memory_order_release);
}

// Its destructor frees a thread's block.
pthread_key_t end_of_thread() noexcept {
  static const pthread_key_t key = [] {
    pthread_key_t made = 0;
    pthread_key_create(&made, give_back);
    return made;
  }();
  return key;
}

Block* claim_block() noexcept {
  for (Block* block = all_blocks.load(std::memory_order_acquire); block != nullptr; block = block->next)
    if (bool used = false; block->used.compare_exchange_strong(used, true, std::memory_order_acquire))
      return block;
  void* const memory =
      ::mmap(nullptr, sizeof(Block), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  Block* const block = new (memory) Block;
  block->next = all_blocks.load(std::memory_order_relaxed);
  while (!all_blocks.compare_exchange_weak(block->next, block, std::memory_order_release)) {
  }
  return block;
}

Counters* mine() noexcept {
  if (own_block == nullptr) {
    Block* const block = claim_block();
    if (block == nullptr) return nullptr;
    own_block = block;
    pthread_setspecific(end_of_thread(), block);
  }
  return &own_block->counters;
}

int64_t now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The function of that name behind this library: the C library has what a program was linked to.
template <typename Function>
Function* next_of(std::atomic<void*>* place, const char* name) noexcept {
  void* found = place->load(std::memory_order_acquire);
  if (found == nullptr) {
    found = ::dlsym(RTLD_NEXT, name);
    place->store(found, std::memory_order_release);
  }
  return reinterpret_cast<Function*>(found);
}

void add(Counters* counters, uint32_t which, int64_t amount) noexcept {
  if (counters != nullptr) counters->of[which].fetch_add(amount, std::memory_order_relaxed);
}

// What a file is before a call: whether it is a socket, and whether the call would wait.
struct Before {
  bool is_socket = false;
  bool would_block = false;
};
Before look_at(int file, short wanted) noexcept {
  Before before;
  const int error = errno;
  struct stat status {};
  if (::fstat(file, &status) == 0) {
    before.is_socket = S_ISSOCK(status.st_mode);
    if (before.is_socket || S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) {
      pollfd one{file, wanted, 0};
      before.would_block = ::poll(&one, 1, 0) == 0;
    }
  }
  errno = error;
  return before;
}

// Counts one call: `wanted` bytes were asked for, `got` came; -1 with errno for an error.
void count_call(Counters* counters, uint32_t kind, int64_t wanted, int64_t got, bool would_block,
                int64_t took_ns, int error) noexcept {
  add(counters, kind + kCalls, 1);
  add(counters, kind + kWanted, wanted);
  add(counters, kind + kTime, took_ns);
  if (would_block || (got < 0 && (error == EAGAIN || error == EWOULDBLOCK)))
    add(counters, kind + kWouldBlock, 1);
  if (got < 0) {
    add(counters, kind + kErrors, 1);
    if (error == EINTR) add(counters, kind + kInterrupted, 1);
    return;
  }
  add(counters, kind + kBytes, got);
  if (got == 0 && wanted > 0) add(counters, kind + kEnds, 1);
  if (got > 0 && got < wanted) add(counters, kind + kShort, 1);
}

extern "C" __attribute__((weak)) void substrata_appio_transfer(uint32_t kind, int file, bool is_socket,
                                                               int64_t bytes, int64_t took_ns,
                                                               const void* site);

void publish(uint32_t kind, int file, bool is_socket, int64_t bytes, int64_t took_ns,
             const void* site) noexcept {
  if (substrata_appio_transfer != nullptr)
    substrata_appio_transfer(kind, file, is_socket, bytes > 0 ? bytes : 0, took_ns, site);
}

// Not noexcept: a thread may be cancelled inside the call. Makes a transfer and counts it, as `kind` and, on a socket,
// as `socket_kind`.
template <typename Call>
ssize_t transfer(const void* site, int file, size_t wanted, short direction, uint32_t kind,
                 uint32_t socket_kind, Call&& call) {
  const Before before = look_at(file, direction);
  const int64_t begun = now_ns();
  const ssize_t got = call();
  const int error = errno;
  const int64_t took = now_ns() - begun;
  Counters* const counters = mine();
  count_call(counters, kind, static_cast<int64_t>(wanted), got, before.would_block, took, error);
  if (before.is_socket)
    count_call(counters, socket_kind, static_cast<int64_t>(wanted), got, before.would_block, took, error);
  publish(kind, file, before.is_socket, got, took, site);
  errno = error;
  return got;
}

template <typename Call>
size_t transfer_items(const void* site, size_t size, size_t count, std::FILE* stream, uint32_t kind,
                      Call&& call) {
  const int64_t begun = now_ns();
  const size_t got = call();
  const int error = errno;
  const int64_t took = now_ns() - begun;
  const bool failed = got < count && std::ferror(stream) != 0;
  const int64_t bytes = static_cast<int64_t>(got * size);
  count_call(mine(), kind, static_cast<int64_t>(count * size), failed && got == 0 ? -1 : bytes, false, took,
             error);
  publish(kind, ::fileno(stream), false, bytes, took, site);
  errno = error;
  return got;
}

// Of a call that PAPI's component does not count: for who is given transfers alone.
template <typename Call>
ssize_t pass_on(const void* site, int file, uint32_t kind, Call&& call) {
  if (substrata_appio_transfer == nullptr) return call();
  const int64_t begun = now_ns();
  const ssize_t got = call();
  const int error = errno;
  const int64_t took = now_ns() - begun;
  struct stat status {};
  publish(kind, file, ::fstat(file, &status) == 0 && S_ISSOCK(status.st_mode), got, took, site);
  errno = error;
  return got;
}

template <typename Call>
size_t pass_items_on(const void* site, size_t size, std::FILE* stream, uint32_t kind, Call&& call) {
  if (substrata_appio_transfer == nullptr) return call();
  const int64_t begun = now_ns();
  const size_t got = call();
  const int error = errno;
  publish(kind, ::fileno(stream), false, static_cast<int64_t>(got * size), now_ns() - begun, site);
  errno = error;
  return got;
}

int count_open(int file) noexcept {
  const int error = errno;
  Counters* const counters = mine();
  add(counters, kOpenCalls, 1);
  if (file < 0)
    add(counters, kOpenErrors, 1);
  else
    open_files.fetch_add(1, std::memory_order_relaxed);
  errno = error;
  return file;
}

// `ask` gives the position, `seek` moves.
template <typename Ask, typename Seek>
auto count_seek(Ask&& ask, Seek&& seek) noexcept {
  const int error_before = errno;
  const auto from = ask();
  errno = error_before;
  const int64_t begun = now_ns();
  const auto to = seek();
  const int error = errno;
  Counters* const counters = mine();
  add(counters, kSeekCalls, 1);
  add(counters, kSeekTime, now_ns() - begun);
  if (from >= 0 && to >= 0) add(counters, kSeekDistance, to > from ? to - from : from - to);
  errno = error;
  return to;
}

bool has_mode(int flags) noexcept { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

#define SITE __builtin_return_address(0)
#define SUBSTRATA_NEXT(function)                           \
  (*[]() noexcept {                                        \
    static constinit std::atomic<void*> place{nullptr};    \
    return next_of<decltype(function)>(&place, #function); \
  }())

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

extern const Table substrata_appio_table;
const Table substrata_appio_table = {kVersion, mine, &open_files};

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = has_mode(flags) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return count_open(SUBSTRATA_NEXT(open)(path, flags, mode));
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = has_mode(flags) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return count_open(SUBSTRATA_NEXT(open64)(path, flags, mode));
}

int close(int file) {
  const int answer = SUBSTRATA_NEXT(close)(file);
  if (answer == 0) open_files.fetch_sub(1, std::memory_order_relaxed);
  return answer;
}

ssize_t read(int file, void* buffer, size_t size) {
  return transfer(SITE, file, size, POLLIN, kRead, kSocketRead,
                  [&] { return SUBSTRATA_NEXT(read)(file, buffer, size); });
}

ssize_t write(int file, const void* buffer, size_t size) {
  return transfer(SITE, file, size, POLLOUT, kWrite, kSocketWrite,
                  [&] { return SUBSTRATA_NEXT(write)(file, buffer, size); });
}

ssize_t recv(int file, void* buffer, size_t size, int flags) {
  return transfer(SITE, file, size, POLLIN, kReceive, kSocketRead,
                  [&] { return SUBSTRATA_NEXT(recv)(file, buffer, size, flags); });
}

size_t fread(void* buffer, size_t size, size_t count, FILE* stream) {
  return transfer_items(SITE, size, count, stream, kRead,
                        [&] { return SUBSTRATA_NEXT(fread)(buffer, size, count, stream); });
}

size_t fwrite(const void* buffer, size_t size, size_t count, FILE* stream) {
  return transfer_items(SITE, size, count, stream, kWrite,
                        [&] { return SUBSTRATA_NEXT(fwrite)(buffer, size, count, stream); });
}

#define SUBSTRATA_PASS_ON(function, kind, parameters, arguments)                          \
  ssize_t function parameters {                                                           \
    return pass_on(SITE, file, kind, [&] { return SUBSTRATA_NEXT(function) arguments; }); \
  }
SUBSTRATA_PASS_ON(pread, kRead, (int file, void* buffer, size_t size, off_t at), (file, buffer, size, at))
SUBSTRATA_PASS_ON(pread64, kRead, (int file, void* buffer, size_t size, off64_t at), (file, buffer, size, at))
SUBSTRATA_PASS_ON(pwrite, kWrite, (int file, const void* buffer, size_t size, off_t at),
                  (file, buffer, size, at))
SUBSTRATA_PASS_ON(pwrite64, kWrite, (int file, const void* buffer, size_t size, off64_t at),
                  (file, buffer, size, at))
SUBSTRATA_PASS_ON(readv, kRead, (int file, const iovec* parts, int count), (file, parts, count))
SUBSTRATA_PASS_ON(writev, kWrite, (int file, const iovec* parts, int count), (file, parts, count))
SUBSTRATA_PASS_ON(send, kWrite, (int file, const void* buffer, size_t size, int flags),
                  (file, buffer, size, flags))
SUBSTRATA_PASS_ON(sendto, kWrite,
                  (int file, const void* buffer, size_t size, int flags, const sockaddr* to,
                   socklen_t length),
                  (file, buffer, size, flags, to, length))
SUBSTRATA_PASS_ON(recvfrom, kReceive,
                  (int file, void* buffer, size_t size, int flags, sockaddr* from, socklen_t* length),
                  (file, buffer, size, flags, from, length))

size_t fread_unlocked(void* buffer, size_t size, size_t count, FILE* stream) {
  return pass_items_on(SITE, size, stream, kRead,
                       [&] { return SUBSTRATA_NEXT(fread_unlocked)(buffer, size, count, stream); });
}

size_t fwrite_unlocked(const void* buffer, size_t size, size_t count, FILE* stream) {
  return pass_items_on(SITE, size, stream, kWrite,
                       [&] { return SUBSTRATA_NEXT(fwrite_unlocked)(buffer, size, count, stream); });
}

off_t lseek(int file, off_t offset, int whence) noexcept {
  return count_seek([&] { return SUBSTRATA_NEXT(lseek)(file, 0, SEEK_CUR); },
                    [&] { return SUBSTRATA_NEXT(lseek)(file, offset, whence); });
}

off64_t lseek64(int file, off64_t offset, int whence) noexcept {
  return count_seek([&] { return SUBSTRATA_NEXT(lseek64)(file, 0, SEEK_CUR); },
                    [&] { return SUBSTRATA_NEXT(lseek64)(file, offset, whence); });
}

int select(int count, fd_set* reads, fd_set* writes, fd_set* exceptions, timeval* timeout) {
  const int64_t begun = now_ns();
  const int answer = SUBSTRATA_NEXT(select)(count, reads, writes, exceptions, timeout);
  const int error = errno;
  add(mine(), kSelectTime, now_ns() - begun);
  errno = error;
  return answer;
}

}  // extern "C"
#pragma GCC visibility pop
