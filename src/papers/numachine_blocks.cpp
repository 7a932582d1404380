// Publishes what programs of basic blocks do.
#include "papers/numachine_blocks.hpp"

#include <algorithm>
#include <random>

namespace substrata::papers {

namespace {

client::feed::Publisher thread_publisher(std::uint32_t thread) {
  const std::string probe = "mem.cpu" + std::to_string(thread) + ".accesses";
  return client::feed::Source::generated("reproduce", "a made-up program")
      .publisher(probe.c_str(), "what it does")
      .value();
}

}  // namespace

MadeUpProgram::MadeUpProgram(const std::string& parameters, const std::vector<std::string>& events)
    : publisher_(thread_publisher(0)), set_("numachine", events) {
  set_.start();
  following_ = client::feed::Following::begin("numachine", parameters.c_str()).value();
}

void MadeUpProgram::publish(std::uint16_t kind, std::uint64_t address, std::uint64_t detail,
                            std::uint32_t size) {
  substrata_transaction t{};
  t.kind = kind;
  t.address = address;
  t.detail = detail;
  t.size = size;
  if (kind == SUBSTRATA_BRANCH) t.state = SUBSTRATA_HIT;
  publisher_.publish(t);
}
void MadeUpProgram::compute(std::uint64_t instructions) {
  publish(SUBSTRATA_INSTRUCTIONS, 0, instructions, 0);
}
void MadeUpProgram::branch(std::uint32_t block) { publish(SUBSTRATA_BRANCH, block, 0, 0); }
void MadeUpProgram::read(std::uint64_t address) { publish(SUBSTRATA_READ, address, 0, 8); }

std::vector<long long> MadeUpProgram::end() {
  publisher_.deliver();
  following_.end();
  return set_.stop();
}

ParallelProgram::ParallelProgram(std::uint32_t threads) {
  for (std::uint32_t thread = 0; thread < threads; ++thread) publishers_.push_back(thread_publisher(thread));
  const std::string parameters = "processors=" + std::to_string(threads);
  following_ = client::feed::Following::begin("numachine", parameters.c_str()).value();
}
void ParallelProgram::compute(std::uint32_t thread, std::uint64_t instructions) {
  substrata_transaction t{};
  t.kind = SUBSTRATA_INSTRUCTIONS;
  t.detail = instructions;
  publishers_[thread].publish(t);
}
void ParallelProgram::barrier() {
  ++openings_;
  for (const client::feed::Publisher& publisher : publishers_) {
    substrata_transaction t{};
    t.kind = SUBSTRATA_BARRIER;
    t.address = 64;
    t.detail = openings_;
    t.size = static_cast<std::uint32_t>(publishers_.size());
    publisher.publish(t);
  }
}
void ParallelProgram::end() {
  for (const client::feed::Publisher& publisher : publishers_) publisher.deliver();
  following_.end();
}

BlockProgram::BlockProgram(std::uint64_t executions, std::uint64_t seed) {
  constexpr std::uint64_t kBlocks = 200, kLongest = 60;
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 0; i < kBlocks; ++i) lengths.push_back(1 + random() % kLongest);
  for (std::uint64_t i = 0; i < executions; ++i)
    order.push_back(static_cast<std::uint32_t>(1 + random() % kBlocks));
}

std::uint64_t BlockProgram::executions_of(std::uint32_t block) const {
  return static_cast<std::uint64_t>(std::count(order.begin(), order.end(), block));
}

void BlockProgram::run(MadeUpProgram& program) const {
  for (const std::uint32_t block : order) {
    program.branch(block);
    program.compute(lengths[block - 1]);
  }
}

}  // namespace substrata::papers
