// Libraries that libsubstrata loads at their first call, where they are not there.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hwloc.h>
#include <perfmon/pfmlib.h>
#include <zstd.h>

namespace {

TEST(LateLibraries, WithoutLibpfmNothingIsInitialised) {
  EXPECT_NE(pfm_initialize(), PFM_SUCCESS);
  EXPECT_LT(pfm_find_event("cycles"), 0);
}

TEST(LateLibraries, WithoutHwlocThereIsNoTopology) {
  hwloc_topology_t topology = nullptr;
  EXPECT_EQ(hwloc_topology_init(&topology), -1);
  EXPECT_EQ(topology, nullptr);
}

TEST(LateLibraries, WithoutZstandardNothingIsPacked) {
  EXPECT_EQ(ZSTD_createCCtx(), nullptr);
  EXPECT_EQ(ZSTD_createDCtx(), nullptr);
}

TEST(LateLibraries, TheLinkersMessageIsNotLeftToTheProgram) {
  dlerror();
  EXPECT_EQ(ZSTD_createCCtx(), nullptr);
  EXPECT_EQ(dlerror(), nullptr);
}

}  // namespace
