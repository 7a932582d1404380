// References a second through the NUMAchine model on one core, beside the same kernel without a model and
// under valgrind's cachegrind where that is installed.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "numachine/machine.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kWords = 65536;  // 512 KB: in the secondary cache, not in the primary one
constexpr std::uint64_t kRounds = 40;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The kernel: sums a block of words again and again before it goes on to the next, and stores the sum.
template <typename Load, typename Store>
std::uint64_t kernel(const Load& load, const Store& store) {
  std::uint64_t references = 0;
  for (std::uint64_t block = 0; block < kWords; block += 512) {
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      std::uint64_t sum = 0;
      for (std::uint64_t i = block; i < block + 512; ++i) sum += load(i);
      store(block + round, sum);
      references += 513;
    }
  }
  return references;
}

std::vector<std::uint64_t>& words() {
  static std::vector<std::uint64_t> all(kWords, 3);
  return all;
}

// A model of the thesis's machine with one processor at work.
struct OneProcessor {
  static substrata::numachine::Parameters four_stations() {
    substrata::numachine::Parameters parameters;
    parameters.shape.stations = 4;
    return parameters;
  }
  const substrata::numachine::Rack::Use use{substrata::numachine::Rack::instance()};
  substrata::numachine::Model model{four_stations(), 0};
  substrata::numachine::Time now = 0;
};

// The kernel's references go to `access(word, write)`; seconds.
template <typename Access>
double time_references(const Access& access, std::uint64_t* references) {
  const auto begin = Clock::now();
  *references = kernel(
      [&](std::uint64_t i) {
        access(i, false);
        return i;
      },
      [&](std::uint64_t i, std::uint64_t) { access(i, true); });
  return seconds_since(begin);
}

double run_native(std::uint64_t* references) {
  volatile std::uint64_t* const memory = words().data();
  const auto begin = Clock::now();
  *references = kernel([&](std::uint64_t i) { return memory[i]; },
                       [&](std::uint64_t i, std::uint64_t value) { memory[i] = value; });
  return seconds_since(begin);
}

double run_model(std::uint64_t* references) {
  OneProcessor cpu;
  const auto access = [&](std::uint64_t word, bool write) {
    const std::uint64_t address = 4096 + word * 8;
    if (cpu.model.quick(0, address, 8, write, cpu.now)) return;
    while (!cpu.model.step(0, address, 8, write, false, 0, cpu.now)) {
    }
  };
  return time_references(access, references);
}

// The same references as records in a row, as a followed program's arrive, in batches of 4096.
double run_records(std::uint64_t* references) {
  struct Record {
    std::uint64_t word;
    std::uint64_t address() const { return word >> 1; }
    bool is_plain() const { return true; }
    bool is_write() const { return (word & 1) != 0; }
  };
  std::vector<Record> records;
  records.reserve(4096);
  OneProcessor cpu;
  const auto access = [&](std::uint64_t word, bool write) {
    records.push_back({(4096 + word * 8) << 1 | (write ? 1U : 0U)});
    if (records.size() < 4096) return;
    const Record* at = records.data();
    const Record* const end = at + records.size();
    while (at != end) {
      at = cpu.model.serve_by_caches(0, at, end, ~substrata::numachine::Time{0}, cpu.now);
      if (at == end) break;
      while (!cpu.model.step(0, at->address(), 8, at->is_write(), false, 0, cpu.now)) {
      }
      ++at;
    }
    records.clear();
  };
  return time_references(access, references);
}

// This program under cachegrind with only the native kernel; the time of valgrind's own start is measured and
// taken off, the least of three each. Negative: valgrind does not run, or took no longer than its start.
double run_cachegrind(const char* self) {
  if (std::system("valgrind --version >/dev/null 2>&1") != 0) return -1;
  const auto timed = [&](const char* what) {
    const std::string command =
        std::string("valgrind --tool=cachegrind --cache-sim=yes --cachegrind-out-file=/dev/null ") + self +
        " " + what + " >/dev/null 2>&1";
    double least = -1;
    for (int i = 0; i < 3; ++i) {
      const auto begin = Clock::now();
      if (std::system(command.c_str()) != 0) return -1.0;
      const double took = seconds_since(begin);
      least = least < 0 ? took : std::min(least, took);
    }
    return least;
  };
  const double nothing = timed("nothing");
  const double all = timed("native");
  return nothing < 0 || all < 0 ? -1 : all - nothing;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t references = 0;
  if (argc > 1) {
    if (std::strcmp(argv[1], "native") == 0) run_native(&references);
    return 0;
  }
  double native = 1e9;
  double model = 1e9;
  double records = 1e9;
  for (int i = 0; i < 5; ++i) {
    native = std::min(native, run_native(&references));
    model = std::min(model, run_model(&references));
    records = std::min(records, run_records(&references));
  }
  const auto count = static_cast<double>(references);
  std::printf("native      %8.2f ns a reference (floor)\n", 1e9 * native / count);
  std::printf("numachine   %8.2f ns a reference, %.1f M references/s, %.1f times the floor\n",
              1e9 * model / count, count / model / 1e6, model / native);
  std::printf("in a row    %8.2f ns a reference, %.1f M references/s, %.1f times the floor\n",
              1e9 * records / count, count / records / 1e6, records / native);
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return 0;
  self[length] = '\0';
  const double cachegrind = run_cachegrind(self);
  if (cachegrind < 0) {
    std::printf("cachegrind  not measured: valgrind does not run here, or is disturbed\n");
  } else {
    std::printf(
        "cachegrind  %8.2f ns a reference, %.1f M references/s; it takes %.2f times as long as numachine, "
        "%.2f times as "
        "numachine in a row\n",
        1e9 * cachegrind / count, count / cachegrind / 1e6, cachegrind / model, cachegrind / records);
  }
  return 0;
}
