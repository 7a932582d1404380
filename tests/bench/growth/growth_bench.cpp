// How costs grow: with the events of a set, the eventsets of a process, its threads and the substrates that count at
// once; and the memory that a hundred thousand eventsets leave behind. The least of rounds, since other programs only
// add; the processor time of the calling thread, so that threads are compared though they share processors.
//   bench_growth [--json FILE]
#include <papi.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "support/measured_rows.hpp"

namespace {

constexpr int kRounds = 11;

substrata::tests::MeasuredRows rows(kRounds);

void put(const std::string& study, const std::string& of, double value, const char* unit) {
  rows.add(study, of, value, unit);
  std::printf("%s, %s: %.1f %s\n", study.c_str(), of.c_str(), value, unit);
}

double thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <typename Call>
double cost(int calls, Call call) {
  double least = std::numeric_limits<double>::max();
  for (int round = 0; round < kRounds; ++round) {
    const double begin = thread_ns();
    for (int i = 0; i < calls; ++i) call();
    least = std::min(least, (thread_ns() - begin) / calls);
  }
  return least;
}

// A running set of the events; PAPI_NULL where they do not count here.
int running_set(const std::vector<const char*>& events) {
  int set = PAPI_NULL;
  bool good = PAPI_create_eventset(&set) == PAPI_OK;
  for (const char* event : events) good = good && PAPI_add_named_event(set, event) == PAPI_OK;
  return good && PAPI_start(set) == PAPI_OK ? set : PAPI_NULL;
}

void end_set(int set) {
  PAPI_stop(set, nullptr);
  PAPI_cleanup_eventset(set);
  PAPI_destroy_eventset(&set);
}

void with_events() {
  const std::vector<const char*> all{
      "perf::PAGE-FAULTS",  "perf::TASK-CLOCK",   "perf::CONTEXT-SWITCHES", "perf::CPU-MIGRATIONS",
      "perf::MINOR-FAULTS", "perf::MAJOR-FAULTS", "perf::ALIGNMENT-FAULTS", "perf::EMULATION-FAULTS"};
  long long values[8];
  for (size_t count = 1; count <= all.size(); count *= 2) {
    const int set = running_set({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)});
    if (set == PAPI_NULL) return;
    put("read of a set by its events", std::to_string(count), cost(2000, [&] { PAPI_read(set, values); }),
        "ns");
    end_set(set);
  }
}

void create_and_destroy() {
  int set = PAPI_NULL;
  PAPI_create_eventset(&set);
  PAPI_destroy_eventset(&set);
}

void with_sets() {
  std::vector<int> living;
  for (const size_t among : {1, 10, 100, 1000, 10000}) {
    while (living.size() < among) {
      living.push_back(PAPI_NULL);
      if (PAPI_create_eventset(&living.back()) != PAPI_OK) return;
    }
    put("creating and destroying a set among others", std::to_string(among), cost(1000, create_and_destroy),
        "ns");
  }
  for (int& set : living) PAPI_destroy_eventset(&set);
}

double resident_kb() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024;
}

void memory_of_sets() {
  const auto live = [](int lives) {
    for (int i = 0; i < lives; ++i) {
      int set = PAPI_NULL;
      PAPI_create_eventset(&set);
      PAPI_add_named_event(set, "example:::constant");
      PAPI_cleanup_eventset(set);
      PAPI_destroy_eventset(&set);
    }
  };
  live(1000);
  const double before = resident_kb();
  int done = 0;
  for (const int lives : {1000, 10'000, 100'000}) {
    live(lives - done);
    done = lives;
    put("resident memory more than before, by lives of eventsets", std::to_string(lives),
        resident_kb() - before, "kB");
  }
}

// Each thread with a set of its own, all at once.
void with_threads() {
  for (int count = 1; count <= 64; count *= 2) {
    std::vector<double> costs(static_cast<size_t>(count));
    std::vector<std::thread> threads;
    pthread_barrier_t begin;
    pthread_barrier_init(&begin, nullptr, static_cast<unsigned>(count));
    for (double& own : costs)
      threads.emplace_back([&own, &begin] {
        const int set = running_set({"example:::constant"});
        long long value = 0;
        pthread_barrier_wait(&begin);
        own = cost(100'000, [&] { PAPI_read(set, &value); });
        end_set(set);
        PAPI_unregister_thread();
      });
    for (std::thread& thread : threads) thread.join();
    pthread_barrier_destroy(&begin);
    put("read in memory by threads that read at once, processor time", std::to_string(count), median(costs),
        "ns");
  }
}

// Sets of further substrates count beside the one that is read.
void with_substrates() {
  const int set = running_set({"example:::constant"});
  long long value = 0;
  size_t wanted = 0;
  std::vector<int> others;
  const auto measure = [&] {
    put("read in memory beside running sets of other substrates", std::to_string(others.size()),
        cost(100'000, [&] { PAPI_read(set, &value); }), "ns");
    wanted = std::max<size_t>(1, 2 * wanted);
  };
  measure();
  for (int index = 0; index < PAPI_num_components() && wanted <= 8; ++index) {
    const PAPI_component_info_t* const info = PAPI_get_component_info(index);
    if (info == nullptr || info->disabled != 0 || std::strcmp(info->name, "example") == 0) continue;
    int code = PAPI_NATIVE_MASK;
    if (PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, index) != PAPI_OK) continue;
    int other = PAPI_NULL;
    if (PAPI_create_eventset(&other) != PAPI_OK) continue;
    if (PAPI_add_event(other, code) != PAPI_OK || PAPI_start(other) != PAPI_OK) continue;
    others.push_back(other);
    if (others.size() == wanted) measure();
  }
  for (const int other : others) end_set(other);
  end_set(set);
}

}  // namespace

int main(int argc, char** argv) {
  return rows.run(argc, argv, [] {
    if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT ||
        PAPI_thread_init(pthread_self) != PAPI_OK) {
      std::fputs("the library does not come up\n", stderr);
      return false;
    }
    with_events();
    with_sets();
    memory_of_sets();
    with_threads();
    with_substrates();
    PAPI_shutdown();
    return true;
  });
}
