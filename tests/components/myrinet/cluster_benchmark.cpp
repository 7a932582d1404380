// Packets a second through the cluster model on one core, beside SimGrid's messages where its development
// package is installed, else beside an event queue that does nothing else.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <queue>
#include <vector>

#include "myrinet/cluster.hpp"
#include "myrinet/recorder.hpp"

#ifdef SUBSTRATA_HAVE_SIMGRID
#include <simgrid/s4u.hpp>
#endif

namespace {

using namespace substrata::myrinet;

constexpr std::uint32_t kNodes = 8;
constexpr std::uint32_t kAhead = 4;  // messages of a node under way
constexpr int kRounds = 7;
std::uint64_t packets = 1'000'000;  // a round

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The same for all: each node sends to pseudo-random others, sizes up to one packet.
struct Random {
  std::uint64_t state = 1;
  std::uint32_t below(std::uint32_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>((state >> 33) % limit);
  }
  std::uint32_t other(std::uint32_t node) { return (node + 1 + below(kNodes - 1)) % kNodes; }
  std::uint32_t bytes() { return 1 + below(4096); }
};

// Posts the next message when one is delivered.
class Traffic final : public Delivery {
 public:
  void run(Cluster& cluster) {
    cluster_ = &cluster;
    left_ = packets;
    for (std::uint32_t node = 0; node < kNodes; ++node)
      for (std::uint32_t i = 0; i < kAhead; ++i) post(node, 0);
    cluster.run_out();
  }
  void delivered(const Message& message, Time, Time now) override {
    if (left_ != 0) post(message.from, now);
  }

 private:
  void post(std::uint32_t node, Time now) {
    Message message;
    message.from = node;
    message.to = random_.other(node);
    message.bytes = random_.bytes();
    cluster_->post(message, now);
    --left_;
  }
  Cluster* cluster_ = nullptr;
  std::uint64_t left_ = 0;
  Random random_;
};

// The monitors of all interfaces.
class Watch final : public StageWatch {
 public:
  void stage(std::uint32_t node, const substrata_transaction& stage) noexcept override {
    memory_.take(node, stage);
  }
  std::uint64_t recorded() {
    memory_.settle();
    return memory_.packets();
  }

 private:
  MonitorMemory memory_{Shape{}};
};

double run_model(bool watched) {
  Traffic traffic;
  Cluster cluster(ClusterParameters{}, traffic, false);
  Watch watch;
  if (watched) cluster.watch(&watch);
  const double begin = processor_seconds();
  traffic.run(cluster);
  if (cluster.counts().received != packets || (watched && watch.recorded() != packets)) std::abort();
  const double taken = processor_seconds() - begin;
  return static_cast<double>(packets) / taken;
}

// As many entries as packets have events, in a queue of as many as are under way.
double run_queue() {
  constexpr std::uint64_t kEvents = 4;  // of a packet: posted, fetched, arrived, delivered
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> queue;
  Random random;
  for (std::uint32_t i = 0; i < kNodes * kAhead; ++i) queue.push(random.below(1000));
  std::uint64_t sum = 0;
  const double begin = processor_seconds();
  for (std::uint64_t i = 0; i < packets * kEvents; ++i) {
    const std::uint64_t now = queue.top();
    queue.pop();
    sum += now;
    queue.push(now + 1 + random.below(1000));
  }
  const double taken = processor_seconds() - begin;
  if (sum == 0) std::abort();
  return static_cast<double>(packets) / taken;
}

#ifdef SUBSTRATA_HAVE_SIMGRID
// The same traffic: eight hosts on one switch with links of 160 MB/s, four messages of each under way.
// SimGrid keeps one simulation a process, so each run has a process of its own.
double simgrid_messages() {
  constexpr std::uint32_t kMessages = 40'000;
  char name[] = "bench_myrinet";
  char quiet[] = "--log=root.thresh:critical";
  char* arguments[] = {name, quiet, nullptr};
  int count = 2;
  simgrid::s4u::Engine engine(&count, arguments);
  auto* const zone = simgrid::s4u::create_star_zone("cluster");
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    const auto* const host = zone->create_host("node" + std::to_string(i), 1e9);
    const auto* const link =
        zone->create_split_duplex_link("link" + std::to_string(i), 160e6)->set_latency(5e-7)->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr,
                    {{link, simgrid::s4u::LinkInRoute::Direction::UP}}, true);
  }
  zone->seal();
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    auto* const host = simgrid::s4u::Host::by_name("node" + std::to_string(node));
    // As many senders at a node as it has messages under way.
    for (std::uint32_t i = 0; i < kAhead; ++i)
      simgrid::s4u::Actor::create("sender", host, [node, i] {
        static int content = 0;
        Random random{node * kAhead + i + 1};
        for (std::uint32_t k = 0; k < kMessages / (kNodes * kAhead); ++k)
          simgrid::s4u::Mailbox::by_name("box" + std::to_string(random.other(node)))
              ->put(&content, random.bytes());
      });
    auto receiver = simgrid::s4u::Actor::create("receiver", host, [node] {
      auto* const box = simgrid::s4u::Mailbox::by_name("box" + std::to_string(node));
      for (;;) box->get<int>();
    });
    receiver->daemonize();
  }
  const double begin = processor_seconds();
  engine.run();
  return kMessages / (processor_seconds() - begin);
}

double run_simgrid() {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return 0;
  if (child == 0) {
    const double rate = simgrid_messages();
    const bool written = write(ends[1], &rate, sizeof rate) == static_cast<ssize_t>(sizeof rate);
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  double rate = 0;
  if (read(ends[0], &rate, sizeof rate) != static_cast<ssize_t>(sizeof rate)) rate = 0;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return rate;
}
#endif

struct Rates {
  std::vector<double> all;
  void print(const char* what, const char* unit) {
    std::sort(all.begin(), all.end());
    std::printf("%-60s %10.3f million %s a second (%.3f to %.3f)\n", what, all[all.size() / 2] / 1e6, unit,
                all.front() / 1e6, all.back() / 1e6);
  }
  double median() const { return all[all.size() / 2]; }
};

}  // namespace

// bench_myrinet [packets of a round]
int main(int argc, char** argv) {
  if (argc > 1) packets = std::strtoull(argv[1], nullptr, 10);
  if (packets < kNodes * kAhead) return 2;
  Rates model;
  Rates monitored;
  Rates queue;
  Rates simgrid;
  for (int round = 0; round < kRounds; ++round) {
    model.all.push_back(run_model(false));
    monitored.all.push_back(run_model(true));
    queue.all.push_back(run_queue());
#ifdef SUBSTRATA_HAVE_SIMGRID
    simgrid.all.push_back(run_simgrid());
#endif
  }
  std::printf("one core, processor time, %d rounds in turns: median (least to most)\n", kRounds);
  model.print("cluster of 8 nodes", "packets");
  monitored.print("the same with the monitor's statistics at each interface", "packets");
  queue.print("floor: four events a packet through std::priority_queue", "packets");
  if (simgrid.all.empty()) {
    std::printf("SimGrid was not there when this was built (Debian: libsimgrid-dev)\n");
  } else {
    simgrid.print("SimGrid, the same traffic", "messages");
    std::printf("the cluster with monitors takes %.4f of SimGrid's time a message\n",
                simgrid.median() / monitored.median());
  }
  return 0;
}
