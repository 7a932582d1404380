// Texts below /proc that every process may read.
#include "recording/sampler/machine_state.hpp"

#include <fstream>
#include <sstream>

namespace substrata::sampler {

std::map<int, ProcessorTime> processor_times(const std::string& root) {
  std::map<int, ProcessorTime> out;
  std::ifstream file(root + "/proc/stat");
  std::string line;
  while (std::getline(file, line) && line.rfind("cpu", 0) == 0) {
    std::istringstream fields(line.substr(3));
    int number = kAllProcessors;
    if (line.size() > 3 && line[3] != ' ' && !(fields >> number)) continue;
    std::int64_t user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft = 0, stolen = 0;
    if (!(fields >> user >> nice >> system >> idle >> waiting >> interrupts >> soft)) continue;
    fields >> stolen;
    const std::int64_t busy = user + nice + system + interrupts + soft;
    out[number] = {busy, busy + idle + waiting + stolen};
  }
  return out;
}

MachineState machine_state(const std::string& root) {
  MachineState out;
  out.processors = processor_times(root);
  std::ifstream memory(root + "/proc/meminfo");
  std::string name;
  double kib = 0;
  for (std::string line; std::getline(memory, line);) {
    std::istringstream fields(line);
    if (!(fields >> name >> kib)) continue;
    if (name == "MemTotal:") out.memory_bytes = 1024 * kib;
    if (name == "MemAvailable:") out.available_bytes = 1024 * kib;
  }
  std::ifstream load(root + "/proc/loadavg");
  double one = 0, five = 0, fifteen = 0;
  if (load >> one >> five >> fifteen) {
    out.load[0] = one;
    out.load[1] = five;
    out.load[2] = fifteen;
  }
  return out;
}

}  // namespace substrata::sampler
