// A plug-in and an Owl module that were built with the first of their interfaces (folder first) load and count.
#include <gtest/gtest.h>
#include <papi.h>
#include <stdlib.h>
#include <substrata/extensions.h>

#include "components/owl/feeding.hpp"

namespace {

TEST(FirstInterface, ItsPlugInCounts) {
  setenv("SUBSTRATA_PLUGIN_PATH", FIRST_PLUGINS, 1);
  ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
  int set = PAPI_NULL;
  long long value = 0;
  ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
  const char* refusal = substrata_plugin_refusal(0);
  ASSERT_EQ(PAPI_add_named_event(set, "first:::TICKS"), PAPI_OK) << (refusal != nullptr ? refusal : "");
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  ASSERT_EQ(PAPI_read(set, &value), PAPI_OK);
  EXPECT_EQ(value, 7);
  EXPECT_EQ(PAPI_stop(set, &value), PAPI_OK);
  EXPECT_EQ(value, 14);
  PAPI_shutdown();
}

TEST(FirstInterface, ItsOwlModuleCounts) {
  using namespace substrata::owl::test;
  ASSERT_EQ(substrata_owl_load(FIRST_OWL_MODULE), 0) << substrata_owl_error();
  Feed feed("abi.test.first");
  TestCapsule capsule(feed.name(), "first", "from=100");
  feed.access(99, SUBSTRATA_READ, 0, 8);
  feed.access(100, SUBSTRATA_READ, 0, 16);
  feed.access(101, SUBSTRATA_WRITE, 0, 32);
  EXPECT_EQ(capsule.metric("BYTES"), 48u);
}

}  // namespace
