// A rule that notices a bottleneck while a program runs: one latency of one window against an idle cluster's.
#pragma once

#include <substrata/myrinet.h>

#include <cstdint>
#include <mutex>
#include <vector>

#include "models/counting/counting.hpp"
#include "myrinet/probes.hpp"

namespace substrata::myrinet {

// Each latency of a packet of so many bytes that is alone in the modelled cluster, in nanoseconds.
class IdleLatencies {
 public:
  IdleLatencies();  // may throw std::bad_alloc
  // Bytes up to a packet's most.
  double of(uint32_t latency, uint32_t bytes) const noexcept;

 private:
  static constexpr uint32_t kStep = 64;
  std::vector<double> ns_[kLatencies];  // of 0, kStep, 2 kStep, ... bytes; between them a straight line
};

// The rule, without the feed: windows of each node by themselves. Thread-compatible.
class Windows {
 public:
  // The rule is right.
  Windows(const substrata_myrinet_rule& rule, const IdleLatencies& idle);
  // A stage seen at the interface of `node`. True: it ended a window beyond the limit, which is in *out.
  bool take(uint32_t node, const substrata_transaction& stage, substrata_myrinet_firing* out) noexcept;

 private:
  struct Window {
    uint64_t number = 0;
    uint64_t packets = 0;
    double ns = 0;
    double idle_ns = 0;
  };
  const substrata_myrinet_rule rule_;
  const IdleLatencies& idle_;
  std::vector<Window> nodes_;
};

// The rule on the feed.
class BottleneckWatch final : public counting::ObservingInstrument {
 public:
  // `function` may be null.
  BottleneckWatch(const substrata_myrinet_rule& rule, const IdleLatencies& idle,
                  substrata_myrinet_firing_function function, void* owner);
  ~BottleneckWatch() override;
  // How often it has fired, and the last time if it has.
  uint64_t fired(substrata_myrinet_firing* last) const;

 protected:
  void observe(const substrata_transaction* batch, size_t count) noexcept override;

 private:
  const substrata_myrinet_firing_function function_;
  void* const owner_;
  ProbeRoles roles_;
  Windows windows_;
  mutable std::mutex mutex_;  // of what follows
  uint64_t fired_ = 0;
  substrata_myrinet_firing last_{};
};

}  // namespace substrata::myrinet
