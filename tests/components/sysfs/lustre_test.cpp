// lustre over trees made from Lustre's manual.
#include <string>

#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

const std::string kOld = "/proc/fs/lustre/llite/scratch-ffff88/";
const std::string kNew = "/sys/kernel/debug/lustre/llite/scratch-ffff88/";

class Lustre : public SubstrateOnTree<substrata_entry_lustre> {
 protected:
  void record(const std::string& place, int read, int written, const std::string& discarded) {
    tree.write(place + "stats",
               "snapshot_time 1305219384.425424 secs.usecs\nhybrid_read_bytes 1 samples [bytes] 9 9 9\n" +
                   (read == 0 ? std::string()
                              : "read_bytes 7 samples [bytes] 1 4096 " + std::to_string(read) + "\n") +
                   "write_bytes 3 samples [bytes] 1 4096 " + std::to_string(written) +
                   " 99999\nopen 4 samples [regs]\n");
    tree.write(place + "read_ahead_stats", "snapshot_time 1305219384.425424\nhits 11\n" + discarded);
  }
};

TEST_F(Lustre, CountsTheSumsOfItsStatisticsUnderBothSpellingsOfTheNames) {
  record(kOld, 1000, 2000, "read but discarded 5\n");
  open();
  EXPECT_THAT(substrate.names(), ElementsAre("scratch-ffff88/stats_llread", "scratch-ffff88/stats_llwrite",
                                             "scratch-ffff88/stats_wrong_readahead"));
  EXPECT_EQ(substrate.find("scratch-ffff88_llread"), 0);
  RunningSet set(substrate, substrate.names());
  EXPECT_THAT(set.read(), ElementsAre(0, 0, 0));
  record(kOld, 1512, 6096, "read but discarded 9\n");
  EXPECT_THAT(set.read(), ElementsAre(512, 4096, 4));
}

TEST_F(Lustre, StatisticsInDebugfsWithNewSpellingsAreRead) {
  record(kNew, 1000, 2000, "read_but_discarded 5 samples [pages]\n");
  open();
  RunningSet set(substrate, {"scratch-ffff88_wrong_readahead", "scratch-ffff88_llwrite"});
  record(kNew, 1000, 2500, "read_but_discarded 6 samples [pages]\n");
  EXPECT_THAT(set.read(), ElementsAre(1, 500));
}

TEST_F(Lustre, LineThatAppearsWithTheFirstReadCountsFromZero) {
  record(kNew, 0, 2000, "");
  open();
  RunningSet set(substrate, {"scratch-ffff88_llread", "scratch-ffff88_wrong_readahead"});
  record(kNew, 4096, 2000, "read_but_discarded 2 samples [pages]\n");
  EXPECT_THAT(set.read(), ElementsAre(4096, 2));
}

TEST_F(Lustre, ClearedStatisticsAreAnError) {
  record(kOld, 1000, 2000, "");
  open();
  RunningSet set(substrate, {"scratch-ffff88_llwrite"});
  record(kOld, 1000, 10, "");
  EXPECT_EQ(set.refused_read().code, Code::kCountersLost);
}

TEST_F(Lustre, NodeSaysWhetherNothingIsMountedOrDebugfsIsClosed) {
  EXPECT_EQ(substrate.detect().code, Code::kNoSupport);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("mount -t lustre"));
  tree.write("/sys/fs/lustre/llite/scratch-ffff88/fstype", "lustre\n");
  EXPECT_EQ(substrate.detect().code, Code::kPermission);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("debugfs"));
}

}  // namespace
