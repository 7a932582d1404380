// The times that this process's threads spend off their processors, at the probe point os.switches.
#pragma once

#include <substrata/feed.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "sources/observation/perf_buffer.hpp"
#include "sources/observation/waits.hpp"

namespace substrata::one_liner {

// Thread-compatible.
class Switches {
 public:
  // Empty: it is open. Else why not.
  std::string open();
  bool is_open() const { return !buffers_.empty(); }
  // What this thread does is not the program's.
  void ignore(pid_t thread) { ignored_ = static_cast<uint32_t>(thread); }
  // Publishes what ended since the last call.
  void collect();
  uint64_t lost() const;

 private:
  std::vector<pages::Buffer> buffers_;  // one for each processor
  std::vector<pages::Sample> records_;
  pages::Waits waits_{static_cast<uint32_t>(getpid())};
  client::feed::Publisher publisher_;
  uint32_t ignored_ = 0;
};

}  // namespace substrata::one_liner
