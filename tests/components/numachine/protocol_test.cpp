// The coherence protocol's invariants, on random references and on every state of a small machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "numachine/protocol.hpp"
#include "protocol_check.hpp"
#include "support/sanitized.hpp"

namespace substrata::numachine::test {
namespace {

// A request on its way: it has passed the network cache of its station and not yet met its home.
struct Request {
  std::uint64_t line;
  Want want;
};

// Processors with at most one request each, their steps interleaved as the caller likes.
class Stepper {
 public:
  explicit Stepper(const ProtocolShape& shape) : protocol(shape), waiting(protocol.processors()) {}

  // One step of a processor: an access (first step), or the second step of the request it waits for. Returns
  // what is wrong, or an empty string.
  std::string access(std::uint32_t cpu, std::uint64_t line, bool write) {
    const Found found = protocol.find(cpu, line, write);
    if (found == Found::kHit) return perform(cpu, line, write);
    const bool update = protocol.shape().update;
    const Want want = !write || (update && found != Found::kOwnership) ? Want::kRead
                      : found == Found::kOwnership ? (update ? Want::kUpdate : Want::kUpgrade)
                                                   : Want::kExclusive;
    if (protocol.home_of(line) == protocol.station_of(cpu)) {
      protocol.at_home(cpu, line, want);
      return done(cpu, line, want, write);
    }
    if (is_refused(cpu, line)) return {};
    const Step step = protocol.at_network_cache(cpu, line, want);
    if (step.served) return done(cpu, line, want, write);
    waiting[cpu] = Request{line, want};
    return check();
  }
  // A line that another processor of the station asks its home for is locked: a NACK, to be tried again.
  bool is_refused(std::uint32_t cpu, std::uint64_t line) const {
    const std::uint32_t first = protocol.station_of(cpu) * protocol.shape().per_station;
    return protocol.home_of(line) != protocol.station_of(cpu) &&
           std::any_of(waiting.begin() + first, waiting.begin() + first + protocol.shape().per_station,
                       [line](const auto& other) { return other && other->line == line; });
  }
  std::string finish(std::uint32_t cpu) {
    Request request = *waiting[cpu];
    waiting[cpu].reset();
    // An upgrade whose copy was taken away meanwhile is cancelled and becomes a read exclusive; an update is
    // never cancelled.
    if (request.want == Want::kUpgrade && !protocol.holds(cpu, request.line)) request.want = Want::kExclusive;
    protocol.at_home(cpu, request.line, request.want);
    return done(cpu, request.line, request.want, request.want != Want::kRead);
  }
  std::string check() {
    for (std::uint64_t line = 0; line < lines; ++line) {
      if (std::string wrong = ProtocolCheck::check(protocol, line); !wrong.empty()) return wrong;
    }
    return {};
  }

  Protocol protocol;
  std::vector<std::optional<Request>> waiting;
  std::uint64_t lines = 0;  // checked after every step

 private:
  std::string done(std::uint32_t cpu, std::uint64_t line, Want want, bool write) {
    if (want == Want::kUpdate) return check();
    if (write && want == Want::kRead) return check();  // the update follows
    return perform(cpu, line, write);
  }
  std::string perform(std::uint32_t cpu, std::uint64_t line, bool write) {
    if (!protocol.holds(cpu, line)) return "the requester does not hold its line";
    if (ProtocolCheck::is_stale(protocol, cpu, line)) return "a stale read of line " + std::to_string(line);
    if (write) ProtocolCheck::note_write(protocol, cpu, line);
    return check();
  }
};

void run_random(ProtocolShape shape, std::uint64_t lines, std::uint64_t references, std::uint64_t seed,
                std::uint64_t check_every) {
  Stepper stepper(shape);
  stepper.lines = 0;  // the lines touched are checked below
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 0; i < references; ++i) {
    const std::uint64_t r = random();
    const auto cpu = static_cast<std::uint32_t>(r % stepper.protocol.processors());
    std::uint64_t line = (r >> 20) % lines;
    std::string wrong;
    if (stepper.waiting[cpu]) {
      line = stepper.waiting[cpu]->line;
      wrong = stepper.finish(cpu);
    } else {
      wrong = stepper.access(cpu, line, ((r >> 60) & 3) == 0);
    }
    ASSERT_EQ(wrong, "") << "reference " << i;
    if (i % 16 == 0) {
      ASSERT_EQ(ProtocolCheck::check(stepper.protocol, line), "") << "reference " << i;
    }
    if (i % check_every == 0) {
      for (std::uint64_t each = 0; each < lines; ++each)
        ASSERT_EQ(ProtocolCheck::check(stepper.protocol, each), "") << i;
    }
  }
}

constexpr std::uint64_t kReferences = tests::kSanitized ? 400'000 : 10'000'000;

// NU-22: 10^7 random references (fewer in a sanitizer build)
TEST(Protocol, KeepsItsInvariantsOnRandomReferences) {
  // Small caches, so that lines are dropped all the time; network caches smaller than the processors'
  // together.
  run_random({.stations = 4, .per_station = 4, .page_bytes = 64, .cache_lines = 8, .network_lines = 8}, 40,
             kReferences, 1, 50'000);
}

// NU-22
TEST(Protocol, KeepsItsInvariantsOnTheLargestMachine) {
  run_random({.stations = 64, .per_station = 4, .page_bytes = 128, .cache_lines = 16, .network_lines = 32},
             300, kReferences / 20, 2, 50'000);
}

// NU-21, section 3.3.2
TEST(Protocol, KeepsItsInvariantsWithUpdates) {
  run_random({.stations = 4,
              .per_station = 4,
              .page_bytes = 64,
              .cache_lines = 8,
              .network_lines = 8,
              .update = true},
             40, kReferences / 10, 3, 50'000);
}

// Two stations of two processors; line 0 is at home on station 0, line 1 on station 1, and both fall on one index of
// every cache, so each drops the other.
ProtocolShape small_machine(bool update) {
  return {.stations = 2,
          .per_station = 2,
          .page_bytes = 64,
          .cache_lines = 1,
          .network_lines = 1,
          .update = update};
}

// The state of the small machine and of its requests: for each line 3 characters of its home, one of each processor, 2
// of each network cache; then one of each processor's request.
std::string name_of(Stepper& s) {
  std::string text = ProtocolCheck::fingerprint(s.protocol, 2);
  for (const auto& request : s.waiting) {
    text +=
        request
            ? static_cast<char>('A' + static_cast<int>(request->line) * 4 + static_cast<int>(request->want))
            : '.';
  }
  return text;
}
constexpr std::size_t kOfALine = 3 + 4 + 2 * 2;

void swap_bits(char& two) {
  const auto bits = static_cast<unsigned char>(two);
  two = static_cast<char>((bits & 1U) << 1 | (bits >> 1 & 1U));
}
// The same state with the processors of a station renamed.
std::string with_other_processors(std::string name, std::size_t station) {
  for (std::size_t line = 0; line < 2; ++line) {
    char* const at = &name[line * kOfALine];
    if (line == station) swap_bits(at[1]);  // the home knows of its own station's
    std::swap(at[3 + station * 2], at[4 + station * 2]);
    char* const network = at + 7 + station * 2;
    if (network[0] != '-') swap_bits(network[1]);
  }
  std::swap(name[2 * kOfALine + station * 2], name[2 * kOfALine + station * 2 + 1]);
  return name;
}
// With the stations renamed, and with them the lines.
std::string with_other_stations(const std::string& name) {
  std::string out = name;
  for (std::size_t line = 0; line < 2; ++line) {
    const char* const from = &name[(1 - line) * kOfALine];
    char* const to = &out[line * kOfALine];
    std::copy_n(from, kOfALine, to);
    swap_bits(to[2]);
    for (std::size_t cpu = 0; cpu < 4; ++cpu) to[3 + cpu] = from[3 + (cpu ^ 2)];
    for (std::size_t i = 0; i < 4; ++i) to[7 + i] = from[7 + (i ^ 2)];
  }
  for (std::size_t cpu = 0; cpu < 4; ++cpu) {
    const char request = name[2 * kOfALine + (cpu ^ 2)];
    out[2 * kOfALine + cpu] = request == '.' ? '.' : static_cast<char>('A' + ((request - 'A') ^ 4));
  }
  return out;
}
// All names that renaming gives, the state's own among them.
std::set<std::string> names_of(const std::string& name) {
  std::set<std::string> all;
  for (const std::string& one : {name, with_other_stations(name)}) {
    for (const std::string& other : {one, with_other_processors(one, 0)}) {
      all.insert(other);
      all.insert(with_other_processors(other, 1));
    }
  }
  return all;
}

// What the next test relies on: the protocol does the same to other processors and stations.
TEST(Protocol, DoesTheSameWhateverProcessorsAndStationsAreCalled) {
  for (unsigned renaming = 1; renaming < 8; ++renaming) {
    const auto other_cpu = [renaming](std::uint32_t cpu) {
      if ((renaming & 1U) != 0 && cpu < 2) cpu ^= 1U;
      if ((renaming & 2U) != 0 && cpu >= 2) cpu ^= 1U;
      return (renaming & 4U) != 0 ? cpu ^ 2U : cpu;
    };
    const auto other_name = [renaming](std::string name) {
      if ((renaming & 1U) != 0) name = with_other_processors(name, 0);
      if ((renaming & 2U) != 0) name = with_other_processors(name, 1);
      return (renaming & 4U) != 0 ? with_other_stations(name) : name;
    };
    for (const bool update : {false, true}) {
      Stepper one(small_machine(update)), other(small_machine(update));
      std::mt19937_64 random(renaming);
      for (int i = 0; i < 3000; ++i) {
        const auto cpu = static_cast<std::uint32_t>(random() % 4);
        const std::uint64_t line = random() % 2, other_line = (renaming & 4U) != 0 ? 1 - line : line;
        const bool write = random() % 2 != 0;
        if (one.waiting[cpu]) {
          ASSERT_EQ(one.finish(cpu), "");
          ASSERT_EQ(other.finish(other_cpu(cpu)), "");
        } else {
          ASSERT_EQ(one.access(cpu, line, write), "");
          ASSERT_EQ(other.access(other_cpu(cpu), other_line, write), "");
        }
        ASSERT_EQ(name_of(other), other_name(name_of(one))) << "renaming " << renaming << ", step " << i;
      }
    }
  }
}

// NU-22: every state that the small machine can come to, with a request of each processor on its way, and every step
// from it; of states that differ by names only one is gone on from.
TEST(Protocol, KeepsItsInvariantsInEveryStateOfASmallMachine) {
  for (const bool update : {false, true}) {
    Stepper start(small_machine(update));
    start.lines = 2;
    std::set<std::string> seen;
    std::deque<Stepper> open;
    std::size_t states = 0, steps = 0;
    const auto meet = [&](Stepper& s) {
      const std::set<std::string> names = names_of(name_of(s));
      if (!seen.insert(*names.begin()).second) return;
      states += names.size();
      open.push_back(s);
    };
    meet(start);
    const std::size_t most = tests::kSanitized ? 3'000 : 2'000'000;
    while (!open.empty() && seen.size() < most) {
      const Stepper from = open.front();
      open.pop_front();
      for (std::uint32_t cpu = 0; cpu < 4; ++cpu) {
        for (std::uint32_t what = 0; what < 4; ++what) {
          const bool finish = from.waiting[cpu].has_value();
          if (finish && what != 0) continue;
          Stepper s = from;
          ++steps;
          ASSERT_EQ(finish ? s.finish(cpu) : s.access(cpu, what / 2, what % 2 != 0), "");
          meet(s);
        }
      }
    }
    RecordProperty(update ? "states_update" : "states", static_cast<int>(states));
    if (!tests::kSanitized) {
      EXPECT_TRUE(open.empty()) << "more than " << most << " states";
      EXPECT_EQ(states, update ? 1849u : 402637u) << "as many as there are with every name gone on from";
    }
    EXPECT_GT(steps, seen.size());
  }
}

// Two threads of reads and writes to two lines; what each read saw, by the number of the write, 0 for none.
struct Litmus {
  struct Operation {
    std::uint32_t cpu;
    std::uint64_t line;
    bool write;
  };
  std::vector<std::vector<Operation>> threads;
  // May reads, in the order of threads, have seen these?
  bool (*is_forbidden)(const std::vector<bool>& seen);
};

// Every interleaving of the threads' steps, a step being as in Stepper: requests of both may be on their way at once,
// and a thread begins its next operation when the one before is done (sequential consistency).
class LitmusRun {
 public:
  LitmusRun(const ProtocolShape& shape, const Litmus& test) : test_(test), start_(shape) {}
  std::size_t forbidden() {
    explore(start_, std::vector<std::size_t>(test_.threads.size()), {});
    return forbidden_;
  }
  std::set<std::vector<bool>> outcomes;

 private:
  using Seen = std::vector<std::pair<std::size_t, bool>>;  // by thread
  void explore(const Stepper& from, const std::vector<std::size_t>& at, const Seen& seen) {
    bool over = true;
    for (std::size_t thread = 0; thread < test_.threads.size(); ++thread) {
      if (at[thread] == test_.threads[thread].size()) continue;
      over = false;
      const Litmus::Operation& next = test_.threads[thread][at[thread]];
      Stepper s = from;
      const bool was_waiting = s.waiting[next.cpu].has_value();
      const bool refused = !was_waiting && s.is_refused(next.cpu, next.line);
      if (refused) continue;  // it would be tried again
      ASSERT_EQ(was_waiting ? s.finish(next.cpu) : s.access(next.cpu, next.line, next.write), "");
      if (s.waiting[next.cpu]) {
        explore(s, at, seen);
        continue;
      }
      std::vector<std::size_t> further = at;
      ++further[thread];
      Seen so_far = seen;
      // Only one processor writes a line, so that the first version is its write.
      if (!next.write)
        so_far.emplace_back(thread, ProtocolCheck::version_of(s.protocol, next.cpu, next.line) != 0);
      explore(s, further, so_far);
    }
    if (!over) return;
    std::vector<bool> in_order;
    for (std::size_t thread = 0; thread < test_.threads.size(); ++thread) {
      for (const auto& [of, value] : seen) {
        if (of == thread) in_order.push_back(value);
      }
    }
    outcomes.insert(in_order);
    forbidden_ += test_.is_forbidden(in_order) ? 1 : 0;
  }

  const Litmus& test_;
  Stepper start_;
  std::size_t forbidden_ = 0;
};

// The line's home and the processors in every arrangement: on one station, on two, the home with either or with
// neither.
std::size_t forbidden_everywhere(const std::function<Litmus(const std::vector<std::uint32_t>& cpus)>& test,
                                 std::size_t threads, std::size_t least_outcomes) {
  std::size_t forbidden = 0;
  const std::vector<std::vector<std::uint32_t>> places = {
      {0, 1, 2, 3}, {0, 2, 1, 3}, {2, 0, 3, 1}, {2, 3, 0, 1}};
  for (const std::vector<std::uint32_t>& cpus : places) {
    const ProtocolShape shape{
        .stations = 2, .per_station = 2, .page_bytes = 64, .cache_lines = 4, .network_lines = 4};
    const Litmus litmus = test(cpus);
    EXPECT_EQ(litmus.threads.size(), threads);
    LitmusRun run(shape, litmus);
    forbidden += run.forbidden();
    EXPECT_EQ(run.outcomes.size(), least_outcomes) << "the orders that are allowed";
  }
  return forbidden;
}

constexpr bool kRead = false;
constexpr bool kWrite = true;

// Section 4.1: a sequentially-consistent memory model
TEST(SequentialConsistency, AFlagIsNotSeenBeforeTheDataItIsFor) {
  const auto test = [](const std::vector<std::uint32_t>& c) {
    return Litmus{{{{c[0], 0, kWrite}, {c[0], 1, kWrite}}, {{c[1], 1, kRead}, {c[1], 0, kRead}}},
                  [](const std::vector<bool>& seen) { return seen[0] && !seen[1]; }};
  };
  EXPECT_EQ(forbidden_everywhere(test, 2, 3), 0u);
}

TEST(SequentialConsistency, TwoWritersDoNotBothMissEachOthersWrite) {
  const auto test = [](const std::vector<std::uint32_t>& c) {
    return Litmus{{{{c[0], 0, kWrite}, {c[0], 1, kRead}}, {{c[1], 1, kWrite}, {c[1], 0, kRead}}},
                  [](const std::vector<bool>& seen) { return !seen[0] && !seen[1]; }};
  };
  EXPECT_EQ(forbidden_everywhere(test, 2, 3), 0u);
}

TEST(SequentialConsistency, ReadersSeeIndependentWritesInOneOrder) {
  const auto test = [](const std::vector<std::uint32_t>& c) {
    return Litmus{{{{c[0], 0, kWrite}},
                   {{c[1], 1, kWrite}},
                   {{c[2], 0, kRead}, {c[2], 1, kRead}},
                   {{c[3], 1, kRead}, {c[3], 0, kRead}}},
                  [](const std::vector<bool>& seen) { return seen[0] && !seen[1] && seen[2] && !seen[3]; }};
  };
  EXPECT_EQ(forbidden_everywhere(test, 4, 15), 0u);
}

TEST(SequentialConsistency, AReadDoesNotPassAWriteOfItsOwnThread) {
  const auto test = [](const std::vector<std::uint32_t>& c) {
    return Litmus{{{{c[0], 0, kRead}, {c[0], 1, kWrite}}, {{c[1], 1, kRead}, {c[1], 0, kWrite}}},
                  [](const std::vector<bool>& seen) { return seen[0] && seen[1]; }};
  };
  EXPECT_EQ(forbidden_everywhere(test, 2, 3), 0u);
}

// NU-21, figure 4.3: the four states at memory and in a network cache as the thesis describes them
TEST(Protocol, StatesReportWhereTheCopiesAre) {
  Protocol p({.stations = 4, .per_station = 4, .page_bytes = 64, .cache_lines = 64, .network_lines = 64});
  const std::uint64_t line = 0;  // at home on station 0
  EXPECT_EQ(p.block(line).state, BlockState::kLocalValid);
  p.at_home(1, line, Want::kRead);
  EXPECT_EQ(p.block(line).state, BlockState::kLocalValid) << "copies on the home station only";
  p.at_home(2, line, Want::kExclusive);
  EXPECT_EQ(p.block(line).state, BlockState::kLocalInvalid) << "a local processor has it dirty";
  EXPECT_EQ(p.deliveries().size(), 1u);
  EXPECT_FALSE(p.at_network_cache(5, line, Want::kRead).served);
  Step step = p.at_home(5, line, Want::kRead);
  EXPECT_EQ(step.met, BlockState::kLocalInvalid);
  EXPECT_EQ(step.owner, 2);
  EXPECT_EQ(p.block(line).state, BlockState::kGlobalValid);
  EXPECT_EQ(p.network_state(1, line), BlockState::kGlobalValid);
  step = p.at_network_cache(6, line, Want::kRead);
  EXPECT_TRUE(step.served && step.network_cache) << "the network cache combines remote requests";
  EXPECT_FALSE(p.at_network_cache(6, line, Want::kUpgrade).served) << "the home must agree";
  step = p.at_home(6, line, Want::kUpgrade);
  EXPECT_FALSE(step.data) << "ownership without data";
  EXPECT_EQ(p.block(line).state, BlockState::kGlobalInvalid);
  EXPECT_EQ(p.network_state(1, line), BlockState::kLocalInvalid);
  step = p.at_network_cache(4, line, Want::kRead);
  EXPECT_TRUE(step.served);
  EXPECT_EQ(step.owner, 6);
  EXPECT_EQ(p.network_state(1, line), BlockState::kLocalValid) << "the only valid copies are on this station";
  EXPECT_EQ(p.block(line).state, BlockState::kGlobalInvalid);
  step = p.at_home(12, line, Want::kRead);
  EXPECT_EQ(step.owner_station, 1);
  EXPECT_EQ(p.block(line).state, BlockState::kGlobalValid);
  step = p.at_home(0, line, Want::kExclusive);
  EXPECT_EQ(step.stations, 0xaU) << "invalidations to stations 1 and 3";
  EXPECT_EQ(p.network_state(1, line), BlockState::kGlobalInvalid);
  EXPECT_EQ(p.find(4, line, false), Found::kInvalidation);
  EXPECT_EQ(p.find(7, line, false), Found::kOther) << "it never had the line";
}

// NU-31: not an invalidation miss when the invalid line was replaced before reuse
TEST(Protocol, AnInvalidLineThatWasReplacedBeforeReuseIsNoInvalidationMiss) {
  Protocol p({.stations = 1, .per_station = 4, .page_bytes = 64, .cache_lines = 16, .network_lines = 16});
  p.at_home(0, 3, Want::kRead);
  p.at_home(1, 3, Want::kExclusive);
  EXPECT_EQ(p.find(0, 3, false), Found::kInvalidation);
  EXPECT_EQ(p.find(0, 3, true), Found::kInvalidation);
  p.at_home(0, 19, Want::kRead);  // the same index
  EXPECT_EQ(p.find(0, 3, false), Found::kOther);
}

}  // namespace
}  // namespace substrata::numachine::test
