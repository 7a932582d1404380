// `substrata topology`: machines that are not here, sensors on their parts, and tasks that are badly placed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwloc.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "recording/placement.hpp"
#include "recording/topology/drawing.hpp"
#include "recording/topology/machine.hpp"
#include "recording/topology/sensors.hpp"
#include "support/tool.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using namespace substrata::topology;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kTwoPackages = "package:2 [numa] l3:1(size=33554432) core:4 pu:2";

std::string text_of(const Machine& machine) {
  std::ostringstream out;
  write_text(out, machine);
  return out.str();
}

// Eight processors of which the first four are fast, as a file of hwloc's XML.
std::string hybrid_machine(const TemporaryFolder& folder) {
  std::string path = folder.file("hybrid.xml");
  hwloc_topology_t topology = nullptr;
  hwloc_topology_init(&topology);
  hwloc_topology_set_synthetic(topology, "package:1 core:8 pu:1");
  hwloc_topology_load(topology);
  hwloc_bitmap_t fast = hwloc_bitmap_alloc(), slow = hwloc_bitmap_alloc();
  hwloc_bitmap_set_range(fast, 0, 3);
  hwloc_bitmap_set_range(slow, 4, 7);
  hwloc_cpukinds_register(topology, slow, 1, 0, nullptr, 0);
  hwloc_cpukinds_register(topology, fast, 2, 0, nullptr, 0);
  EXPECT_EQ(hwloc_topology_export_xml(topology, path.c_str(), 0), 0);
  hwloc_bitmap_free(fast);
  hwloc_bitmap_free(slow);
  hwloc_topology_destroy(topology);
  return path;
}

// A rank that ran and waited, all on one processor.
Task busy_rank(int rank, int processor, std::vector<int> allowed, double waited = 0) {
  Task out;
  out.pid = out.tid = 100 + rank;
  out.rank = rank;
  out.name = "solver";
  out.allowed = std::move(allowed);
  out.ran_s = 10 - waited;
  out.waited_s = waited;
  out.ran = {{processor, out.ran_s}};
  return out;
}

Placement placed_on(const std::string& machine, std::vector<Task> tasks) {
  Placement out;
  out.seconds = 10;
  out.interval = 0.01;
  out.processors = load(machine).processors;
  out.tasks = std::move(tasks);
  return out;
}

std::vector<std::string> rules_of(const Placement& placement) {
  std::vector<std::string> out;
  for (const Finding& one : placement_findings(placement)) out.push_back(one.rule);
  return out;
}

std::vector<int> all_of(int processors) {
  std::vector<int> out;
  for (int i = 0; i < processors; ++i) out.push_back(i);
  return out;
}

TEST(Topology, CoresAndPackagesAreNumberedOverTheMachine) {
  const Machine machine = load(kTwoPackages);
  ASSERT_EQ(machine.processors.size(), 16u);
  const ProcessorPlace& last = machine.processors.back();
  EXPECT_EQ(last.core, 7);
  EXPECT_EQ(last.package, 1);
  EXPECT_EQ(last.node, 1);
  EXPECT_EQ(machine.processors[0].core, machine.processors[1].core) << "two threads of one core";
  EXPECT_EQ(last.speed, 0) << "all cores are alike";
}

TEST(Topology, TextHasEachPartWithItsSize) {
  const std::string text = text_of(load(kTwoPackages));
  EXPECT_THAT(text, HasSubstr("L3 32 MiB"));
  EXPECT_THAT(text, HasSubstr("core 7: processors 14-15"));
  EXPECT_EQ(count_of(text, "package "), 2u);
  EXPECT_EQ(count_of(text, "memory "), 2u);
}

TEST(Topology, FastAndSlowCoresAreDistinguished) {
  const TemporaryFolder folder;
  const Machine machine = load(hybrid_machine(folder));
  const std::string text = text_of(machine);
  EXPECT_EQ(count_of(text, "performance core"), 4u);
  EXPECT_EQ(count_of(text, "efficiency core"), 4u);
  EXPECT_EQ(machine.processors[0].speed, 1);
  EXPECT_EQ(machine.processors[7].speed, 0);
}

TEST(Topology, ADescriptionThatIsNoneIsRefused) {
  EXPECT_THROW(load("no such machine"), std::runtime_error);
  const Ran ran = tool("topology --input 'no such machine'");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.errors, HasSubstr("no such machine"));
}

TEST(TopologySensors, APackagesAndACoresSensorStandOnThem) {
  Machine machine = load(kTwoPackages);
  place_sensors(
      {{"coretemp:::coretemp-isa-0001:Package_id_1", "temperature 'Package id 1' of x, package 1"},
       {"coretemp:::coretemp-isa-0001:Core_2", "temperature 'Core 2' of x, package 1, core 6, more"},
       {"powercap:::ENERGY_UJ:ZONE0", "energy of package-0 (intel-rapl:0)"},
       {"coretemp:::nct6775-isa-0290:SYSTIN", "temperature 'SYSTIN' of nct6775-isa-0290"}},
      &machine);
  EXPECT_THAT(machine.root.sensors, testing::ElementsAre("coretemp:::nct6775-isa-0290:SYSTIN"));
  EXPECT_THAT(machine.root.parts[0].sensors, testing::ElementsAre("powercap:::ENERGY_UJ:ZONE0"));
  EXPECT_THAT(machine.root.parts[1].sensors,
              testing::ElementsAre("coretemp:::coretemp-isa-0001:Package_id_1"));
  const std::string text = text_of(machine);
  EXPECT_THAT(text, testing::ContainsRegex("core 6[^\n]*coretemp-isa-0001:Core_2"));
}

TEST(TopologySensors, ADevicesSensorStandsOnTheDevice) {
  Machine machine = load("package:2 core:1 pu:1");
  const auto device = [](const char* name, const char* about, const char* address) {
    Object out;
    out.kind = substrata::topology::Kind::kDevice;
    out.name = name;
    out.about = about;
    out.address = address;
    return out;
  };
  machine.root.parts.push_back(device("nvme0n1", "storage", "0000:01:00.0"));
  machine.root.parts.push_back(device("ib0 mlx5_0", "network", "0000:81:00.0"));
  machine.root.parts.push_back(device("card1", "GPU", "0000:c1:00.0"));
  machine.root.parts.back().vendor = 0x10de;
  place_sensors({{"coretemp:::nvme-pci-0100:Composite", "temperature"},
                 {"net:::mlx5_0:*", ""},
                 {"nvml:::NVIDIA_H200:device_0:power", ""},
                 {"coretemp:::k10temp-pci-00cb:Tctl", "temperature"}},
                &machine);
  EXPECT_THAT(machine.root.parts[3].sensors, testing::ElementsAre("coretemp:::nvme-pci-0100:Composite"));
  EXPECT_THAT(machine.root.parts[4].sensors, testing::ElementsAre("net:::mlx5_0:*"));
  EXPECT_THAT(machine.root.parts[5].sensors, testing::ElementsAre("nvml:::NVIDIA_H200:device_0:power"));
  EXPECT_THAT(machine.root.parts[2].sensors, testing::ElementsAre("coretemp:::k10temp-pci-00cb:Tctl"))
      << "AMD's second node";
}

TEST(Placement, RanksOnTheThreadsOfOneCoreAreNamed) {
  const std::vector<int> all = all_of(16);
  const std::vector<Finding> found = placement_findings(
      placed_on(kTwoPackages, {busy_rank(0, 4, all), busy_rank(1, 9, all), busy_rank(4, 5, all)}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].text, "ranks 0 and 4 share core 2 (package 0)");
  EXPECT_THAT(found[0].evidence, HasSubstr("processors 4-5"));
  EXPECT_THAT(found[0].cure, HasSubstr("--bind-to core"));
}

TEST(Placement, RanksOnCoresOfTheirOwnAreFine) {
  std::vector<Task> tasks;
  for (int rank = 0; rank < 8; ++rank) tasks.push_back(busy_rank(rank, 2 * rank, all_of(16)));
  EXPECT_THAT(rules_of(placed_on(kTwoPackages, tasks)), IsEmpty());
}

TEST(Placement, MoreBusyThreadsThanCoresThatWaitAreOversubscribed) {
  std::vector<Task> tasks;
  for (int rank = 0; rank < 4; ++rank) tasks.push_back(busy_rank(rank, rank % 2, {0, 1}, 5));
  const std::vector<Finding> found = placement_findings(placed_on("package:1 core:2 pu:1", tasks));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].text, "4 busy threads share 2 cores");
  EXPECT_THAT(found[0].evidence, HasSubstr("50 %"));
}

TEST(Placement, MoreThreadsThanCoresThatDoNotWaitAreFine) {
  std::vector<Task> tasks;
  for (int rank = 0; rank < 4; ++rank) tasks.push_back(busy_rank(rank, rank, all_of(4)));
  EXPECT_THAT(rules_of(placed_on("package:1 core:2 pu:2", tasks)), IsEmpty());
}

TEST(Placement, ThreadsOfOneProcessHeldOnOneProcessorAreConfined) {
  std::vector<Task> tasks;
  for (int thread = 0; thread < 3; ++thread) {
    tasks.push_back(busy_rank(0, 1, {1}, 6));
    tasks.back().tid += thread;
  }
  EXPECT_THAT(rules_of(placed_on("package:1 core:4 pu:1", tasks)), testing::Contains("confined"));
}

TEST(Placement, ThreadsThatMayUseAProcessorEachAreNotConfined) {
  std::vector<Task> tasks;
  for (int thread = 0; thread < 3; ++thread) {
    tasks.push_back(busy_rank(0, thread, all_of(4)));
    tasks.back().tid += thread;
  }
  EXPECT_THAT(rules_of(placed_on("package:1 core:4 pu:1", tasks)), IsEmpty());
}

TEST(Placement, AnIdlePackageIsNamed) {
  const Placement crowded =
      placed_on(kTwoPackages, {busy_rank(0, 0, all_of(16)), busy_rank(1, 2, all_of(16))});
  EXPECT_THAT(rules_of(crowded), testing::ElementsAre("idle-package"));
}

TEST(Placement, ARankOnSlowCoresIsNamedWhereOthersHaveFastOnes) {
  const TemporaryFolder folder;
  const std::string machine = hybrid_machine(folder);
  EXPECT_THAT(rules_of(placed_on(machine, {busy_rank(0, 0, all_of(8)), busy_rank(1, 6, all_of(8))})),
              testing::ElementsAre("slow-core"));
  EXPECT_THAT(rules_of(placed_on(machine, {busy_rank(0, 0, all_of(8)), busy_rank(1, 2, all_of(8))})),
              IsEmpty());
}

TEST(Placement, ARankThatMovesBetweenMemoryNodesIsNamed) {
  Task rank = busy_rank(3, 0, all_of(16));
  rank.ran = {{0, 5}, {15, 5}};
  rank.moves = 400;
  EXPECT_THAT(rules_of(placed_on(kTwoPackages, {rank})), testing::ElementsAre("wandering"));
  rank.moves = 2;
  EXPECT_THAT(rules_of(placed_on(kTwoPackages, {rank})), IsEmpty());
}

TEST(Placement, IdleTasksDoNotCount) {
  Task idle = busy_rank(1, 0, all_of(16));
  idle.ran_s = 0.1;
  idle.ran = {{0, 0.1}};
  EXPECT_THAT(rules_of(placed_on(kTwoPackages, {busy_rank(0, 0, all_of(16)), idle})), IsEmpty());
}

TEST(Placement, JsonKeepsEverything) {
  Placement before = placed_on(kTwoPackages, {busy_rank(2, 3, {0, 1, 2, 3, 8})});
  before.tasks[0].moves = 7;
  before.left_out = 5;
  const std::optional<Placement> after = placement_from_json(placement_as_json(before));
  ASSERT_TRUE(after);
  EXPECT_EQ(placement_as_json(*after), placement_as_json(before));
  EXPECT_EQ(after->tasks[0].allowed, (std::vector<int>{0, 1, 2, 3, 8}));
}

TEST(Placement, JsonOfAnotherShapeIsNone) {
  for (const char* text : {"", "[]", "{}", "{\"seconds\":\"x\"}"})
    EXPECT_FALSE(placement_from_json(text)) << text;
}

TEST(TopologyPicture, HasABoxForEachPartAndTheNamesOfTasks) {
  const Placement placement = placed_on(kTwoPackages, {busy_rank(7, 3, all_of(16))});
  std::ostringstream out;
  write_svg(out, load(kTwoPackages), &placement);
  EXPECT_EQ(count_of(out.str(), "class=\"core\""), 8u);
  EXPECT_EQ(count_of(out.str(), "class=\"processor\""), 16u);
  EXPECT_EQ(count_of(out.str(), ">rank 7<"), 1u);
  EXPECT_EQ(count_of(out.str(), "class=\"busy\""), 1u);
}

TEST(TopologyCommand, ShowsAMachineThatIsNotHere) {
  EXPECT_THAT(printed(tool(std::string("topology --input '") + kTwoPackages + "'")),
              HasSubstr("core 7: processors 14-15"));
}

TEST(TopologyCommand, ShowsThisMachine) { EXPECT_THAT(printed(tool("topology")), HasSubstr("core 0")); }

TEST(TopologyCommand, JsonHasTheParts) {
  const std::string out = printed(tool("topology --json --input 'package:2 core:2 pu:1'"));
  const nlohmann::json all = nlohmann::json::parse(out);
  EXPECT_EQ(all["machine"]["kind"], "machine");
  EXPECT_THAT(out, HasSubstr("\"core 3\""));
}

TEST(TopologyCommand, WritesAPicture) {
  const TemporaryFolder folder;
  const std::string path = folder.file("machine.svg");
  ASSERT_EQ(tool("topology --input 'package:1 core:2 pu:1' --svg " + path).status, 0);
  EXPECT_EQ(count_of(contents(path), "class=\"core\""), 2u);
}

// Two loops that may use the same processor only.
constexpr const char* kCrowd =
    "taskset -c $(taskset -cp $$ | sed 's/.*: *//; s/[,-].*//') sh -c 'timeout 2 sh -c \"while :; do :; "
    "done\" & "
    "timeout 2 sh -c \"while :; do :; done\" & wait; exit 5'";

bool waiting_is_counted() { return std::filesystem::exists("/proc/self/schedstat"); }

TEST(TopologyCommand, ACommandsTasksOnOneCoreAreAWarning) {
  if (!waiting_is_counted() || !has_tool("taskset")) GTEST_SKIP() << "no /proc/self/schedstat, or no taskset";
  const Ran ran = tool(std::string("topology -- ") + kCrowd);
  EXPECT_EQ(ran.status, 5) << "the command's";
  EXPECT_THAT(ran.errors, HasSubstr("2 busy threads share 1 core")) << ran.errors;
}

TEST(TopologyCommand, ARecordingKnowsWhereItsTasksRan) {
  if (!waiting_is_counted() || !has_tool("taskset")) GTEST_SKIP() << "no /proc/self/schedstat, or no taskset";
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  ASSERT_EQ(tool("record -q -i 20ms -e 'example:::*' -o " + path + " -- " + kCrowd).status, 5);
  const std::string out = printed(tool("topology " + path));
  EXPECT_THAT(out, HasSubstr("2 busy threads share 1 core")) << out;
}

TEST(TopologyCommand, ACommandElsewhereIsRefused) {
  EXPECT_EQ(tool("topology --input 'core:1' -- true").status, 2);
  EXPECT_EQ(tool("topology -- no-such-command").status, 127);
}

}  // namespace
