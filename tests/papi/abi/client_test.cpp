// A client of one generation: what that generation's header promises, its library keeps. Compiled for both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <papi.h>
#include <pthread.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

using testing::HasSubstr;

class Client : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT); }
  void TearDown() override {
    PAPI_set_debug(PAPI_QUIET);
    PAPI_shutdown();
  }
  static int code_of(const char* name) {
    int code = 0;
    EXPECT_EQ(PAPI_event_name_to_code(name, &code), PAPI_OK) << name;
    return code;
  }
};

// PA-11: the version integer is the only sign of the header a client was compiled with.
TEST_F(Client, OnlyTheOwnGenerationsVersionIsAccepted) {
  EXPECT_EQ(PAPI_get_opt(PAPI_LIB_VERSION, nullptr), PAPI_VERSION);
  for (const int other : {0, -1, PAPI_VERSION_NUMBER(6, 0, 0, 0), PAPI_VERSION_NUMBER(7, 1, 0, 0),
                          PAPI_VERSION_NUMBER(7, 2, 0, 0), PAPI_VERSION_NUMBER(8, 0, 0, 0)})
    EXPECT_EQ(PAPI_library_init(other), PAPI_EINVAL) << other;
  const int sister = PAPI_VERSION_MINOR(PAPI_VERSION) == 0 ? PAPI_VERSION_NUMBER(7, 3, 0, 0)
                                                           : PAPI_VERSION_NUMBER(7, 0, 0, 0);
  EXPECT_EQ(PAPI_library_init(sister), PAPI_EINVAL);
}

// PA-11: 7.3's structure is 16388 bytes longer; a 7.0 client would be overrun.
TEST_F(Client, EventInfoIsNotWrittenPastTheClientsStructure) {
  struct Guarded {
    PAPI_event_info_t info;
    unsigned char guard[32768];
  };
  const auto guarded = std::make_unique<Guarded>();
  for (const int code : {code_of("example:::ticks"), PAPI_TOT_CYC, PAPI_L1_DCM}) {
    std::memset(guarded.get(), 0xA5, sizeof(Guarded));
    ASSERT_EQ(PAPI_get_event_info(code, &guarded->info), PAPI_OK);
    EXPECT_EQ(guarded->info.event_code, static_cast<unsigned>(code));
    for (const unsigned char byte : guarded->guard) ASSERT_EQ(byte, 0xA5);
  }
}

TEST_F(Client, EventNameIsNotWrittenPastTheLengthClientsGive) {
  char buffer[PAPI_MAX_STR_LEN + 64];
  const int component = PAPI_get_component_index("example");
  ASSERT_GE(component, 0);
  int code = PAPI_NATIVE_MASK;
  int step = PAPI_ENUM_FIRST, seen = 0;
  for (; PAPI_enum_cmp_event(&code, step, component) == PAPI_OK; step = PAPI_ENUM_EVENTS, ++seen) {
    std::memset(buffer, '#', sizeof(buffer));
    ASSERT_EQ(PAPI_event_code_to_name(code, buffer), PAPI_OK);
    EXPECT_LT(std::strlen(buffer), static_cast<size_t>(PAPI_MAX_STR_LEN));
    EXPECT_EQ(buffer[PAPI_MAX_STR_LEN], '#');
    int again = 0;
    EXPECT_EQ(PAPI_event_name_to_code(buffer, &again), PAPI_OK) << buffer;
    EXPECT_EQ(again, code);
  }
  EXPECT_GT(seen, 0);
}

// PA-10: programs written against PAPI's example component found none of its names.
TEST_F(Client, EventsOfPapisExampleComponentCountAsTheyDoThere) {
  int set = PAPI_NULL;
  ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
  for (const char* name : {"EXAMPLE_CONSTANT", "EXAMPLE_AUTOINC", "EXAMPLE_ZERO", "EXAMPLE_GLOBAL_AUTOINC"})
    ASSERT_EQ(PAPI_add_named_event(set, (std::string("example:::") + name).c_str()), PAPI_OK) << name;
  long long values[4];
  const auto expect = [&](long long autoinc, const char* when) {
    EXPECT_EQ(values[0], 42) << when;
    EXPECT_EQ(values[1], autoinc) << when;
    EXPECT_EQ(values[2], 0) << when;
    EXPECT_EQ(values[3], autoinc) << when;
  };
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  ASSERT_EQ(PAPI_reset(set), PAPI_OK);
  ASSERT_EQ(PAPI_stop(set, values), PAPI_OK);
  expect(0, "a stop is the first reading after the reset");
  for (int i = 1; i < 4; ++i) {
    ASSERT_EQ(PAPI_start(set), PAPI_OK);
    ASSERT_EQ(PAPI_stop(set, values), PAPI_OK);
    expect(i, "a start changes nothing");
  }
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  ASSERT_EQ(PAPI_read(set, values), PAPI_OK);
  expect(4, "a reading");
  ASSERT_EQ(PAPI_stop(set, values), PAPI_OK);
  EXPECT_EQ(PAPI_cleanup_eventset(set), PAPI_OK);
  EXPECT_EQ(PAPI_destroy_eventset(&set), PAPI_OK);
}

TEST_F(Client, EnumerationVisitsThePresetsOfTheHeader) {
  int code = PAPI_PRESET_MASK, count = 1;
  ASSERT_EQ(PAPI_enum_event(&code, PAPI_ENUM_FIRST), PAPI_OK);
  EXPECT_EQ(code, PAPI_L1_DCM);
  while (PAPI_enum_event(&code, PAPI_ENUM_EVENTS) == PAPI_OK) ++count;
  EXPECT_EQ(count, PAPI_END_idx);
  EXPECT_EQ(code, PAPI_END - 1);
}

// PA-11: the enumerators and the classes' bits differ between the generations.
TEST_F(Client, EnumerationByClassGivesThePresetsOfThatClass) {
  const struct {
    int modifier;
    unsigned bit;
    int member;
  } classes[] = {{PAPI_PRESET_ENUM_L1, PAPI_PRESET_BIT_L1, PAPI_L1_TCM},
                 {PAPI_PRESET_ENUM_TLB, PAPI_PRESET_BIT_TLB, PAPI_TLB_DM},
                 {PAPI_PRESET_ENUM_FP, PAPI_PRESET_BIT_FP, PAPI_FP_OPS},
                 {PAPI_PRESET_ENUM_BR, PAPI_PRESET_BIT_BR, PAPI_BR_MSP},
                 {PAPI_PRESET_ENUM_INS, PAPI_PRESET_BIT_INS, PAPI_TOT_INS}};
  const auto info = std::make_unique<PAPI_event_info_t>();
  for (const auto& one : classes) {
    std::set<int> found;
    int code = PAPI_PRESET_MASK;
    for (int result = PAPI_enum_event(&code, PAPI_ENUM_FIRST); result == PAPI_OK;
         result = PAPI_enum_event(&code, one.modifier)) {
      ASSERT_EQ(PAPI_get_event_info(code, info.get()), PAPI_OK);
      if ((info->event_type & one.bit) != 0) found.insert(code);
      // The first preset of all begins the walk whatever its class is.
      EXPECT_TRUE(code == PAPI_L1_DCM || (info->event_type & one.bit) != 0) << info->symbol;
    }
    EXPECT_EQ(found.count(one.member), 1u) << "class " << one.modifier;
  }
}

TEST_F(Client, EveryErrorHasATextAndNothingElseHas) {
  for (int code = 0; code > -PAPI_NUM_ERRORS; --code) EXPECT_NE(PAPI_strerror(code), nullptr) << code;
  EXPECT_EQ(PAPI_strerror(-PAPI_NUM_ERRORS), nullptr);
  EXPECT_EQ(PAPI_strerror(1), nullptr);
}

TEST_F(Client, LastErrorIsPrintedOnlyWhenAskedFor) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(PAPI_start(12345), PAPI_ENOEVST);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  PAPI_perror("starting");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "starting: No such EventSet available\n");
  ASSERT_EQ(PAPI_set_debug(PAPI_VERB_ECONT), PAPI_OK);
  testing::internal::CaptureStderr();
  EXPECT_EQ(PAPI_start(12345), PAPI_ENOEVST);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("PAPI Error Code -11: No such EventSet available"));
}

int handled = 0;
int handle(int code) {
  handled = code;
  return PAPI_OK;
}

TEST_F(Client, DebugHandlerIsGivenTheErrorInsteadOfPrinting) {
  PAPI_option_t option{};
  option.debug.level = PAPI_VERB_ECONT;
  option.debug.handler = handle;
  ASSERT_EQ(PAPI_set_opt(PAPI_DEBUG, &option), PAPI_OK);
  testing::internal::CaptureStderr();
  EXPECT_EQ(PAPI_start(12345), PAPI_ENOEVST);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(handled, PAPI_ENOEVST);
  option.debug.level = PAPI_QUIET;
  option.debug.handler = nullptr;
  ASSERT_EQ(PAPI_set_opt(PAPI_DEBUG, &option), PAPI_OK);
}

TEST_F(Client, ComponentInfoStaysWhereItIsAndNamesItself) {
  ASSERT_GT(PAPI_num_components(), 1);
  for (int i = 0; i < PAPI_num_components(); ++i) {
    const PAPI_component_info_t* const info = PAPI_get_component_info(i);
    ASSERT_NE(info, nullptr);
    EXPECT_EQ(info, PAPI_get_component_info(i));
    EXPECT_EQ(info->CmpIdx, i);
    EXPECT_EQ(PAPI_get_component_index(info->name), i);
    EXPECT_STRNE(info->description, "");
    // Who is absent says why.
    EXPECT_EQ(info->disabled == 0, info->disabled_reason[0] == '\0') << info->name;
    PAPI_option_t option{};
    EXPECT_EQ(PAPI_get_cmp_opt(PAPI_COMPONENTINFO, &option, i), PAPI_OK);
    EXPECT_EQ(option.cmp_info, info);
  }
}

TEST_F(Client, NumberOfNativeEventsIsTheNumberEnumerated) {
  for (int i = 0; i < PAPI_num_components(); ++i) {
    const PAPI_component_info_t* const info = PAPI_get_component_info(i);
    int code = PAPI_NATIVE_MASK, count = 0, step = PAPI_ENUM_FIRST;
    for (; PAPI_enum_cmp_event(&code, step, i) == PAPI_OK; step = PAPI_ENUM_EVENTS) ++count;
    EXPECT_EQ(count, info->num_native_events) << info->name;
  }
}

// It was always PAPI_OK, which says that the set is not multiplexed.
TEST_F(Client, WhetherASetIsMultiplexedIsTheAnswerOfItsOption) {
  int set = PAPI_NULL;
  ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
  PAPI_option_t option{};
  option.multiplex.eventset = set;
  EXPECT_EQ(PAPI_get_opt(PAPI_MULTIPLEX, &option), 0) << "before it has a component, too";
  ASSERT_EQ(PAPI_assign_eventset_component(set, 0), PAPI_OK);
  EXPECT_EQ(PAPI_get_opt(PAPI_MULTIPLEX, &option), 0);
  EXPECT_EQ(option.multiplex.ns, 0);
  option.multiplex.ns = -1;
  EXPECT_EQ(PAPI_set_opt(PAPI_MULTIPLEX, &option), PAPI_EINVAL);
  option.multiplex.ns = 2'000'000;
  ASSERT_EQ(PAPI_set_opt(PAPI_MULTIPLEX, &option), PAPI_OK);
  option.multiplex.ns = 0;
  EXPECT_EQ(PAPI_get_opt(PAPI_MULTIPLEX, &option), 1);
  EXPECT_EQ(option.multiplex.ns, 2'000'000);
  EXPECT_EQ(PAPI_set_multiplex(set), PAPI_EINVAL) << "a second time";
  EXPECT_EQ(PAPI_cleanup_eventset(set), PAPI_OK);
  EXPECT_EQ(PAPI_destroy_eventset(&set), PAPI_OK);
}

TEST_F(Client, OptionsOfASetWithoutAComponentAreNothingYet) {
  int set = PAPI_NULL;
  ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
  for (const auto& [option, answer] :
       {std::pair{PAPI_DOMAIN, 0}, std::pair{PAPI_GRANUL, 0}, std::pair{PAPI_INHERIT, 0},
        std::pair{PAPI_ATTACH, 0}, std::pair{PAPI_DETACH, 1}}) {
    PAPI_option_t asked{};
    asked.domain.eventset = set;  // each option's first field
    EXPECT_EQ(PAPI_get_opt(option, &asked), answer) << option;
    EXPECT_EQ(asked.domain.domain, 0) << option;
  }
  EXPECT_EQ(PAPI_destroy_eventset(&set), PAPI_OK);
}

// The part that a component lacks was left out in silence.
TEST_F(Client, ADomainThatAComponentLacksAPartOfIsRefused) {
  const PAPI_component_info_t* const processor = PAPI_get_component_info(0);
  ASSERT_EQ(processor->available_domains & PAPI_DOM_OTHER, 0);
  int set = PAPI_NULL;
  ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
  ASSERT_EQ(PAPI_assign_eventset_component(set, 0), PAPI_OK);
  for (const int domain : {PAPI_DOM_OTHER, PAPI_DOM_USER | PAPI_DOM_OTHER}) {
    EXPECT_EQ(PAPI_set_domain(domain), PAPI_ENOSUPP) << domain;
    PAPI_option_t option{};
    option.domain.eventset = set;
    option.domain.domain = domain;
    EXPECT_EQ(PAPI_set_opt(PAPI_DOMAIN, &option), PAPI_EINVAL_DOM) << domain;
  }
  EXPECT_EQ(PAPI_set_domain(PAPI_DOM_ALL), PAPI_OK) << "all that it has";
  // The kernel is one of them also where this user may not count it: an event that is added then says so.
  const int kept = PAPI_get_opt(PAPI_DEFDOM, nullptr);
  EXPECT_EQ(kept | PAPI_DOM_KERNEL, processor->available_domains | PAPI_DOM_KERNEL);
  EXPECT_EQ(kept & processor->available_domains, processor->available_domains);
  EXPECT_EQ(PAPI_set_domain(PAPI_DOM_USER), PAPI_OK);
  EXPECT_EQ(PAPI_destroy_eventset(&set), PAPI_OK);
}

TEST_F(Client, ColonsWithNothingBehindThemAndTwoRatesAreNoEvents) {
  int code = 0;
  for (const char* name :
       {"perf::TASK-CLOCK:", "perf::TASK-CLOCK:u=1:", "perf::TASK-CLOCK::", "perf::TASK-CLOCK:nosuch",
        "perf::TASK-CLOCK:u=2", "perf::TASK-CLOCK:period=1000:freq=100"})
    EXPECT_EQ(PAPI_event_name_to_code(name, &code), PAPI_ENOEVNT) << name;
}

TEST_F(Client, TheUsersEventsEndWithNoEvent) {
  int code = PAPI_UE_MASK;
  EXPECT_EQ(PAPI_enum_event(&code, PAPI_ENUM_FIRST), PAPI_ENOEVNT) << "there is none";
}

TEST_F(Client, ThreadsStoreTheirOwnPointersAndAllCanBeListed) {
  int mine = 1, theirs = 2;
  ASSERT_EQ(PAPI_thread_init([]() -> unsigned long { return static_cast<unsigned long>(pthread_self()); }),
            PAPI_OK);
  ASSERT_EQ(PAPI_set_thr_specific(PAPI_USR1_TLS, &mine), PAPI_OK);
  std::thread other([&] {
    EXPECT_EQ(PAPI_set_thr_specific(PAPI_USR1_TLS, &theirs), PAPI_OK);
    PAPI_all_thr_spec_t all{};
    EXPECT_EQ(PAPI_get_thr_specific(PAPI_USR1_TLS | PAPI_TLS_ALL_THREADS, reinterpret_cast<void**>(&all)),
              PAPI_OK);
    EXPECT_EQ(all.num, 2);
    PAPI_thread_id_t ids[4] = {};
    void* data[4] = {};
    all.num = 4;
    all.id = ids;
    all.data = data;
    EXPECT_EQ(PAPI_get_thr_specific(PAPI_USR1_TLS | PAPI_TLS_ALL_THREADS, reinterpret_cast<void**>(&all)),
              PAPI_OK);
    EXPECT_EQ(all.num, 2);
    EXPECT_THAT(std::vector<void*>(data, data + 2), testing::UnorderedElementsAre(&mine, &theirs));
    EXPECT_EQ(PAPI_unregister_thread(), PAPI_OK);
  });
  other.join();
  void* found = nullptr;
  EXPECT_EQ(PAPI_get_thr_specific(PAPI_USR1_TLS, &found), PAPI_OK);
  EXPECT_EQ(found, &mine);
}

TEST_F(Client, RatesRefuseWhatTheyCannotMeasure) {
  float real = 0, process = 0, rate = 0;
  long long count = 0;
  EXPECT_EQ(PAPI_flops_rate(PAPI_TOT_INS, &real, &process, &count, &rate), PAPI_EINVAL);
  EXPECT_EQ(PAPI_flips_rate(PAPI_FP_OPS, &real, &process, &count, &rate), PAPI_EINVAL);
  EXPECT_EQ(PAPI_ipc(nullptr, &process, &count, &rate), PAPI_EINVAL);
  EXPECT_EQ(PAPI_rate_stop(), PAPI_ENOEVNT);
  if (PAPI_query_event(PAPI_TOT_INS) != PAPI_OK || PAPI_query_event(PAPI_TOT_CYC) != PAPI_OK) {
    EXPECT_EQ(PAPI_ipc(&real, &process, &count, &rate), PAPI_ENOEVNT);
    return;
  }
  ASSERT_EQ(PAPI_ipc(&real, &process, &count, &rate), PAPI_OK);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(PAPI_flops_rate(PAPI_FP_OPS, &real, &process, &count, &rate), PAPI_EINVAL)
      << "another rate is running";
  ASSERT_EQ(PAPI_ipc(&real, &process, &count, &rate), PAPI_OK);
  EXPECT_GT(count, 0);
  EXPECT_EQ(PAPI_rate_stop(), PAPI_OK);
}

// PA-38: memory of the NUMA nodes is reported.
TEST_F(Client, ProcessorsAreADeviceWithAttributes) {
  void* kind = nullptr;
  ASSERT_EQ(PAPI_enum_dev_type(PAPI_DEV_TYPE_ENUM__ALL, &kind), PAPI_OK);
  int id = -1, count = 0;
  EXPECT_EQ(PAPI_get_dev_type_attr(kind, PAPI_DEV_TYPE_ATTR__INT_PAPI_ID, &id), PAPI_OK);
  EXPECT_EQ(id, PAPI_DEV_TYPE_ID__CPU);
  EXPECT_EQ(PAPI_get_dev_type_attr(kind, PAPI_DEV_TYPE_ATTR__INT_COUNT, &count), PAPI_OK);
  EXPECT_EQ(count, 1);
  unsigned memory = 0, numa = 0;
  EXPECT_EQ(PAPI_get_dev_attr(kind, 0, PAPI_DEV_ATTR__CPU_UINT_NUMA_COUNT, &numa), PAPI_OK);
  EXPECT_GE(numa, 1u);
  EXPECT_EQ(PAPI_get_dev_attr(kind, 0, PAPI_DEV_ATTR__CPU_UINT_NUMA_MEM_SIZE, &memory), PAPI_OK);
  EXPECT_GT(memory, 0u);
  EXPECT_EQ(PAPI_get_dev_attr(kind, 4096, PAPI_DEV_ATTR__CPU_UINT_NUMA_MEM_SIZE, &memory), PAPI_EINVAL);
  EXPECT_EQ(PAPI_get_dev_attr(kind, 0, PAPI_DEV_ATTR__CUDA_ULONG_UID, &memory), PAPI_EINVAL);
  EXPECT_EQ(PAPI_enum_dev_type(PAPI_DEV_TYPE_ENUM__ALL, &kind), PAPI_EINVAL);
  EXPECT_EQ(kind, nullptr);
}

TEST_F(Client, SharedLibrariesIncludeThisOneAndTheListStays) {
  const PAPI_shlib_info_t* const list = PAPI_get_shared_lib_info();
  ASSERT_NE(list, nullptr);
  bool found = false;
  for (int i = 0; i < list->count; ++i)
    found = found || std::strstr(list->map[i].name, "libpapi.so.7.") != nullptr;
  EXPECT_TRUE(found);
}

}  // namespace
