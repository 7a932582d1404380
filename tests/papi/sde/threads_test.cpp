// libsde used by many threads at once: sums are exact, and an event that goes away is refused, never
// followed.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "papi/sde/tool_interface.h"
#include "sde_lib.h"

namespace {

constexpr int kThreads = 4;

template <typename Work>
void in_threads(Work work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

uint32_t number_of(const std::string& name) {
  uint32_t id = UINT32_MAX;
  EXPECT_EQ(sde_ti_name_to_code(name.c_str(), &id), SDE_OK) << name;
  return id;
}

// PA-31, PA-42
TEST(SdeThreads, IncrementsAndRecordsOfAllThreadsAreCounted) {
  papi_handle_t library = papi_sde_init("parallel");
  void* counter = nullptr;
  void* recorder = nullptr;
  void* set = nullptr;
  papi_sde_create_counter(library, "c", PAPI_SDE_INSTANT, &counter);
  papi_sde_create_recorder(library, "r", sizeof(int), papi_sde_compare_int, &recorder);
  papi_sde_create_counting_set(library, "s", &set);
  in_threads([&](int) {
    for (int i = 0; i < 2000; ++i) {
      papi_sde_inc_counter(counter, 2);
      papi_sde_record(recorder, sizeof i, &i);
      const int element = i % 5;
      papi_sde_counting_set_insert(set, sizeof element, sizeof element, &element, 0);
    }
  });
  long long value = 0;
  EXPECT_EQ(sde_ti_read_counter(number_of("parallel::c"), &value), SDE_OK);
  EXPECT_EQ(value, kThreads * 4000);
  EXPECT_EQ(sde_ti_read_counter(number_of("parallel::r:CNT"), &value), SDE_OK);
  EXPECT_EQ(value, kThreads * 2000);
  EXPECT_EQ(sde_ti_read_counter(number_of("parallel::s"), &value), SDE_OK);
  long long total = 0;
  for (auto* at = GET_SDE_RECORDER_ADDRESS(value, cset_list_object_t); at != nullptr;) {
    total += at->count;
    cset_list_object_t* next = at->next;
    free(at->ptr);
    free(at);
    at = next;
  }
  EXPECT_EQ(total, kThreads * 2000);
}

// PA-42: every thread registers the same names; one of them wins, all get the same numbers
TEST(SdeThreads, RegisteringTheSameNamesAtOnceGivesOneEventEach) {
  static long long values[kThreads];
  std::vector<std::vector<uint32_t>> ids(kThreads);
  in_threads([&](int thread) {
    papi_handle_t library = papi_sde_init("race");
    for (int i = 0; i < 200; ++i) {
      const std::string name = "e" + std::to_string(i);
      papi_sde_register_counter(library, name.c_str(), PAPI_SDE_INSTANT, PAPI_SDE_long_long, &values[thread]);
      ids[static_cast<size_t>(thread)].push_back(number_of("race::" + name));
    }
  });
  for (int thread = 1; thread < kThreads; ++thread) EXPECT_EQ(ids[static_cast<size_t>(thread)], ids[0]);
}

// PA-42: when unregistering returns, the variable may be freed (address sanitizer watches)
TEST(SdeThreads, ReadersNeverFollowAVariableThatWasTakenBack) {
  papi_handle_t library = papi_sde_init("coming and going");
  const uint32_t id = number_of("coming and going::x");
  const uint32_t sum = number_of("coming and going::sum");
  std::atomic<bool> over{false};
  std::vector<std::thread> readers;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!over.load()) {
        long long value = 0;
        int result = sde_ti_read_counter(id, &value);
        if (result != SDE_ENOEVNT && (result != SDE_OK || (value != -1 && value != 0 && value != 42)))
          ++wrong;
        result = sde_ti_read_counter(sum, &value);
        if (result != SDE_ENOEVNT && (result != SDE_OK || (value != -1 && value != 0 && value != 42)))
          ++wrong;
        std::this_thread::yield();
      }
    });
  }
  for (int round = 0; round < 500; ++round) {
    const auto variable = std::make_unique<long long>(42);
    papi_sde_register_counter(library, "x", PAPI_SDE_INSTANT, PAPI_SDE_long_long, variable.get());
    papi_sde_add_counter_to_group(library, "x", "sum", PAPI_SDE_SUM);
    std::this_thread::yield();
    papi_sde_unregister_counter(library, "x");
  }
  over.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

papi_handle_t busy_library = nullptr;
long long registers_another(void*) {
  static long long other = 3;
  papi_sde_register_counter(busy_library, "other", PAPI_SDE_INSTANT, PAPI_SDE_long_long, &other);
  return 1;
}

// PA-42: a callback may use the interface while its own event is being taken back
TEST(SdeThreads, ACallbackThatRegistersDoesNotBlockUnregistration) {
  busy_library = papi_sde_init("busy");
  const uint32_t id = number_of("busy::cb");
  std::atomic<bool> over{false};
  std::thread reader([&] {
    while (!over.load()) {
      long long value = 0;
      sde_ti_read_counter(id, &value);
      std::this_thread::yield();
    }
  });
  for (int round = 0; round < 500; ++round) {
    papi_sde_register_counter_cb(busy_library, "cb", PAPI_SDE_INSTANT, PAPI_SDE_long_long, registers_another,
                                 nullptr);
    std::this_thread::yield();
    EXPECT_EQ(papi_sde_unregister_counter(busy_library, "cb"), SDE_OK);
  }
  over.store(true);
  reader.join();
}

}  // namespace
