// Rules by which a metric calls in further modules at other probe points.
#pragma once

#include <substrata/owl.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "capsule.hpp"

// Thread-safe; its own work is done in the thread that delivers to the watched capsule.
struct substrata_owl_rule {
 public:
  ~substrata_owl_rule();
  // 0, or negative with a message that names the line.
  int parse(const char* text);
  int begin();
  const char* report(uint64_t* times);

 private:
  struct Recruit {
    std::string module;
    std::string probes;
    std::string registers;
    std::string name;
    substrata::owl::Capsule* capsule = nullptr;  // from the first time on
    std::vector<uint64_t> before{};              // its metrics when it began
  };
  struct Number {
    std::string metric;
    std::string capsule;
    std::shared_ptr<substrata::owl::CapsuleRecord> record;
    uint32_t value = 0;
  };
  enum class Report { kConflicts, kObjects, kMetrics };
  enum class Condition { kAbove, kBelow, kRising, kFalling };
  int find(Number& number, unsigned line) const;
  bool reports(Report kind) const;
  bool met(double ratio) const;
  void look() noexcept;
  void act();
  void finish();
  std::string conflicts(const Recruit& recruit) const;
  std::string objects(const Recruit& recruit) const;
  static std::string metrics(const Recruit& recruit);

  Number watched_;
  Number per_;
  uint64_t every_ = 0;
  Condition condition_ = Condition::kAbove;
  double limit_ = 0;
  uint64_t duration_ = 0;
  std::vector<Recruit> recruits_;
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
