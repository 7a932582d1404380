// Placement as JSON, and the rules that look at it.
#include "recording/placement.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <utility>

#include "base/parse.hpp"
#include "recording/advice_rules.hpp"

#ifdef SUBSTRATA_JSON
#include <nlohmann/json.hpp>
#endif

namespace substrata::recording {
namespace {

constexpr double kSeenShare = 0.1;  // of a task's time, on a processor that the evidence names
constexpr std::size_t kMostProcessors = 1U << 16;

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

bool is_busy(const Task& task, const Placement& placement) {
  return task.ran_s + task.waited_s >= AdviceRule("busy").number("share_at_least") * placement.seconds;
}

// "0 and 4", "0, 1 and 4".
std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return out;
}

// "ranks 0 and 4" where each is a rank by itself, else all names in full.
std::string names_of(const std::vector<const Task*>& tasks, const Placement& placement) {
  std::vector<std::string> names, numbers;
  bool ranks = tasks.size() > 1;
  for (const Task* task : tasks) {
    names.push_back(task_name(*task, placement));
    numbers.push_back(std::to_string(task->rank));
    ranks = ranks && names.back() == "rank " + numbers.back();
  }
  return ranks ? "ranks " + listed(numbers) : listed(names);
}

// The rules' view: the busy tasks, and each processor's place.
class Places {
 public:
  explicit Places(const Placement& placement) : placement_(placement) {
    for (const ProcessorPlace& one : placement.processors) {
      of_[one.processor] = &one;
      cores_.insert(one.core);
      packages_.insert(one.package);
      fastest_ = std::max(fastest_, one.speed);
    }
    for (const Task& task : placement.tasks)
      if (is_busy(task, placement)) busy_.push_back(&task);
    std::sort(busy_.begin(), busy_.end(), [](const Task* a, const Task* b) {
      return std::pair(a->rank, a->tid) < std::pair(b->rank, b->tid);
    });
  }
  const std::vector<const Task*>& busy() const { return busy_; }
  const ProcessorPlace* of(int processor) const {
    const auto found = of_.find(processor);
    return found != of_.end() ? found->second : nullptr;
  }
  std::size_t packages() const { return packages_.size(); }
  int fastest() const { return fastest_; }

  // How many cores the busy tasks may use together.
  std::size_t allowed_cores() const {
    std::set<int> cores;
    for (const Task* task : busy_)
      for (const int processor : task->allowed)
        if (const ProcessorPlace* place = of(processor); place != nullptr) cores.insert(place->core);
    return cores.size();
  }
  // Seconds of a task by what a processor's place says.
  template <typename Member>
  std::map<int, double> by(const Task& task, Member member) const {
    std::map<int, double> out;
    for (const auto& [processor, seconds] : task.ran)
      if (const ProcessorPlace* place = of(processor); place != nullptr) out[place->*member] += seconds;
    return out;
  }
  // "core 2", with its package where there are several.
  std::string core_text(int core) const {
    for (const ProcessorPlace& one : placement_.processors)
      if (one.core == core && packages_.size() > 1)
        return "core " + std::to_string(core) + " (package " + std::to_string(one.package) + ")";
    return "core " + std::to_string(core);
  }

 private:
  const Placement& placement_;
  std::map<int, const ProcessorPlace*> of_;
  std::set<int> cores_, packages_;
  int fastest_ = 0;
  std::vector<const Task*> busy_;
};

double waiting_share(const std::vector<const Task*>& tasks) {
  double ran = 0, waited = 0;
  for (const Task* task : tasks) {
    ran += task->ran_s;
    waited += task->waited_s;
  }
  return ran + waited > 0 ? waited / (ran + waited) : 0;
}

std::string waited_for_a_processor(double share) {
  return "they waited for a free processor " + percent(share) + " of their time";
}

void find_crowding(const Placement& placement, const Places& places, std::vector<Finding>* out) {
  const AdviceRule crowded("oversubscribed"), shared("shared-core");
  const std::size_t cores = places.allowed_cores();
  const std::vector<const Task*>& busy = places.busy();
  const double waiting = waiting_share(busy);
  if (cores == 0 || busy.size() < 2) return;
  if (busy.size() > cores) {
    if (waiting < crowded.number("waiting_share_at_least")) return;
    out->push_back(finding_of(crowded,
                              std::to_string(busy.size()) + " busy threads share " + std::to_string(cores) +
                                  (cores == 1 ? " core" : " cores"),
                              waited_for_a_processor(waiting)));
    return;
  }
  // There is a core for each: sharing one can be avoided.
  const double main_share = shared.number("share_on_core_at_least");
  std::map<int, std::vector<const Task*>> on_core;
  for (const Task* task : busy)
    for (const auto& [core, seconds] : places.by(*task, &ProcessorPlace::core))
      if (task->ran_s > 0 && seconds >= main_share * task->ran_s) on_core[core].push_back(task);
  for (const auto& [core, tasks] : on_core) {
    if (tasks.size() < 2) continue;
    std::set<int> used;
    for (const Task* task : tasks)
      for (const auto& [processor, seconds] : task->ran)
        if (seconds >= kSeenShare * task->ran_s) used.insert(processor);
    const bool one = used.size() == 1;
    out->push_back(finding_of(shared, names_of(tasks, placement) + " share " + places.core_text(core),
                              std::string(one ? "all on processor " : "on its processors ") +
                                  numbers_text({used.begin(), used.end()}) + "; " +
                                  waited_for_a_processor(waiting_share(tasks))));
  }
}

void find_confined(const Placement& placement, const Places& places, std::vector<Finding>* out) {
  const AdviceRule rule("confined");
  std::map<std::int64_t, std::vector<const Task*>> by_process;
  for (const Task* task : places.busy()) by_process[task->pid].push_back(task);
  for (const auto& [pid, tasks] : by_process) {
    std::set<int> allowed;
    for (const Task* task : tasks) allowed.insert(task->allowed.begin(), task->allowed.end());
    if (tasks.size() <= allowed.size() || allowed.empty() || allowed.size() >= placement.processors.size())
      continue;
    Task process = *tasks.front();
    process.tid = process.pid;
    out->push_back(finding_of(rule,
                              task_name(process, placement) + " has " + std::to_string(tasks.size()) +
                                  " busy threads and may use " +
                                  (allowed.size() == 1 ? "only processor " : "only processors ") +
                                  numbers_text({allowed.begin(), allowed.end()}),
                              waited_for_a_processor(waiting_share(tasks))));
  }
}

// Nothing else says why the tasks waited: who took the processors is not of this command.
void find_busy_machine(const Places& places, std::vector<Finding>* out) {
  const AdviceRule rule("busy-machine");
  const double waiting = waiting_share(places.busy());
  if (!out->empty() || places.busy().empty() || places.busy().size() > places.allowed_cores() ||
      waiting < rule.number("waiting_share_at_least"))
    return;
  out->push_back(finding_of(rule, "others used the processors", waited_for_a_processor(waiting)));
}

void find_idle_packages(const Places& places, std::vector<Finding>* out) {
  const AdviceRule rule("idle-package");
  if (places.packages() < 2 || places.busy().size() < 2) return;
  std::map<int, double> by_package;
  double all = 0;
  for (const Task* task : places.busy())
    for (const auto& [package, seconds] : places.by(*task, &ProcessorPlace::package)) {
      by_package[package] += seconds;
      all += seconds;
    }
  for (const auto& [package, seconds] : by_package)
    if (all > 0 && seconds >= rule.number("share_on_one_at_least") * all)
      out->push_back(finding_of(rule,
                                "all " + std::to_string(places.busy().size()) +
                                    " busy threads are on package " + std::to_string(package) + " of " +
                                    std::to_string(places.packages()),
                                percent(seconds / all) + " of their time was spent there"));
}

void find_slow_cores(const Placement& placement, const Places& places, std::vector<Finding>* out) {
  const AdviceRule rule("slow-core");
  const double share = rule.number("share_on_slow_at_least");
  if (places.fastest() == 0) return;
  std::vector<const Task*> slow;
  for (const Task* task : places.busy()) {
    double on_slow = 0;
    for (const auto& [speed, seconds] : places.by(*task, &ProcessorPlace::speed))
      if (speed < places.fastest()) on_slow += seconds;
    if (task->ran_s > 0 && on_slow >= share * task->ran_s) slow.push_back(task);
  }
  if (slow.empty() || slow.size() == places.busy().size()) return;
  out->push_back(
      finding_of(rule, names_of(slow, placement) + (slow.size() > 1 ? " run" : " runs") + " on slower cores",
                 percent(share) + " of the processor time or more there, while others had the faster cores"));
}

void find_wandering(const Placement& placement, const Places& places, std::vector<Finding>* out) {
  const AdviceRule rule("wandering");
  std::vector<const Task*> far;
  for (const Task* task : places.busy()) {
    std::size_t stayed = 0;
    for (const auto& [node, seconds] : places.by(*task, &ProcessorPlace::node))
      stayed += seconds >= rule.number("share_on_each_node_at_least") * task->ran_s;
    if (stayed > 1 &&
        static_cast<double>(task->moves) >= rule.number("moves_a_second_at_least") * placement.seconds)
      far.push_back(task);
  }
  if (far.empty()) return;
  std::int64_t moves = 0;
  for (const Task* task : far) moves += task->moves;
  out->push_back(finding_of(
      rule, names_of(far, placement) + (far.size() > 1 ? " move" : " moves") + " between memory nodes",
      std::to_string(moves) + " moves in " + std::to_string(std::lround(placement.seconds)) +
          " s; memory that was touched first on one node is far from the other"));
}

}  // namespace

std::string numbers_text(const std::vector<int>& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    out += (out.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (last > i) out += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return out;
}

std::vector<int> numbers_from_text(std::string_view text) {
  std::vector<int> out;
  for (const std::string& piece : split_list(trimmed(text), ",")) {
    const std::size_t dash = piece.find('-');
    unsigned first = 0, last = 0;
    if (!parse_number(piece.substr(0, dash), &first) ||
        !parse_number(dash == std::string::npos ? piece : piece.substr(dash + 1), &last) || last < first ||
        last >= kMostProcessors)
      return {};
    for (unsigned number = first; number <= last; ++number) out.push_back(static_cast<int>(number));
  }
  return out;
}

std::string task_name(const Task& task, const Placement& placement) {
  const std::string process = task.rank >= 0 ? "rank " + std::to_string(task.rank)
                                             : "process " + std::to_string(task.pid) + " (" + task.name + ")";
  std::size_t busy = 0;
  for (const Task& other : placement.tasks) busy += other.pid == task.pid && is_busy(other, placement);
  return task.tid == task.pid || busy < 2 ? process : process + ", thread " + std::to_string(task.tid);
}

std::vector<Finding> placement_findings(const Placement& placement) {
  std::vector<Finding> out;
  const Places places(placement);
  find_crowding(placement, places, &out);
  find_confined(placement, places, &out);
  find_busy_machine(places, &out);
  find_idle_packages(places, &out);
  find_slow_cores(placement, places, &out);
  find_wandering(placement, places, &out);
  return out;
}

#ifdef SUBSTRATA_JSON
std::string placement_as_json(const Placement& placement) {
  using nlohmann::json;
  json processors = json::array(), tasks = json::array();
  for (const ProcessorPlace& one : placement.processors)
    processors.push_back({{"processor", one.processor},
                          {"core", one.core},
                          {"package", one.package},
                          {"node", one.node},
                          {"speed", one.speed}});
  for (const Task& task : placement.tasks) {
    json ran = json::array();
    for (const auto& [processor, seconds] : task.ran) ran.push_back({processor, seconds});
    tasks.push_back({{"pid", task.pid},
                     {"tid", task.tid},
                     {"rank", task.rank},
                     {"name", task.name},
                     {"allowed", numbers_text(task.allowed)},
                     {"ran_s", task.ran_s},
                     {"waited_s", task.waited_s},
                     {"ran", ran},
                     {"moves", task.moves},
                     {"moves_counted", task.moves_counted}});
  }
  return json{{"seconds", placement.seconds},
              {"interval", placement.interval},
              {"left_out", placement.left_out},
              {"processors", processors},
              {"tasks", tasks}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<Placement> placement_from_json(std::string_view text) {
  using nlohmann::json;
  try {
    const json all = json::parse(text);
    Placement out;
    out.seconds = all.at("seconds");
    out.interval = all.at("interval");
    out.left_out = all.at("left_out");
    for (const json& one : all.at("processors"))
      out.processors.push_back(
          {one.at("processor"), one.at("core"), one.at("package"), one.at("node"), one.at("speed")});
    for (const json& one : all.at("tasks")) {
      Task task;
      task.pid = one.at("pid");
      task.tid = one.at("tid");
      task.rank = one.at("rank");
      task.name = one.at("name");
      task.allowed = numbers_from_text(one.at("allowed").get<std::string>());
      task.ran_s = one.at("ran_s");
      task.waited_s = one.at("waited_s");
      for (const json& at : one.at("ran")) task.ran[at.at(0)] = at.at(1);
      task.moves = one.at("moves");
      task.moves_counted = one.at("moves_counted");
      out.tasks.push_back(std::move(task));
    }
    return out;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}
#else
std::string placement_as_json(const Placement&) { return {}; }
std::optional<Placement> placement_from_json(std::string_view) { return std::nullopt; }
#endif

std::vector<Placement> placements_of(const Recording& recording) {
  std::map<std::string_view, Placement> by_host;
  for (const Writer& writer : recording.writers)
    for (const Attachment& attachment : writer.attachments) {
      if (attachment.name != kPlacementName) continue;
      std::optional<Placement> one = placement_from_json(attachment.content);
      if (!one) continue;
      Placement& host = by_host[property(writer.properties, "host")];
      host.seconds = std::max(host.seconds, one->seconds);
      host.interval = std::max(host.interval, one->interval);
      host.left_out += one->left_out;
      if (host.processors.empty()) host.processors = std::move(one->processors);
      for (Task& task : one->tasks) host.tasks.push_back(std::move(task));
    }
  std::vector<Placement> out;
  for (auto& [host, placement] : by_host) out.push_back(std::move(placement));
  return out;
}

}  // namespace substrata::recording
