// Simulates the part of perf_event that the substrate uses.
#include "fake_kernel.hpp"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace substrata::test {
namespace {

FakeKernel& fake(void* context) { return *static_cast<FakeKernel*>(context); }

bool is_hardware(const perf_event_attr& attr) {
  return attr.type != PERF_TYPE_SOFTWARE && attr.type != PERF_TYPE_TRACEPOINT;
}

}  // namespace

FakeKernel::FakeKernel() {
  kernel_.context = this;
  kernel_.open = [](void* context, perf_event_attr* attr, pid_t pid, int cpu, int group,
                    unsigned long) noexcept {
    FakeKernel& self = fake(context);
    ++self.opens;
    if (self.refuse)
      if (const int error = self.refuse(*attr, pid, cpu, group); error != 0) return -error;
    if (group >= 0) {
      size_t members = is_hardware(*attr) ? 1 : 0;
      for (const auto& [descriptor, event] : self.events)
        if ((descriptor == group || event.group == group) && is_hardware(event.attr)) ++members;
      if (members > self.hardware_counters) return -EINVAL;
    }
    const int descriptor = self.next_++;
    Event event{*attr, pid, cpu, group, 0, 0, 0, false, 0, nullptr};
    event.page = std::make_unique<perf_event_mmap_page>();
    std::memset(event.page.get(), 0, sizeof(perf_event_mmap_page));
    event.page->cap_user_rdpmc = self.user_reads;
    event.page->pmc_width = static_cast<uint16_t>(self.width);
    event.page->index = self.user_reads ? 1 : 0;
    self.opened.push_back(*attr);
    self.events.emplace(descriptor, std::move(event));
    return descriptor;
  };
  kernel_.read = [](void* context, int descriptor, void* to, size_t size) noexcept -> ssize_t {
    FakeKernel& self = fake(context);
    ++self.reads;
    const auto found = self.events.find(descriptor);
    if (found == self.events.end()) return -EBADF;
    if (self.read_error != 0) return -self.read_error;
    if (self.lost) return 0;
    const Event& event = found->second;
    std::vector<uint64_t> words;
    const uint64_t format = event.attr.read_format;
    const bool group = (format & PERF_FORMAT_GROUP) != 0;
    if (!group) words.push_back(event.value);
    if (group) words.push_back(0);
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED) words.push_back(event.enabled);
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING) words.push_back(event.running);
    if (group) {
      for (const auto& [other, member] : self.events)
        if (other == descriptor || member.group == descriptor) {
          words.push_back(member.value);
          ++words[0];
        }
    }
    if (size < words.size() * sizeof(uint64_t)) return -ENOSPC;
    std::memcpy(to, words.data(), words.size() * sizeof(uint64_t));
    return static_cast<ssize_t>(words.size() * sizeof(uint64_t));
  };
  kernel_.control = [](void* context, int descriptor, unsigned long request, unsigned long) noexcept {
    FakeKernel& self = fake(context);
    ++self.controls;
    if (self.control_error != 0) return -self.control_error;
    const auto found = self.events.find(descriptor);
    if (found == self.events.end()) return -EBADF;
    for (auto& [other, event] : self.events)
      if (other == descriptor || event.group == descriptor) event.on = request == PERF_EVENT_IOC_ENABLE;
    return 0;
  };
  kernel_.close = [](void* context, int descriptor) noexcept { fake(context).events.erase(descriptor); };
  kernel_.map = [](void* context, int descriptor) noexcept -> void* {
    return fake(context).events.at(descriptor).page.get();
  };
  kernel_.unmap = [](void*, void*) noexcept {};
  kernel_.deliver = [](void* context, int descriptor, int signal, pid_t) noexcept {
    fake(context).events.at(descriptor).signal = signal;
    return 0;
  };
  kernel_.counter = [](void* context, uint32_t) noexcept {
    FakeKernel& self = fake(context);
    ++self.counter_reads;
    return self.width == 64 ? self.registers : self.registers & ((uint64_t{1} << self.width) - 1);
  };
  kernel_.ticks = [](void* context) noexcept { return fake(context).tick; };
}

FakeKernel::Event& FakeKernel::of_type(uint32_t type) {
  for (auto& [descriptor, event] : events)
    if (event.attr.type == type) return event;
  throw std::out_of_range("no event of this type is open");
}

namespace {

class FakeEncoder final : public perf::Encoder {
 public:
  explicit FakeEncoder(bool present) : present_(present) {}
  std::vector<std::string> pmus() override {
    return present_ ? std::vector<std::string>{"fake"} : std::vector<std::string>{};
  }
  std::vector<Named> events() override {
    if (!present_) return {};
    return {{"INSTRUCTIONS_DONE", "instructions"}, {"CYCLES_DONE", "cycles"}, {"MASKED", "wants a mask"}};
  }
  std::vector<perf::Qualifier> qualifiers(const std::string& name) override {
    if (name != "MASKED") return {};
    return {{"ONE", "the first", true}, {"TWO", "the second", true}};
  }
  Code encode(const std::string& full, perf::Encoding* out, std::string* error) override {
    const std::string name = full.starts_with("fake::") ? full.substr(6) : full;
    uint64_t config = 0;
    if (present_ && name == "INSTRUCTIONS_DONE") config = 0xc0;
    if (present_ && name == "CYCLES_DONE") config = 0x3c;
    if (present_ && name == "MASKED:ONE") config = 0x1a2;
    if (present_ && name == "MASKED:TWO") config = 0x2a2;
    if (config == 0) {
      *error = "fake table";
      return present_ && name.starts_with("MASKED") ? Code::kAttribute : Code::kNoEvent;
    }
    perf::Leg leg;
    leg.attr = perf::blank_attr();
    leg.attr.type = PERF_TYPE_RAW;
    leg.attr.config = config;
    leg.pmu_class = perf::kCoreClass;
    out->legs.assign(1, leg);
    return Code::kOk;
  }

 private:
  bool present_;
};

}  // namespace

std::unique_ptr<perf::Encoder> fake_encoder(bool present) { return std::make_unique<FakeEncoder>(present); }

}  // namespace substrata::test
