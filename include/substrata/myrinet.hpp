// The Myrinet monitor for C++: recordings that end with their scope, latencies with their unit in the type,
// every refusal a message. Header-only over substrata/myrinet.h.
//
//   namespace myrinet = substrata::myrinet_monitor;
//   myrinet::Recording recording = myrinet::Recording::start(myrinet::Shape{.programs = 2}).value();
//   ...                                   // substrata_run("myrinet", ...)
//   recording.stop();
//   for (const myrinet::Point& point : myrinet::signature(myrinet::Axis::kSize).value())
//     use(point.first, point.of(myrinet::Latency::kSource).average);
//
// What may be refused gives a Result, as in substrata/substrata.hpp. The monitor is there once in a process:
// all recordings fill the same statistics. Unless a class says otherwise every function may be called from
// any thread, as those of substrata/myrinet.h. All values are modelled.
#ifndef SUBSTRATA_MYRINET_HPP
#define SUBSTRATA_MYRINET_HPP

#include <substrata/myrinet.h>
#include <substrata/result.hpp>
#include <substrata/substrata.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace substrata::myrinet_monitor {

using client::Bytes;
using client::Error;
using client::Packets;
using client::Result;

// Means and deviations have fractions.
using Nanoseconds = std::chrono::duration<double, std::nano>;

enum class Latency : std::uint8_t {
  kSource = SUBSTRATA_MYRINET_SOURCE,
  kLanai = SUBSTRATA_MYRINET_LANAI,
  kNet = SUBSTRATA_MYRINET_NET,
  kDest = SUBSTRATA_MYRINET_DEST
};
enum class Axis : std::uint8_t {
  kSize = SUBSTRATA_MYRINET_BY_SIZE,
  kSender = SUBSTRATA_MYRINET_BY_SENDER,
  kReceiver = SUBSTRATA_MYRINET_BY_RECEIVER,
  kType = SUBSTRATA_MYRINET_BY_TYPE
};
enum class PacketType : std::uint8_t {
  kData = SUBSTRATA_MYRINET_DATA,
  kMessage = SUBSTRATA_MYRINET_MESSAGE,
  kPageRequest = SUBSTRATA_MYRINET_PAGE_REQUEST,
  kPageReply = SUBSTRATA_MYRINET_PAGE_REPLY,
  kDiff = SUBSTRATA_MYRINET_DIFF,
  kLock = SUBSTRATA_MYRINET_LOCK,
  kBarrier = SUBSTRATA_MYRINET_BARRIER,
  kProtocol = SUBSTRATA_MYRINET_PROTOCOL,
  kCollective = SUBSTRATA_MYRINET_COLLECTIVE,
  kStream = SUBSTRATA_MYRINET_STREAM
};
// Of the communication layer above the packets.
enum class OperationKind : std::uint8_t {
  kPageFetch = SUBSTRATA_MYRINET_PAGE_FETCH,
  kPageHome = SUBSTRATA_MYRINET_PAGE_HOME,
  kLockAcquire = SUBSTRATA_MYRINET_LOCK_ACQUIRE,
  kLockRelease = SUBSTRATA_MYRINET_LOCK_RELEASE,
  kBarrier = SUBSTRATA_MYRINET_BARRIER_PART,
  kMessage = SUBSTRATA_MYRINET_MESSAGE_SEND,
  kBroadcast = SUBSTRATA_MYRINET_BROADCAST,
  kStreamOpen = SUBSTRATA_MYRINET_STREAM_OPEN,
  kStreamWrite = SUBSTRATA_MYRINET_STREAM_WRITE,
  kStreamRead = SUBSTRATA_MYRINET_STREAM_READ,
  kStreamClose = SUBSTRATA_MYRINET_STREAM_CLOSE,
  kCollective = SUBSTRATA_MYRINET_OTHER_COLLECTIVE
};
// "page-fetch", ...
inline const char* name_of(OperationKind kind) noexcept {
  return substrata_myrinet_operation_name(static_cast<std::uint32_t>(kind));
}

// One interface, or one program tag; without a number all of them together.
struct Node {
  std::optional<std::uint32_t> number;
};
struct Program {
  std::optional<std::uint32_t> tag;
};
// Of a carried program (Carried below); without a number all of them together.
struct Phase {
  std::optional<std::uint32_t> number;
};

namespace detail {
inline Error refusal(int code) { return {code, substrata_myrinet_error()}; }
inline std::uint32_t or_all(std::optional<std::uint32_t> number) {
  return number.value_or(SUBSTRATA_MYRINET_ALL);
}
}  // namespace detail

// How the statistics of one interface are laid out; the defaults are the paper's.
struct Shape {
  std::uint32_t nodes = 8;
  std::uint32_t programs = 1;
  std::uint32_t length_bins = 128;
  std::uint32_t length_bin_bytes = 32;
  std::uint32_t latency_bins = 64;
  std::array<std::chrono::nanoseconds, SUBSTRATA_MYRINET_LATENCIES> latency_bin = {
      std::chrono::microseconds(1), std::chrono::microseconds(1), std::chrono::microseconds(2),
      std::chrono::microseconds(1)};

  // Refused: a width that is negative or above four seconds.
  Result<substrata_myrinet_shape> plain() const {
    auto out = client::sized<substrata_myrinet_shape>();
    out.nodes = nodes;
    out.programs = programs;
    out.length_bins = length_bins;
    out.length_bin_bytes = length_bin_bytes;
    out.latency_bins = latency_bins;
    for (std::size_t i = 0; i < latency_bin.size(); ++i) {
      if (latency_bin[i].count() < 0 || latency_bin[i].count() > std::int64_t{UINT32_MAX})
        return Error{PAPI_EINVAL, "a latency's bin of " + std::to_string(latency_bin[i].count()) +
                                      " ns is asked for; 0 to 4294967295 can be set in the monitor"};
      out.latency_bin_ns[i] = static_cast<std::uint32_t>(latency_bin[i].count());
    }
    return out;
  }
  // Of each interface's memory; refused where there is no such shape.
  Result<Bytes> memory() const {
    const Result<substrata_myrinet_shape> shape = plain();
    if (!shape) return shape.error();
    std::uint64_t bytes = 0;
    if (const int code = substrata_myrinet_memory(&*shape, &bytes); code != 0) return detail::refusal(code);
    return Bytes{static_cast<std::int64_t>(bytes)};
  }
};

// Recording until stop() or the end of its scope. Movable. Thread-compatible.
class [[nodiscard]] Recording {
 public:
  // Adds to what is there.
  static Result<Recording> start() {
    if (const int code = substrata_myrinet_start(); code != 0) return detail::refusal(code);
    return Recording();
  }
  // Forgets what was recorded and begins with this shape. Refused while another recording is under way.
  static Result<Recording> start(const Shape& shape) {
    const Result<substrata_myrinet_shape> plain = shape.plain();
    if (!plain) return plain.error();
    if (const int code = substrata_myrinet_configure(&*plain); code != 0) return detail::refusal(code);
    return start();
  }
  Recording(Recording&& other) noexcept : running_(std::exchange(other.running_, false)) {}
  Recording& operator=(Recording&& other) noexcept {
    if (this != &other) {
      stop();
      running_ = std::exchange(other.running_, false);
    }
    return *this;
  }
  ~Recording() { stop(); }
  void stop() noexcept {
    if (std::exchange(running_, false)) substrata_myrinet_stop();
  }
  bool running() const noexcept { return running_; }

 private:
  Recording() = default;
  bool running_ = true;
};

// What was recorded, and stages of packets that were not, because their node or program does not fit.
struct Recorded {
  Packets packets;
  std::uint64_t left_out = 0;
};
inline Result<Recorded> recorded() {
  std::uint64_t packets = 0;
  Recorded out;
  if (const int code = substrata_myrinet_recorded(&packets, &out.left_out); code != 0)
    return detail::refusal(code);
  out.packets = Packets{static_cast<std::int64_t>(packets)};
  return out;
}
inline Result<void> clear() {
  if (const int code = substrata_myrinet_clear(); code != 0) return detail::refusal(code);
  return {};
}

// One point of a performance signature.
struct Statistics {
  Nanoseconds average{};
  Nanoseconds deviation{};
  Nanoseconds median{};  // upper ends of histogram bins
  Nanoseconds p99{};
};
struct Point {
  std::uint32_t first = 0;  // x: bytes, node or type
  std::uint32_t last = 0;   // by size the longest of the bin, else as first
  Packets sent;
  Packets received;
  std::array<Statistics, SUBSTRATA_MYRINET_LATENCIES> latencies{};
  const Statistics& of(Latency latency) const noexcept {
    return latencies[static_cast<std::size_t>(latency)];
  }
};

namespace detail {
// All points of a signature, which may grow while it is asked for.
template <class Read>
Result<std::vector<Point>> points(const Read& read) {
  std::vector<substrata_myrinet_point> plain;
  for (;;) {
    std::uint32_t count = 0;
    const auto capacity = static_cast<std::uint32_t>(plain.size());
    if (const int code = read(plain.empty() ? nullptr : plain.data(), capacity, &count); code != 0)
      return refusal(code);
    plain.resize(count);
    if (count <= capacity) break;
  }
  std::vector<Point> out;
  out.reserve(plain.size());
  for (const substrata_myrinet_point& one : plain) {
    Point point;
    point.first = one.x;
    point.last = one.x_end - 1;
    point.sent = Packets{static_cast<std::int64_t>(one.sent)};
    point.received = Packets{static_cast<std::int64_t>(one.received)};
    for (std::size_t i = 0; i < point.latencies.size(); ++i)
      point.latencies[i] = {Nanoseconds(one.average_ns[i]), Nanoseconds(one.deviation_ns[i]),
                            Nanoseconds(one.median_ns[i]), Nanoseconds(one.p99_ns[i])};
    out.push_back(point);
  }
  return out;
}
}  // namespace detail

// Of what was recorded: the points that have packets, by increasing x.
inline Result<std::vector<Point>> signature(Axis axis, Node node = {}, Program program = {}) {
  return detail::points([&](substrata_myrinet_point* out, std::uint32_t capacity, std::uint32_t* count) {
    return substrata_myrinet_signature(detail::or_all(node.number), detail::or_all(program.tag),
                                       static_cast<substrata_myrinet_axis>(axis), out, capacity, count);
  });
}

// The histogram of one latency for one x of an axis: counts[i] packets took from i to i + 1 widths, the last
// bin everything longer. `shape` is the one in use.
inline Result<std::vector<std::uint64_t>> histogram(const Shape& shape, Latency latency, Axis axis,
                                                    std::uint32_t x, Node node = {}, Program program = {}) {
  std::vector<std::uint64_t> counts(shape.latency_bins);
  if (const int code = substrata_myrinet_histogram(detail::or_all(node.number), detail::or_all(program.tag),
                                                   static_cast<substrata_myrinet_latency>(latency),
                                                   static_cast<substrata_myrinet_axis>(axis), x,
                                                   counts.data(), shape.latency_bins);
      code != 0)
    return detail::refusal(code);
  return counts;
}

// The operations of one kind that were recorded, as substrata_myrinet_operation_point.
struct Operations {
  OperationKind kind{};
  std::uint64_t ended = 0;
  Packets packets;
  Bytes bytes;
  Nanoseconds average{};  // from begin to end
  Nanoseconds deviation{};
  Nanoseconds median{};  // upper ends of histogram bins
  Nanoseconds p90{};
  Nanoseconds p99{};
  Nanoseconds longest{};
  // Each latency, summed over an operation's packets, on average.
  std::array<Nanoseconds, SUBSTRATA_MYRINET_LATENCIES> parts{};
  Nanoseconds of(Latency latency) const noexcept { return parts[static_cast<std::size_t>(latency)]; }
};
namespace detail {
// What `ask` writes into the array it gets, with the number of entries.
template <class Ask>
Result<std::vector<Operations>> operations_of(Ask&& ask) {
  std::array<substrata_myrinet_operation_point, SUBSTRATA_MYRINET_OPERATION_KINDS> plain{};
  std::uint32_t count = 0;
  if (const int code = ask(plain.data(), static_cast<std::uint32_t>(plain.size()), &count); code != 0)
    return detail::refusal(code);
  std::vector<Operations> out;
  for (std::uint32_t i = 0; i < count; ++i) {
    const substrata_myrinet_operation_point& one = plain[i];
    Operations made;
    made.kind = static_cast<OperationKind>(one.kind);
    made.ended = one.count;
    made.packets = Packets{static_cast<std::int64_t>(one.packets)};
    made.bytes = Bytes{static_cast<std::int64_t>(one.bytes)};
    made.average = Nanoseconds(one.average_ns);
    made.deviation = Nanoseconds(one.deviation_ns);
    made.median = Nanoseconds(one.median_ns);
    made.p90 = Nanoseconds(one.p90_ns);
    made.p99 = Nanoseconds(one.p99_ns);
    made.longest = Nanoseconds(one.longest_ns);
    for (std::size_t part = 0; part < made.parts.size(); ++part)
      made.parts[part] = Nanoseconds(one.part_ns[part]);
    out.push_back(made);
  }
  return out;
}
}  // namespace detail

// By kind: those that have any. The node is the one whose process began them.
inline Result<std::vector<Operations>> operations(Node node = {}, Program program = {}) {
  return detail::operations_of(
      [&](substrata_myrinet_operation_point* out, std::uint32_t capacity, std::uint32_t* count) {
        return substrata_myrinet_operations(detail::or_all(node.number), detail::or_all(program.tag), out,
                                            capacity, count);
      });
}

// A bin of the histogram of an operation's duration; the last ends nowhere.
struct DurationBin {
  std::chrono::nanoseconds begin{};
  std::uint64_t count = 0;
};
inline Result<std::vector<DurationBin>> histogram(OperationKind kind, Node node = {}, Program program = {}) {
  std::array<std::uint64_t, SUBSTRATA_MYRINET_OPERATION_BINS> counts{};
  if (const int code = substrata_myrinet_operation_histogram(
          detail::or_all(node.number), detail::or_all(program.tag), static_cast<std::uint32_t>(kind),
          counts.data(), static_cast<std::uint32_t>(counts.size()));
      code != 0)
    return detail::refusal(code);
  std::vector<DurationBin> out;
  for (std::uint32_t bin = 0; bin < counts.size(); ++bin)
    out.push_back({std::chrono::nanoseconds(substrata_myrinet_operation_bin_ns(bin)), counts[bin]});
  return out;
}

// A rule that notices a bottleneck while a program runs: the packets of one interface, or of each by itself,
// within a window of modelled time, whose latency is on average more than `ratio` times that of the same
// packets alone in the cluster.
struct Rule {
  Node node = {};
  Program program = {};
  Latency latency = Latency::kSource;
  std::uint32_t least_packets = 1;  // a window with fewer does not fire
  std::chrono::nanoseconds window = std::chrono::milliseconds(1);
  double ratio = 2;
};
// A window that went beyond the limit.
struct Firing {
  std::uint32_t node = 0;
  std::chrono::nanoseconds begin{};  // of the window, modelled time
  Packets packets;
  Nanoseconds average{};
  Nanoseconds idle{};  // the same packets alone in the cluster
  double ratio = 0;
};
struct Fired {
  std::uint64_t times = 0;
  std::optional<Firing> last;
};

namespace detail {
inline Firing firing(const substrata_myrinet_firing& plain) {
  return {plain.node,
          std::chrono::nanoseconds(plain.begin_ns),
          Packets{static_cast<std::int64_t>(plain.packets)},
          Nanoseconds(plain.average_ns),
          Nanoseconds(plain.idle_ns),
          plain.ratio};
}
}  // namespace detail

// A rule in use until stop() or the end of its scope; independent of recordings. Movable. Thread-compatible,
// but for fired(), which may be called from any thread while the program runs.
class [[nodiscard]] Watch {
 public:
  // Called in the thread that publishes, while the program runs. Must be quick, must not throw and may call
  // nothing of this header.
  using Function = std::function<void(const Firing&)>;
  // Without a function: for who asks fired(). Refused: a rule that means nothing, and one too many.
  static Result<Watch> start(const Rule& rule, Function function = {}) {
    if (rule.window.count() < 0)
      return Error{PAPI_EINVAL, "a window of " + std::to_string(rule.window.count()) +
                                    " ns is asked for; at least 1 is needed"};
    auto plain = client::sized<substrata_myrinet_rule>();
    plain.node = detail::or_all(rule.node.number);
    plain.program = detail::or_all(rule.program.tag);
    plain.latency = static_cast<std::uint32_t>(rule.latency);
    plain.least_packets = rule.least_packets;
    plain.window_ns = static_cast<std::uint64_t>(rule.window.count());
    plain.ratio = rule.ratio;
    auto kept = function ? std::make_unique<Function>(std::move(function)) : nullptr;
    std::uint32_t number = 0;
    if (const int code =
            substrata_myrinet_watch(&plain, kept != nullptr ? call : nullptr, kept.get(), &number);
        code != 0)
      return detail::refusal(code);
    return Watch(number, std::move(kept));
  }
  Watch(Watch&& other) noexcept
      : number_(std::exchange(other.number_, std::nullopt)), function_(std::move(other.function_)) {}
  Watch& operator=(Watch&& other) noexcept {
    if (this != &other) {
      stop();
      number_ = std::exchange(other.number_, std::nullopt);
      function_ = std::move(other.function_);
    }
    return *this;
  }
  ~Watch() { stop(); }
  // The function is not called any more when this returns.
  void stop() noexcept {
    if (number_) substrata_myrinet_unwatch(*number_);
    number_.reset();
  }
  bool running() const noexcept { return number_.has_value(); }
  // How often it has fired so far. Refused: it was stopped.
  Result<Fired> fired() const {
    if (!number_) return Error{PAPI_EINVAL, "the rule was stopped; ask before that"};
    auto last = client::sized<substrata_myrinet_firing>();
    Fired out;
    if (const int code = substrata_myrinet_fired(*number_, &out.times, &last); code != 0)
      return detail::refusal(code);
    if (out.times != 0) out.last = detail::firing(last);
    return out;
  }

 private:
  Watch(std::uint32_t number, std::unique_ptr<Function> function)
      : number_(number), function_(std::move(function)) {}
  static void call(void* owner, const substrata_myrinet_firing* plain) noexcept {
    (*static_cast<const Function*>(owner))(detail::firing(*plain));
  }
  std::optional<std::uint32_t> number_;
  std::unique_ptr<Function> function_;  // stays where it is when the rule is moved
};

// What a node's process does, in its order, for a cluster that carries a logged program.
class Process {
 public:
  // It computes, and goes on with what follows.
  Process& compute(std::chrono::nanoseconds time) {
    computed_ += time > std::chrono::nanoseconds::zero() ? static_cast<std::uint64_t>(time.count()) : 0;
    return *this;
  }
  Process& send(std::uint32_t to, Bytes bytes, PacketType type = PacketType::kMessage,
                std::uint16_t phase = 0) {
    substrata_myrinet_operation one = next(to);
    one.bytes = bytes.count > 0 ? static_cast<std::uint64_t>(bytes.count) : 0;
    one.type = static_cast<std::uint8_t>(type);
    one.phase = phase;
    operations_.push_back(one);
    return *this;
  }
  // For the collective operation of that number among the nodes of a group, which is not 0.
  Process& send_collective(std::uint32_t to, Bytes bytes, std::uint32_t group, std::uint32_t number,
                           std::uint16_t phase = 0) {
    send(to, bytes, PacketType::kCollective, phase);
    operations_.back().group = group;
    operations_.back().number = number;
    return *this;
  }
  // Waits for the message of that number from there, the first being 1.
  Process& receive(std::uint32_t from, std::uint32_t number) {
    substrata_myrinet_operation one = next(from);
    one.number = number;
    one.receives = 1;
    operations_.push_back(one);
    return *this;
  }
  const std::vector<substrata_myrinet_operation>& operations() const noexcept { return operations_; }

 private:
  substrata_myrinet_operation next(std::uint32_t peer) {
    substrata_myrinet_operation one{};
    one.peer = peer;
    one.compute_ns = std::exchange(computed_, 0);
    return one;
  }
  std::vector<substrata_myrinet_operation> operations_;
  std::uint64_t computed_ = 0;
};

// Sums over packets, as the events of these names.
struct Counts {
  Packets sent;
  Packets received;
  Bytes bytes_sent;
  Bytes bytes_received;
  Packets corrupt;
  Packets dropped;
  Packets misrouted;
  Bytes bytes_lost;
  std::array<std::chrono::nanoseconds, SUBSTRATA_MYRINET_LATENCIES> latency_sums{};
};

// A program that was carried over a cluster of its own, and what the interfaces kept of it. Movable; its
// functions may be called from several threads.
class Carried {
 public:
  struct Options {
    std::uint32_t phases = 1;
    std::uint64_t seed = 0;
    std::string parameters;  // of the machine "myrinet", without nodes
  };
  // One process per node, 2 to 256 of them. Runs to the end in the calling thread.
  static Result<Carried> run(const std::vector<Process>& processes, const Options& options) {
    std::vector<const substrata_myrinet_operation*> operations;
    std::vector<std::size_t> counts;
    for (const Process& process : processes) {
      operations.push_back(process.operations().data());
      counts.push_back(process.operations().size());
    }
    auto plain = client::sized<substrata_myrinet_carry_options>();
    plain.nodes = static_cast<std::uint32_t>(processes.size());
    plain.phases = options.phases;
    plain.seed = options.seed;
    plain.parameters = options.parameters.c_str();
    substrata_myrinet_carried* made = nullptr;
    if (const int code = substrata_myrinet_carry(operations.data(), counts.data(), &plain, &made); code != 0)
      return detail::refusal(code);
    return Carried(made);
  }
  static Result<Carried> run(const std::vector<Process>& processes) { return run(processes, Options()); }

  // From the begin to the last delivery.
  std::chrono::nanoseconds simulated() const { return std::chrono::nanoseconds(outcome().simulated_ns); }
  std::uint64_t messages() const { return outcome().messages; }
  // Receives of messages that were never sent.
  std::uint64_t unmatched() const { return outcome().unmatched; }

  Result<Counts> counts(Node node = {}, Phase phase = {}) const {
    auto plain = client::sized<substrata_myrinet_counts>();
    if (const int code = substrata_myrinet_carried_counts(carried_.get(), detail::or_all(node.number),
                                                          detail::or_all(phase.number), &plain);
        code != 0)
      return detail::refusal(code);
    const auto packets = [](std::uint64_t count) { return Packets{static_cast<std::int64_t>(count)}; };
    const auto bytes = [](std::uint64_t count) { return Bytes{static_cast<std::int64_t>(count)}; };
    Counts out{packets(plain.packets_sent), packets(plain.packets_received), bytes(plain.bytes_sent),
               bytes(plain.bytes_received), packets(plain.checksum_errors),  packets(plain.dropped),
               packets(plain.misrouted),    bytes(plain.bytes_lost),         {}};
    for (std::size_t i = 0; i < out.latency_sums.size(); ++i)
      out.latency_sums[i] = std::chrono::nanoseconds(plain.latency_sum_ns[i]);
    return out;
  }
  // Collective operations as those of the node that sends the first message.
  Result<std::vector<Operations>> operations(Node node = {}, Phase phase = {}) const {
    return detail::operations_of(
        [&](substrata_myrinet_operation_point* out, std::uint32_t capacity, std::uint32_t* count) {
          return substrata_myrinet_carried_operations(carried_.get(), detail::or_all(node.number),
                                                      detail::or_all(phase.number), out, capacity, count);
        });
  }
  Result<std::vector<Point>> signature(Axis axis, Node node = {}, Phase phase = {}) const {
    return detail::points([&](substrata_myrinet_point* out, std::uint32_t capacity, std::uint32_t* count) {
      return substrata_myrinet_carried_signature(
          carried_.get(), detail::or_all(node.number), detail::or_all(phase.number),
          static_cast<substrata_myrinet_axis>(axis), out, capacity, count);
    });
  }

 private:
  struct Free {
    void operator()(substrata_myrinet_carried* carried) const noexcept {
      substrata_myrinet_carried_free(carried);
    }
  };
  explicit Carried(substrata_myrinet_carried* carried) : carried_(carried) {}
  struct substrata_myrinet_outcome outcome() const {
    struct substrata_myrinet_outcome out {};
    out.struct_size = sizeof out;
    substrata_myrinet_carried_outcome(carried_.get(), &out);
    return out;
  }
  std::unique_ptr<substrata_myrinet_carried, Free> carried_;
};

}  // namespace substrata::myrinet_monitor

#endif
