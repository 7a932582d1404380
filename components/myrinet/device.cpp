// The commands of include/substrata/myrinet.h on the one recorder of the process.
#include <substrata/myrinet.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "base/guard.hpp"
#include "bottleneck.hpp"
#include "carriage.hpp"
#include "clock_experiment.hpp"
#include "counting/counting.hpp"
#include "host_store.hpp"
#include "operations.hpp"
#include "recorder.hpp"
#include "together.hpp"

namespace {

using namespace substrata;
using namespace substrata::myrinet;

// Observes the interfaces while it records. The statistics have a lock of their own: a reader on another
// thread may come while a batch is taken.
class Recorder final : public monitor::ObservingInstrument {
 public:
  Recorder() : ObservingInstrument(kLanaiProbes), memory_(std::make_unique<MonitorMemory>(Shape{})) {}
  ~Recorder() override { end_observation(); }

  std::mutex commands;  // one command at a time
  OperationRecorder operations{Shape{}.nodes, Shape{}.programs};
  bool recording = false;

  // The statistics in use: on the interfaces, or in host memory.
  template <typename Function>
  auto with_memory(Function&& function) {
    if (const std::shared_ptr<HostStore> store = host_store())
      return store->with_memory(std::forward<Function>(function));
    const std::lock_guard lock(memory_mutex_);
    MonitorMemory* const memory = memory_.get();
    return function(memory);
  }
  // Uses statistics on the interfaces, or without any a store in host memory.
  void replace(std::unique_ptr<MonitorMemory> memory, std::unique_ptr<OperationMemory> new_operations,
               std::shared_ptr<HostStore> store) noexcept {
    if (memory != nullptr) {
      const std::lock_guard lock(memory_mutex_);
      memory_.swap(memory);
    }
    operations.with_memory([&](auto& kept) { kept.swap(new_operations); });
    use_host_store(std::move(store));
  }
  // What passes from now on goes into the statistics; a store is told by the clusters.
  Status observe_packets() noexcept {
    const std::shared_ptr<HostStore> store = host_store();
    if (store == nullptr) return begin();
    store->record(true);
    return kSuccess;
  }
  void leave_packets() noexcept {
    if (const std::shared_ptr<HostStore> store = host_store()) {
      store->record(false);
    } else {
      end();
    }
  }

 protected:
  void observe(const substrata_transaction* batch, size_t count) noexcept override {
    try {
      const ProbeRole role = roles_.of(batch[0].probe);
      if (!role.known) return;
      const std::lock_guard lock(memory_mutex_);
      for (size_t i = 0; i < count; ++i) memory_->take(role.node, batch[i]);
      memory_->settle();
    } catch (...) {
      // No memory for a node's statistics: its packets stay unrecorded.
    }
  }

 private:
  std::mutex memory_mutex_;
  std::unique_ptr<MonitorMemory> memory_;
  ProbeRoles roles_;
};

// The rules in use. A number is a place; places are used again.
struct Rules {
  static constexpr size_t kMost = 64;
  std::mutex mutex;
  std::unique_ptr<IdleLatencies> idle;  // made by the first rule
  std::vector<std::shared_ptr<BottleneckWatch>> watches;
  std::shared_ptr<BottleneckWatch> of(uint32_t number) {
    const std::lock_guard lock(mutex);
    return number < watches.size() ? watches[number] : nullptr;
  }
};

Rules& rules() {
  static auto* const all = new Rules;
  return *all;
}

std::string objection(const substrata_myrinet_rule& rule) {
  if (rule.struct_size < sizeof rule) return "struct_size is not set";
  if (rule.node != SUBSTRATA_MYRINET_ALL && rule.node >= kMostNodes)
    return "node " + std::to_string(rule.node) + " is asked for; there are at most " +
           std::to_string(kMostNodes);
  if (rule.program != SUBSTRATA_MYRINET_ALL && rule.program > UINT16_MAX)
    return "there is no program tag " + std::to_string(rule.program);
  if (rule.latency >= kLatencies) return "there is no latency " + std::to_string(rule.latency);
  if (rule.window_ns == 0) return "a window of at least 1 ns is needed";
  if (!(rule.ratio > 0)) return "a ratio above 0 is needed";
  return {};
}

Recorder& recorder() {
  static auto* const one = new Recorder;
  return *one;
}

// Runs a command on the recorder.
template <typename Function>
int command(Function&& function) noexcept {
  return guarded([&] { return function(recorder()); });
}

// Of each interface's memory.
uint64_t bytes_of(const Shape& shape) noexcept {
  return shape.bytes() + OperationMemory::bytes(shape.nodes, shape.programs);
}

uint64_t bytes_of(const Shape& shape, const HostLayout& layout) noexcept {
  return layout.interface_bytes(shape) + OperationMemory::bytes(shape.nodes, shape.programs);
}

bool read_shape(const substrata_myrinet_shape& from, Shape* out, std::string* wrong) {
  if (from.struct_size < sizeof from) {
    *wrong = "struct_size is not set";
    return false;
  }
  out->nodes = from.nodes;
  out->programs = from.programs;
  out->length_bins = from.length_bins;
  out->length_bin_bytes = from.length_bin_bytes;
  out->latency_bins = from.latency_bins;
  std::copy(std::begin(from.latency_bin_ns), std::end(from.latency_bin_ns), out->latency_bin_ns);
  *wrong = out->objection();
  return wrong->empty();
}

bool read_host(const substrata_myrinet_shape* shape, const substrata_myrinet_host* host, Shape* out,
               HostLayout* layout, std::string* wrong) {
  if (shape == nullptr || host == nullptr || host->struct_size < sizeof *host) {
    *wrong = "a shape and a store with struct_size set are needed";
    return false;
  }
  if (!read_shape(*shape, out, wrong)) return false;
  constexpr uint32_t kDefaultBuffer = 64;
  if (host->cache_lines != 0) layout->cache_lines = host->cache_lines;
  layout->trace_ring = host->trace_ring;
  if (layout->trace_ring != 0)
    layout->trace_buffer = host->trace_buffer != 0 ? host->trace_buffer : kDefaultBuffer;
  *wrong = layout->objection();
  return wrong->empty();
}

// What is wrong with a place to look at; empty: nothing.
std::string objection(const Shape& shape, uint32_t node, uint32_t program, int axis) {
  if (node != SUBSTRATA_MYRINET_ALL && node >= shape.nodes)
    return "node " + std::to_string(node) + " is asked for; the shape has " + std::to_string(shape.nodes);
  if (program != SUBSTRATA_MYRINET_ALL && program >= shape.programs)
    return "program " + std::to_string(program) + " is asked for; the shape has " +
           std::to_string(shape.programs);
  if (axis < SUBSTRATA_MYRINET_BY_SIZE || axis > SUBSTRATA_MYRINET_BY_TYPE)
    return "there is no axis " + std::to_string(axis);
  return {};
}

// What is wrong with the operations of a node; empty: nothing.
std::string objection(const substrata_myrinet_operation* operations, size_t count, uint32_t node,
                      uint32_t nodes, uint32_t phases) {
  for (size_t i = 0; i < count; ++i) {
    const substrata_myrinet_operation& one = operations[i];
    std::string wrong;
    if (one.peer >= nodes || one.peer == node)
      wrong = "has node " + std::to_string(one.peer) + " at its other end; another one of " +
              std::to_string(nodes) + " is needed";
    else if (one.phase >= phases)
      wrong = "is of phase " + std::to_string(one.phase) + "; there are " + std::to_string(phases);
    else if (one.type >= kTypes)
      wrong = "is of type " + std::to_string(one.type) + "; there is room for " + std::to_string(kTypes);
    if (!wrong.empty())
      return "operation " + std::to_string(i) + " of node " + std::to_string(node) + " " + wrong;
  }
  return {};
}

}  // namespace

struct __attribute__((visibility("hidden"))) substrata_myrinet_carried {
  substrata_myrinet_carried(const ClusterParameters& parameters, uint32_t phases)
      : carriage(parameters, phases) {}
  Carriage carriage;
};

extern "C" {

int substrata_myrinet_default_shape(substrata_myrinet_shape* out) {
  if (out == nullptr || out->struct_size < sizeof *out)
    return fail(Code::kInvalid, "a shape with struct_size set is needed");
  const Shape shape;
  out->nodes = shape.nodes;
  out->programs = shape.programs;
  out->length_bins = shape.length_bins;
  out->length_bin_bytes = shape.length_bin_bytes;
  out->latency_bins = shape.latency_bins;
  std::copy(std::begin(shape.latency_bin_ns), std::end(shape.latency_bin_ns), out->latency_bin_ns);
  return 0;
}

int substrata_myrinet_memory(const substrata_myrinet_shape* wanted, uint64_t* bytes) {
  return command([&](Recorder& self) {
    if (bytes == nullptr) return fail(Code::kInvalid, "there is no place for the byte count");
    Shape shape;
    std::string wrong;
    if (wanted == nullptr) {
      self.with_memory([&](auto& memory) { shape = memory->shape(); });
    } else if (!read_shape(*wanted, &shape, &wrong)) {
      return fail(Code::kInvalid, "%s", wrong.c_str());
    }
    const std::shared_ptr<HostStore> store = wanted == nullptr ? host_store() : nullptr;
    *bytes = store != nullptr ? bytes_of(shape, store->layout()) : bytes_of(shape);
    return 0;
  });
}

int substrata_myrinet_configure(const substrata_myrinet_shape* wanted) {
  return command([&](Recorder& self) {
    Shape shape;
    std::string wrong;
    if (wanted == nullptr) return fail(Code::kInvalid, "there is no shape");
    if (!read_shape(*wanted, &shape, &wrong)) return fail(Code::kInvalid, "%s", wrong.c_str());
    if (bytes_of(shape) > SUBSTRATA_MYRINET_SRAM_BYTES) {
      return fail(Code::kInvalid,
                  "the statistics would take %llu bytes of each interface, whose memory has %u; ask for "
                  "fewer or wider bins, nodes or programs",
                  static_cast<unsigned long long>(bytes_of(shape)), SUBSTRATA_MYRINET_SRAM_BYTES);
    }
    const std::lock_guard lock(self.commands);
    if (self.recording)
      return fail(Code::kRunning, "the shape cannot change while the monitor records; stop it first");
    self.replace(std::make_unique<MonitorMemory>(shape),
                 std::make_unique<OperationMemory>(shape.nodes, shape.programs), nullptr);
    return 0;
  });
}

int substrata_myrinet_start(void) {
  return command([](Recorder& self) {
    const std::lock_guard lock(self.commands);
    if (self.recording) return 0;
    const auto refusal = [](const Status& refused) {
      return fail(static_cast<int>(refused.code), "the monitor cannot observe: %s",
                  refused.note != nullptr ? refused.note : "no reason given");
    };
    if (const Status refused = self.observe_packets(); !refused.ok()) return refusal(refused);
    if (const Status refused = self.operations.begin(); !refused.ok()) {
      self.leave_packets();
      return refusal(refused);
    }
    self.recording = true;
    return 0;
  });
}

int substrata_myrinet_stop(void) {
  return command([](Recorder& self) {
    const std::lock_guard lock(self.commands);
    if (self.recording) {
      self.leave_packets();
      self.operations.end();
    }
    self.recording = false;
    return 0;
  });
}

int substrata_myrinet_clear(void) {
  return command([](Recorder& self) {
    const std::lock_guard lock(self.commands);
    substrata_flush();  // what was published before is forgotten as well
    if (const auto store = host_store()) {
      store->clear();
    } else {
      self.with_memory([](auto& memory) { memory->clear(); });
    }
    self.operations.with_memory([](auto& memory) { memory->clear(); });
    return 0;
  });
}

int substrata_myrinet_host_memory(const substrata_myrinet_shape* wanted, const substrata_myrinet_host* host,
                                  uint64_t* interface_bytes, uint64_t* host_bytes) {
  return command([&](Recorder&) {
    Shape shape;
    HostLayout layout;
    std::string wrong;
    if (!read_host(wanted, host, &shape, &layout, &wrong)) return fail(Code::kInvalid, "%s", wrong.c_str());
    if (interface_bytes != nullptr) *interface_bytes = bytes_of(shape, layout);
    if (host_bytes != nullptr) *host_bytes = layout.host_bytes(shape);
    return 0;
  });
}

int substrata_myrinet_configure_host(const substrata_myrinet_shape* wanted,
                                     const substrata_myrinet_host* host) {
  return command([&](Recorder& self) {
    Shape shape;
    HostLayout layout;
    std::string wrong;
    if (!read_host(wanted, host, &shape, &layout, &wrong)) return fail(Code::kInvalid, "%s", wrong.c_str());
    if (const uint64_t bytes = bytes_of(shape, layout); bytes > SUBSTRATA_MYRINET_SRAM_BYTES) {
      return fail(Code::kInvalid,
                  "sums, cache and packet records would take %llu bytes of each interface, whose memory has "
                  "%u; ask for fewer lines, records, lengths, nodes or programs",
                  static_cast<unsigned long long>(bytes), SUBSTRATA_MYRINET_SRAM_BYTES);
    }
    constexpr uint64_t kMostBytes = uint64_t{1} << 30;
    // The model holds what is on the interfaces as well.
    const uint64_t bytes = (layout.host_bytes(shape) + layout.interface_bytes(shape)) * shape.nodes;
    if (bytes > kMostBytes) {
      return fail(Code::kNoMemory,
                  "the histograms and records would take %llu MiB of host memory, 1024 are possible",
                  static_cast<unsigned long long>(bytes >> 20));
    }
    const std::lock_guard lock(self.commands);
    if (self.recording)
      return fail(Code::kRunning, "the shape cannot change while the monitor records; stop it first");
    self.replace(nullptr, std::make_unique<OperationMemory>(shape.nodes, shape.programs),
                 std::make_shared<HostStore>(shape, layout));
    return 0;
  });
}

int substrata_myrinet_host_counted(uint32_t node, substrata_myrinet_host_counts* out) {
  return command([&](Recorder&) {
    const auto store = host_store();
    if (store == nullptr)
      return fail(Code::kInvalid, "the histograms are on the interfaces, not in host memory");
    if (out == nullptr || out->struct_size < sizeof *out)
      return fail(Code::kInvalid, "counts with struct_size set are needed");
    if (node != SUBSTRATA_MYRINET_ALL && node >= store->nodes())
      return fail(Code::kInvalid, "node %u is asked for; the shape has %u", node, store->nodes());
    store->counts(node, out);
    return 0;
  });
}

int substrata_myrinet_trace(uint32_t node, substrata_myrinet_packet* out, uint32_t room, uint32_t* count) {
  return command([&](Recorder&) {
    const auto store = host_store();
    if (store == nullptr || store->layout().trace_ring == 0)
      return fail(Code::kInvalid, "there is no trace; substrata_myrinet_configure_host makes one");
    if (node >= store->nodes())
      return fail(Code::kInvalid, "node %u is asked for; the shape has %u", node, store->nodes());
    if (count == nullptr || (out == nullptr && room != 0))
      return fail(Code::kInvalid, "there is no place for the records or their count");
    *count = store->read_trace(node, out, room);
    return 0;
  });
}

int substrata_myrinet_watch(const substrata_myrinet_rule* rule, substrata_myrinet_firing_function function,
                            void* owner, uint32_t* number) {
  return command([&](Recorder&) {
    if (rule == nullptr || number == nullptr)
      return fail(Code::kInvalid, "a rule and a place for its number");
    if (const std::string wrong = objection(*rule); !wrong.empty())
      return fail(Code::kInvalid, "%s", wrong.c_str());
    Rules& all = rules();
    const std::lock_guard lock(all.mutex);
    const auto place = std::find(all.watches.begin(), all.watches.end(), nullptr);
    const auto index = static_cast<size_t>(place - all.watches.begin());
    if (index == Rules::kMost)
      return fail(Code::kNoMemory, "there are %zu rules already; take one back first", Rules::kMost);
    if (all.idle == nullptr) all.idle = std::make_unique<IdleLatencies>();
    if (index == all.watches.size()) all.watches.emplace_back();
    auto made = std::make_shared<BottleneckWatch>(*rule, *all.idle, function, owner);
    if (const Status refused = made->begin(); !refused.ok())
      return fail(static_cast<int>(refused.code), "the rule cannot observe: %s",
                  refused.note != nullptr ? refused.note : "no reason given");
    all.watches[index] = std::move(made);
    *number = static_cast<uint32_t>(index);
    return 0;
  });
}

int substrata_myrinet_fired(uint32_t number, uint64_t* times, substrata_myrinet_firing* last) {
  return command([&](Recorder&) {
    const std::shared_ptr<BottleneckWatch> watch = rules().of(number);
    if (watch == nullptr) return fail(Code::kInvalid, "there is no rule %u", number);
    if (last != nullptr && last->struct_size < sizeof *last)
      return fail(Code::kInvalid, "a firing with struct_size set is needed");
    const uint64_t fired = watch->fired(last);
    if (times != nullptr) *times = fired;
    return 0;
  });
}

int substrata_myrinet_unwatch(uint32_t number) {
  return command([&](Recorder&) {
    std::shared_ptr<BottleneckWatch> watch;
    {
      Rules& all = rules();
      const std::lock_guard lock(all.mutex);
      if (number < all.watches.size()) watch.swap(all.watches[number]);
    }
    if (watch == nullptr) return fail(Code::kInvalid, "there is no rule %u", number);
    watch->end();
    return 0;
  });
}

int substrata_myrinet_recorded(uint64_t* packets, uint64_t* left_out) {
  return command([&](Recorder& self) {
    substrata_flush();
    self.with_memory([&](auto& memory) {
      if (packets != nullptr) *packets = memory->packets();
      if (left_out != nullptr) *left_out = memory->left_out();
    });
    return 0;
  });
}

int substrata_myrinet_histogram(uint32_t node, uint32_t program, substrata_myrinet_latency latency,
                                substrata_myrinet_axis axis, uint32_t x, uint64_t* counts, uint32_t room) {
  return command([&](Recorder& self) {
    substrata_flush();
    return self.with_memory([&](auto& memory) {
      const Shape& shape = memory->shape();
      std::string wrong = objection(shape, node, program, static_cast<int>(axis));
      const uint32_t rows = axis == SUBSTRATA_MYRINET_BY_SIZE   ? shape.length_bins
                            : axis == SUBSTRATA_MYRINET_BY_TYPE ? kTypes
                                                                : shape.nodes;
      if (wrong.empty() && x >= rows)
        wrong = "x is " + std::to_string(x) + "; this axis has " + std::to_string(rows);
      if (wrong.empty() && static_cast<uint32_t>(latency) >= kLatencies)
        wrong = "there is no latency " + std::to_string(static_cast<uint32_t>(latency));
      if (wrong.empty() && (counts == nullptr || room < shape.latency_bins))
        wrong = "the histogram has " + std::to_string(shape.latency_bins) + " bins, there is room for " +
                std::to_string(counts == nullptr ? 0 : room);
      if (!wrong.empty()) return fail(Code::kInvalid, "%s", wrong.c_str());
      const std::vector<uint64_t> bins =
          histogram(*memory, node, program, static_cast<uint32_t>(latency), axis, x);
      std::copy(bins.begin(), bins.end(), counts);
      return 0;
    });
  });
}

int substrata_myrinet_signature(uint32_t node, uint32_t program, substrata_myrinet_axis axis,
                                substrata_myrinet_point* out, uint32_t room, uint32_t* count) {
  return command([&](Recorder& self) {
    substrata_flush();
    return self.with_memory([&](auto& memory) {
      std::string wrong = objection(memory->shape(), node, program, static_cast<int>(axis));
      if (wrong.empty() && (count == nullptr || (out == nullptr && room != 0)))
        wrong = "there is no place for the points or their count";
      if (!wrong.empty()) return fail(Code::kInvalid, "%s", wrong.c_str());
      const std::vector<substrata_myrinet_point> points = signature(*memory, node, program, axis);
      std::copy_n(points.begin(), std::min<size_t>(points.size(), room), out);
      *count = static_cast<uint32_t>(points.size());
      return 0;
    });
  });
}

int substrata_myrinet_operations(uint32_t node, uint32_t program, substrata_myrinet_operation_point* out,
                                 uint32_t room, uint32_t* count) {
  return command([&](Recorder& self) {
    substrata_flush();
    const std::lock_guard lock(self.commands);  // the shape stays
    const Shape shape = self.with_memory([](auto& memory) { return memory->shape(); });
    std::string wrong = objection(shape, node, program, SUBSTRATA_MYRINET_BY_TYPE);
    if (wrong.empty() && (count == nullptr || (out == nullptr && room != 0)))
      wrong = "there is no place for the operations or their count";
    if (!wrong.empty()) return fail(Code::kInvalid, "%s", wrong.c_str());
    return self.operations.with_memory([&](auto& memory) {
      const auto points = operation_points(*memory, node, program);
      std::copy_n(points.begin(), std::min<size_t>(points.size(), room), out);
      *count = static_cast<uint32_t>(points.size());
      return 0;
    });
  });
}

int substrata_myrinet_operation_histogram(uint32_t node, uint32_t program, uint32_t kind, uint64_t* counts,
                                          uint32_t room) {
  return command([&](Recorder& self) {
    substrata_flush();
    const std::lock_guard lock(self.commands);
    const Shape shape = self.with_memory([](auto& memory) { return memory->shape(); });
    std::string wrong = objection(shape, node, program, SUBSTRATA_MYRINET_BY_TYPE);
    if (wrong.empty() && kind >= kOperationKinds)
      wrong = "there is no kind of operation " + std::to_string(kind);
    if (wrong.empty() && (counts == nullptr || room < kOperationBins))
      wrong = "the histogram has " + std::to_string(kOperationBins) + " bins, there is room for " +
              std::to_string(counts == nullptr ? 0 : room);
    if (!wrong.empty()) return fail(Code::kInvalid, "%s", wrong.c_str());
    return self.operations.with_memory([&](auto& memory) {
      const OperationSums sums = memory->sums(node, program, kind);
      std::copy(sums.bins.begin(), sums.bins.end(), counts);
      return 0;
    });
  });
}

const char* substrata_myrinet_operation_name(uint32_t kind) {
  return kind < kOperationKinds ? kOperationNames[kind] : nullptr;
}

uint64_t substrata_myrinet_operation_bin_ns(uint32_t bin) {
  return bin < kOperationBins ? operation_bin_begin(bin) : 0;
}

int substrata_myrinet_run_together(const char* first, const char* second,
                                   const substrata_run_options* options, substrata_run_result* first_result,
                                   substrata_run_result* second_result) {
  return command([&](Recorder&) {
    if (first == nullptr || second == nullptr || first_result == nullptr || second_result == nullptr ||
        first_result->struct_size < sizeof *first_result ||
        second_result->struct_size < sizeof *second_result)
      return fail(Code::kInvalid, "two workloads and two results with struct_size set are needed");
    constexpr uint32_t kDefaultNodes = 8;
    const uint32_t nodes = options != nullptr && options->processes != 0 ? options->processes : kDefaultNodes;
    const char* const text = options != nullptr && options->parameters != nullptr ? options->parameters : "";
    const uint64_t seed = options != nullptr ? options->seed : 0;
    if (nodes > kMostNodes)
      return fail(Code::kInvalid, "%u nodes are asked for, %u are possible", nodes, kMostNodes);
    MachineParameters parameters;
    std::string wrong;
    if (!parse_machine_parameters(text, seed, &parameters, wrong))
      return fail(Code::kInvalid, "%s", wrong.c_str());
    const Reports reports = run_together({first, second}, parameters, nodes, seed);
    substrata_flush();
    substrata_run_result* const results[] = {first_result, second_result};
    for (uint32_t i = 0; i < kTogether; ++i) {
      const workloads::Report& report = reports[i];
      results[i]->correct = report.correct ? 1 : 0;
      results[i]->simulated_ticks = report.outcome.time;
      results[i]->ticks_per_second = kSecond;
      results[i]->operations = report.outcome.operations();
      std::snprintf(results[i]->message, sizeof results[i]->message, "%s", report.message.c_str());
      if (!report.ran) return fail(Code::kInvalid, "%s", report.message.c_str());
    }
    return 0;
  });
}

int substrata_myrinet_clock_experiment(const substrata_myrinet_clock_options* options,
                                       substrata_myrinet_clock_result* result) {
  return command([&](Recorder&) {
    if (options == nullptr || result == nullptr || options->struct_size < sizeof *options ||
        result->struct_size < sizeof *result)
      return fail(Code::kInvalid, "options and a result with struct_size set are needed");
    ClusterParameters parameters;
    parameters.clock = ClockMode::kPeriodic;
    if (options->nodes != 0) parameters.nodes = options->nodes;
    const double seconds = options->seconds != 0 ? options->seconds : 3600;
    const double period = options->period_seconds != 0 ? options->period_seconds : 300;
    constexpr double kMostSeconds = 36'000;
    if (parameters.nodes < 2 || parameters.nodes > kMostNodes)
      return fail(Code::kInvalid, "%u nodes are asked for, 2 to %u are possible", parameters.nodes,
                  kMostNodes);
    if (!(seconds > 0 && seconds <= kMostSeconds) || !(period >= 0.01 && period <= kMostSeconds) ||
        !(options->drift_ppm >= 0 && options->drift_ppm <= 1000))
      return fail(Code::kInvalid,
                  "times must be up to 36000 s, a period of at least 0.01 s, the drift 0 to 1000 ppm");
    parameters.seed = options->seed;
    parameters.period = static_cast<Time>(period * static_cast<double>(kSecond));
    parameters.drift_ppm = options->drift_ppm;
    parameters.correct_drift = options->no_correction == 0;
    parameters.stamps_inside = options->no_stamps == 0;
    parameters.priority = options->no_priority == 0;
    const ClusterCounts counts = run_clock_experiment(
        parameters, static_cast<Time>(seconds * static_cast<double>(kSecond)), options->no_load == 0);
    result->rounds = static_cast<uint32_t>(counts.rounds);
    result->error_ns = counts.clock_error / 1000;
    result->pair_error_ns = counts.pair_error / 1000;
    result->clock_packets = counts.clock_packets;
    result->load_packets = counts.received;
    return 0;
  });
}

int substrata_myrinet_carry(const substrata_myrinet_operation* const* operations, const size_t* counts,
                            const substrata_myrinet_carry_options* options, substrata_myrinet_carried** out) {
  return command([&](Recorder&) {
    if (options == nullptr || options->struct_size < sizeof *options || out == nullptr ||
        operations == nullptr || counts == nullptr)
      return fail(Code::kInvalid,
                  "operations, options with struct_size set and a place for the result are needed");
    const uint32_t phases = options->phases != 0 ? options->phases : 1;
    if (options->nodes < 2 || options->nodes > kMostNodes || phases > kMostPrograms)
      return fail(Code::kInvalid, "%u nodes and %u phases are asked for, 2 to %u and 1 to %u are possible",
                  options->nodes, phases, kMostNodes, kMostPrograms);
    std::vector<Carriage::Operations> programs;
    for (uint32_t node = 0; node < options->nodes; ++node) {
      if (operations[node] == nullptr && counts[node] != 0)
        return fail(Code::kInvalid, "node %u has operations, and no place where they are", node);
      const std::string wrong = objection(operations[node], counts[node], node, options->nodes, phases);
      if (!wrong.empty()) return fail(Code::kInvalid, "%s", wrong.c_str());
      programs.emplace_back(operations[node], counts[node]);
    }
    const std::string given = options->parameters != nullptr ? options->parameters : "";
    const std::string text = "nodes=" + std::to_string(options->nodes) + (given.empty() ? "" : ":") + given;
    MachineParameters parameters;
    std::string wrong;
    if (!parse_machine_parameters(text, options->seed, &parameters, wrong))
      return fail(Code::kInvalid, "%s", wrong.c_str());
    const uint64_t bytes = Carriage::shape_of(options->nodes, phases).bytes() * options->nodes;
    constexpr uint64_t kMostBytes = uint64_t{1} << 30;
    if (bytes > kMostBytes)
      return fail(Code::kNoMemory,
                  "the statistics of %u nodes and %u phases would take %llu MiB, 1024 are possible; ask for "
                  "fewer phases",
                  options->nodes, phases, static_cast<unsigned long long>(bytes >> 20));
    auto made = std::make_unique<substrata_myrinet_carried>(parameters.cluster, phases);
    made->carriage.carry(programs);
    *out = made.release();
    return 0;
  });
}

int substrata_myrinet_carried_outcome(const substrata_myrinet_carried* carried,
                                      struct substrata_myrinet_outcome* out) {
  if (carried == nullptr || out == nullptr || out->struct_size < sizeof *out)
    return fail(Code::kInvalid,
                "a result of substrata_myrinet_carry and a summary with struct_size set are needed");
  const uint32_t size = out->struct_size;
  *out = carried->carriage.outcome();
  out->struct_size = size;
  return 0;
}

int substrata_myrinet_carried_counts(const substrata_myrinet_carried* carried, uint32_t node, uint32_t phase,
                                     substrata_myrinet_counts* out) {
  if (carried == nullptr || out == nullptr || out->struct_size < sizeof *out)
    return fail(Code::kInvalid,
                "a result of substrata_myrinet_carry and counts with struct_size set are needed");
  const Carriage& carriage = carried->carriage;
  if (const std::string wrong = objection(carriage.memory().shape(), node, phase, 0); !wrong.empty())
    return fail(Code::kInvalid, "%s", wrong.c_str());
  const uint32_t size = out->struct_size;
  *out = carriage.counts(node, phase);
  out->struct_size = size;
  return 0;
}

int substrata_myrinet_carried_signature(const substrata_myrinet_carried* carried, uint32_t node,
                                        uint32_t phase, substrata_myrinet_axis axis,
                                        substrata_myrinet_point* out, uint32_t room, uint32_t* count) {
  return command([&](Recorder&) {
    if (carried == nullptr || count == nullptr || (out == nullptr && room != 0))
      return fail(Code::kInvalid,
                  "a result of substrata_myrinet_carry and places for points and count are needed");
    const MonitorMemory& memory = carried->carriage.memory();
    if (const std::string wrong = objection(memory.shape(), node, phase, static_cast<int>(axis));
        !wrong.empty())
      return fail(Code::kInvalid, "%s", wrong.c_str());
    const std::vector<substrata_myrinet_point> points = signature(memory, node, phase, axis);
    std::copy_n(points.begin(), std::min<size_t>(points.size(), room), out);
    *count = static_cast<uint32_t>(points.size());
    return 0;
  });
}

void substrata_myrinet_carried_free(substrata_myrinet_carried* carried) { delete carried; }

const char* substrata_myrinet_error(void) { return last_refusal(); }

}  // extern "C"
