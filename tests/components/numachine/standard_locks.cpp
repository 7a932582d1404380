// Locks of the C++ standard library, followed live by the NUMAchine model; prints how often each was passed.
#include <substrata/feed.h>
#include <substrata/numachine.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace {

constexpr int kThreads = 4, kTimes = 25;

}  // namespace

// Names of the report.
std::mutex plain;
std::shared_mutex shared;
std::mutex turns;
std::condition_variable turned;
int turn, sum;

int main() {
  substrata_run_options options{};
  options.struct_size = sizeof options;
  options.parameters = "processors=8";
  substrata_following* following = nullptr;
  if (substrata_follow("numachine", &options, &following) != 0) return 1;
  std::thread threads[kThreads];
  for (int id = 0; id < kThreads; ++id) {
    threads[id] = std::thread([id] {
      for (int i = 0; i < kTimes; ++i) {
        {
          const std::lock_guard lock(plain);
          ++sum;
        }
        { const std::shared_lock lock(shared); }
        std::unique_lock lock(turns);
        while (turn % kThreads != id) turned.wait(lock);
        ++turn;
        turned.notify_all();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  substrata_unfollow(following);
  substrata_numachine_wait waits[16];
  uint32_t count = 16;
  if (substrata_numachine_waits(waits, &count) != 0) return 2;
  for (uint32_t i = 0; i < count && i < 16; ++i)
    std::printf("%s %s %llu\n", waits[i].kind, waits[i].name, static_cast<unsigned long long>(waits[i].uses));
  std::printf("sum %d turn %d\n", sum, turn);
  return 0;
}
