// Locks of the C++ standard library, followed live by the NUMAchine model; prints how often each was passed.
#include <substrata/numachine.hpp>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

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
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([id] {
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
  const auto waits = substrata::numachine_monitor::waits();
  if (!waits) return 2;
  for (const auto& wait : *waits)
    std::printf("%s %s %llu\n", wait.kind, wait.name, static_cast<unsigned long long>(wait.uses));
  std::printf("sum %d turn %d\n", sum, turn);
  return 0;
}
