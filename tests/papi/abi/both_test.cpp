// Both generations in one process, as when an old library and a new program each bring their own PAPI.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <papi.h>

namespace {

// Generation 7.3, beside 7.0 with which the test is linked.
class BothGenerations : public testing::Test {
 protected:
  void SetUp() override {
    library_ = dlopen(LIBRARIES "/libpapi.so.7.3", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    find("PAPI_library_init", &init_);
    find("PAPI_is_initialized", &is_initialized_);
    find("PAPI_shutdown", &shut_down_);
    find("PAPI_num_components", &count_);
    find("PAPI_strerror", &text_);
    find("PAPI_create_eventset", &create_);
    find("PAPI_add_named_event", &add_);
    find("PAPI_start", &start_);
    find("PAPI_read", &read_);
    ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), 0x07000000);
    ASSERT_EQ(init_(0x07030000), 0x07030000);
  }
  void TearDown() override {
    PAPI_shutdown();
    shut_down_();
    dlclose(library_);
  }
  template <class Function>
  void find(const char* name, Function* out) {
    *out = reinterpret_cast<Function>(dlsym(library_, name));
    ASSERT_NE(*out, nullptr) << name;
  }

  void* library_ = nullptr;
  int (*init_)(int) = nullptr;
  int (*is_initialized_)() = nullptr;
  void (*shut_down_)() = nullptr;
  int (*count_)() = nullptr;
  char* (*text_)(int) = nullptr;
  int (*create_)(int*) = nullptr;
  int (*add_)(int, const char*) = nullptr;
  int (*start_)(int) = nullptr;
  int (*read_)(int, long long*) = nullptr;
};

// An eventset that was started by the functions of one of the two.
int started(int (*create)(int*), int (*add)(int, const char*), int (*start)(int)) {
  int set = PAPI_NULL;
  EXPECT_EQ(create(&set), PAPI_OK);
  EXPECT_EQ(add(set, "example:::constant"), PAPI_OK);
  EXPECT_EQ(start(set), PAPI_OK);
  return set;
}

// PA-11: a process may hold either or both; one layer below, so both see the same components.
TEST_F(BothGenerations, LiveInOneProcess) {
  EXPECT_EQ(init_(0x07000000), PAPI_EINVAL);
  EXPECT_GT(count_(), 0);
  EXPECT_EQ(count_(), PAPI_num_components());
  EXPECT_EQ(PAPI_strerror(-28), nullptr);
  EXPECT_NE(text_(-28), nullptr);
}

TEST_F(BothGenerations, ShuttingOneDownLeavesTheOthersEventsetCounting) {
  const int set = started(PAPI_create_eventset, PAPI_add_named_event, PAPI_start);
  long long value = -1;
  shut_down_();
  EXPECT_EQ(PAPI_stop(set, &value), PAPI_OK);
  EXPECT_EQ(value, 42);
}

TEST_F(BothGenerations, ShuttingOneDownTwiceLeavesTheOtherInitialised) {
  shut_down_();
  shut_down_();
  EXPECT_NE(PAPI_is_initialized(), PAPI_NOT_INITED);
  EXPECT_EQ(is_initialized_(), PAPI_NOT_INITED);
}

TEST_F(BothGenerations, ShuttingOneDownEndsItsOwnEventsets) {
  int set = started(create_, add_, start_);
  long long value = -1;
  shut_down_();
  EXPECT_EQ(read_(set, &value), PAPI_ENOEVST);
  set = PAPI_NULL;
  EXPECT_EQ(create_(&set), PAPI_ENOINIT);
}

TEST_F(BothGenerations, UnloadingOneThatIsUpLetsTheOtherShutTheLayerDown) {
  int set = PAPI_NULL;
  ASSERT_EQ(create_(&set), PAPI_OK);
  ASSERT_EQ(add_(set, "example:::constant"), PAPI_OK);
  dlclose(library_);
  PAPI_shutdown();
  ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), 0x07000000);
  EXPECT_EQ(PAPI_num_events(set), PAPI_ENOEVST);
  PAPI_shutdown();
  SetUp();
}

}  // namespace
