// Streams between processes: order, ends, and what credits hold back.
#include "sources/workloads/stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sources/workloads/engine.hpp"
#include "sources/workloads/trivial_machine.hpp"

namespace substrata::workloads {
namespace {

class Pair final : public Program {
 public:
  explicit Pair(std::function<void(Process&)> body) : body_(std::move(body)) {}
  void lay_out(Memory&, ProcessId) override {}
  void run(Process& process) override { body_(process); }
  std::string check(const Memory&) override { return {}; }

 private:
  std::function<void(Process&)> body_;
};

Outcome run(std::function<void(Process&)> body) {
  Pair program(std::move(body));
  TrivialMachine machine({});
  Memory memory;
  program.lay_out(memory, 2);
  memory.commit();
  EngineSettings settings;
  settings.processes = 2;
  Engine engine(program, machine, memory, settings);
  return engine.run();
}

std::vector<std::byte> bytes(std::size_t count) {
  std::vector<std::byte> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 256);
  return out;
}

std::vector<std::byte> read_to_end(Stream& stream, std::size_t at_once) {
  std::vector<std::byte> all;
  std::vector<std::byte> piece(at_once);
  for (std::size_t got = stream.read(piece); got != 0; got = stream.read(piece))
    all.insert(all.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
  return all;
}

TEST(WorkloadStream, BytesArriveInTheirOrderWhateverTheSizesOfWritesSegmentsAndReads) {  // MY-20
  const std::vector<std::byte> sent = bytes(10'000);
  for (const std::size_t written : {1u, 99u, 10'000u}) {
    for (const std::size_t read : {1u, 777u, 20'000u}) {
      const StreamSettings settings{.window = 500, .segment = 64};
      const Outcome outcome = run([&](Process& process) {
        if (process.id() == 0) {
          Stream stream = Stream::connect(process, 1, 3, settings);
          for (std::size_t at = 0; at < sent.size(); at += written)
            stream.write(std::span(sent).subspan(at, std::min(written, sent.size() - at)));
          stream.close();
          EXPECT_GE(stream.segments(), sent.size() / 64);
        } else {
          Stream stream = Stream::accept(process, 0, 3, settings);
          EXPECT_TRUE(read_to_end(stream, read) == sent);
          std::vector<std::byte> more(1);
          EXPECT_EQ(stream.read(more), 0u);
        }
      });
      EXPECT_TRUE(outcome.completed) << outcome.error;
    }
  }
}

TEST(WorkloadStream, BothEndsWriteAndSeveralConnectionsOfAPairAreApart) {
  const std::vector<std::byte> sent = bytes(3000);
  const Outcome outcome = run([&](Process& process) {
    const bool first = process.id() == 0;
    const StreamSettings settings{.window = 4000, .segment = 1000};
    Stream one = first ? Stream::connect(process, 1, 0, settings) : Stream::accept(process, 0, 0, settings);
    Stream two = first ? Stream::accept(process, 1, 1, settings) : Stream::connect(process, 0, 1, settings);
    two.write(std::span(sent).first(10));
    one.write(sent);
    std::vector<std::byte> piece(10);
    EXPECT_EQ(two.read(piece), 10u);
    EXPECT_TRUE(std::equal(piece.begin(), piece.end(), sent.begin()));
    std::vector<std::byte> all(3000);
    for (std::size_t at = 0; at < all.size();) at += one.read(std::span(all).subspan(at));
    EXPECT_TRUE(all == sent);
  });
  EXPECT_TRUE(outcome.completed) << outcome.error;
}

// Both ends write so much before they read.
Outcome both_write(std::size_t count) {
  return run([count](Process& process) {
    const StreamSettings settings{.window = 100, .segment = 30};
    const bool first = process.id() == 0;
    Stream stream =
        first ? Stream::connect(process, 1, 0, settings) : Stream::accept(process, 0, 0, settings);
    stream.write(bytes(count));
    std::vector<std::byte> piece(1000);
    for (std::size_t left = count; left != 0;) left -= stream.read(piece);
  });
}

TEST(WorkloadStream, AWriterWaitsWhereTheReaderHasGivenNoCredit) {  // MY-20
  EXPECT_TRUE(both_write(100).completed);
  const Outcome outcome = both_write(101);
  EXPECT_FALSE(outcome.completed);
  EXPECT_EQ(outcome.error.substr(0, 10), "deadlock: ");
}

TEST(WorkloadStream, CreditsComeForHalfAWindowAtATime) {
  const Outcome outcome = run([](Process& process) {
    const StreamSettings settings{.window = 1000, .segment = 100};
    if (process.id() == 0) {
      Stream stream = Stream::connect(process, 1, 0, settings);
      stream.write(bytes(10'000));
      stream.close();
      EXPECT_EQ(stream.segments(), 100u);
    } else {
      Stream stream = Stream::accept(process, 0, 0, settings);
      EXPECT_EQ(read_to_end(stream, 100).size(), 10'000u);
      EXPECT_EQ(stream.credits_sent(), 20u);
    }
  });
  EXPECT_TRUE(outcome.completed) << outcome.error;
}

}  // namespace
}  // namespace substrata::workloads
