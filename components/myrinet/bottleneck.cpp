// Sums of windows, and the idle cluster they are compared with.
#include "myrinet/bottleneck.hpp"

#include <substrata/result.hpp>

#include <algorithm>

#include "myrinet/cluster.hpp"

namespace substrata::myrinet {
namespace {

// Nobody waits for the packets; their stages are kept.
class Alone final : private Delivery, private StageWatch {
 public:
  // Of one packet in a cluster of its own, whose clocks do not differ.
  explicit Alone(uint32_t bytes) {
    ClusterParameters parameters;
    parameters.settled_error = 0;
    Cluster cluster(parameters, *this, false);
    cluster.watch(this);
    Message message;
    message.from = 0;
    message.to = 1;
    message.bytes = bytes;
    cluster.post(message, 0);
    cluster.run_out();
  }
  int64_t ns[kLatencies] = {};

 private:
  void delivered(const Message&, Time, Time) override {}
  void stage(std::uint32_t, const substrata_transaction& stage) noexcept override {
    if (const int latency = latency_of(stage.state); latency >= 0)
      ns[latency] = static_cast<int64_t>(stage.time - stage.start) / kPicosecondsPerNanosecond;
  }
};

}  // namespace

IdleLatencies::IdleLatencies() {
  for (uint32_t bytes = 0; bytes <= ClusterParameters{}.packet_bytes; bytes += kStep) {
    const Alone alone(bytes);
    for (uint32_t latency = 0; latency < kLatencies; ++latency)
      ns_[latency].push_back(static_cast<double>(alone.ns[latency]));
  }
}

double IdleLatencies::of(uint32_t latency, uint32_t bytes) const noexcept {
  const std::vector<double>& ns = ns_[latency];
  const size_t below = std::min<size_t>(bytes / kStep, ns.size() - 2);
  const double share = static_cast<double>(bytes - below * kStep) / kStep;
  return ns[below] + (ns[below + 1] - ns[below]) * share;
}

Windows::Windows(const substrata_myrinet_rule& rule, const IdleLatencies& idle)
    : rule_(rule), idle_(idle), nodes_(kMostNodes) {}

bool Windows::take(uint32_t node, const substrata_transaction& stage,
                   substrata_myrinet_firing* out) noexcept {
  if (stage.kind != SUBSTRATA_PACKET || latency_of(stage.state) != static_cast<int>(rule_.latency))
    return false;
  if (node >= nodes_.size() || (rule_.node != SUBSTRATA_MYRINET_ALL && rule_.node != node)) return false;
  if (rule_.program != SUBSTRATA_MYRINET_ALL && rule_.program != stage.program) return false;
  Window& window = nodes_[node];
  const uint64_t ns = stage.time / uint64_t{kPicosecondsPerNanosecond};
  const uint64_t number = ns / rule_.window_ns;
  bool fires = false;
  if (number > window.number) {
    const double ratio = window.packets != 0 ? window.ns / window.idle_ns : 0;
    fires = window.packets >= std::max(rule_.least_packets, uint32_t{1}) && ratio > rule_.ratio;
    if (fires) {
      out->node = node;
      out->begin_ns = window.number * rule_.window_ns;
      out->packets = window.packets;
      out->average_ns = window.ns / static_cast<double>(window.packets);
      out->idle_ns = window.idle_ns / static_cast<double>(window.packets);
      out->ratio = ratio;
    }
    window = Window{};
    window.number = number;
  }
  ++window.packets;
  const int64_t whole_ns = static_cast<int64_t>(stage.time - stage.start) / kPicosecondsPerNanosecond;
  window.ns += static_cast<double>(whole_ns);
  window.idle_ns += idle_.of(rule_.latency, stage.size);
  return fires;
}

BottleneckWatch::BottleneckWatch(const substrata_myrinet_rule& rule, const IdleLatencies& idle,
                                 substrata_myrinet_firing_function function, void* owner)
    : ObservingInstrument(kLanaiProbes), function_(function), owner_(owner), windows_(rule, idle) {}

BottleneckWatch::~BottleneckWatch() { end_observation(); }

uint64_t BottleneckWatch::fired(substrata_myrinet_firing* last) const {
  const std::lock_guard lock(mutex_);
  if (last != nullptr && fired_ != 0) *last = last_;
  return fired_;
}

void BottleneckWatch::observe(const substrata_transaction* batch, size_t count) noexcept {
  const ProbeRole role = roles_.of(batch[0].probe);
  if (!role.known) return;
  for (size_t i = 0; i < count; ++i) {
    auto firing = client::sized<substrata_myrinet_firing>();
    if (!windows_.take(role.node, batch[i], &firing)) continue;
    {
      const std::lock_guard lock(mutex_);
      ++fired_;
      last_ = firing;
    }
    if (function_ != nullptr) function_(owner_, &firing);
  }
}

}  // namespace substrata::myrinet
