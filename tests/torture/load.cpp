// Much of the same: threads with eventsets of their own, and eventsets made and destroyed, in constant memory and with
// constant descriptors.
#include <papi.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <thread>

#include "allocations.hpp"
#include "torture.hpp"

namespace substrata::torture {
namespace {

std::string life_of_a_set(const char* event) {
  int set = PAPI_NULL;
  long long values[2] = {};
  const auto failed = [](const char* call, int code) {
    return std::string(call) + " gives " + std::to_string(code);
  };
  if (const int code = PAPI_create_eventset(&set); code != PAPI_OK)
    return failed("PAPI_create_eventset", code);
  if (const int code = PAPI_add_named_event(set, event); code != PAPI_OK)
    return failed("PAPI_add_named_event", code);
  if (const int code = PAPI_start(set); code != PAPI_OK) return failed("PAPI_start", code);
  if (const int code = PAPI_read(set, values); code != PAPI_OK) return failed("PAPI_read", code);
  if (const int code = PAPI_stop(set, values); code != PAPI_OK) return failed("PAPI_stop", code);
  if (const int code = PAPI_cleanup_eventset(set); code != PAPI_OK)
    return failed("PAPI_cleanup_eventset", code);
  if (const int code = PAPI_destroy_eventset(&set); code != PAPI_OK)
    return failed("PAPI_destroy_eventset", code);
  return {};
}

// A tenth first; from then on nothing may grow.
std::string sets(std::int64_t count, const char* event) {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return "PAPI_library_init failed";
  if (PAPI_query_named_event(event) != PAPI_OK) return "=";
  std::int64_t blocks = 0, bytes = 0;
  int descriptors = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i == count / 10) {
      blocks = living_blocks();
      bytes = resident_bytes();
      descriptors = open_descriptors();
    }
    if (const std::string wrong = life_of_a_set(event); !wrong.empty())
      return wrong + ", eventset " + std::to_string(i);
  }
  const std::int64_t more = living_blocks() - blocks;
  const std::int64_t grown = resident_bytes() - bytes;
  if (more > 0) return std::to_string(more) + " blocks of memory are lost";
  if (open_descriptors() > descriptors) return "descriptors are left open";
  if (grown > 1 << 20) return "the resident memory grows by " + std::to_string(grown) + " bytes";
  PAPI_shutdown();
  return "=" + std::to_string(grown);
}

std::string threads(std::int64_t count, std::int64_t rounds) {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return "PAPI_library_init failed";
  PAPI_thread_init(reinterpret_cast<unsigned long (*)()>(pthread_self));
  std::atomic<std::int64_t> failed{0};
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 * 1024);
  std::barrier all(count);
  struct Shared {
    std::barrier<>* all;
    std::atomic<std::int64_t>* failed;
    std::int64_t rounds;
  } shared{&all, &failed, rounds};
  const auto body = [](void* argument) -> void* {
    Shared& of = *static_cast<Shared*>(argument);
    int set = PAPI_NULL;
    long long values[2] = {};
    const bool good = PAPI_create_eventset(&set) == PAPI_OK &&
                      PAPI_add_named_event(set, "example:::reads") == PAPI_OK && PAPI_start(set) == PAPI_OK;
    of.all->arrive_and_wait();  // all of them count at once
    bool right = good;
    for (std::int64_t i = 0; i < of.rounds && right; ++i)
      right = PAPI_read(set, values) == PAPI_OK && values[0] == i + 1;
    of.all->arrive_and_wait();
    // Every second leaves its eventset running.
    if (right && gettid() % 2 == 0)
      right = PAPI_stop(set, values) == PAPI_OK && PAPI_cleanup_eventset(set) == PAPI_OK &&
              PAPI_destroy_eventset(&set) == PAPI_OK;
    if (!right) ++*of.failed;
    return nullptr;
  };
  std::vector<pthread_t> made(static_cast<size_t>(count));
  for (pthread_t& thread : made)
    if (pthread_create(&thread, &small, body, &shared) != 0) return "77";
  for (pthread_t& thread : made) pthread_join(thread, nullptr);
  PAPI_thread_id_t listed[4];
  int number = 4;
  PAPI_list_threads(listed, &number);
  PAPI_shutdown();
  if (failed.load() > 0) return std::to_string(failed.load()) + " threads got a wrong answer or value";
  if (number != 1) return std::to_string(number - 1) + " threads that have ended are still listed";
  return {};
}

}  // namespace

Outcome many_threads(const Options& options) {
  Outcome outcome;
  outcome.tried = options.iterations > 0 ? options.iterations : 200;
  const std::string wrong = in_a_process([&] { return threads(outcome.tried, 1000); }, 300);
  if (wrong == "77")
    outcome.skipped = "so many threads cannot be made here";
  else if (!wrong.empty())
    outcome.failures.push_back(std::to_string(outcome.tried) + " threads: " + wrong);
  outcome.figures.emplace_back("threads that count at once", std::to_string(outcome.tried));
  return outcome;
}

Outcome many_eventsets(const Options& options) {
  Outcome outcome;
  const std::int64_t count = options.iterations > 0 ? options.iterations : 20'000;
  for (const char* event : {"example:::ticks", "perf::TASK-CLOCK"}) {
    const std::string text = in_a_process([&] { return sets(count, event); }, 600);
    outcome.tried += count;
    if (text.empty() || text[0] != '=')
      outcome.failures.push_back(std::string(event) + ": " + text);
    else
      outcome.figures.emplace_back(std::string("growth in bytes, ") + event,
                                   text.size() > 1 ? text.substr(1) : "event not available");
  }
  return outcome;
}

}  // namespace substrata::torture
