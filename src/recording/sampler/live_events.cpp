// Samplers of processors or threads, added up.
#include "recording/sampler/live_events.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/parse.hpp"
#include "recording/sampler/event_spec.hpp"
#include "recording/sampler/machine_state.hpp"
#include "recording/sampler/measuring.hpp"

namespace substrata::sampler {
namespace {

namespace fs = std::filesystem;

// The threads of a process and of its descendants, its own first.
std::vector<pid_t> threads_of_tree(pid_t process) {
  std::vector<pid_t> threads;
  std::vector<pid_t> processes = {process};
  for (std::size_t i = 0; i < processes.size(); ++i) {
    std::error_code error;
    std::vector<pid_t> own;
    for (fs::directory_iterator at("/proc/" + std::to_string(processes[i]) + "/task", error), end;
         !error && at != end; at.increment(error)) {
      pid_t thread = 0;
      if (parse_number(at->path().filename().string(), &thread)) own.push_back(thread);
      std::ifstream children(at->path() / "children");
      for (pid_t child = 0; children >> child;) processes.push_back(child);
    }
    std::sort(own.begin(), own.end());
    threads.insert(threads.end(), own.begin(), own.end());
  }
  return threads;
}

// Nanoseconds that these processors were busy since boot, of none named all; -1: not known.
std::int64_t busy_ns(const std::vector<int>& processors) {
  std::int64_t ticks = -1;
  for (const auto& [number, time] : processor_times()) {
    const bool wanted = processors.empty()
                            ? number == kAllProcessors
                            : std::find(processors.begin(), processors.end(), number) != processors.end();
    if (wanted) ticks = std::max<std::int64_t>(ticks, 0) + time.busy;
  }
  return ticks < 0 ? -1 : ticks * (1'000'000'000 / sysconf(_SC_CLK_TCK));
}

bool has_ended(pid_t thread) {
  std::error_code error;
  return !fs::exists("/proc/" + std::to_string(thread), error);
}

std::vector<std::string> names_of(const Sampler& sampler) {
  std::vector<std::string> names;
  for (const recording::SeriesInfo& one : sampler.series()) names.push_back(one.name);
  return names;
}

}  // namespace

std::vector<int> parse_processors(const std::string& text) {
  std::vector<int> out;
  bool sound = !text.empty();
  for (const std::string& range : split(text, ',')) {
    int first = 0, last = 0;
    const std::size_t dash = range.find('-');
    sound = sound && parse_number(range.substr(0, dash), &first) && first >= 0;
    last = first;
    if (sound && dash != std::string::npos)
      sound = parse_number(range.substr(dash + 1), &last) && last >= first && last < 65536;
    for (int i = first; sound && i <= last; ++i)
      if (std::find(out.begin(), out.end(), i) == out.end()) out.push_back(i);
  }
  if (!sound) throw std::runtime_error("'" + text + "' is no list of processors; write for example 0-3,8");
  return out;
}

std::vector<int> online_processors() {
  std::ifstream file("/sys/devices/system/cpu/online");
  std::string text;
  if (std::getline(file, text)) return parse_processors(text);
  std::vector<int> out;
  for (long i = 0; i < sysconf(_SC_NPROCESSORS_ONLN); ++i) out.push_back(static_cast<int>(i));
  return out;
}

// Takes rows and adds them up.
class LiveEvents::Row : public recording::Sink {
 public:
  explicit Row(std::vector<recording::Series>* series) : series_(series) {}
  // Of the next row `count` values are put, or added unless it is the first, at `place` and what follows.
  void begin(std::size_t place, std::size_t count, bool first) {
    place_ = place;
    count_ = count;
    first_ = first;
  }
  std::uint32_t declare(const std::vector<recording::SeriesInfo>&) override { return 0; }
  void sample(std::uint32_t, std::int64_t time, std::int64_t, const std::int64_t* values,
              const std::uint8_t* flags) override {
    time_ = time;
    for (std::size_t i = 0; i < count_; ++i) {
      recording::Series& series = (*series_)[place_ + i];
      if (first_) {
        series.values[0] = values[i];
        series.flags[0] = flags[i];
        continue;
      }
      if (series.type == recording::Type::kDouble) {
        double sum = 0, more = 0;
        std::memcpy(&sum, &series.values[0], sizeof sum);
        std::memcpy(&more, &values[i], sizeof more);
        sum += more;
        std::memcpy(&series.values[0], &sum, sizeof sum);
      } else {
        series.values[0] = static_cast<std::int64_t>(static_cast<std::uint64_t>(series.values[0]) +
                                                     static_cast<std::uint64_t>(values[i]));
      }
      series.flags[0] |= flags[i];
    }
  }
  void mark(const recording::Mark&) override {}
  std::int64_t time() const { return time_; }

 private:
  std::vector<recording::Series>* series_;
  std::size_t place_ = 0;
  std::size_t count_ = 0;
  bool first_ = true;
  std::int64_t time_ = 0;
};

// Of the two series of the recorder itself, the processor time is shown.
constexpr std::size_t kOwn = 2;

LiveEvents::LiveEvents(const LiveTarget& target, const std::vector<std::string>& event_specs)
    : row_(std::make_unique<Row>(&series_)),
      apart_(target.apart && target.kind == LiveTarget::Kind::kMachine),
      processors_(target.processors) {
  start_library();
  std::vector<pid_t> threads;
  if (target.kind == LiveTarget::Kind::kMachine) {
    for (const int processor : processors_.empty() ? online_processors() : processors_)
      parts_.push_back(std::make_unique<Sampler>(Sampler::OfProcessor{processor}));
  } else if (target.kind == LiveTarget::Kind::kProcess) {
    threads = threads_of_tree(target.pid);
    if (threads.empty()) throw std::runtime_error("there is no process " + std::to_string(target.pid));
    for (const pid_t thread : threads) parts_.push_back(std::make_unique<Sampler>(thread, true, false));
  } else {
    parts_.push_back(std::make_unique<Sampler>(target.pid, true, false));
  }
  if (target.kind != LiveTarget::Kind::kMachine) tree_ = std::make_unique<Sampler>(target.pid, true, false);
  node_ = std::make_unique<Sampler>(0, false, true);

  const bool usual = event_specs.empty() && target.usual;
  bool named = !usual;  // by the user
  const TryAdd try_add = [&](const std::string& name) -> std::string {
    // Of a processor that clock counts all time, idle or not.
    if (!named && target.kind == LiveTarget::Kind::kMachine && name == "perf::TASK-CLOCK") return kLeftOut;
    if (std::string why = node_->try_add(name); !why.empty()) return why;
    // It looks at a process and its descendants as a whole, not at threads.
    if (name.rfind("process:::", 0) == 0)
      return tree_ != nullptr ? tree_->try_add(name) : name + ": of processes, not of the whole machine";
    for (std::size_t i = 0; i < parts_.size();) {
      std::string why = parts_[i]->try_add(name);
      if (why.empty()) {
        ++i;
        continue;
      }
      // A thread may end while its counters are being opened. The rest goes on without it.
      if (i == 0 || !has_ended(threads.empty() ? target.pid : threads[i])) return why;
      parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(i));
      threads.erase(threads.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return {};
  };
  if (usual)
    notes_ = add_usual_events(try_add, &refused_);
  else
    notes_ = add_event_specs(event_specs, try_add, &refused_);
  if (!usual)
    for (const Refused& one : refused_) notes_.push_back(one.why);
  named = false;
  add_willing_events(target.also, try_add, &refused_);

  started_ = raw_now_ns();
  for (const auto& part : parts_) part->start();
  if (tree_ != nullptr) tree_->start();
  node_->start();
  for (const Sampler* one : {parts_.front().get(), tree_.get(), node_.get()})
    if (one != nullptr) notes_.insert(notes_.end(), one->notes().begin(), one->notes().end());
  const std::vector<std::string> names = names_of(*parts_.front());
  std::erase_if(parts_, [&](const std::unique_ptr<Sampler>& part) {
    if (names_of(*part) == names) return false;
    notes_.push_back("a processor or thread is left out: " +
                     (part->notes().empty() ? std::string("its events refuse") : part->notes().back()));
    return true;
  });
  const auto take = [&](const Sampler& sampler, std::size_t own, const std::string& scope = {}) {
    std::vector<recording::SeriesInfo> about = sampler.series();
    about.resize(about.size() - own);
    for (recording::SeriesInfo& one : about) {
      recording::Series series;
      static_cast<recording::SeriesInfo&>(series) = std::move(one);
      if (!scope.empty()) series.scope = scope;
      series.values.assign(1, 0);
      series.flags.assign(1, recording::kAbsent);
      series_.push_back(std::move(series));
    }
  };
  if (usual && target.kind == LiveTarget::Kind::kMachine) busy_at_start_ns_ = busy_ns(processors_);
  if (busy_at_start_ns_ >= 0) {
    recording::Series& busy = series_.emplace_back();
    busy.name = "machine:busy";
    busy.text = "Time that all processors were busy, in the kernel's ticks";
    busy.unit = "ns";
    busy.component = "machine";
    busy.scope = "machine";
    busy.kind = recording::Kind::kCount;
    busy.values.assign(1, 0);
    busy.flags.assign(1, recording::kAbsent);
  }
  if (!apart_) take(*parts_.front(), kOwn);
  for (const auto& part : parts_)
    if (apart_) take(*part, kOwn, "cpu " + std::to_string(part->processor()));
  if (tree_ != nullptr) take(*tree_, kOwn);
  take(*node_, kOwn - 1);
  if (series_.size() == 1)
    throw std::runtime_error(
        "none of the events can be counted here" +
        (notes_.empty() ? std::string("; `substrata doctor` says why") : ": " + notes_[0]));
}

LiveEvents::~LiveEvents() = default;

std::vector<Counting> LiveEvents::counting() const {
  std::vector<Counting> out(busy_at_start_ns_ >= 0 ? 1 : 0);
  const auto append = [&out](const Sampler& sampler) {
    const std::vector<Counting> its = sampler.counting();
    out.insert(out.end(), its.begin(), its.end());
  };
  const std::size_t begin = out.size();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (apart_ || i == 0) {
      append(*parts_[i]);
      continue;
    }
    const std::vector<Counting> more = parts_[i]->counting();
    for (std::size_t k = 0; k < more.size() && begin + k < out.size(); ++k) {
      out[begin + k].enabled_ns += more[k].enabled_ns;
      out[begin + k].running_ns += more[k].running_ns;
    }
  }
  if (tree_ != nullptr) append(*tree_);
  append(*node_);
  return out;
}

void LiveEvents::sample() {
  std::size_t place = 0;
  if (busy_at_start_ns_ >= 0) {
    const std::int64_t busy = busy_ns(processors_);
    series_[0].values[0] = std::max<std::int64_t>(busy - busy_at_start_ns_, 0);
    series_[0].flags[0] = busy < 0 ? recording::kAbsent : 0;
    ++place;
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    row_->begin(place, parts_.front()->events(), apart_ || i == 0);
    parts_[i]->sample(*row_, 0);
    if (apart_ || i + 1 == parts_.size()) place += parts_.front()->events();
  }
  if (tree_ != nullptr) {
    row_->begin(place, tree_->events(), true);
    tree_->sample(*row_, 0);
    place += tree_->events();
  }
  row_->begin(place, node_->events() + 1, true);
  node_->sample(*row_, 0);
  time_ = row_->time();
}

}  // namespace substrata::sampler
