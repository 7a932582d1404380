// The commands that refusals name, run: what was refused counts afterwards.
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>
#include <string>

#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

constexpr uid_t kAnotherUser = 65534;

struct Closed {
  EntryPoint* entry;
  const char* name;  // of the test
  const char* file;
  const char* text;
  const char* closed;  // the file or folder that root keeps for itself
  const char* event;
};
const Closed kClosed[] = {
    {substrata_entry_powercap, "powercap", "/sys/class/powercap/intel-rapl:0/energy_uj", "5\n",
     "/sys/class/powercap/intel-rapl:0/energy_uj", "ENERGY_UJ:ZONE0"},
    {substrata_entry_rapl, "rapl", "/sys/class/powercap/intel-rapl:0/energy_uj", "5\n",
     "/sys/class/powercap/intel-rapl:0/energy_uj", "PACKAGE_ENERGY:PACKAGE0"},
    {substrata_entry_cray_pm, "cray_pm", "/sys/cray/pm_counters/energy", "5 J 1700000000000000 us\n",
     "/sys/cray/pm_counters/energy", "PM_ENERGY:NODE"},
    {substrata_entry_lustre, "lustre", "/sys/kernel/debug/lustre/llite/scratch-ffff88/stats",
     "read_bytes 1 samples [bytes] 5 5 5\n", "/sys/kernel/debug", "scratch-ffff88/stats_llread"},
    {substrata_entry_infiniband, "infiniband", "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data",
     "5\n", "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "mlx5_0_1:port_xmit_data"},
};

class Cure : public ::testing::TestWithParam<Closed> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user, to whom a file is closed";
    tree.write(GetParam().file, GetParam().text);
    tree.write("/sys/class/powercap/intel-rapl:0/name", "package-0\n");
    tree.write("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
    tree.write("/sys/fs/lustre/llite/scratch-ffff88/fstype", "lustre\n");
    ASSERT_EQ(::chmod((tree.root() + GetParam().closed).c_str(),
                      std::string(GetParam().closed).ends_with("debug") ? 0700 : 0400),
              0);
  }

  // As another user: the event's value, or -1 with the refusal's note in `why`.
  int64_t look(std::string* why) const {
    ::setfsuid(kAnotherUser);
    const int64_t value = look_here(why);
    ::setfsuid(0);
    return value;
  }

  RecordedTree tree;
  FakeHost host{tree.root()};

 private:
  int64_t look_here(std::string* why) const {
    Substrate substrate(GetParam().entry, host);
    if (const Status here = substrate.detect(); !here.ok()) {
      *why = note_of(here);
      return -1;
    }
    if (!substrate.open().ok()) return -1;
    const Event event = substrate.event(GetParam().event);
    if ((event.flags & kEventUnavailable) != 0) {
      *why = event.why;
      return -1;
    }
    EventSet set(substrate, {GetParam().event});
    Status status;
    if (!set.start().ok()) return -1;
    return set.read(&status).at(0) + (status.ok() ? 0 : -1);
  }
};

TEST_P(Cure, ThatIsNamedOpensWhatWasClosed) {
  std::string why;
  ASSERT_EQ(look(&why), -1);
  std::smatch command;
  ASSERT_TRUE(std::regex_search(why, command, std::regex("chmod (a\\+rx?) (that file|/[a-z/]+)"))) << why;
  // "<file> may be read by root only", or the place on the machine.
  const std::string what =
      command[2] == "that file" ? why.substr(0, why.find(' ')) : tree.root() + command[2].str();
  ASSERT_EQ(std::system(("chmod " + command[1].str() + " '" + what + "'").c_str()), 0);
  EXPECT_EQ(look(&why), 0) << why;
}

INSTANTIATE_TEST_SUITE_P(Of, Cure, ::testing::ValuesIn(kClosed),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
