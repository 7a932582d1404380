// Every substrate on every recorded machine: what is there, with which values, and that a copy of it is the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/registry/built_in.hpp"
#include "support/recorded_trees/recorded_tree.hpp"
#include "tools/recorded_machines/saving.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

// Of the process that counts, of other substrates, or of the user's own making: no part of a machine.
const std::set<std::string> kNotOfTheMachine = {"appio", "bridge", "example", "metric", "process", "sde"};

std::vector<const BuiltIn*> substrates_of_machines() {
  std::vector<const BuiltIn*> all;
  for (const BuiltIn* item = built_in_substrates(); item->name != nullptr; ++item) {
    SubstrateTable table;
    const Host host;
    if (item->entry(&host, &table) == 0 && (table.traits & (kModelled | kOnRequest)) == 0 &&
        kNotOfTheMachine.count(item->name) == 0)
      all.push_back(item);
  }
  return all;
}

std::vector<std::string> machines() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(MACHINES))
    if (entry.is_directory()) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The answers of NVIDIA's library are in the machine's events.txt, which the stand-in reads.
void stand_in_for_nvml(const std::string& root, FakeHost* host) {
  if (contents(root + "/events.txt").find("nvml:::") == std::string::npos) return;
  setenv("FAKE_NVML_ANSWERS", (root + "/events.txt").c_str(), 1);
  host->set("PAPI_NVML_MAIN", NVML_STAND_IN);
}

// The value of every event that opens, by "substrate:::event"; of those that do not, why.
struct Found {
  std::map<std::string, int64_t> values;
  std::map<std::string, std::string> refused;  // also by the substrate's name alone
};

Found look_at(const std::string& root) {
  Found found;
  FakeHost host(root);
  stand_in_for_nvml(root, &host);
  for (const BuiltIn* const item : substrates_of_machines()) {
    Substrate substrate(item->entry, host);
    const Status here = substrate.table.detect == nullptr ? kSuccess : substrate.detect();
    if (!here.ok()) {
      found.refused[item->name] = note_of(here);
      continue;
    }
    if (substrate.table.open != nullptr) {
      EXPECT_TRUE(substrate.open().ok()) << item->name;
    }
    for (const Event& event : substrate.events()) {
      const std::string name = std::string(item->name) + ":::" + event.name;
      if ((event.flags & kEventUnavailable) != 0) {
        found.refused[name] = event.why;
        continue;
      }
      Thread* thread = nullptr;
      if (substrate.table.attach != nullptr) substrate.table.attach(substrate.device, &thread);
      EventSet set(substrate, {event.name});
      EXPECT_TRUE(set.start().ok()) << name;
      host.advance_s(1);
      Status status;
      const int64_t value = set.read(&status).at(0);
      EXPECT_TRUE(status.ok()) << name << ": " << note_of(status);
      found.values[name] = value;
      EXPECT_TRUE(set.stop().ok()) << name;
    }
  }
  unsetenv("FAKE_NVML_ANSWERS");
  return found;
}

class OnMachine : public ::testing::TestWithParam<std::string> {
 protected:
  const std::string root = std::string(MACHINES) + "/" + GetParam();
};

TEST_P(OnMachine, SaysWhereItIsFrom) {
  const std::string manifest = contents(root + "/machine.txt");
  EXPECT_THAT(manifest, ::testing::StartsWith("origin: "));
}

TEST_P(OnMachine, EachSubstrateCountsOrSaysWhatIsMissing) {
  const Found found = look_at(root);
  EXPECT_FALSE(found.values.empty());
  for (const auto& [name, why] : found.refused) EXPECT_GT(why.size(), 20u) << name << ": " << why;
}

// With files that an ordinary user may not read.
std::string saved_copy(const std::string& root, const tests::TemporaryFolder& folder) {
  std::string copy = folder.path() + "/copy";
  machines::Scrubber scrubber({}, {});
  machines::save(root, copy, &scrubber);
  if (std::filesystem::exists(root + "/events.txt"))
    std::filesystem::copy(root + "/events.txt", copy + "/events.txt");
  return copy;
}

TEST_P(OnMachine, SavedCopyHasTheSameEventsAndValues) {
  const tests::TemporaryFolder folder;
  const std::string copy = saved_copy(root, folder);
  const Found expected = look_at(root);
  const Found found = look_at(copy);
  EXPECT_EQ(found.values, expected.values);
  std::vector<std::string> refused, expected_refused;
  for (const auto& [name, why] : found.refused) refused.push_back(name);
  for (const auto& [name, why] : expected.refused) expected_refused.push_back(name);
  EXPECT_EQ(refused, expected_refused);
}

// What reads files that a device has. A file system's statistics without a line count 0, so lustre is not one of them.
const std::set<std::string> kOfFiles = {"amd_smi",      "coretemp", "cpufreq",   "cray_pm",     "cxi",
                                        "infiniband",   "io",       "intel_gpu", "net",         "powercap",
                                        "powercap_ppc", "rapl",     "rocm_smi",  "sensors_ppc", "stealtime"};

// Of each of them one event counts when the machine's files are emptied, as those of a device are that has gone.
TEST_P(OnMachine, DeviceThatVanishesIsAnErrorAndNoNumber) {
  namespace fs = std::filesystem;
  const tests::TemporaryFolder folder;
  const std::string copy = saved_copy(root, folder);
  FakeHost host(copy);
  std::vector<std::unique_ptr<Substrate>> substrates;
  std::vector<std::unique_ptr<EventSet>> sets;
  std::vector<std::string> names;
  for (const BuiltIn* const item : substrates_of_machines()) {
    if (kOfFiles.count(item->name) == 0) continue;
    auto substrate = std::make_unique<Substrate>(item->entry, host);
    if (!substrate->detect().ok() || !substrate->open().ok()) continue;
    for (const Event& event : substrate->events()) {
      if ((event.flags & kEventUnavailable) != 0) continue;
      auto set = std::make_unique<EventSet>(*substrate, std::vector<std::string>{event.name});
      if (!set->start().ok()) continue;
      names.push_back(std::string(item->name) + ":::" + event.name);
      sets.push_back(std::move(set));
      break;
    }
    substrates.push_back(std::move(substrate));
  }
  std::error_code refused;  // of a file that this user may not read, so that nothing counts of it
  for (const auto& entry : fs::recursive_directory_iterator(copy))
    if (entry.is_regular_file() && !entry.is_symlink()) fs::resize_file(entry.path(), 0, refused);
  EXPECT_FALSE(sets.empty());
  for (size_t i = 0; i < sets.size(); ++i) {
    const Status status = sets[i]->refused_read();
    EXPECT_FALSE(status.ok()) << names[i];
  }
  sets.clear();
}

INSTANTIATE_TEST_SUITE_P(Recorded, OnMachine, ::testing::ValuesIn(machines()),
                         [](const auto& tested) { return tested.param; });

// What is to be done about each that is not there: the command, or what alone has it. Every substrate of a machine must
// be in this list, except those that an empty machine has, too.
constexpr std::pair<const char*, const char*> kCures[] = {
    {"amd_smi", "modprobe amdgpu"},
    {"coretemp", "modprobe coretemp or k10temp"},
    {"cpufreq", "modprobe acpi_cpufreq"},
    {"cray_pm", "only compute nodes of HPE Cray machines"},
    {"cxi", "modprobe cxi_ss1"},
    {"infiniband", "modprobe mlx5_ib"},
    {"intel_gpu", "modprobe i915"},
    {"io", "mount /proc"},
    {"lmsensors", "the substrate coretemp does"},
    {"lustre", "mount -t lustre"},
    {"net", "mount /proc"},
    {"nvml", "modprobe nvidia"},
    {"pcp", "not a recorded one"},
    {"perf_event_uncore", "modprobe intel_uncore"},
    {"powercap", "modprobe intel_rapl_msr"},
    {"powercap_ppc", "only POWER9 and POWER10 machines"},
    {"rapl", "modprobe intel_rapl_msr"},
    {"rocm_smi", "modprobe amdgpu"},
    {"sensors_ppc", "only POWER9 and POWER10 machines"},
    {"stealtime", "mount /proc"},
    {"topdown", "enable the virtual PMU"},
};

TEST(Machines, EmptyOneIsAnsweredWithACureByEachSubstrate) {
  const RecordedTree empty;
  const Found found = look_at(empty.root());
  const std::map<std::string, std::string> cures(std::begin(kCures), std::end(kCures));
  size_t missing = 0;
  for (const auto& [name, why] : found.refused) {
    if (name.find(":::") != std::string::npos) continue;  // an event of one that is there
    ++missing;
    const auto cure = cures.find(name);
    ASSERT_NE(cure, cures.end()) << name << ": " << why;
    EXPECT_THAT(why, HasSubstr(cure->second)) << name;
  }
  EXPECT_EQ(missing, cures.size());
}

// Values of levels, worked out from the machine's files by hand.
struct Level {
  const char* machine;
  const char* event;
  int64_t value;
};
constexpr Level kLevels[] = {
    {"intel_laptop_hybrid", "coretemp:::coretemp-isa-0000:Core_16", 47000},
    {"intel_laptop_hybrid", "coretemp:::nvme-pci-0100:Composite", 38850},
    {"intel_laptop_hybrid", "cpufreq:::cpu3:frequency", 2'303'000'000},
    {"xeon_two_sockets", "powercap:::POWER_LIMIT_A_UW:ZONE1", 270'000'000},
    {"xeon_two_sockets", "infiniband:::mlx5_0_1:port_xmit_wait", 0},
    {"xeon_two_sockets", "coretemp:::coretemp-isa-0001:Package_id_1", 46000},
    {"epyc_9654", "coretemp:::k10temp-pci-00c3:Tctl", 48125},
    {"epyc_9654", "powercap:::MAX_ENERGY_RANGE_UJ:ZONE0_SUBZONE0", 65'532'610'987},
    {"epyc_9755", "cpufreq:::cpu2:frequency", 3'702'000'000},
    {"epyc_9755", "coretemp:::k10temp-pci-00c3:Tctl", 48125},
    {"grace", "cpufreq:::cpu0:frequency:highest", 3'402'000'000},
    {"a64fx", "cpufreq:::cpu1:frequency", 2'201'000'000},
    {"power9", "powercap_ppc:::CURRENT_POWER", 2550},
    {"power9", "sensors_ppc:::PWRSYS:occ=0", 596},
    {"power9", "sensors_ppc:::TEMPPROCTHRMC0:occ=0:max", 95},
    {"cray_ex", "cray_pm:::PM_POWER:ACC3", 403},
    {"cray_ex", "cxi:::cxi1:rh:nacks", 0},
    {"lustre_client", "lustre:::scratch-ffff9a1c40d52800/stats_llread", 0},
    {"eight_h200", "nvml:::NVIDIA_H200:device_7:temperature", 62},
    {"eight_h200", "nvml:::NVIDIA_H200:device_3:power", 655003},
    {"eight_h200", "infiniband:::mlx5_7_1_ext:rx_write_requests", 0},
    {"four_mi300a", "amd_smi:::gfx_activity:device=3", 87},
    {"four_mi300a", "amd_smi:::clk_freq_sys_current:device=1", 2001},
    {"four_mi300a", "rocm_smi:::temp_current:device=2:sensor=1", 63000},
    {"intel_arc_b580", "intel_gpu:::temperature_pkg:device=0", 51000},
    {"intel_laptop_hybrid", "intel_gpu:::frequency:gt=0:device=0", 650},
    {"intel_arc_b580", "coretemp:::xe-pci-0300:fan1", 1450},
    {"raspberry_pi_4", "coretemp:::cpu_thermal-virtual-0:temp1", 48686},
};

TEST(Machines, LevelsAreWhatTheirFilesSay) {
  std::map<std::string, Found> looked;
  for (const Level& level : kLevels) {
    if (looked.count(level.machine) == 0)
      looked[level.machine] = look_at(std::string(MACHINES) + "/" + level.machine);
    const Found& found = looked[level.machine];
    const auto at = found.values.find(level.event);
    const auto refused = found.refused.find(level.event);
    ASSERT_NE(at, found.values.end()) << level.machine << " lacks " << level.event
                                      << (refused == found.refused.end() ? "" : ": " + refused->second);
    EXPECT_EQ(at->second, level.value) << level.machine << " " << level.event;
  }
}

}  // namespace
