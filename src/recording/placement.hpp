// Where the tasks of a recorded command ran, and what is wrong with that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recording/finding.hpp"
#include "recording/recording.hpp"

namespace substrata::recording {

// Where a logical processor is. Cores, packages and memory nodes are numbered from 0 over the whole machine;
// processors have the system's numbers.
struct ProcessorPlace {
  int processor = 0;
  int core = 0;
  int package = 0;
  int node = 0;
  int speed = 0;  // of kinds of cores: 0 the slowest; all 0 where they are equal
};

// A thread of the command.
struct Task {
  std::int64_t pid = 0;
  std::int64_t tid = 0;
  std::int64_t rank = -1;     // of MPI; -1: none
  std::string name;           // of the thread, as the kernel has it
  std::vector<int> allowed;   // processors that it may use
  double ran_s = 0;           // processor time
  double waited_s = 0;        // it could have run, and no processor was free
  std::map<int, double> ran;  // seconds by processor, where it was seen at the end of each stretch
  std::int64_t moves = 0;     // from one processor to another
  bool moves_counted = true;  // by the kernel; else only those that were seen
};

// Of one node.
struct Placement {
  double seconds = 0;   // how long was watched
  double interval = 0;  // mean time between looks
  std::vector<ProcessorPlace> processors;
  std::vector<Task> tasks;
  std::uint64_t left_out = 0;  // tasks beyond those that are kept
};

// The attachment of a record that holds one.
inline constexpr const char* kPlacementName = "placement";
std::string placement_as_json(const Placement& placement);
// Nothing where the text is not such JSON.
std::optional<Placement> placement_from_json(std::string_view text);
// Of all writers; those of one host, such as the ranks that recorded themselves, are one.
std::vector<Placement> placements_of(const Recording& recording);

// "0-3,8" of rising numbers, and back; a text that is none gives no numbers.
std::string numbers_text(const std::vector<int>& numbers);
std::vector<int> numbers_from_text(std::string_view text);

// "rank 3", "rank 3, thread 712", "process 712 (make)".
std::string task_name(const Task& task, const Placement& placement);

// Shared cores, more busy threads than cores, threads held on too few processors, processors that others used, idle
// packages, slow cores, moves between packages. Only busy tasks count: those that ran or waited a quarter of the time.
std::vector<Finding> placement_findings(const Placement& placement);

}  // namespace substrata::recording
