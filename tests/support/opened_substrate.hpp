// A substrate behind its table, opened for a test, and sets of its events.
#pragma once

#include <gtest/gtest.h>
#include <substrata/substrate.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace substrata::tests {

// The numbers of events by name.
inline std::vector<uint32_t> find_events(const SubstrateTable& table, Device* device,
                                         const std::vector<std::string>& names) {
  std::vector<uint32_t> events;
  for (const std::string& name : names) {
    uint32_t index = ~0u;
    const Status found = table.find_event(device, name.c_str(), &index);
    EXPECT_TRUE(found.ok()) << name << ": " << (found.note != nullptr ? found.note : "");
    events.push_back(index);
  }
  return events;
}

// A set of events, stopped at first.
class CountedSet {
 public:
  CountedSet(const SubstrateTable& table, Device* device, const std::vector<uint32_t>& events)
      : table_(table), count_(events.size()) {
    EXPECT_TRUE(table_.create_set(device, nullptr, &set_).ok());
    EXPECT_TRUE(table_.program(set_, events.data(), static_cast<uint32_t>(count_)).ok());
  }
  ~CountedSet() { table_.destroy_set(set_); }
  CountedSet(const CountedSet&) = delete;
  CountedSet& operator=(const CountedSet&) = delete;
  Set* get() const { return set_; }
  void start() { ASSERT_TRUE(table_.start(set_).ok()); }
  void stop() { ASSERT_TRUE(table_.stop(set_).ok()); }
  void reset() { ASSERT_TRUE(table_.reset(set_).ok()); }
  void write(const std::vector<int64_t>& values) { ASSERT_TRUE(table_.write(set_, values.data()).ok()); }
  std::vector<int64_t> read() {
    std::vector<int64_t> values(count_, -1);
    EXPECT_TRUE(table_.read(set_, values.data()).ok());
    return values;
  }

 private:
  const SubstrateTable& table_;
  const size_t count_;
  Set* set_ = nullptr;
};

// A test with the substrate of this entry point, opened.
template <EntryPoint* entry>
class SubstrateTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(entry(&host_, &table_), 0);
    if (table_.open == nullptr) return;
    ASSERT_TRUE(table_.open(&host_, &device_).ok());
  }
  void TearDown() override {
    if (table_.close != nullptr) table_.close(device_);
  }
  std::vector<uint32_t> events(const std::vector<std::string>& names) {
    return find_events(table_, device_, names);
  }
  uint32_t event(const std::string& name) { return events({name})[0]; }
  Status refusal(const std::string& name) {
    uint32_t index = 0;
    return table_.find_event(device_, name.c_str(), &index);
  }

  Host host_;
  SubstrateTable table_;
  Device* device_ = nullptr;
};

}  // namespace substrata::tests
