// Owl, section 5.2, table 2 and figure 6: how much a monitor that writes its results to memory slows a program down.
#include <algorithm>
#include <array>
#include <cstddef>
#include <future>
#include <map>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "papers/claims.hpp"
#include "papers/monitored_memory.hpp"
#include "papers/out_of_order.hpp"
#include "papers/owl_programs.hpp"
#include "papers/reproduction.hpp"
#include "papers/x86_operations.hpp"
#include "recording/sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

// The processor is that of out_of_order.hpp, the memory that of monitored_memory.hpp.
// "Hidden": the program loses at most so much of its speed. The paper gives no number, only a figure; 2 and 10 % are
// shown beside it.
constexpr double kHidden = 0.05;
constexpr double kLosses[] = {0.02, kHidden, 0.10};
// Memory-intensive: the second level's or memory's bus is busy for at least this part of the time without a monitor.
constexpr double kIntensive = 0.5;
// Rows of the paper's table 1 that have to be here.
constexpr size_t kEnough = 8;
// Each seed is another part of a program's run, which is followed for so many instructions behind its start-up: the
// seeds' windows end at equal distances. What was executed before a window fills the caches.
constexpr size_t kReducedMost = 8'000;  // instructions timed
constexpr size_t kReducedFollowed = 250'000;
constexpr size_t kFullFollowed = 4'000'000;
// Bytes of a capsule's ring. The paper leaves the size to the operating system (section 3.1).
constexpr std::uint64_t kRings[] = {4 << 10, 64 << 10, 1 << 20};
// Settings: a parameter that the paper does not give, or a mutant.
constexpr char kTwo[] = "capsules=2";
constexpr char kSmall[] = "ring=4 KiB";
constexpr char kMiddle[] = "ring=64 KiB";
constexpr char kFullLog[] = "rate=1/1 of whole records";
constexpr char kLargeCaches[] = "caches=64 MiB";
constexpr char kNotSeparate[] = "separate memory=none";

// What one program executes, as in WholeProgram, with what each instruction is.
struct Traffic {
  std::string name;
  std::vector<Step> steps;
  std::vector<std::uint32_t> executed;
  std::vector<Recipe> recipes;
};

// Gives the operations of a window of a whole program one by one.
class ProgramOperations {
 public:
  ProgramOperations(const Traffic& traffic, size_t timed, size_t end)
      : traffic_(traffic), first_(end - timed), end_(end) {}
  // Takes what is executed before them, from the program's start-up on, which fills the caches of `memory`.
  void begin(MonitoredMemory& memory) {
    for (; at_ < first_; ++at_) {
      const uint32_t each = traffic_.executed[at_];
      memory.fill_code(traffic_.recipes[each >> 8].address);
      for (const size_t end = step_ + (each & 255); step_ < end; ++step_)
        memory.fill(traffic_.steps[step_].address, traffic_.steps[step_].write);
    }
  }
  bool operator()(Operation& operation) {
    while (expansion_.begin() + from_ == expansion_.end()) {
      if (at_ == end_) return false;
      const uint32_t each = traffic_.executed[at_++];
      const Recipe& recipe = traffic_.recipes[each >> 8];
      const uint64_t next = at_ < traffic_.executed.size()
                                ? traffic_.recipes[traffic_.executed[at_] >> 8].address
                                : recipe.behind;
      expansion_.make(recipe, &traffic_.steps[step_], each & 255, next);
      step_ += each & 255;
      from_ = 0;
    }
    operation = expansion_.begin()[from_++];
    return true;
  }

 private:
  const Traffic& traffic_;
  const size_t first_;
  const size_t end_;
  Expansion expansion_;
  size_t from_ = 0;  // in the expansion: given up to there
  size_t at_ = 0;
  size_t step_ = 0;
};

struct Speed {
  double ipc;
  double busiest;  // bus: the part of the time in which it carries a line
};

Speed speed(const Traffic& traffic, const Case& one, const Monitor& monitor) {
  const size_t end = one.seed * traffic.executed.size() / kSeeds;
  ProgramOperations operations(traffic, std::min<size_t>(one.size.amount, end / 2), end);
  constexpr std::uint64_t kLarge = 64 << 20;
  MonitoredMemory memory =
      one.setting == kLargeCaches ? MonitoredMemory(monitor, kLarge, kLarge) : MonitoredMemory(monitor);
  operations.begin(memory);
  OutOfOrder<MonitoredMemory> processor(memory);
  processor.run(operations);
  const auto cycles = static_cast<double>(processor.cycles());
  return {static_cast<double>(processor.operations()) / cycles,
          static_cast<double>(memory.busiest()) / cycles};
}

Traffic decode(WholeProgram& program) {
  Decoder decoder;
  Traffic traffic;
  traffic.recipes.reserve(program.code.size());
  for (const Code& code : program.code) {
    bool known = false;
    traffic.recipes.push_back(decoder.decode(code, known));
  }
  traffic.name = program.name;
  traffic.steps = std::move(program.steps);
  traffic.executed = std::move(program.executed);
  return traffic;
}

// The rows of table 1, followed once for all cases of a study.
const std::vector<Traffic>& programs(size_t timed) {
  static std::map<size_t, std::vector<Traffic>> kept;
  const size_t instructions = timed <= kReducedMost ? kReducedFollowed : kFullFollowed;
  const auto [found, added] = kept.try_emplace(instructions);
  if (!added) return found->second;
  if (!Decoder::available()) throw std::runtime_error("this program was built without capstone");
  WholePrograms whole = follow_whole_programs(2 * instructions, instructions);
  for (WholeProgram& program : whole.programs)
    if (!program.paper.empty() && program.name != kWaits && !program.executed.empty())
      found->second.push_back(decode(program));
  if (found->second.size() < kEnough)
    throw std::runtime_error("too few programs are here: " + whole.left_out);
  return found->second;
}

// The speeds of all programs under one monitor, two programs at a time.
std::vector<Speed> speeds(const Case& one, const Monitor& monitor) {
  const std::vector<Traffic>& list = programs(one.size.amount);
  std::vector<Speed> all(list.size());
  const auto measure_from = [&](size_t first) {
    for (size_t i = first; i < list.size(); i += 2) all[i] = speed(list[i], one, monitor);
  };
  auto other = std::async(std::launch::async, measure_from, 1);
  measure_from(0);
  other.get();
  return all;
}

// The losses of all programs under monitors, against the same programs without one.
class Losses {
 public:
  explicit Losses(const Case& one) : one_(one), without_(speeds(one, {})) {}
  // At 1/`every`, or as the mutant has it.
  std::vector<double> of(Injection injection, std::uint64_t every, std::uint64_t ring,
                         bool warmed = true) const {
    Monitor monitor{.injection = injection, .every = every, .ring = ring, .warmed = warmed};
    if (one_.setting == kTwo) monitor.capsules = 2;
    if (one_.setting == kSmall) monitor.ring = kRings[0];
    if (one_.setting == kMiddle) monitor.ring = kRings[1];
    if (one_.setting == kFullLog) {
      monitor.every = 1;
      monitor.packet_bytes = 64;
    }
    std::vector<double> losses;
    const std::vector<Speed> with = speeds(one_, monitor);
    for (size_t i = 0; i < with.size(); ++i) losses.push_back(1 - with[i].ipc / without_[i].ipc);
    return losses;
  }
  bool intensive(size_t program) const { return without_[program].busiest >= kIntensive; }

 private:
  const Case& one_;
  const std::vector<Speed> without_;
};

size_t hidden(const std::vector<double>& losses, double most = kHidden) {
  return static_cast<size_t>(
      std::count_if(losses.begin(), losses.end(), [&](double loss) { return loss <= most; }));
}

std::string shown(const std::vector<double>& losses) {
  std::string text;
  for (const double most : kLosses)
    text += (text.empty() ? "" : ", ") + std::to_string(hidden(losses, most)) + " lose at most " +
            digits(100 * most, 0) + " %";
  return std::to_string(losses.size()) + " programs: " + text;
}

Reading share_hidden(const std::vector<double>& losses, const std::string& more = {}) {
  return {static_cast<double>(hidden(losses)) / static_cast<double>(losses.size()), shown(losses) + more};
}

// Of the programs that are perturbed at 1/8, those that fill the memory system.
Reading intensive_share(const Losses& losses) {
  const std::vector<double> lost = losses.of(Injection::kNaive, 8, kRings[2]);
  double perturbed = 0, intensive = 0;
  for (size_t i = 0; i < lost.size(); ++i) {
    if (lost[i] <= kHidden) continue;
    ++perturbed;
    intensive += losses.intensive(i) ? 1 : 0;
  }
  return {perturbed == 0 ? 0 : intensive / perturbed,
          digits(intensive, 0) + " of " + digits(perturbed, 0) + " perturbed programs"};
}

// Of the losses at all rates together, the part that a memory of its own takes away.
Reading removed(const Case& one, const Losses& losses) {
  double naive = 0, separate = 0;
  const auto sum = [](const std::vector<double>& lost) {
    double all = 0;
    for (const double loss : lost) all += std::max(0.0, loss);
    return all;
  };
  for (const std::uint64_t every : {1, 8, 64}) {
    naive += sum(losses.of(Injection::kNaive, every, kRings[2]));
    separate += sum(
        losses.of(one.setting == kNotSeparate ? Injection::kNaive : Injection::kSeparate, every, kRings[2]));
  }
  if (naive == 0) throw std::runtime_error("no program loses anything");
  return {1 - separate / naive, "sum of the losses " + digits(100 * naive, 1) + " %, with separate memory " +
                                    digits(100 * separate, 1) + " %"};
}

Readings measure(const Case& one) {
  start_library();
  const Losses losses(one);
  Readings found;
  const char* const rings[] = {"most-4k", "most-64k", "most-1m"};
  for (size_t i = 0; i < std::size(rings); ++i) {
    if (!one.wants(rings[i])) continue;
    // What an earlier version of the model gave, in which the rings were cold and began at one set.
    const std::string before =
        one.setting.empty()
            ? "; cold rings at one set: " + shown(losses.of(Injection::kNaive, 8, kRings[i], false))
            : "";
    found[rings[i]] = share_hidden(losses.of(Injection::kNaive, 8, kRings[i]), before);
  }
  if (one.wants("all-64th")) found["all-64th"] = share_hidden(losses.of(Injection::kNaive, 64, kRings[2]));
  if (one.wants("intensive")) found["intensive"] = intensive_share(losses);
  if (one.wants("separate")) found["separate"] = removed(one, losses);
  return found;
}

constexpr struct {
  const char* name;
  Injection injection;
  std::uint64_t every;
} kTable2[] = {
    {"baseline", Injection::kNone, 1},           {"1/1 naive", Injection::kNaive, 1},
    {"1/8 naive", Injection::kNaive, 8},         {"1/64 naive", Injection::kNaive, 64},
    {"1/1 separate", Injection::kSeparate, 1},   {"1/8 separate", Injection::kSeparate, 8},
    {"1/64 separate", Injection::kSeparate, 64},
};

// Figure 6: operations a cycle in the cases of table 2.
void figures(const Setting& setting) {
  start_library();
  const Size size{"", kReducedMost, 1};
  const Case one{size, kSeeds, "", {}};
  const std::vector<Traffic>& list = programs(kReducedMost);
  std::vector<std::vector<Speed>> all;
  for (const auto& each : kTable2)
    all.push_back(speeds(one, {.injection = each.injection, .every = each.every}));
  setting.write("owl-perturbation.csv", [&](std::ostream& file) {
    file << "program,busiest";
    for (const auto& each : kTable2) file << ',' << each.name;
    for (size_t i = 0; i < list.size(); ++i) {
      file << '\n' << list[i].name << ',' << all[0][i].busiest;
      for (const std::vector<Speed>& of_case : all) file << ',' << of_case[i].ipc;
    }
    file << '\n';
  });
}

}  // namespace

extern const Reproduction owl_perturbation =
    stated("owl-perturbation",
           "Schulz et al., section 5.2, tables 1 and 2, figure 6: perturbation by injected results", measure,
           figures);

}  // namespace substrata::papers
