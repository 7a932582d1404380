// The libraries loaded at run time by a program that was not linked with them, as a scripting language does
// it.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstring>

namespace {

// Bytes of thread-local storage of the loaded libsubstrata; -1 when it is not loaded.
long thread_local_bytes() {
  long bytes = -1;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        if (std::strstr(info->dlpi_name, "libsubstrata.so") == nullptr) return 0;
        *static_cast<long*>(out) = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i)
          if (info->dlpi_phdr[i].p_type == PT_TLS)
            *static_cast<long*>(out) += static_cast<long>(info->dlpi_phdr[i].p_memsz);
        return 1;
      },
      &bytes);
  return bytes;
}

class RunTimeLoad : public testing::TestWithParam<const char*> {};

// PA-11. The C library keeps about 1.6 KiB of static thread-local storage for all libraries that come later.
TEST_P(RunTimeLoad, ALibraryOfEachGenerationCanBeOpened) {
  void* const library = dlopen(GetParam(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto components = reinterpret_cast<int (*)()>(dlsym(library, "PAPI_num_components"));
  ASSERT_NE(components, nullptr);
  EXPECT_GT(components(), 0);
  EXPECT_GE(thread_local_bytes(), 0);
  EXPECT_LE(thread_local_bytes(), 1024) << "a large thread-local object crept in";
}

INSTANTIATE_TEST_SUITE_P(BothGenerations, RunTimeLoad,
                         testing::Values(LIBRARIES "/libpapi.so.7.0", LIBRARIES "/libpapi.so.7.3"),
                         [](const auto& instance) { return instance.index == 0 ? "Seven0" : "Seven3"; });

}  // namespace
