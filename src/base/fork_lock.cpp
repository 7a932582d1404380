// The list of all locks that a forked child must renew.
#include "base/fork_lock.hpp"

namespace substrata {
namespace {

struct List {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  ForkLock* first = nullptr;
};
// Constant-initialised and trivially destroyed: usable before and after every other static object.
constinit List list;

}  // namespace

void ForkLock::make() noexcept {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&mutex_, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

ForkLock::ForkLock() noexcept {
  make();
  pthread_mutex_lock(&list.mutex);
  next_ = list.first;
  link_ = &list.first;
  if (next_ != nullptr) next_->link_ = &next_;
  list.first = this;
  pthread_mutex_unlock(&list.mutex);
}

ForkLock::~ForkLock() {
  pthread_mutex_lock(&list.mutex);
  *link_ = next_;
  if (next_ != nullptr) next_->link_ = link_;
  pthread_mutex_unlock(&list.mutex);
  pthread_mutex_destroy(&mutex_);
}

void ForkLock::renew_all_in_child() noexcept {
  pthread_mutex_init(&list.mutex, nullptr);
  for (ForkLock* lock = list.first; lock != nullptr; lock = lock->next_) lock->make();
}

}  // namespace substrata
