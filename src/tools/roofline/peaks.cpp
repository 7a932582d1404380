// Threads on cores that repeat a loop for a stretch of time; the best of several stretches counts.
#include "tools/roofline/peaks.hpp"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "tools/roofline/kernels.hpp"

namespace substrata::roofline {
namespace {

constexpr double kStretch = 0.04;  // seconds
constexpr int kStretches = 3;
constexpr std::uint64_t kLeastMemory = 48ULL << 20, kMostMemory = 1ULL << 30;
constexpr std::uint64_t kHugePage = 2ULL << 20;

// The first processor of each core that this thread may use.
std::vector<int> processors_of_cores(const topology::Machine& machine) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::map<int, int> first;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    for (const recording::ProcessorPlace& one : machine.processors)
      if (one.processor < CPU_SETSIZE && CPU_ISSET(one.processor, &allowed))
        first.try_emplace(one.core, one.processor);
  std::vector<int> out;
  for (const auto& [core, processor] : first) out.push_back(processor);
  // More processors than the set holds, or a topology of which hwloc knows nothing: where we are.
  if (out.empty()) out.push_back(std::max(0, sched_getcpu()));
  return out;
}

// Seconds that this thread ran. Who else uses the processor takes turns with it, and does not make it slower.
double seconds_run() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Work of one thread, made in it: each call does some and gives how much.
using Work = std::function<double()>;
using MakeWork = std::function<Work()>;

// Work of all threads together in a second that they run.
double rate_of(const std::vector<int>& processors, const MakeWork& make) {
  std::atomic<std::size_t> ready{0};
  std::atomic<int> stretch{0};
  std::atomic<std::size_t> done{0};
  std::vector<double> rates(processors.size() * kStretches);
  std::vector<std::thread> threads;
  // Asleep while others measure: a thread that looks again and again would take their time.
  const auto reached = [](auto& number, auto wanted) {
    for (auto now = number.load(); now < wanted; now = number.load()) number.wait(now);
  };
  const auto one_more = [](auto& number) {
    ++number;
    number.notify_all();
  };
  const auto body = [&](std::size_t i) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(processors[i]), &one);
    sched_setaffinity(0, sizeof one, &one);  // refused in some containers: then it runs where it may
    const Work work = make();
    work();
    one_more(ready);
    for (int s = 0; s < kStretches; ++s) {
      reached(stretch, s + 1);
      double amount = 0;
      const double begin = seconds_run();
      double now = begin;
      do {
        amount += work();
        now = seconds_run();
      } while (now - begin < kStretch);
      rates[static_cast<std::size_t>(s) * processors.size() + i] = amount / (now - begin);
      one_more(done);
    }
  };
  try {
    for (std::size_t i = 0; i < processors.size(); ++i) threads.emplace_back(body, i);
  } catch (const std::system_error&) {
    stretch.store(kStretches);  // those that began come to their end
    stretch.notify_all();
    for (std::thread& thread : threads) thread.join();
    throw;
  }
  reached(ready, processors.size());
  double best = 0;
  for (int s = 0; s < kStretches; ++s) {
    one_more(stretch);
    reached(done, processors.size() * static_cast<std::size_t>(s + 1));
    double sum = 0;
    for (std::size_t i = 0; i < processors.size(); ++i)
      sum += rates[static_cast<std::size_t>(s) * processors.size() + i];
    best = std::max(best, sum);
  }
  for (std::thread& thread : threads) thread.join();
  return best;
}

// So that no compiler leaves a loop out.
std::atomic<double> kept{0};

Work operations_of(const Kernels& kernels) {
  return [&kernels] {
    constexpr std::uint64_t kRounds = 20'000;
    kept.store(kernels.multiply_add(kRounds, 0.999999, 1e-6), std::memory_order_relaxed);
    return static_cast<double>(kRounds) * kernels.flops_a_round;
  };
}

struct Free {
  void operator()(double* memory) const { std::free(memory); }
};

// Of `bytes` altogether, in three arrays.
Work triad_of(const Kernels& kernels, std::uint64_t bytes) {
  std::size_t count = std::max<std::uint64_t>(64, bytes / 24 / 8 * 8);
  // Arrays do not begin at the same places of pages: their lines would compete for the same sets of a cache.
  constexpr std::size_t kApart = 9 * 8;
  double* memory = nullptr;
  while (memory == nullptr) {
    const std::size_t size = 3 * (count + kApart) * sizeof(double);
    const std::size_t alignment = size < kHugePage ? 64 : kHugePage;
    memory =
        static_cast<double*>(std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment));
    if (memory == nullptr && count == 64) throw std::bad_alloc();
    if (memory == nullptr)
      count = std::max<std::size_t>(64, count / 2 / 8 * 8);
    else if (alignment == kHugePage)
      madvise(memory, size, MADV_HUGEPAGE);  // a virtual machine needs seconds for a gigabyte of small pages
  }
  const std::shared_ptr<double> kept_memory(memory, Free{});
  std::fill_n(memory, 3 * (count + kApart), 1.0);
  // One pass of a small cache is shorter than reading the clock.
  const std::size_t passes = std::max<std::size_t>(1, 20'000 / count);
  return [&kernels, kept_memory, count, passes] {
    double* a = kept_memory.get();
    for (std::size_t pass = 0; pass < passes; ++pass)
      kernels.triad(a, a + count + kApart, a + 2 * (count + kApart), 0.5, count);
    return kTriadBytes * static_cast<double>(count * passes);
  };
}

// The data caches on the way from a processor to memory, the nearest first.
void caches_of(const topology::Object& object, int processor, std::vector<const topology::Object*>* out) {
  for (const topology::Object& part : object.parts)
    if (std::find(part.processors.begin(), part.processors.end(), processor) != part.processors.end() &&
        part.kind != topology::Kind::kMemory)
      caches_of(part, processor, out);
  if (object.kind == topology::Kind::kCache && object.name.find('i') == std::string::npos)
    out->push_back(&object);
}

// The number behind `name` in a file of the kernel's ("MemAvailable: 5 kB"), or the whole file where it has no name; 0
// where there is none, as in "max".
std::uint64_t number_in(const std::string& path, const std::string& name = "") {
  std::ifstream file(path);
  std::string word;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::uint64_t number = 0;
    if ((name.empty() || (fields >> word && word == name)) && fields >> number) return number;
  }
  return 0;
}

}  // namespace

double Peaks::most_operations(bool one) const {
  double most = 0;
  for (const Rate& rate : operations) most = std::max(most, one ? rate.one : rate.all);
  return most;
}

double Peaks::memory_bandwidth(bool one) const {
  if (memory.empty()) return 0;
  return one ? memory.back().one : memory.back().all;
}

std::vector<std::uint64_t> cache_sizes(const topology::Machine& machine) {
  std::vector<const topology::Object*> caches;
  caches_of(machine.root, processors_of_cores(machine).front(), &caches);
  std::vector<std::uint64_t> out;
  for (const topology::Object* cache : caches) out.push_back(cache->bytes);
  return out;
}

std::uint64_t memory_to_use(const std::string& root) {
  std::uint64_t most = 1024 * number_in(root + "/proc/meminfo", "MemAvailable:");
  const auto limit = [&most](const std::string& file) {
    if (const std::uint64_t bytes = number_in(file); bytes != 0 && (most == 0 || bytes < most)) most = bytes;
  };
  // "0::/a/b" of the second version, "4:memory:/a/b" of the first; a limit of any group above holds too.
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t colon = line.find(':'), path = line.find(':', colon + 1);
    if (path == std::string::npos) continue;
    const std::string controllers = line.substr(colon + 1, path - colon - 1);
    const bool second = controllers.empty();
    if (!second && ("," + controllers + ",").find(",memory,") == std::string::npos) continue;
    const std::string base = root + "/sys/fs/cgroup" + (second ? "" : "/memory"),
                      file = second ? "/memory.max" : "/memory.limit_in_bytes";
    for (std::filesystem::path group = line.substr(path + 1); group.has_relative_path();
         group = group.parent_path())
      limit(base + group.string() + file);
    limit(base + file);
  }
  return most;
}

std::vector<Level> levels(const topology::Machine& machine, std::uint64_t memory) {
  const std::vector<int> all = processors_of_cores(machine);
  std::vector<const topology::Object*> caches;
  caches_of(machine.root, all.front(), &caches);
  std::vector<Level> out;
  std::uint64_t inner = 0, largest = 0;
  for (const topology::Object* cache : caches) {
    std::uint64_t sharing = 0;
    for (const int processor : all)
      sharing += static_cast<std::uint64_t>(
          std::count(cache->processors.begin(), cache->processors.end(), processor));
    const std::uint64_t share = cache->bytes / std::max<std::uint64_t>(1, sharing);
    // Sixteen times the level before come from this one, whatever more it holds.
    const std::uint64_t most = inner == 0 ? cache->bytes : 16 * inner;
    largest = std::max(largest, cache->bytes);
    // A cache whose share is not larger than the one before it cannot be measured apart.
    if (share / 2 > inner)
      out.push_back({cache->name, std::min(cache->bytes / 2, most), std::min(share / 2, most)});
    inner = std::max(inner, share);
  }
  std::uint64_t bytes = std::min(std::max(kLeastMemory, 4 * largest), kMostMemory);
  if (memory != 0) bytes = std::min(bytes, memory / 4);
  out.push_back({"memory", bytes, std::max(bytes, kLeastMemory * all.size() / 4) / all.size()});
  return out;
}

Peaks measure_peaks(const topology::Machine& machine,
                    const std::function<void(const std::string&)>& progress) {
  Peaks out;
  const std::vector<int> all = processors_of_cores(machine), one = {all.front()};
  const std::vector<Kernels> kernels = kernels_here();
  out.cores = all.size();
  for (const Kernels& width : kernels) {
    progress(std::string("operations, ") + width.name);
    const MakeWork make = [&] { return operations_of(width); };
    const double alone = rate_of(one, make);
    out.operations.push_back({width.name, alone, all.size() > 1 ? rate_of(all, make) : alone, 0});
  }
  const std::vector<std::uint64_t> caches = cache_sizes(machine);
  if (!caches.empty()) out.last_cache = *std::max_element(caches.begin(), caches.end());
  for (const Level& level : levels(machine, memory_to_use(""))) {
    progress("bandwidth, " + level.name);
    const auto triad = [&](std::uint64_t bytes) {
      return [&, bytes] { return triad_of(kernels.back(), bytes); };
    };
    const double alone = rate_of(one, triad(level.alone));
    out.memory.push_back(
        {level.name, alone, all.size() > 1 ? rate_of(all, triad(level.together)) : alone, level.alone});
  }
  return out;
}

std::string peaks_as_json(const Peaks& peaks) {
  using nlohmann::json;
  const auto list = [](const std::vector<Rate>& rates) {
    json out = json::array();
    for (const Rate& one : rates)
      out.push_back({{"name", one.name}, {"one", one.one}, {"all", one.all}, {"bytes", one.bytes}});
    return out;
  };
  return json{{"version", 1},
              {"host", peaks.host},
              {"processor", peaks.processor},
              {"cores", peaks.cores},
              {"last_cache", peaks.last_cache},
              {"flops_per_second", list(peaks.operations)},
              {"bytes_per_second", list(peaks.memory)}}
      .dump(1, ' ', false, json::error_handler_t::replace);
}

Peaks peaks_from_json(std::string_view text) {
  using nlohmann::json;
  try {
    const json all = json::parse(text);
    if (all.at("version") != 1)
      throw std::runtime_error("version " + all.at("version").dump() + " of peaks is not known");
    Peaks out;
    out.host = all.at("host");
    out.processor = all.at("processor");
    out.cores = all.at("cores");
    out.last_cache = all.value("last_cache", std::uint64_t{0});
    const auto list = [](const json& rates) {
      std::vector<Rate> read;
      for (const json& one : rates) {
        read.push_back({one.at("name"), one.at("one"), one.at("all"), one.at("bytes")});
        if (!(read.back().one > 0) || !(read.back().all > 0))
          throw std::runtime_error("the rate of " + read.back().name + " is not positive");
      }
      return read;
    };
    out.operations = list(all.at("flops_per_second"));
    out.memory = list(all.at("bytes_per_second"));
    if (out.operations.empty() || out.memory.empty()) throw std::runtime_error("there are no rates");
    return out;
  } catch (const json::exception& error) {
    throw std::runtime_error(error.what());
  }
}

}  // namespace substrata::roofline
