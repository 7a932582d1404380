// Owl, section 5.2, table 2 and figure 6: how much a monitor that writes its results to memory slows a
// program down.
#include <substrata/feed.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <future>
#include <memory>
#include <stdexcept>
#include <vector>

#include "measuring.hpp"
#include "reproduce/owl_programs.hpp"
#include "reproduce/owl_workloads.hpp"
#include "reproduce/reproduction.hpp"
#include "terminal/progress.hpp"

namespace substrata::tool {
namespace {

// ---------------------------------------------------------------------------------------------- the
// parameters

// Memory system, from the paper: 64 KB two-way first level with 64-byte lines, 3 cycles; 2 MB direct-mapped
// second level, 13 cycles.
constexpr uint64_t kLine = 64;
constexpr uint64_t kL1Sets = 64 * 1024 / kLine / 2;
constexpr uint64_t kL2Sets = 2 * 1024 * 1024 / kLine;
constexpr uint64_t kL1Cycles = 3;
constexpr uint64_t kL2Cycles = 13;
// The processor, from Kessler, "The Alpha 21264 microprocessor", IEEE Micro 19(2), 1999: four instructions a
// cycle, 80 in flight, two memory operations a cycle, 32 stores in flight, eight line fills and eight victims
// at once.
constexpr uint64_t kWidth = 4;
constexpr uint64_t kInFlight = 80;
constexpr uint64_t kPorts = 2;
constexpr uint64_t kFills = 8;
constexpr uint64_t kStores = 32;
// The workloads' streams hold the accesses to their arrays and the arithmetic, and no other instruction.
// Ours, in no paper: every third instruction is a load or store, so two others for each.
constexpr uint64_t kOthers = 2;
// Ours, in no paper: a line takes the second level's bus 8 cycles and memory's bus 16 cycles; memory answers
// after 80.
constexpr uint64_t kL2BusCycles = 8;
constexpr uint64_t kMemoryBusCycles = 16;
constexpr uint64_t kMemoryCycles = 80;
// A packet: one address.
constexpr uint64_t kPacketBytes = 8;
// Bytes of a capsule's ring buffer. The paper leaves the size to the operating system (section 3.1).
constexpr uint64_t kRing = 1 << 20;
// Packets that a capsule holds until they are written; a full one holds the accesses up. In no paper.
constexpr uint64_t kBuffered = 64;
constexpr uint64_t kBuffer =
    kBuffered * kMemoryBusCycles * kPacketBytes / kLine;  // as cycles of the separate memory
// "Hidden": the program loses at most so much of its speed. The paper gives no number, only a figure.
constexpr double kHidden = 0.05;
// "Needs rates as low as 1/64" is said of programs that fill the memory system; ours are called so when the
// second level's or memory's bus is busy for at least this part of the time without a monitor.
constexpr double kIntensive = 0.5;

// ------------------------------------------------------------------------------------------------- the
// machine

// A cache by its tags, least recently used first to go; a tag carries a dirty bit.
template <uint64_t Sets, unsigned Ways>
class Tags {
 public:
  Tags() : words_(Sets * Ways, kEmpty) {}
  bool use(uint64_t line, bool dirty) {
    uint64_t* const row = &words_[line % Sets * Ways];
    for (unsigned i = 0; i < Ways; ++i) {
      if (row[i] == kEmpty || row[i] >> 1 != line) continue;
      std::rotate(row, row + i, row + i + 1);
      row[0] |= dirty ? 1 : 0;
      return true;
    }
    return false;
  }
  // Gives the dirty line that had to leave, or kEmpty.
  uint64_t put(uint64_t line, bool dirty) {
    uint64_t* const row = &words_[line % Sets * Ways];
    const uint64_t victim = row[Ways - 1];
    std::rotate(row, row + Ways - 1, row + Ways);
    row[0] = line << 1 | (dirty ? 1 : 0);
    return victim != kEmpty && (victim & 1) != 0 ? victim >> 1 : kEmpty;
  }
  static constexpr uint64_t kEmpty = ~uint64_t{0};

 private:
  std::vector<uint64_t> words_;
};

// A bus that each transfer takes for `Cycles`. A transfer takes the first gap that is long enough from its
// time on, so that one that is far in the future does not hold up those before it.
template <uint64_t Cycles>
class Bus {
 public:
  // Gives the time at which the transfer is done.
  uint64_t take(uint64_t from) {
    for (uint64_t at = from; at < from + Cycles; ++at) {
      if (taken_[at % taken_.size()] == at + 1) from = at + 1;
    }
    for (uint64_t at = from; at < from + Cycles; ++at) taken_[at % taken_.size()] = at + 1;
    ++transfers_;
    return from + Cycles;
  }
  uint64_t busy() const { return transfers_ * Cycles; }

 private:
  std::vector<uint64_t> taken_ = std::vector<uint64_t>(1 << 18);  // by cycle: that cycle and one, if taken
  uint64_t transfers_ = 0;
};

enum class Injection { kNone, kNaive, kSeparate };

// Capsules at the accesses, between the levels and before memory; each gives one packet for every `every` of
// what passes at its place. Naive injection: the packet is an ordinary store of the ring buffer's next bytes,
// made where the capsule sits. Separate memory: it goes past the caches to a memory controller of its own,
// which is as fast as the program's.
class Machine {
 public:
  // `width`: instructions that retire in a cycle. `ring`: bytes of each capsule's ring buffer.
  Machine(Injection injection, uint64_t every, uint64_t width, uint64_t ring)
      : injection_(injection), every_(every), width_(width), ring_(ring) {}

  // Instructions retire in order, `width` a cycle; an instruction enters when the one 80 before it has
  // retired. Loads that miss overlap as far as the eight fills and the buses allow; stores retire at once and
  // fill behind. `others`: instructions that each access has beside those in the stream.
  void run(const std::vector<Step>& steps, uint64_t others) {
    for (const Step& step : steps) {
      for (uint64_t i = 0; i < step.instructions + others; ++i) retire(enter());
      if (step.write) {
        retire(store(step.address, enter()));
      } else {
        retire(access(step.address, false, port(enter())));
      }
      monitor(0, enter());
    }
  }
  double instructions_per_cycle() const {
    return static_cast<double>(instructions_) / static_cast<double>(std::max<uint64_t>(1, retired_ / width_));
  }
  double busiest() const {
    const uint64_t cycles = std::max<uint64_t>(1, retired_ / width_);
    return static_cast<double>(std::max(l2_bus_.busy(), memory_bus_.busy())) / static_cast<double>(cycles);
  }
  uint64_t packets() const { return packets_; }

 private:
  uint64_t enter() const { return flight_[instructions_ % kInFlight]; }
  // Times of retirement are kept in parts of a cycle, so that those of one cycle are in order.
  void retire(uint64_t done) {
    retired_ = std::max(retired_ + 1, done * width_);
    flight_[instructions_++ % kInFlight] = retired_ / width_;
  }
  uint64_t port(uint64_t from) {
    const auto first = std::min_element(ports_.begin(), ports_.end());
    const uint64_t begin = std::max(from, *first);
    *first = begin + 1;
    return begin;
  }
  // A store waits for a place in the queue, and leaves it when its line is there. Gives when it may retire.
  uint64_t store(uint64_t address, uint64_t at) {
    uint64_t& place = stores_[stored_++ % kStores];
    const uint64_t begin = port(std::max(at, place));
    place = access(address, true, begin);
    return begin + 1;
  }
  uint64_t access(uint64_t address, bool write, uint64_t at) {
    const uint64_t line = address / kLine;
    if (l1_.use(line, write)) {
      // A line on its way serves everyone behind the one who asked.
      const uint64_t arrives =
          arriving_[line % arriving_.size()].first == line ? arriving_[line % arriving_.size()].second : 0;
      return std::max(at + kL1Cycles, arrives);
    }
    const auto fill = std::min_element(fills_.begin(), fills_.end());
    const uint64_t begin = std::max(at, *fill) + kL1Cycles;
    const uint64_t victim = l1_.put(line, write);
    const uint64_t done = second_level(line, begin);
    *fill = done;
    arriving_[line % arriving_.size()] = {line, done};
    if (victim != kNone) write_back(victim, done);
    return done;
  }
  uint64_t second_level(uint64_t line, uint64_t at) {
    monitor(1, at);
    if (l2_.use(line, false)) return l2_bus_.take(at + kL2Cycles - kL2BusCycles);
    const uint64_t arrived = memory(line, at + kL2Cycles);
    return l2_bus_.take(arrived);
  }
  uint64_t memory(uint64_t line, uint64_t at) {
    monitor(2, at);
    const uint64_t done = memory_bus_.take(at + kMemoryCycles - kMemoryBusCycles);
    if (l2_.put(line, false) != kNone) memory_bus_.take(done);
    return done;
  }
  void write_back(uint64_t line, uint64_t at) {
    l2_bus_.take(at);
    if (!l2_.use(line, true) && l2_.put(line, true) != kNone) memory_bus_.take(at);
  }
  // The capsule at `place` saw one more.
  void monitor(unsigned place, uint64_t at) {
    if (injection_ == Injection::kNone || inside_ || ++seen_[place] % every_ != 0) return;
    ++packets_;
    if (injection_ == Injection::kSeparate) {
      // The controller gathers packets into lines; a capsule with a full buffer holds the accesses up.
      separate_ = std::max(separate_, at) + kMemoryBusCycles * kPacketBytes / kLine;
      if (separate_ > at + kBuffer) {
        for (uint64_t& each : ports_) each = std::max(each, separate_ - kBuffer);
      }
      return;
    }
    inside_ = true;  // the packets themselves are not monitored
    const uint64_t address = kRings + place * (uint64_t{1} << 24) + (written_[place] += kPacketBytes) % ring_;
    const uint64_t line = address / kLine;
    if (place == 0) {
      // Into the first level like any access, but out of the capsule's buffer and not of the processor's
      // store queue.
      uint64_t& slot = injected_[injections_++ % kBuffered];
      if (slot > at) {
        for (uint64_t& each : ports_) each = std::max(each, slot);
      }
      slot = access(address, true, port(std::max(at, slot)));
    } else if (address % kLine == 0) {
      // The capsules further out gather a line and write it at their place.
      if (place == 1) {
        write_back(line, at);
      } else {
        memory_bus_.take(at);
      }
    }
    inside_ = false;
  }

  static constexpr uint64_t kNone = ~uint64_t{0};
  static constexpr uint64_t kRings = uint64_t{1} << 44;  // where no program's data lie
  const Injection injection_;
  const uint64_t every_;
  const uint64_t width_;
  const uint64_t ring_;
  Tags<kL1Sets, 2> l1_;
  Tags<kL2Sets, 1> l2_;
  Bus<kL2BusCycles> l2_bus_;
  Bus<kMemoryBusCycles> memory_bus_;
  uint64_t separate_ = 0;  // when the separate controller is free
  std::array<uint64_t, kPorts> ports_{};
  std::array<uint64_t, kFills> fills_{};
  std::array<uint64_t, kStores> stores_{};
  uint64_t stored_ = 0;
  std::array<uint64_t, kBuffered> injected_{};
  uint64_t injections_ = 0;
  std::array<std::pair<uint64_t, uint64_t>, 1024> arriving_{};
  std::array<uint64_t, kInFlight> flight_{};
  std::array<uint64_t, 3> seen_{};
  std::array<uint64_t, 3> written_{};
  uint64_t instructions_ = 0;
  uint64_t retired_ = 0;
  uint64_t packets_ = 0;
  bool inside_ = false;
};

// ------------------------------------------------------------------------------------------------ the
// workloads

// The accesses of one run, with the instructions between them: the memory machine that is made to cost one
// cycle an access gives times whose differences are the computing between.
struct Stream {
  static constexpr size_t kMost = 2'000'000;
  std::vector<Step> steps;
  uint64_t last = 0;
  static void take(void* owner, const substrata_transaction* batch, size_t count) {
    auto& self = *static_cast<Stream*>(owner);
    for (size_t i = 0; i < count && self.steps.size() < kMost; ++i) {
      const uint64_t between = (batch[i].time - self.last) / 1000;
      self.last = batch[i].time;
      const uint64_t computed = between > 0 ? between - 1 : 0;
      self.steps.push_back({batch[i].address, static_cast<uint32_t>(std::min<uint64_t>(computed, 10'000)),
                            batch[i].kind != SUBSTRATA_READ});
    }
  }
};

struct DestroyObserver {
  void operator()(substrata_observer* observer) const { substrata_observer_destroy(observer); }
};

Stream accesses_of(const OwlWorkload& workload) {
  Stream stream;
  substrata_observer* made = nullptr;
  if (substrata_observer_create(Stream::take, &stream, 0, &made) != 0)
    throw std::runtime_error(substrata_feed_error());
  const std::unique_ptr<substrata_observer, DestroyObserver> observer(made);
  if (substrata_subscribe(made, "mem.cpu0.accesses*") != 0) throw std::runtime_error(substrata_feed_error());
  run_owl_workload(workload, "l1_cycles=1:l2_cycles=1:memory_cycles=1");
  substrata_flush();
  return stream;
}

struct Case {
  const char* name;
  Injection injection;
  uint64_t every;
};
// Table 2.
constexpr Case kCases[] = {
    {"baseline", Injection::kNone, 1},           {"1/1 naive", Injection::kNaive, 1},
    {"1/8 naive", Injection::kNaive, 8},         {"1/64 naive", Injection::kNaive, 64},
    {"1/1 separate", Injection::kSeparate, 1},   {"1/8 separate", Injection::kSeparate, 8},
    {"1/64 separate", Injection::kSeparate, 64},
};
constexpr size_t kCaseCount = std::size(kCases);
// How much the answer hangs on the processor's speed: dependences and mispredicted branches, which are not
// modelled, keep programs below four instructions a cycle.
constexpr std::array<uint64_t, 2> kSlower = {2, 1};
// And on the size of the rings: a page each stays in the caches.
constexpr uint64_t kSmallRing = 4096;

struct Row {
  std::string name;
  std::array<double, kCaseCount> ipc;
  double busiest;  // without a monitor
  // The loss at 1/8 with naive injection, were the processor never faster than two instructions and one
  // instruction a cycle.
  std::array<double, 2> slower_loss;
  double small_ring_loss;  // the same with rings of kSmallRing bytes
  double loss(size_t c) const { return 1 - ipc[c] / ipc[0]; }
};

std::string percent(double part) { return owl_decimal(100 * part, 1) + " %"; }

void draw(const std::string& folder) {
  std::ofstream script(folder + "/owl-perturbation.gnuplot");
  script << "set terminal pngcairo size 1400,600\nset output '" << folder
         << "/owl-perturbation.png'\nset datafile separator ','\nset style data histogram\nset style fill "
            "solid\n"
            "set ylabel 'instructions a cycle (modelled)'\nset xtics rotate by -30\nset key outside\n"
            "plot for [i=3:9] '"
         << folder << "/owl-perturbation.csv' using i:xtic(1) title columnheader(i)\n";
  script.close();
  const std::string command = "gnuplot '" + folder + "/owl-perturbation.gnuplot' > /dev/null 2>&1";
  static_cast<void>(
      !std::system(command.c_str()));  // the table is the result; a missing gnuplot leaves out the figure
}

struct Traffic {
  std::string name;
  std::vector<Step> steps;
  uint64_t others;  // instructions beside those in the steps, for each access
};

Row measure(const Traffic& traffic) {
  const auto speed = [&](Injection injection, uint64_t every, uint64_t width, uint64_t ring,
                         double* busiest = nullptr) {
    Machine machine(injection, every, width, ring);
    machine.run(traffic.steps, traffic.others);
    if (busiest != nullptr) *busiest = machine.busiest();
    return machine.instructions_per_cycle();
  };
  Row row{traffic.name, {}, 0, {}, 0};
  for (size_t c = 0; c < kCaseCount; ++c)
    row.ipc[c] = speed(kCases[c].injection, kCases[c].every, kWidth, kRing, c == 0 ? &row.busiest : nullptr);
  for (size_t i = 0; i < row.slower_loss.size(); ++i) {
    row.slower_loss[i] =
        1 - speed(Injection::kNaive, 8, kSlower[i], kRing) / speed(Injection::kNone, 1, kSlower[i], kRing);
  }
  row.small_ring_loss = 1 - speed(Injection::kNaive, 8, kWidth, kSmallRing) / row.ipc[0];
  return row;
}

// In the order of the traffic; two at a time.
std::vector<Row> measure_all(const std::vector<Traffic>& traffic) {
  show_progress("the machine with and without monitors");
  std::vector<Row> rows(traffic.size());
  std::atomic<size_t> next{0};
  const auto measure_the_next = [&] {
    for (size_t i = next++; i < traffic.size(); i = next++) rows[i] = measure(traffic[i]);
  };
  auto other = std::async(std::launch::async, measure_the_next);
  measure_the_next();
  other.get();
  return rows;
}

std::vector<Claim> run(const Setting& setting) {
  start_library();
  WholePrograms whole = follow_whole_programs();
  std::vector<Traffic> traffic;
  for (WholeProgram& program : whole.programs) traffic.push_back({program.name, std::move(program.steps), 0});
  for (const OwlWorkload& workload : owl_workloads())
    traffic.push_back({workload.name, accesses_of(workload).steps, kOthers});
  const std::vector<Row> rows = measure_all(traffic);
  const auto list = [&](size_t c, auto&& chosen) {
    std::string text;
    for (const Row& row : rows) {
      if (chosen(row))
        text += (text.empty() ? "" : ", ") + std::string(row.name) + " " + percent(row.loss(c));
    }
    return text.empty() ? std::string("none") : text;
  };
  const auto count = [&](size_t c) {
    return static_cast<size_t>(
        std::count_if(rows.begin(), rows.end(), [&](const Row& r) { return r.loss(c) <= kHidden; }));
  };
  const auto all = [](const Row&) { return true; };
  const std::string of = " of " + std::to_string(rows.size()) + " workloads lose at most " + percent(kHidden);
  const std::string modelled =
      "modelled processor and memory system; parameters and their sources in docs/owl.md";

  const auto slower = [&](size_t i) {
    return std::to_string(std::count_if(rows.begin(), rows.end(),
                                        [&](const Row& row) { return row.slower_loss[i] <= kHidden; }));
  };
  std::string speeds;
  for (const Row& row : rows)
    speeds += (speeds.empty() ? "" : ", ") + row.name + ' ' + owl_decimal(row.ipc[0], 1);

  std::vector<Claim> claims;
  claims.push_back(
      {"most codes are capable of hiding injection rates of 1/8 and less without system perturbation",
       "most (section 5.2, figure 6)",
       std::to_string(count(2)) + of + " at 1/8 with naive injection: " + list(2, all),
       rows.size() >= 10 && count(2) * 2 > rows.size() && count(3) >= count(2),
       modelled +
           "; gzip, bzip2, gcc and radix-program are whole programs with every load, store and "
           "instruction they execute (" +
           whole.left_out + "); instructions a cycle without a monitor: " + speeds +
           ". What costs is less the packets than the lines of the rings, which are fetched, "
           "written back and drive out the program's: with rings of 4 KiB, whose lines stay in "
           "the caches, " +
           std::to_string(std::count_if(rows.begin(), rows.end(),
                                        [](const Row& row) { return row.small_ring_loss <= kHidden; })) +
           of +
           ". The model knows no dependences between instructions and no mispredicted branches: "
           "were the processor never faster than two instructions or one instruction a cycle, " +
           slower(0) + " or " + slower(1) + of + ". None of the three decides here"});
  // Memory-intensive codes that are perturbed at 1/8 and no longer at 1/64.
  const auto intensive = static_cast<size_t>(std::count_if(rows.begin(), rows.end(), [](const Row& row) {
    return row.busiest >= kIntensive && row.loss(2) > kHidden && row.loss(3) <= kHidden;
  }));
  std::string buses;
  for (const Row& row : rows) {
    if (row.loss(2) > kHidden) {
      buses += (buses.empty() ? "" : ", ") + std::string(row.name) + " " + percent(row.loss(2)) +
               " at 1/8, " + percent(row.loss(3)) + " at 1/64, busiest bus " + percent(row.busiest);
    }
  }
  claims.push_back({"some of the more memory intensive codes require rates as low as 1/64",
                    "some (section 5.2)",
                    std::to_string(intensive) + " of them do; not hidden at 1/8: " + buses, intensive >= 2,
                    "memory-intensive: the busier of the two buses is busy for at least half of the time "
                    "without a monitor"});
  claims.push_back({"full logging, 1/1, perturbs where it is injected into the memory system",
                    "implied by figure 6",
                    std::to_string(rows.size() - count(1)) + " of " + std::to_string(rows.size()) +
                        " lose more than " + percent(kHidden) + ": " + list(1, all),
                    count(1) < count(2), modelled});
  size_t helped = 0;
  size_t hurt = 0;
  for (const Row& row : rows) {
    for (size_t c = 1; c <= 3; ++c) {
      if (row.loss(c) <= kHidden) continue;
      ++hurt;
      helped += row.loss(c + 3) <= kHidden ? 1 : 0;
    }
  }
  claims.push_back(
      {"introducing a separate monitoring memory could eliminate most perturbation for higher injection "
       "rates",
       "most (section 5.2)",
       std::to_string(helped) + " of " + std::to_string(hurt) +
           " perturbed cases are hidden with separate memory; at 1/1 the loss is: " + list(4, all),
       hurt != 0 && helped * 2 > hurt,
       "separate memory: a controller of its own, as fast as the program's, behind a buffer of 64 packets a "
       "capsule"});
  if (!setting.out.empty()) {
    std::ofstream file(setting.out + "/owl-perturbation.csv");
    file << "workload,busiest";
    for (const Case& each : kCases) file << ',' << each.name;
    file << ",loss at 1/8 with 2 a cycle,loss at 1/8 with 1 a cycle,loss at 1/8 with rings of 4 KiB\n";
    for (const Row& row : rows) {
      file << row.name << ',' << row.busiest;
      for (const double ipc : row.ipc) file << ',' << ipc;
      file << ',' << row.slower_loss[0] << ',' << row.slower_loss[1] << ',' << row.small_ring_loss << '\n';
    }
    if (!file.flush()) throw std::runtime_error("cannot write " + setting.out + "/owl-perturbation.csv");
    file.close();
    draw(setting.out);
  }
  return claims;
}

const Registered registered(
    {"owl-perturbation",
     "Schulz et al., section 5.2, tables 1 and 2, figure 6: perturbation by injected results", run});

}  // namespace
}  // namespace substrata::tool
