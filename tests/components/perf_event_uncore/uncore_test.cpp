// perf_event_uncore on the sysfs of a two-socket server (PA-20, PA-22, PA-23).
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "components/perf_event/driver.hpp"
#include "components/perf_event/fake_kernel.hpp"
#include "entry_points.hpp"
#include "perf_event_uncore/uncore.hpp"
#include "perf_events/device.hpp"

namespace substrata::test {
namespace {

constexpr const char* kScale = "2.3283064365386962890625e-10";

// As a Xeon of two sockets with 18 cores each shows it (Linux 6.1), shortened.
void record_two_sockets(tests::TemporaryFolder& tree) {
  const std::string devices = "sys/bus/event_source/devices/";
  tree.write(devices + "cpu/type", "4\n");
  tree.write(devices + "cpu/format/event", "config:0-7\n");
  tree.write(devices + "cpu/events/instructions", "event=0xc0\n");
  tree.write(devices + "msr/type", "9\n");
  tree.write(devices + "power/type", "20\n");
  tree.write(devices + "power/cpumask", "0,18\n");
  tree.write(devices + "power/format/event", "config:0-7\n");
  tree.write(devices + "power/events/energy-pkg", "event=0x02\n");
  tree.write(devices + "power/events/energy-pkg.unit", "Joules\n");
  tree.write(devices + "power/events/energy-pkg.scale", std::string(kScale) + "\n");
  for (const std::string box : {"uncore_imc_0", "uncore_imc_1"}) {
    tree.write(devices + box + "/type", box.back() == '0' ? "12\n" : "13\n");
    tree.write(devices + box + "/cpumask", "0,18\n");
    tree.write(devices + box + "/format/event", "config:0-7\n");
    tree.write(devices + box + "/format/umask", "config:8-15\n");
    tree.write(devices + box + "/events/cas_count_read", "event=0x04,umask=0x03\n");
  }
  tree.write("proc/sys/kernel/perf_event_paranoid", "2\n");
}

class Uncore : public ::testing::Test {
 protected:
  Uncore() : host(tree.path()) {}

  struct Opened {
    SubstrateTable table;
    Device* device;
    Set* set = nullptr;
    size_t count = 0;
    ~Opened() {
      if (set != nullptr) table.destroy_set(set);
      table.close(device);
    }
    uint32_t find(const std::string& name) {
      uint32_t index = UINT32_MAX;
      last = table.find_event(device, name.c_str(), &index);
      return last.ok() ? index : UINT32_MAX;
    }
    Status program(const std::vector<std::string>& names) {
      if (set == nullptr) {
        EXPECT_TRUE(table.create_set(device, nullptr, &set).ok());
      }
      std::vector<uint32_t> events;
      for (const std::string& name : names) {
        events.push_back(find(name));
        if (!last.ok()) return last;
      }
      count = events.size();
      return table.program(set, events.data(), static_cast<uint32_t>(events.size()));
    }
    std::vector<int64_t> read() {
      std::vector<int64_t> values(count, -1);
      EXPECT_TRUE(table.read(set, values.data()).ok());
      return values;
    }
    Status last;
  };
  std::unique_ptr<Opened> open() {
    auto opened = std::make_unique<Opened>();
    EXPECT_EQ(substrata_entry_perf_event_uncore(&host.host, &opened->table), 0);
    opened->device = reinterpret_cast<Device*>(
        new perf::DeviceState(host.host, fake.kernel(), fake_encoder(false), perf::PmuKind::kUncore));
    return opened;
  }
  // The processors on which descriptors are open now.
  std::vector<int> processors() const {
    std::vector<int> cpus;
    for (const auto& [descriptor, event] : fake.events) cpus.push_back(event.cpu);
    std::sort(cpus.begin(), cpus.end());
    return cpus;
  }

  tests::TemporaryFolder tree;
  TestHost host;
  FakeKernel fake;
};

TEST_F(Uncore, IsOffWhereTheKernelShowsNoSuchUnit) {  // PA-23
  tree.write("sys/bus/event_source/devices/cpu/type", "4\n");
  const Status status = perf::detect_uncore(host.host, fake.kernel());
  EXPECT_EQ(status.code, Code::kNoSupport);
  EXPECT_NE(text_of(status).find("modprobe"), std::string::npos) << text_of(status);
  EXPECT_EQ(fake.opens, 0);
}

TEST_F(Uncore, IsOffWithoutPermissionAndSaysWhatItTakes) {  // PA-23
  record_two_sockets(tree);
  fake.refuse = [](const perf_event_attr&, pid_t pid, int, int) { return pid == -1 ? EACCES : 0; };
  const Status status = perf::detect_uncore(host.host, fake.kernel());
  EXPECT_EQ(status.code, Code::kPermission);
  EXPECT_EQ(status.os_error, EACCES);
  for (const char* said : {"what other programs do", "perf_event_paranoid=2", "CAP_PERFMON"})
    EXPECT_NE(text_of(status).find(said), std::string::npos) << text_of(status);
  fake.refuse = nullptr;
  EXPECT_TRUE(perf::detect_uncore(host.host, fake.kernel()).ok());
  EXPECT_TRUE(fake.events.empty());
}

TEST_F(Uncore, AListingOpensAnEventOnOneSocketOnly) {
  record_two_sockets(tree);
  auto opened = open();
  const uint32_t count = opened->table.event_count(opened->device);
  ASSERT_GT(count, 0u);
  for (uint32_t i = 0; i < count; ++i) {
    Event event;
    ASSERT_TRUE(opened->table.event_at(opened->device, i, &event).ok());
    EXPECT_EQ(event.flags & kEventUnavailable, 0u) << event.name;
  }
  EXPECT_EQ(fake.opens, static_cast<int>(count));
}

TEST_F(Uncore, ListsTheEventsOfPmusWithACpumaskAndNoOthers) {  // PA-20
  record_two_sockets(tree);
  auto opened = open();
  std::map<std::string, Event> events;
  for (uint32_t i = 0; i < opened->table.event_count(opened->device); ++i) {
    Event event;
    ASSERT_TRUE(opened->table.event_at(opened->device, i, &event).ok());
    EXPECT_EQ(event.flags, kEventScopePackage) << event.name;
    events[event.name] = event;
  }
  EXPECT_EQ(events.size(), 3u);
  ASSERT_TRUE(events.count("power/energy-pkg/"));
  EXPECT_EQ(std::string(events["power/energy-pkg/"].unit), std::string(kScale) + " Joules");
  EXPECT_TRUE(events.count("uncore_imc_0/cas_count_read/"));
  EXPECT_EQ(opened->find("cpu/instructions/"), UINT32_MAX);
  EXPECT_NE(text_of(opened->last).find("perf_event"), std::string::npos) << text_of(opened->last);
  EXPECT_EQ(opened->find("perf::CYCLES"), UINT32_MAX) << "the other substrate's";
  EXPECT_TRUE(fake.events.empty());
}

TEST_F(Uncore, AValueIsTheSumOverTheSockets) {
  record_two_sockets(tree);
  auto opened = open();
  ASSERT_TRUE(opened->program({"uncore_imc_0/cas_count_read/", "power/energy-pkg/"}).ok());
  EXPECT_EQ(processors(), (std::vector<int>{0, 0, 18, 18}));
  for (const auto& [descriptor, event] : fake.events) {
    EXPECT_EQ(event.pid, -1);
    EXPECT_FALSE(event.attr.exclude_kernel || event.attr.exclude_user || event.attr.exclude_hv)
        << "uncore drivers refuse modes";
    EXPECT_FALSE(event.attr.pinned || event.attr.inherit);
    EXPECT_EQ(event.attr.config, event.attr.type == 12 ? 0x304u : 2u);
  }
  ASSERT_TRUE(opened->table.start(opened->set).ok());
  for (auto& [descriptor, event] : fake.events) {
    event.value = event.attr.type == 12 ? (event.cpu == 0 ? 10 : 32) : (event.cpu == 0 ? 100 : 7);
    event.enabled = event.running = 50;
  }
  EXPECT_EQ(opened->read(), (std::vector<int64_t>{42, 107}));
  ASSERT_TRUE(opened->table.stop(opened->set).ok());
  EXPECT_EQ(opened->read(), (std::vector<int64_t>{42, 107}));
}

TEST_F(Uncore, OneSocketIsChosenByNameOrForTheSet) {
  record_two_sockets(tree);
  auto opened = open();
  ASSERT_TRUE(opened->program({"power/energy-pkg/:cpu=18"}).ok());
  EXPECT_EQ(processors(), std::vector<int>{18});
  Configuration wanted;
  wanted.domain = kDomainAll;
  wanted.granularity = kGranularitySystem;
  wanted.target = Target::kCpu;
  wanted.target_id = 3;
  ASSERT_TRUE(opened->table.configure(opened->set, &wanted).ok());
  EXPECT_EQ(processors(), std::vector<int>{18}) << "the name has its own";
  ASSERT_TRUE(opened->program({"power/energy-pkg/", "uncore_imc_1/event=0x4/"}).ok());
  EXPECT_EQ(processors(), (std::vector<int>{3, 3})) << "the kernel's driver takes any of the socket's";
  ASSERT_TRUE(opened->table.start(opened->set).ok());
  fake.advance(5);
  EXPECT_EQ(opened->read(), (std::vector<int64_t>{5, 5}));
  EXPECT_TRUE(opened->table.stop(opened->set).ok());
}

TEST_F(Uncore, WhatTheKernelRotatesIsScaledAndSaysSo) {  // PA-32
  record_two_sockets(tree);
  auto opened = open();
  ASSERT_TRUE(opened->program({"uncore_imc_0/cas_count_read/"}).ok());
  ASSERT_TRUE(opened->table.start(opened->set).ok());
  fake.advance(100, 400, 100);
  EXPECT_EQ(opened->read(), std::vector<int64_t>{2 * 400});
  ValueDetail detail;
  ASSERT_TRUE(opened->table.read_details(opened->set, &detail).ok());
  EXPECT_EQ(detail.flags, kValueScaled);
  EXPECT_TRUE(opened->table.stop(opened->set).ok());
}

}  // namespace
}  // namespace substrata::test
