// Rules by which a metric calls in further modules at other probe points.
#pragma once

#include <substrata/owl.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "owl/capsule.hpp"
#include "owl/recruits.hpp"
#include "owl/watched_events.hpp"

// Thread-safe; its own work is done in the thread that delivers to the watched capsule.
struct substrata_owl_rule {
 public:
  ~substrata_owl_rule();
  // 0, or negative with a message that names the line.
  int parse(const char* text);
  int begin();
  const char* report(uint64_t* times);

 private:
  // A metric of a capsule, or an event.
  struct Number {
    std::string metric;
    std::string capsule;  // "": an event
    std::shared_ptr<substrata::owl::CapsuleRecord> record;
    uint32_t value = 0;
  };
  // What is done each time the condition is met.
  struct Action {
    int signal;  // 0: a mark
    std::string mark;
  };
  enum class Report { kConflicts, kObjects, kLevels, kMetrics, kRings };
  enum class Condition { kAbove, kBelow, kRising, kFalling };
  int parse_watch(const std::vector<std::string>& words, unsigned line);
  int find(Number& number, unsigned line);
  uint64_t now(const Number& number) const noexcept;
  bool reports(Report kind) const;
  bool met(double ratio) const;
  void look() noexcept;
  void act();
  void finish();

  Number watched_;
  Number per_;
  Number clock_;  // what `every` and `for` count
  substrata::owl::WatchedEvents events_;
  std::vector<Action> actions_;
  uint64_t every_ = 0;
  Condition condition_ = Condition::kAbove;
  double limit_ = 0;
  uint64_t duration_ = 0;
  std::vector<substrata::owl::Recruit> recruits_;
  std::vector<Report> reports_;
  std::shared_ptr<substrata::owl::Watcher> watcher_;

  std::mutex mutex_;  // around what follows
  bool dismissed_ = false;
  bool acting_ = false;
  uint64_t last_watched_ = 0;
  uint64_t last_per_ = 0;
  double last_ratio_ = -1;  // none yet
  uint64_t until_ = 0;
  uint64_t times_ = 0;
  std::string found_;
  std::string given_;
};
