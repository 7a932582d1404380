// libsubstrata_owl.so: runs a query in the program into which it is preloaded.
#include <fcntl.h>
#include <pthread.h>
#include <substrata/owl.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include <substrata/feed.hpp>

#include "base/environment.hpp"
#include "base/json.hpp"
#include "base/parse.hpp"
#include "sources/one_liner/streams.hpp"

namespace substrata::one_liner {
namespace {

std::string setting(const char* name) {
  const char* const value = environment(name);
  return value != nullptr ? value : "";
}

// One query, from before main() to behind it.
class Observation {
 public:
  // Nothing where no query is asked.
  Observation() {
    const std::string text = setting("SUBSTRATA_OWL_QUERY");
    const std::string folder = setting("SUBSTRATA_OWL_OUT");
    if (text.empty() || folder.empty()) return;
    const std::string path = folder + "/" + std::to_string(getpid());
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file_ < 0) return;
    begin(text);
  }
  ~Observation() {
    if (file_ >= 0) end();
  }
  // Not a forked child, where the feed and the thread that collects are its parent's.
  bool is_of_this_process() const { return getpid() == process_; }
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

 private:
  void begin(const std::string& text) {
    if (const std::string machine = setting("SUBSTRATA_OWL_FOLLOW"); !machine.empty()) {
      const size_t colon = machine.find(':');
      const std::string parameters = colon == std::string::npos ? "" : machine.substr(colon + 1);
      if (following_.try_begin(machine.substr(0, colon).c_str(), parameters.c_str()) != 0)
        say(machine + ": " + substrata_feed_error());
    }
    char probes[4096];
    if (substrata_owl_query_check(text.data(), text.size(), "-e", probes, sizeof probes) != 0 ||
        substrata_owl_query_start(text.data(), text.size(), "-e", file_, &query_) != 0) {
      say(substrata_owl_error());
      return;
    }
    streams_.open(probes, setting("SUBSTRATA_OWL_COUNTERS"));
    if (!streams_.why_not().empty()) say(streams_.why_not());
    uint64_t ms = 0;
    progress_ = parse_number(setting("SUBSTRATA_OWL_PROGRESS"), &ms) && ms != 0;
    if (!parse_number(setting("SUBSTRATA_OWL_INTERVAL"), &interval_ms_) || interval_ms_ == 0)
      interval_ms_ = progress_ ? ms : 20;
    if (progress_ || streams_.wanted()) start_thread();
    streams_.program_begins();
  }
  void end() {
    streams_.program_ends();
    if (thread_.joinable()) {
      {
        const std::lock_guard lock(mutex_);
        over_ = true;
      }
      changed_.notify_one();
      thread_.join();
    }
    streams_.close();
    if (streams_.lost() != 0)
      say(std::to_string(streams_.lost()) + " transactions were lost in the kernel's buffers");
    following_.end();
    if (query_ != nullptr && substrata_owl_query_stop(query_) != 0) say(substrata_owl_error());
    ::close(file_);
  }
  // It takes no signal of the program's.
  void start_thread() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = std::thread([this] { tick(); });
    } catch (const std::exception& error) {
      say(error.what());
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  void tick() {
    streams_.ignore_this_thread();
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(interval_ms_), [this] { return over_; })) {
      streams_.collect();
      if (progress_) substrata_owl_query_write(query_);
    }
  }
  void say(const std::string& what) const {
    const std::string line = "{\"message\":" + json_quoted(what) + "}\n";
    if (::write(file_, line.data(), line.size()) < 0) return;
  }

  const pid_t process_ = getpid();
  int file_ = -1;
  substrata_owl_query* query_ = nullptr;
  client::feed::Following following_;
  Streams streams_;
  bool progress_ = false;
  uint64_t interval_ms_ = 20;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

Observation* observation = nullptr;

__attribute__((constructor)) void at_begin() {
  try {
    observation = new Observation;
  } catch (...) {
    observation = nullptr;  // no memory: the program runs unobserved
  }
}
__attribute__((destructor)) void at_end() {
  if (observation != nullptr && observation->is_of_this_process()) delete observation;
}

}  // namespace
}  // namespace substrata::one_liner
