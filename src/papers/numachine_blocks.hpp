// Programs of basic blocks as a followed NUMAchine sees them. What they do is known here, and not from the model.
#pragma once

#include <substrata/feed.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "papers/counted_set.hpp"

namespace substrata::papers {

// A program of one thread that goes on as its calls say, on processor 0 of a machine that follows it. Thread-bound;
// one at a time.
class MadeUpProgram {
 public:
  // `events` of the substrate numachine are counted until end().
  MadeUpProgram(const std::string& parameters, const std::vector<std::string>& events);

  void compute(std::uint64_t instructions);
  // A branch leads to that block, 1 to 65535.
  void branch(std::uint32_t block);
  void read(std::uint64_t address);
  std::vector<long long> end();

 private:
  void publish(std::uint16_t kind, std::uint64_t address, std::uint64_t detail, std::uint32_t size);

  client::feed::Publisher publisher_;
  CountedSet set_;
  client::feed::Following following_;
};

// A program of several threads, thread i on processor i of a machine that follows it, which compute and meet.
class ParallelProgram {
 public:
  explicit ParallelProgram(std::uint32_t threads);
  void compute(std::uint32_t thread, std::uint64_t instructions);
  // All of them.
  void barrier();
  void end();

 private:
  std::vector<client::feed::Publisher> publishers_;
  client::feed::Following following_;
  std::uint64_t openings_ = 0;
};

// So many executions of blocks 1 to lengths.size(), at random.
struct BlockProgram {
  std::vector<std::uint64_t> lengths;  // of a block: instructions without its branch
  std::vector<std::uint32_t> order;    // of execution, by number from 1

  BlockProgram(std::uint64_t executions, std::uint64_t seed);
  std::uint64_t executions_of(std::uint32_t block) const;
  void run(MadeUpProgram& program) const;
};

}  // namespace substrata::papers
