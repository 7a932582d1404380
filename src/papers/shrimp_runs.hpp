// What the reproductions of the SHRIMP paper share: runs on the machine, eventsets, histograms.
#ifndef SUBSTRATA_PAPERS_SHRIMP_RUNS_HPP
#define SUBSTRATA_PAPERS_SHRIMP_RUNS_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace substrata::papers {

// A running eventset of `shrimp` events. Thread-bound.
class ShrimpSet {
 public:
  // Throws std::runtime_error with the library's message.
  explicit ShrimpSet(const std::vector<std::string>& events);
  ~ShrimpSet();
  ShrimpSet(const ShrimpSet&) = delete;
  ShrimpSet& operator=(const ShrimpSet&) = delete;
  int handle() const noexcept { return set_; }
  void start();
  std::vector<long long> stop();

 private:
  int set_;
};

// Runs a workload to its end and gives the simulated time in seconds; throws when it does not run or its
// result is wrong.
double run_on_shrimp(const std::string& workload, std::uint32_t nodes, const std::string& parameters,
                     std::string* message = nullptr);

// A command of node 0 to all boards; throws when it is refused.
void command_all(std::uint32_t reg, std::uint64_t value);

// "12.3"
std::string with_digits(double number, int digits);

}  // namespace substrata::papers

#endif
