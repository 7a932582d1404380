// A folder that stands for "/" while a substrate is tested, a host with a clock and settings of the test's
// own, and a substrate driven through its table alone.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <substrata/substrate.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "entry_points.hpp"
#include "support/temporary_folder.hpp"

namespace substrata::testing {

// What these tests match with.
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A tree below a new folder, removed at the end. Paths are given as on the machine, "/sys/class/...".
class RecordedTree {
 public:
  RecordedTree() { ::chmod(root().c_str(), 0755); }

  const std::string& root() const { return folder_.path(); }

  // Text is written in place, so that descriptors kept on the file see it.
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = root() + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream file(whole, std::ios::trunc);
    file << text;
    if (!file.flush()) throw std::runtime_error("cannot write " + whole.string());
  }
  void write(const std::string& path, int64_t number) { write(path, std::to_string(number) + "\n"); }

  // A link at `path` to `target`, both as on the machine; stored relative, as sysfs does.
  void link(const std::string& path, const std::string& target) {
    const std::filesystem::path whole = root() + path;
    std::filesystem::create_directories(whole.parent_path());
    std::filesystem::create_directories(root() + target);
    std::filesystem::create_directory_symlink(std::filesystem::relative(root() + target, whole.parent_path()),
                                              whole);
  }

  void remove(const std::string& path) { std::filesystem::remove_all(root() + path); }

  // Only the owner may read it.
  void protect(const std::string& path) { ::chmod((root() + path).c_str(), 0400); }

 private:
  tests::TemporaryFolder folder_;
};

// A host whose clock stands still until it is moved.
class FakeHost {
 public:
  explicit FakeHost(std::string root) : root_(std::move(root)) {
    host_.context = this;
    host_.now_ns = [](void* self) noexcept { return static_cast<FakeHost*>(self)->now_ns_; };
    host_.setting = [](void* self, const char* name) noexcept -> const char* {
      const auto& settings = static_cast<FakeHost*>(self)->settings_;
      const auto found = settings.find(name);
      return found == settings.end() ? nullptr : found->second.c_str();
    };
    host_.root = root_.c_str();
    host_.log = [](void*, const char*) noexcept {};
  }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  const Host* get() const { return &host_; }
  void set(const std::string& name, const std::string& value) { settings_[name] = value; }
  void advance_ns(int64_t ns) { now_ns_ += ns; }
  void advance_s(double seconds) { now_ns_ += static_cast<int64_t>(seconds * 1e9); }

 private:
  std::string root_;
  std::map<std::string, std::string> settings_;
  int64_t now_ns_ = 1'000'000'000;
  Host host_;
};

// One substrate, opened through its entry point.
class Substrate {
 public:
  Substrate(EntryPoint* entry, const FakeHost& host) : host_(host.get()) {
    EXPECT_EQ(entry(host_, &table), 0);
  }
  Substrate(const Substrate&) = delete;
  Substrate& operator=(const Substrate&) = delete;
  ~Substrate() { close(); }

  Status detect() const { return table.detect(host_); }
  Status open() { return table.open(host_, &device); }
  void close() {
    if (device != nullptr) table.close(device);
    device = nullptr;
  }

  std::vector<Event> events() const {
    std::vector<Event> all(table.event_count(device));
    for (uint32_t i = 0; i < all.size(); ++i) EXPECT_TRUE(table.event_at(device, i, &all[i]).ok());
    return all;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Event& event : events()) all.emplace_back(event.name);
    return all;
  }

  // The event's number, or -1.
  int64_t find(const std::string& name) const {
    uint32_t index = 0;
    if (table.find_event != nullptr)
      return table.find_event(device, name.c_str(), &index).ok() ? static_cast<int64_t>(index) : -1;
    for (const std::string& each : names()) {  // as the core does for a substrate without this function
      if (each == name) return index;
      ++index;
    }
    return -1;
  }
  Event event(const std::string& name) const {
    Event found;
    const int64_t index = find(name);
    EXPECT_GE(index, 0) << name;
    if (index >= 0) table.event_at(device, static_cast<uint32_t>(index), &found);
    return found;
  }

  SubstrateTable table;
  Device* device = nullptr;

 private:
  const Host* host_;
};

// One eventset of a substrate.
class EventSet {
 public:
  explicit EventSet(const Substrate& substrate) : substrate_(substrate) {
    EXPECT_TRUE(table().create_set(substrate.device, nullptr, &set_).ok());
  }
  // Of these events, which must open.
  EventSet(const Substrate& substrate, const std::vector<std::string>& names) : EventSet(substrate) {
    EXPECT_TRUE(program(names).ok());
  }
  EventSet(const EventSet&) = delete;
  EventSet& operator=(const EventSet&) = delete;
  ~EventSet() { table().destroy_set(set_); }

  Status program(const std::vector<std::string>& names) {
    std::vector<uint32_t> numbers;
    for (const std::string& name : names) {
      const int64_t index = substrate_.find(name);
      if (index < 0) return {Code::kNoEvent, 0, "the test asked for an event that is not there"};
      numbers.push_back(static_cast<uint32_t>(index));
    }
    const Status status = table().program(set_, numbers.data(), static_cast<uint32_t>(numbers.size()));
    if (status.ok()) size_ = numbers.size();
    return status;
  }
  Status start() { return table().start(set_); }
  Status stop() { return table().stop(set_); }
  Status reset() { return table().reset(set_); }

  // The values; every slot holds the mark when the read failed.
  static constexpr int64_t kMark = -987654321;
  std::vector<int64_t> read(Status* status = nullptr) {
    std::vector<int64_t> values(size_, kMark);
    const Status got = table().read(set_, values.data());
    if (status != nullptr) {
      *status = got;
    } else {
      EXPECT_TRUE(got.ok()) << (got.note == nullptr ? "" : got.note);
    }
    return values;
  }
  // Why a read fails, which leaves every slot as it was.
  Status refused_read() {
    Status status;
    for (const int64_t value : read(&status)) EXPECT_EQ(value, kMark);
    EXPECT_FALSE(status.ok());
    return status;
  }
  std::vector<ValueDetail> details() {
    std::vector<ValueDetail> all(size_);
    const Status status = table().read_details(set_, all.data());
    EXPECT_TRUE(status.ok()) << (status.note == nullptr ? "" : status.note);
    return all;
  }
  Set* handle() const { return set_; }

 private:
  const SubstrateTable& table() const { return substrate_.table; }
  const Substrate& substrate_;
  Set* set_ = nullptr;
  size_t size_ = 0;
};

// One that counts these events.
class RunningSet : public EventSet {
 public:
  RunningSet(const Substrate& substrate, const std::vector<std::string>& names) : EventSet(substrate, names) {
    EXPECT_TRUE(start().ok());
  }
};

inline std::string note_of(const Status& status) { return status.note == nullptr ? "" : status.note; }

// A built-in substrate on a recorded tree. Derive with the substrate's entry point.
template <EntryPoint* entry>
class SubstrateOnTree : public ::testing::Test {
 protected:
  void open() {
    ASSERT_TRUE(substrate.detect().ok()) << note_of(substrate.detect());
    ASSERT_TRUE(substrate.open().ok());
  }
  // Opens it in this thread as a user to whom the tree's protected files are closed. Only root can.
  Status open_as_another_user() {
    ::setfsuid(65534);
    const Status opened = substrate.open();
    ::setfsuid(0);
    return opened;
  }
  RecordedTree tree;
  FakeHost host{tree.root()};
  Substrate substrate{*entry, host};
};

}  // namespace substrata::testing
