// Every function of the interface as the first call of a thread, all threads at the same time (PA-42). PAPI dies of
// some: what a thread needs is made by others there.
#include <gtest/gtest.h>
#include <papi.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/temporary_folder.hpp"

namespace {

unsigned long one() { return 1; }
void on_overflow(int, void*, long long, void*) {}

// What the calls are about: an eventset and an event of the main thread's, which its owner leaves alone meanwhile.
struct Subject {
  int set = PAPI_NULL;
  int code = 0;
};

// The arguments of each call stand on the stack of its own thread.
std::map<std::string, std::function<void(const Subject&)>> calls() {
  using S = const Subject&;
  static long long thread_value = 0;
  std::map<std::string, std::function<void(S)>> all;
#define CALL(name, ...)                                    \
  all[#name] = [=]([[maybe_unused]] S subject) {           \
    [[maybe_unused]] int number = 1, other = 0;            \
    [[maybe_unused]] long long cycles = 0, counts[3] = {}; \
    [[maybe_unused]] float rates[3] = {};                  \
    name(__VA_ARGS__);                                     \
  }
  CALL(PAPI_accum, subject.set, counts);
  CALL(PAPI_add_event, subject.set, subject.code);
  CALL(PAPI_add_events, subject.set, &number, 1);
  CALL(PAPI_add_named_event, subject.set, "example:::constant");
  CALL(PAPI_assign_eventset_component, subject.set, 0);
  CALL(PAPI_attach, subject.set, 1);
  CALL(PAPI_cleanup_eventset, subject.set);
  all["PAPI_create_eventset"] = all["PAPI_destroy_eventset"] = [](S) {
    int set = PAPI_NULL;
    EXPECT_EQ(PAPI_create_eventset(&set), PAPI_OK);
    EXPECT_EQ(PAPI_destroy_eventset(&set), PAPI_OK);
  };
  CALL(PAPI_detach, subject.set);
  CALL(PAPI_disable_component, 0);
  CALL(PAPI_disable_component_by_name, "perf_event");
  all["PAPI_enum_cmp_event"] = [](S) {
    int code = PAPI_NATIVE_MASK;
    PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, 0);
  };
  all["PAPI_enum_dev_type"] = all["PAPI_get_dev_type_attr"] = all["PAPI_get_dev_attr"] = [](S) {
    void* handle = nullptr;
    int count = 0;
    unsigned value = 0;
    if (PAPI_enum_dev_type(PAPI_DEV_TYPE_ENUM__CPU, &handle) != PAPI_OK) return;
    PAPI_get_dev_type_attr(handle, PAPI_DEV_TYPE_ATTR__INT_COUNT, &count);
    PAPI_get_dev_attr(handle, 0, PAPI_DEV_ATTR__CPU_UINT_FAMILY, &value);
  };
  all["PAPI_enum_event"] = [](S) {
    int code = PAPI_PRESET_MASK;
    EXPECT_EQ(PAPI_enum_event(&code, PAPI_ENUM_FIRST), PAPI_OK);
  };
  CALL(PAPI_epc, 0, rates, rates + 1, counts, counts + 1, counts + 2, rates + 2);
  all["PAPI_event_code_to_name"] = [](S subject) {
    char name[PAPI_MAX_STR_LEN];
    EXPECT_EQ(PAPI_event_code_to_name(subject.code, name), PAPI_OK);
  };
  all["PAPI_event_name_to_code"] = [](S subject) {
    int code = 0;
    EXPECT_EQ(PAPI_event_name_to_code("example:::constant", &code), PAPI_OK);
    EXPECT_EQ(code, subject.code);
  };
  CALL(PAPI_flips_rate, PAPI_FP_INS, rates, rates + 1, counts, rates + 2);
  CALL(PAPI_flops_rate, PAPI_FP_OPS, rates, rates + 1, counts, rates + 2);
  all["PAPI_get_cmp_opt"] = all["PAPI_get_opt"] = [](S) {
    PAPI_option_t option = {};
    PAPI_get_cmp_opt(PAPI_DEFDOM, &option, 0);
    PAPI_get_opt(PAPI_DEFDOM, &option);
  };
  CALL(PAPI_get_component_index, "example");
  CALL(PAPI_get_component_info, 0);
  all["PAPI_get_dmem_info"] = [](S) {
    PAPI_dmem_info_t info = {};
    EXPECT_EQ(PAPI_get_dmem_info(&info), PAPI_OK);
  };
  CALL(PAPI_get_event_component, subject.code);
  all["PAPI_get_event_info"] = [](S subject) {
    const auto info = std::make_unique<PAPI_event_info_t>();
    EXPECT_EQ(PAPI_get_event_info(subject.code, info.get()), PAPI_OK);
  };
  CALL(PAPI_get_eventset_component, subject.set);
  CALL(PAPI_get_executable_info);
  CALL(PAPI_get_hardware_info);
  CALL(PAPI_get_multiplex, subject.set);
  CALL(PAPI_get_overflow_event_index, subject.set, 1, &other, &number);
  CALL(PAPI_get_real_cyc);
  CALL(PAPI_get_real_nsec);
  CALL(PAPI_get_real_usec);
  CALL(PAPI_get_shared_lib_info);
  all["PAPI_get_thr_specific"] = [](S) {
    void* value = nullptr;
    EXPECT_EQ(PAPI_get_thr_specific(PAPI_USR1_TLS, &value), PAPI_OK);
  };
  CALL(PAPI_get_virt_cyc);
  CALL(PAPI_get_virt_nsec);
  CALL(PAPI_get_virt_usec);
  CALL(PAPI_hl_read, "region");
  all["PAPI_hl_region_begin"] = [](S) {
    EXPECT_EQ(PAPI_hl_region_begin("region"), PAPI_OK);
    EXPECT_EQ(PAPI_hl_region_end("region"), PAPI_OK);
  };
  CALL(PAPI_hl_region_end, "region");
  CALL(PAPI_hl_stop);
  CALL(PAPI_ipc, rates, rates + 1, counts, rates + 2);
  CALL(PAPI_is_initialized);
  CALL(PAPI_library_init, PAPI_VER_CURRENT);
  CALL(PAPI_list_events, subject.set, &other, &number);
  all["PAPI_list_threads"] = [](S) {
    PAPI_thread_id_t ids[8];
    int number = 8;
    EXPECT_EQ(PAPI_list_threads(ids, &number), PAPI_OK);
  };
  all["PAPI_lock"] = all["PAPI_unlock"] = [](S) {
    EXPECT_EQ(PAPI_lock(PAPI_USR1_LOCK), PAPI_OK);
    EXPECT_EQ(PAPI_unlock(PAPI_USR1_LOCK), PAPI_OK);
  };
  CALL(PAPI_multiplex_init);
  CALL(PAPI_num_cmp_hwctrs, 0);
  CALL(PAPI_num_components);
  CALL(PAPI_num_events, subject.set);
  CALL(PAPI_num_hwctrs);
  CALL(PAPI_overflow, subject.set, subject.code, 0, 0, on_overflow);
  CALL(PAPI_perror, nullptr);
  CALL(PAPI_profil, nullptr, 0, nullptr, 0, subject.set, subject.code, 0, 0);
  CALL(PAPI_query_event, subject.code);
  CALL(PAPI_query_named_event, "example:::constant");
  CALL(PAPI_rate_stop);
  CALL(PAPI_read, subject.set, counts);
  CALL(PAPI_read_ts, subject.set, counts, &cycles);
  CALL(PAPI_register_thread);
  CALL(PAPI_remove_event, subject.set, PAPI_TOT_CYC);
  CALL(PAPI_remove_events, subject.set, &other, 1);
  CALL(PAPI_remove_named_event, subject.set, "PAPI_TOT_CYC");
  CALL(PAPI_reset, subject.set);
  CALL(PAPI_set_cmp_domain, PAPI_DOM_USER, 0);
  CALL(PAPI_set_cmp_granularity, PAPI_GRN_THR, 0);
  CALL(PAPI_set_debug, PAPI_QUIET);
  CALL(PAPI_set_domain, PAPI_DOM_USER);
  CALL(PAPI_set_granularity, PAPI_GRN_THR);
  CALL(PAPI_set_multiplex, PAPI_NULL);
  all["PAPI_set_opt"] = [](S) {
    PAPI_option_t option = {};
    option.defdomain.domain = PAPI_DOM_USER;
    PAPI_set_opt(PAPI_DEFDOM, &option);
  };
  CALL(PAPI_set_thr_specific, PAPI_USR1_TLS, &thread_value);
  all["PAPI_sprofil"] = [](S subject) {
    PAPI_sprofil_t none = {};
    PAPI_sprofil(&none, 1, subject.set, subject.code, 0, 0);
  };
  all["PAPI_start"] = [](S subject) {
    int set = PAPI_NULL;
    long long value = 0;
    EXPECT_EQ(PAPI_create_eventset(&set), PAPI_OK);
    EXPECT_EQ(PAPI_add_event(set, subject.code), PAPI_OK);
    EXPECT_EQ(PAPI_start(set), PAPI_OK);
    EXPECT_EQ(PAPI_stop(set, &value), PAPI_OK);
    EXPECT_EQ(PAPI_cleanup_eventset(set), PAPI_OK);
    EXPECT_EQ(PAPI_destroy_eventset(&set), PAPI_OK);
  };
  CALL(PAPI_state, subject.set, &other);
  CALL(PAPI_stop, subject.set, counts);
  CALL(PAPI_strerror, PAPI_EINVAL);
  CALL(PAPI_thread_id);
  CALL(PAPI_thread_init, one);
  CALL(PAPI_unregister_thread);
  CALL(PAPI_write, subject.set, counts);
#undef CALL
  return all;
}

// The one call that takes the library away from the others.
constexpr const char* kLast = "PAPI_shutdown";

TEST(FirstCall, TheListHasEveryFunctionOfTheInterface) {
  std::set<std::string> listed{kLast};
  for (const auto& [name, call] : calls()) listed.insert(name);
  std::set<std::string> exported;
  std::ifstream symbols(SYMBOLS);
  for (std::string type, name; symbols >> type >> name;)
    if (name.starts_with("PAPI_")) exported.insert(name);
  EXPECT_FALSE(exported.empty());
  EXPECT_EQ(listed, exported);
}

TEST(FirstCall, OfAThreadMayBeAnyFunction) {
  const substrata::tests::TemporaryFolder folder;
  setenv("PAPI_OUTPUT_DIRECTORY", folder.path().c_str(), 1);
  setenv("PAPI_EVENTS", "example:::constant", 1);
  const auto all = calls();
  for (int round = 0; round < 10; ++round) {
    ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
    Subject subject;
    ASSERT_EQ(PAPI_create_eventset(&subject.set), PAPI_OK);
    ASSERT_EQ(PAPI_event_name_to_code("example:::constant", &subject.code), PAPI_OK);
    ASSERT_EQ(PAPI_add_event(subject.set, subject.code), PAPI_OK);
    std::vector<std::thread> threads;
    for (const auto& named : all) threads.emplace_back([&] { named.second(subject); });
    for (std::thread& thread : threads) thread.join();
    std::thread(PAPI_shutdown).join();
  }
}

}  // namespace
