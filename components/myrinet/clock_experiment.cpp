// The experiment with the global clock: a simulated hour of synchronisations under asymmetric load.
#include "myrinet/clock_experiment.hpp"

#include <algorithm>

namespace substrata::myrinet {
namespace {

constexpr Time kBefore = 1000 * kMicrosecond;  // the streams begin before a round
constexpr Time kAfter = 3000 * kMicrosecond;   // and end after its begin

// Streams that begin anew with each delivery, a few packets ahead.
class Streams final : public Delivery {
 public:
  explicit Streams(std::uint32_t nodes) {
    routes_.push_back({nodes - 1, 0});
    if (nodes > 3) routes_.push_back({1, 2});
  }
  void on(Cluster& cluster, Time at) {
    constexpr int kAhead = 4;
    cluster_ = &cluster;
    running_ = true;
    for (const Route& route : routes_)
      for (int i = 0; i < kAhead; ++i) post(route.from, route.to, at);
  }
  void off() { running_ = false; }
  void delivered(const Message& message, Time, Time now) override {
    if (running_) post(message.from, message.to, now);
  }

 private:
  struct Route {
    std::uint32_t from;
    std::uint32_t to;
  };
  void post(std::uint32_t from, std::uint32_t to, Time at) {
    Message message;
    message.from = from;
    message.to = to;
    message.bytes = 4096;
    cluster_->post(message, at);
  }
  std::vector<Route> routes_;
  Cluster* cluster_ = nullptr;
  bool running_ = false;
};

}  // namespace

ClusterCounts run_clock_experiment(const ClusterParameters& parameters, Time duration, bool load) {
  Streams streams(parameters.nodes);
  Cluster cluster(parameters, streams, false);
  while (cluster.next() <= duration) {
    const Time round = cluster.next();
    if (load) streams.on(cluster, std::max(cluster.now(), round > kBefore ? round - kBefore : 0));
    cluster.run_until(round + kAfter);
    streams.off();
    cluster.run_out();
  }
  cluster.run_until(duration);
  cluster.measure_clocks();
  return cluster.counts();
}

}  // namespace substrata::myrinet
