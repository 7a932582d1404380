// The network against a second one, slow and obvious: one list of what is to happen, closures, buses that are lent one
// after the other. Every packet of random traffic must be stamped, taken and stored at the same picosecond in both, and
// every use of an EISA bus must begin and end at the same one.
#include <gtest/gtest.h>
#include <substrata/feed.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "shrimp/network.hpp"
#include "sources/workloads/engine.hpp"
#include "support/slow_future.hpp"

namespace substrata::shrimp::test {
namespace {

using svm::PacketKind;
using svm::ProcessId;
using svm::Time;
using workloads::Engine;

enum class What { kSend, kStore, kFlush, kEnter, kLeave };
// What a node's processor does.
struct Step {
  Time at;
  What what;
  ProcessId from;
  ProcessId to = 0;
  uint32_t bytes = 0;
  uint64_t address = 0;
};

// Between two steps of a processor, so that it never asks for the bus at the picosecond at which its interface does.
constexpr Time kStep = 1;

// Of one pair of nodes in their order: bytes, stamp, when taken, kind.
using Arrivals = std::map<std::pair<ProcessId, ProcessId>, std::vector<std::tuple<uint32_t, Time, Time>>>;
// Of a node in the order of their begins: which use, bytes, begin, end.
using Uses = std::map<ProcessId, std::vector<std::tuple<uint16_t, uint32_t, Time, Time>>>;
// Of a node: the value and when it is in the register.
using Commands = std::map<ProcessId, std::vector<std::pair<Time, uint64_t>>>;
struct Seen {
  Arrivals arrivals;
  Uses uses;
  Commands commands;
  std::map<std::pair<ProcessId, ProcessId>, std::vector<Time>> whole;  // when a message is in memory
  std::map<ProcessId, std::vector<Time>> begun;                        // when the processor began each step

  void sort() {
    for (auto& [node, all] : uses)
      std::sort(all.begin(), all.end(),
                [](const auto& a, const auto& b) { return std::get<2>(a) < std::get<2>(b); });
    for (auto& [node, all] : commands) std::sort(all.begin(), all.end());
  }
  bool operator==(const Seen&) const = default;
};

class SlowNetwork : tests::SlowFuture {
 public:
  SlowNetwork(const NetworkParameters& parameters, ProcessId nodes) : p_(parameters), nodes_(nodes) {
    while (width_ * width_ < nodes) ++width_;
  }
  Seen run(const std::vector<Step>& steps) {
    for (const Step& step : steps)
      at(step.at, [this, step] {
        nodes_[step.from].steps.push_back(step);
        proceed(step.from);
      });
    run_to_the_end();
    seen_.sort();
    return seen_;
  }

 private:
  struct Burst {
    ProcessId from, to;
    uint32_t bytes;
    Time ready;
    bool by_bus;
    bool last;
    int category = -1;  // a command to the receiver's register
    Time stamped = 0;
  };
  struct Turn {
    uint16_t use;
    uint32_t bytes;
    Time takes, not_before;
    std::function<void(Time)> begun;
    std::function<void()> ended;
  };
  struct Node {
    bool bus_lent = false;
    std::deque<Turn> wants_bus;
    Time taken = 0;  // the packet before
    bool any_taken = false;
    std::deque<Burst> leaving;
    bool leaving_now = false;
    Time wire_free = 0;
    ProcessId to = 0;  // of the stores that are combined
    uint64_t next_address = 0;
    uint32_t open_bytes = 0;
    std::vector<int> inside{0};
    std::deque<Step> steps;
    bool processor_busy = false;
  };

  Time cycles(uint64_t count) const { return count * p_.ports.cycle; }
  Time burst_takes(uint32_t bytes) const { return p_.ports.arbitration + bytes * p_.ports.eisa_byte; }

  void want_bus(ProcessId node, Turn turn) {
    nodes_[node].wants_bus.push_back(std::move(turn));
    lend_bus(node);
  }
  void lend_bus(ProcessId number) {
    Node& node = nodes_[number];
    if (node.bus_lent || node.wants_bus.empty()) return;
    node.bus_lent = true;
    const Turn turn = node.wants_bus.front();
    node.wants_bus.pop_front();
    const Time begin = std::max(
        now_, turn.use == SUBSTRATA_WRITE && node.any_taken ? node.taken + p_.ports.gap : turn.not_before);
    seen_.uses[number].emplace_back(turn.use, turn.bytes, begin, begin + turn.takes);
    if (turn.begun) turn.begun(begin);
    at(begin + turn.takes, [=, this] {
      nodes_[number].bus_lent = false;
      if (turn.ended) turn.ended();
      lend_bus(number);
    });
  }

  // The processor does one step after the other.
  void proceed(ProcessId number) {
    Node& node = nodes_[number];
    if (node.processor_busy || node.steps.empty()) return;
    const Step step = node.steps.front();
    node.steps.pop_front();
    node.processor_busy = true;
    seen_.begun[number].push_back(now_);
    act(step);
  }
  void busy(ProcessId number, Time until) {
    at(until + kStep, [=, this] {
      nodes_[number].processor_busy = false;
      proceed(number);
    });
  }
  void act(const Step& step) {
    Node& node = nodes_[step.from];
    switch (step.what) {
      case What::kSend: {
        let_go(step.from);
        const Time ready = now_ + cycles(p_.send_cycles);
        uint32_t rest = std::max(step.bytes, 1u);
        while (rest != 0) {
          const uint32_t bytes = std::min(rest, p_.ports.burst);
          rest -= bytes;
          leave_later({step.from, step.to, bytes, ready, true, rest == 0});
        }
        busy(step.from, ready);
        break;
      }
      case What::kStore:
        if (node.open_bytes == 0 || node.to != step.to || node.next_address != step.address ||
            node.open_bytes + step.bytes > p_.ports.burst)
          let_go(step.from);
        node.to = step.to;
        node.open_bytes += step.bytes;
        node.next_address = step.address + step.bytes;
        busy(step.from, now_ + cycles(p_.store_cycles));
        break;
      case What::kFlush:
        let_go(step.from);
        busy(step.from, now_);
        break;
      case What::kEnter:
        node.inside.push_back(static_cast<int>(step.bytes));
        name(step.from);
        break;
      case What::kLeave:
        if (node.inside.size() > 1) node.inside.pop_back();
        name(step.from);
        break;
    }
  }
  // The processor writes its own register, and the chosen sender everybody's.
  void name(ProcessId from) {
    if (!p_.categories || (p_.chosen_sender != NetworkParameters::kEachItsOwn && p_.chosen_sender != from)) {
      busy(from, now_);
      return;
    }
    const int category = nodes_[from].inside.back() % 16;
    const auto written = [=, this](Time end) {
      seen_.commands[from].emplace_back(end, category);
      Time ready = end;
      if (p_.chosen_sender != from) {
        busy(from, end);
        return;
      }
      for (ProcessId to = 0; to < nodes_.size(); ++to) {
        if (to == from) continue;
        ready += cycles(p_.store_cycles);
        leave_later({from, to, 4, ready, false, true, category});
      }
      busy(from, ready);
    };
    const Time takes = cycles(p_.command_cycles);
    want_bus(from, {SUBSTRATA_COMMAND, 4, takes, 0, [=](Time begin) { written(begin + takes); }, {}});
  }
  void let_go(ProcessId from) {
    Node& node = nodes_[from];
    if (node.open_bytes == 0) return;
    leave_later({from, node.to, node.open_bytes, now_, false, true});
    node.open_bytes = 0;
  }

  void leave_later(const Burst& burst) {
    nodes_[burst.from].leaving.push_back(burst);
    if (!nodes_[burst.from].leaving_now) leave(burst.from);
  }
  void leave(ProcessId from) {
    Node& node = nodes_[from];
    node.leaving_now = !node.leaving.empty();
    if (!node.leaving_now) return;
    const Burst burst = node.leaving.front();
    if (burst.ready > now_) {
      at(burst.ready, [=, this] { leave(from); });
      return;
    }
    const auto stamp = [=, this] {
      nodes_[from].leaving.pop_front();
      cross(burst);
      leave(from);
    };
    if (burst.by_bus)
      want_bus(from, {SUBSTRATA_READ, burst.bytes, burst_takes(burst.bytes), 0, {}, stamp});
    else
      stamp();
  }

  void cross(Burst burst) {
    burst.stamped = now_;
    Node& node = nodes_[burst.from];
    node.wire_free = std::max(node.wire_free, now_) + burst.bytes * p_.ports.mesh_byte;
    const int across = std::abs(static_cast<int>(burst.from % width_) - static_cast<int>(burst.to % width_));
    const int down = std::abs(static_cast<int>(burst.from / width_) - static_cast<int>(burst.to / width_));
    const auto routers = static_cast<uint64_t>(across + down + 1);
    at(node.wire_free + p_.ports.interface + routers * p_.ports.hop, [=, this] { arrive(burst); });
  }
  void arrive(const Burst& burst) {
    want_bus(burst.to,
             {SUBSTRATA_WRITE, burst.bytes, burst_takes(burst.bytes), 0,
              [=, this](Time begin) {
                nodes_[burst.to].taken = begin;
                nodes_[burst.to].any_taken = true;
                seen_.arrivals[{burst.from, burst.to}].emplace_back(burst.bytes, burst.stamped, begin);
              },
              [=, this] {
                if (burst.category >= 0)
                  seen_.commands[burst.to].emplace_back(now_, burst.category);
                else if (burst.last)
                  seen_.whole[{burst.from, burst.to}].push_back(now_);
              }});
  }

  const NetworkParameters p_;
  std::vector<Node> nodes_;
  uint32_t width_ = 1;
  Seen seen_;
};

// ---------------------------------------------------------------------------------------------- the network itself

class Nothing final : public workloads::Program {
 public:
  void lay_out(workloads::Memory&, ProcessId) override {}
  void run(workloads::Process&) override {}
  std::string check(const workloads::Memory&) override { return {}; }
};

// Hands the steps to the network at their times.
class Driver final : public workloads::Machine, public svm::PacketSink, private workloads::EventSink {
 public:
  Driver(Network& network, const std::vector<Step>& steps, Seen& seen)
      : network_(network), steps_(steps), seen_(seen) {}
  std::string_view name() const override { return "driver"; }
  void begin(Engine& engine) override {
    engine_ = &engine;
    network_.begin(engine, *this);
    free_.resize(engine.processes());
    for (uint64_t i = 0; i < steps_.size(); ++i) engine.schedule(steps_[i].at, *this, i);
  }
  workloads::ProcessView view(ProcessId) override { return {engine_->memory().data()}; }
  std::size_t advance(ProcessId, std::span<const workloads::Operation> all, Time&, Time) override {
    return all.size();
  }
  void on_lock(ProcessId, std::uint32_t, Time) override {}
  void on_unlock(ProcessId, std::uint32_t, Time) override {}
  void on_barrier(ProcessId process, std::uint32_t, Time now) override { engine_->resume(process, now); }
  void on_send(ProcessId, workloads::MessageNumber, Time) override {}
  Time on_receive(ProcessId, const workloads::Message&, Time now) override { return now; }
  void arrive(svm::Packet&& packet, Time now) override {
    seen_.whole[{packet.from, packet.to}].push_back(now);
  }

 private:
  void on_event(Time now, std::uint64_t number) override {
    const Step& step = steps_[number];
    Time& free = free_[step.from];
    if (free > now) {
      engine_->schedule(free, *this, number);
      return;
    }
    begin(step, now);
    free += kStep;
  }
  void begin(const Step& step, Time now) {
    Time& free = free_[step.from];
    free = now;
    seen_.begun[step.from].push_back(now);
    using workloads::Operation;
    using workloads::OperationKind;
    switch (step.what) {
      case What::kSend: {
        svm::Packet packet;
        packet.kind = PacketKind::kUser;
        packet.from = step.from;
        packet.to = step.to;
        packet.bytes = step.bytes;
        free = network_.send(std::move(packet), now);
        break;
      }
      case What::kStore:
        free = network_.update(step.from, step.to, step.address, std::vector<std::byte>(step.bytes), now);
        break;
      case What::kFlush:
        network_.flush(step.from, now);
        break;
      case What::kEnter:
        free = now + network_.mark(step.from, Operation(OperationKind::kEnter, step.bytes), now);
        break;
      case What::kLeave:
        free = now + network_.mark(step.from, Operation(OperationKind::kLeave, 0), now);
        break;
    }
  }
  Network& network_;
  const std::vector<Step>& steps_;
  Seen& seen_;
  Engine* engine_ = nullptr;
  std::vector<Time> free_;  // when the node's processor is
};

class Onlooker {
 public:
  explicit Onlooker(Seen& seen) : seen_(seen) {
    EXPECT_EQ(observer_.try_create<&Onlooker::take>(*this), 0);
    EXPECT_EQ(observer_.try_subscribe("shrimp.node*"), 0);
  }

 private:
  void take(const substrata_transaction* batch, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const substrata_transaction& t = batch[i];
      if (t.state == SUBSTRATA_ARRIVED)
        seen_.arrivals[{t.initiator, t.target}].emplace_back(t.size, t.start, t.time);
      else if (t.size == 0)
        seen_.commands[t.target].emplace_back(t.time, t.detail);
      else
        seen_.uses[t.target].emplace_back(t.kind, t.size, t.start, t.time);
    }
  }
  Seen& seen_;
  client::feed::Observer observer_;
};

Seen run(const NetworkParameters& parameters, ProcessId nodes, const std::vector<Step>& steps) {
  Seen seen;
  {
    Onlooker onlooker(seen);
    Network network(parameters);
    Driver driver(network, steps, seen);
    Nothing nothing;
    workloads::Memory memory;
    nothing.lay_out(memory, nodes);
    memory.commit();
    Engine engine(nothing, driver, memory, {.processes = nodes});
    const workloads::Outcome outcome = engine.run();
    EXPECT_TRUE(outcome.completed) << outcome.error;
    substrata_flush();
  }
  seen.sort();
  return seen;
}

std::vector<Step> steps_of(std::mt19937& random, uint32_t nodes) {
  const auto below = [&](uint32_t most) {
    return std::uniform_int_distribution<uint32_t>(0, most - 1)(random);
  };
  std::vector<Step> steps;
  Time now = 0;
  std::vector<uint64_t> address(nodes, 4096);
  for (int i = 0; i < 300; ++i) {
    // Bursts, now and then a pause.
    now += below(8) == 0 ? Time{below(200'000)} * 1001 : Time{below(2'000)} * 1003;
    const ProcessId from = below(nodes);
    const ProcessId to = (from + 1 + below(nodes - 1)) % nodes;
    switch (below(6)) {
      case 0:
        steps.push_back({now, What::kSend, from, to, below(3) == 0 ? below(5000) : below(300)});
        break;
      case 1:
        steps.push_back({now, What::kFlush, from});
        break;
      case 2:
        steps.push_back({now, What::kEnter, from, 0, 1 + below(30)});
        break;
      case 3:
        steps.push_back({now, What::kLeave, from});
        break;
      default: {
        const uint32_t bytes = 4 << below(2);
        if (below(4) == 0) address[from] += 64;
        steps.push_back({now, What::kStore, from, to, bytes, address[from]});
        address[from] += bytes;
      }
    }
  }
  return steps;
}

class ShrimpNetworkOracle : public testing::TestWithParam<uint32_t> {};

TEST_P(ShrimpNetworkOracle, StampsTakesAndStoresEveryPacketAtTheSameTimes) {  // SH-20, SH-21
  for (uint32_t seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    const uint32_t nodes = 2 + seed % 8;
    NetworkParameters parameters;
    parameters.categories = seed % 3 != 0;
    if (seed % 3 == 2) parameters.chosen_sender = seed % nodes;
    parameters.ports.burst = GetParam();
    const std::vector<Step> steps = steps_of(random, nodes);
    const Seen ours = run(parameters, nodes, steps);
    const Seen slow = SlowNetwork(parameters, nodes).run(steps);
    EXPECT_GT(ours.uses.size(), 1u);
    EXPECT_EQ(ours.begun, slow.begun) << "seed " << seed;
    EXPECT_EQ(ours.arrivals, slow.arrivals) << "seed " << seed;
    EXPECT_EQ(ours.whole, slow.whole) << "seed " << seed;
    EXPECT_EQ(ours.uses, slow.uses) << "seed " << seed;
    EXPECT_EQ(ours.commands, slow.commands) << "seed " << seed;
  }
}

// Not of 16 bytes: trains of such small bursts lock to each other until packets of several nodes come at the same
// picosecond, and their order is then anybody's.
INSTANTIATE_TEST_SUITE_P(Bursts, ShrimpNetworkOracle, testing::Values(100, 224, 4080));

}  // namespace
}  // namespace substrata::shrimp::test
