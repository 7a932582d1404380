// A thread beside each thread that uses another PAPI.
#include "bridge/companion.hpp"

#include <dlfcn.h>
#include <papi.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/thread_end.hpp"

namespace substrata::bridge {
namespace {

// CUDA's context is a thread's own, and what cuda counts is that of its caller. Only where the program has CUDA.
struct CudaContext {
  void* current = nullptr;
  int (*set)(void*) = nullptr;

  static CudaContext of_caller() noexcept {
    CudaContext context;
    void* const cuda = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (cuda == nullptr) return context;
    const auto get = reinterpret_cast<int (*)(void**)>(::dlsym(cuda, "cuCtxGetCurrent"));
    if (get != nullptr && get(&context.current) == 0)
      context.set = reinterpret_cast<int (*)(void*)>(::dlsym(cuda, "cuCtxSetCurrent"));
    ::dlclose(cuda);
    return context;
  }
  void take() const noexcept {
    if (set != nullptr) set(current);
  }
};

// What a thread and the one beside it share.
struct Desk {
  std::mutex lock;
  std::condition_variable changed;
  std::shared_ptr<void> given;
  int (*call)(void*) = nullptr;  // what is to be done, null: nothing
  CudaContext context;
  int gave = 0;
  bool done = false;
  bool left = false;  // by the thread that it stood beside
  const pid_t process = ::getpid();
};

void* stand_beside(void* argument) {
  const std::unique_ptr<std::shared_ptr<Desk>> owned(static_cast<std::shared_ptr<Desk>*>(argument));
  Desk& desk = **owned;
  std::unique_lock lock(desk.lock);
  for (;;) {
    desk.changed.wait(lock, [&] { return desk.call != nullptr || desk.left; });
    if (desk.call == nullptr) return nullptr;
    const auto call = std::exchange(desk.call, nullptr);
    std::shared_ptr<void> given = std::move(desk.given);
    lock.unlock();
    desk.context.take();
    const int gave = call(given.get());
    given.reset();
    lock.lock();
    desk.gave = gave;
    desk.done = true;
    desk.changed.notify_all();
  }
}

// Those of one thread. A pointer, so that nothing has to be destroyed where there is no memory to note it.
constinit thread_local std::shared_ptr<Desk>* mine = nullptr;

void leave() noexcept {
  if (mine == nullptr) return;
  std::shared_ptr<Desk>* const own = std::exchange(mine, nullptr);
  // Of a parent: its other thread is not here, and its lock may be held for ever. Nothing of it is touched.
  if ((*own)->process != ::getpid()) return;
  {
    const std::lock_guard guard((*own)->lock);
    (*own)->left = true;
    (*own)->changed.notify_all();
  }
  delete own;
}
constinit thread_local AtThreadEnd leaves{leave};

bool have_one() {
  if (mine != nullptr && (*mine)->process == ::getpid()) return true;
  leave();
  auto own = std::make_unique<std::shared_ptr<Desk>>(std::make_shared<Desk>());
  auto other = std::make_unique<std::shared_ptr<Desk>>(*own);
  sigset_t all, before;
  sigfillset(&all);
  pthread_t thread;
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool made = pthread_create(&thread, nullptr, stand_beside, other.get()) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!made) return false;
  (void)other.release();
  pthread_detach(thread);
  mine = own.release();
  at_thread_end(leaves);  // else this thread leaves another one behind, asleep
  return true;
}

// Its thread is not ended while it holds the desk's lock.
class Undisturbed {
 public:
  Undisturbed() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Undisturbed() { pthread_setcancelstate(before_, nullptr); }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  int before_ = 0;
};

}  // namespace

std::optional<int> call_beside(unsigned seconds, std::shared_ptr<void> given, int (*call)(void* given)) {
  const Undisturbed undisturbed;
  if (!have_one()) return PAPI_ENOMEM;
  const std::shared_ptr<Desk> desk = *mine;
  std::unique_lock lock(desk->lock);
  desk->context = CudaContext::of_caller();
  desk->given = std::move(given);
  desk->done = false;
  desk->call = call;
  desk->changed.notify_all();
  if (desk->changed.wait_for(lock, std::chrono::seconds(seconds), [&] { return desk->done; }))
    return desk->gave;
  lock.unlock();
  leave();
  return std::nullopt;
}

}  // namespace substrata::bridge
