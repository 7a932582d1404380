// io over a recorded file and over the process's own.
#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

const std::string kFile = "/proc/self/io";
const std::string kRecorded =
    "rchar: 323934931\nwchar: 323929600\nsyscr: 632687\nsyscw: 632675\nread_bytes: 4096\n"
    "write_bytes: 323932160\ncancelled_write_bytes: 8192\n";

using Io = SubstrateOnTree<substrata_entry_io>;

TEST_F(Io, EventsAreTheLinesOfTheFileUnderPapisNames) {
  tree.write(kFile, kRecorded);
  open();
  EXPECT_THAT(substrate.names(), ElementsAre("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes",
                                             "cancelled_write_bytes"));
  RunningSet set(substrate, substrate.names());
  EXPECT_THAT(set.read(), ElementsAre(323934931, 323929600, 632687, 632675, 4096, 323932160, 8192))
      << "as in PAPI: since the process began";
  ASSERT_TRUE(set.reset().ok());
  EXPECT_EQ(set.read()[0], 323934931);
}

TEST_F(Io, MachineWithoutTheFileIsUnavailableWithTheCure) {
  EXPECT_EQ(substrate.detect().code, Code::kNoSupport);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("CONFIG_TASK_IO_ACCOUNTING"));
}

TEST_F(Io, OlderKernelsWithoutAccountsOfStorageListThoseEventsAsUnavailable) {
  tree.write(kFile, "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\n");
  open();
  EXPECT_EQ(substrate.event("syscw").flags & kEventUnavailable, 0u);
  EXPECT_NE(substrate.event("read_bytes").flags & kEventUnavailable, 0u);
}

TEST_F(Io, OfASubstrateWithoutASearchOfItsOwnTheHarnessFindsAnEventByItsName) {
  tree.write(kFile, kRecorded);
  open();
  substrate.table.find_event = nullptr;
  EXPECT_EQ(substrate.find("syscw"), 3);
}

TEST(IoOfThisProcess, CountsTheBytesThatAWriteCallTakes) {
  FakeHost host("");
  Substrate substrate(substrata_entry_io, host);
  if (!substrate.detect().ok()) GTEST_SKIP() << note_of(substrate.detect());
  ASSERT_TRUE(substrate.open().ok());
  RunningSet set(substrate, {"wchar", "syscw"});
  const auto before = set.read();
  const int file = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const std::string text(12345, 'x');
  ASSERT_EQ(::write(file, text.data(), text.size()), 12345);
  ::close(file);
  const auto after = set.read();
  EXPECT_EQ(after[0] - before[0], 12345);
  EXPECT_EQ(after[1] - before[1], 1);
}

}  // namespace
