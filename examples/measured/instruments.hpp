// The PAPI side of the examples: one eventset per substrate, read together at the border of every region.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "record.hpp"

namespace measured {

// What the program counts of itself; published as software-defined events `sde:::<program>::FLOP`,
// `::MESSAGES` and `::BYTES`. Changed by the one thread that computes.
struct Published {
  long long operations = 0;  // floating-point operations done
  long long messages = 0;    // messages sent to other ranks
  long long bytes = 0;       // their payload
};

// The eventsets of one process. Every substrate may be missing: its columns are then absent and say why.
// Thread-bound: all calls on one thread.
class Instruments {
 public:
  // Initialises PAPI, publishes `published` under the program's name (it must outlive this object) and looks
  // for the events of processor, program, temperature and the named network interface.
  Instruments(const std::string& program, const std::string& interface, const Published& published);
  ~Instruments();
  Instruments(const Instruments&) = delete;
  Instruments& operator=(const Instruments&) = delete;

  // The events this process would measure, one "domain TAB event" a line.
  std::string plan() const;

  // Opens and starts the events of a plan (the one of rank 0, so that all ranks have the same columns in
  // order).
  void start(const std::string& plan);

  const std::vector<Column>& columns() const noexcept { return columns_; }

  // Reads every eventset: values[i] and present[i] of columns()[i]. Allocates nothing.
  void read(std::int64_t* values, bool* present) noexcept;

 private:
  struct EventSet;
  void open(EventSet& set);
  void give_up(EventSet& set, const std::string& reason);

  std::string library_error_;  // why PAPI did not initialise; empty when it did
  std::string program_;
  std::string interface_;
  void* published_handle_ = nullptr;
  std::vector<Column> columns_;
  std::vector<EventSet> sets_;
};

}  // namespace measured
