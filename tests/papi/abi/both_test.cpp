// Both generations in one process, as when an old library and a new program each bring their own PAPI.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <papi.h>

namespace {

// PA-11: a process may hold either or both; one layer below, so both see the same components.
TEST(BothGenerations, LiveInOneProcess) {
  EXPECT_EQ(PAPI_library_init(PAPI_VER_CURRENT), 0x07000000);
  void* const newer = dlopen(LIBRARIES "/libpapi.so.7.3", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(newer, nullptr) << dlerror();
  const auto init = reinterpret_cast<int (*)(int)>(dlsym(newer, "PAPI_library_init"));
  const auto count = reinterpret_cast<int (*)()>(dlsym(newer, "PAPI_num_components"));
  const auto text = reinterpret_cast<char* (*)(int)>(dlsym(newer, "PAPI_strerror"));
  ASSERT_TRUE(init != nullptr && count != nullptr && text != nullptr);
  EXPECT_EQ(init(0x07030000), 0x07030000);
  EXPECT_EQ(init(0x07000000), PAPI_EINVAL);
  EXPECT_GT(count(), 0);
  EXPECT_EQ(count(), PAPI_num_components());
  EXPECT_EQ(PAPI_strerror(-28), nullptr);
  EXPECT_NE(text(-28), nullptr);
}

}  // namespace
