// What initialising the library opens: nothing whose cost grows with what is mounted.
#include <gtest/gtest.h>
#include <papi.h>
#include <unistd.h>

#include "support/system_calls.hpp"

namespace {

using substrata::tests::mark;
using substrata::tests::SystemCall;
using substrata::tests::SystemCalls;

// PA-39: PAPI lists the whole folder of tracepoints, when debugfs is mounted, before its first answer.
TEST(Initialisation, OpensNothingOfDebugfsOrTracefs) {
  const SystemCalls seen = substrata::tests::system_calls_of([] {
    mark();
    const bool there = access("/first", F_OK) == 0;
    const bool up = PAPI_library_init(PAPI_VER_CURRENT) == PAPI_VER_CURRENT;
    mark();
    return !there && up;
  });
  if (!seen.traced) GTEST_SKIP() << "a child cannot be traced here (ptrace)";
  EXPECT_TRUE(seen.good);
  ASSERT_FALSE(seen.calls.empty());
  EXPECT_EQ(seen.calls.front().path, "/first");  // the child's own look at a file is seen
  for (const SystemCall& call : seen.calls) {
    EXPECT_EQ(call.path.find("/sys/kernel/debug"), std::string::npos) << call.path;
    EXPECT_EQ(call.path.find("/sys/kernel/tracing"), std::string::npos) << call.path;
  }
}

}  // namespace
