// A query in the processes of a command: what they are started with, and what they wrote.
#pragma once

#include <cstdint>
#include <filesystem>
#include <ios>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/temporary_folder.hpp"
#include "tools/substrata/commands/owl_tables.hpp"

namespace substrata::tool {

struct OwlRequest {
  std::string text;
  std::string origin = "-e";  // of the text, for its errors
  std::string follow;         // machine model that follows the accesses
  std::string counters;
  std::uint64_t interval = 0;     // ms between two readings of them; 0: the usual one
  std::uint64_t progress_ms = 0;  // rows are written so often; 0: at the end
};

// Where nothing passed: why that may be.
std::string cure_of_nothing(const std::string& probes);

// Thread-compatible.
class OwlObserving {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  // Throws std::runtime_error with the place of the text's error, or where the library is missing.
  explicit OwlObserving(const OwlRequest& request);
  // The patterns of the text.
  const std::string& probes() const { return probes_; }
  bool observes(const std::string& stream) const;
  // LD_PRELOAD of the command, without the MPI shim.
  const std::string& preload() const { return preload_; }
  // Beside it.
  const Environment& environment() const { return environment_; }
  // Adds what the processes wrote since the last call.
  void take(OwlTables* tables);

 private:
  const TemporaryFolder folder_;
  std::string probes_;
  std::string preload_;
  Environment environment_;
  std::map<std::filesystem::path, std::streamoff> taken_;  // up to where
};

// The patterns of a query. Throws std::runtime_error with the place of its error.
std::string probes_of_query(const OwlRequest& request);

}  // namespace substrata::tool
