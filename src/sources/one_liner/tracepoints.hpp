// Tracepoints of the kernel in this process's threads: system calls at the probe point os.system-calls, any other one
// at tracepoint.CATEGORY.NAME.
#pragma once

#include <unistd.h>
#include <substrata/feed.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "sources/observation/perf_buffer.hpp"
#include "sources/observation/raw_samples.hpp"

namespace substrata::one_liner {

// Thread-compatible.
class Tracepoints {
 public:
  // Opens those that the patterns, with commas, ask for. Empty: they are open, or none is asked for; else why not.
  std::string open(const std::string& patterns);
  bool is_open() const { return !buffers_.empty(); }
  // What this thread does is not the program's.
  void ignore(pid_t thread) { ignored_ = static_cast<uint32_t>(thread); }
  // What passes from now on is taken.
  void enable() const;
  // Publishes what came since the last call. What is newer than its begin waits for the next one, since what another
  // processor wrote may belong before it.
  void collect();
  // What passes from now on is not the program's.
  void disable() const;
  uint64_t lost() const;

 private:
  enum class What { kCallBegin, kCallEnd, kOther };
  struct Point {
    uint16_t id;
    What what;
    pages::RawFields fields;
    size_t publisher;
  };
  struct Record {
    pages::RawSample sample;
    size_t bytes;  // of its raw part
  };
  // Throws std::runtime_error with the reason.
  void add(const std::string& category, const std::string& name, What what);
  void open_publisher(const char* probe, const char* text);
  void open_buffers();
  void publish(const Record& record);

  std::vector<Point> points_;
  std::vector<client::feed::Publisher> publishers_;
  std::vector<pages::Buffer> buffers_;  // one for each processor
  std::vector<Record> kept_;
  pages::SystemCalls calls_;
  const uint32_t process_ = static_cast<uint32_t>(getpid());
  uint32_t ignored_ = 0;
};

}  // namespace substrata::one_liner
