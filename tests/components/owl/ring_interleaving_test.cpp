// Every interleaving of a ring's producer with a consumer, a watcher, or a consumer and the one after it: the ring's
// own code, in which every load and store of a shared word gives way to the other side. One side may be killed before
// each of them. States that were met before are not gone through again. What is shown is for one order of all loads and
// stores; that acquire and release are enough is what the thread sanitizer's runs look at.
#include <gtest/gtest.h>
#include <ucontext.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <atomic>

namespace substrata::owl::test {

// Gives way before the access, and takes note of what it gave.
void step_before_access() noexcept;
void note(uint64_t value) noexcept;

template <typename T>
class Stepped {
 public:
  Stepped() = default;
  T load(std::memory_order = std::memory_order_seq_cst) const noexcept {
    step_before_access();
    note(value_);
    return value_;
  }
  void store(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
    step_before_access();
    note(1);
    value_ = value;
  }
  Stepped& operator=(T value) noexcept {
    store(value);
    return *this;
  }
  operator T() const noexcept { return load(); }
  bool compare_exchange_weak(T& expected, T value, std::memory_order) noexcept {
    step_before_access();
    note(value_);
    if (value_ != expected) {
      expected = value_;
      return false;
    }
    value_ = value;
    return true;
  }
  T fetch_add(T more, std::memory_order) noexcept {
    step_before_access();
    note(value_);
    value_ += more;
    return value_ - more;
  }

 private:
  T value_{};
};

}  // namespace substrata::owl::test

#define SUBSTRATA_OWL_SHARED substrata::owl::test::Stepped
#include "owl/ring.cpp"
#include "owl/ring_memory.cpp"

namespace substrata::owl::test {
namespace {

constexpr uint64_t kRingBytes = 128;  // 16 words: five packets of one word
constexpr size_t kStackBytes = 64 << 10;
constexpr size_t kMostStates = 400'000;

uint64_t mixed(uint64_t hash, uint64_t more) { return (hash ^ more) * 0x9e3779b97f4a7c15u ^ hash >> 29; }

// A side that runs until it is about to touch a shared word.
struct Side {
  ucontext_t context{};
  std::unique_ptr<char[]> stack = std::make_unique<char[]>(kStackBytes);
  std::function<void()> work;
  uint64_t seen = 0;  // hash of what it read
  bool runs = false;
};

ucontext_t scheduler;
Side* current = nullptr;  // null: nothing gives way

void begin() {
  current->work();
  current->runs = false;
  current = nullptr;
  setcontext(&scheduler);
}

void resume(Side& side) {
  current = &side;
  swapcontext(&scheduler, &side.context);
  current = nullptr;
}

void start(Side& side, std::function<void()> work) {
  side.work = std::move(work);
  side.seen = 0;
  side.runs = true;
  getcontext(&side.context);
  side.context.uc_stack.ss_sp = side.stack.get();
  side.context.uc_stack.ss_size = kStackBytes;
  side.context.uc_link = nullptr;
  makecontext(&side.context, begin, 0);
  resume(side);
}

enum class Killed { kNobody, kProducer, kConsumer };

struct Shape {
  uint32_t policy;
  uint64_t before;  // packets in the ring before anything interleaves
  uint64_t sent;    // meanwhile
  uint64_t read;    // meanwhile
  Killed killed;
  bool watched;  // the reader watches and consumes nothing
};

// One ring with its sides, from the beginning.
class World {
 public:
  explicit World(const Shape& shape) : shape_(shape) {
    if (ring_.create(nullptr, kRingBytes, shape.policy, 100) != 0) throw std::runtime_error("no ring");
    ring_.publish();
    for (uint64_t i = 0; i < shape.before; ++i) send();
    open();
    start(sides_[0], [this] {
      for (uint64_t i = 0; i < shape_.sent; ++i) send();
    });
    start(sides_[1], [this] {
      for (uint64_t i = 0; i < shape_.read; ++i) take();
    });
  }
  // The choices now: a side that runs, or -1 for the death of one.
  std::vector<int> choices() const {
    std::vector<int> all;
    for (int i = 0; i < 2; ++i)
      if (sides_[i].runs) all.push_back(i);
    const int victim = shape_.killed == Killed::kProducer ? 0 : 1;
    if (shape_.killed != Killed::kNobody && !dead_ && sides_[victim].runs) all.push_back(-1);
    return all;
  }
  void choose(int choice) {
    if (choice >= 0) return resume(sides_[choice]);
    dead_ = true;
    if (shape_.killed == Killed::kProducer) {
      sides_[0].runs = false;
      return;
    }
    // Its place is free at once, and the next one has it.
    const uint64_t consumed = raw(ring_.memory().header().consumed);
    // What it was looking at is given once more.
    if (in_hand_ && last_ >= consumed) --given_;
    reader_.reset();
    after_ = consumed;
    open();
    start(sides_[1], [this] {
      for (uint64_t i = 0; i < shape_.read; ++i) take();
    });
  }
  std::pair<uint64_t, uint64_t> state() const {
    const auto* const words = reinterpret_cast<const unsigned char*>(&ring_memory().header());
    uint64_t hash = dead_ ? 3 : 5;
    for (size_t at = 0; at < sizeof(RingHeader) + 8; at += 8) hash = mixed(hash, word_at(words + at));
    for (size_t at = 0; at < kRingBytes; at += 8) hash = mixed(hash, word_at(words + kRingOffset + at));
    for (const Side& side : sides_) hash = mixed(hash, side.seen + (side.runs ? 1 : 0));
    uint64_t other = mixed(mixed(given_, last_), after_);
    for (const Side& side : sides_) other = mixed(other, side.seen ^ sent_);
    return {hash, other};
  }
  // What is left is read when all have ended. "": every packet was given or counted once.
  std::string end() {
    if (shape_.watched) return wrong_;
    for (uint64_t before = given_ + 1; before != given_;) {
      before = given_;
      take();
    }
    if (!wrong_.empty()) return wrong_;
    const uint64_t written = dead_ && shape_.killed == Killed::kProducer ? raw_sequence() : sent_;
    const uint64_t lost = dead_ && shape_.killed == Killed::kProducer ? reader_->lost() : ring_.lost();
    const uint64_t spare = (shape_.killed != Killed::kNobody && dead_) ? 1 : 0;
    const uint64_t found = given_ + lost;
    if (found > written || written - found > (shape_.policy == SUBSTRATA_OWL_OVERWRITE_OLD ? spare : 0))
      return std::to_string(given_) + " given and " + std::to_string(lost) + " lost of " +
             std::to_string(written);
    return {};
  }

 private:
  template <typename T>
  static T raw(const Stepped<T>& word) {
    T value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
  static uint64_t word_at(const unsigned char* at) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
  }
  RingMemory& ring_memory() const { return const_cast<RingProducer&>(ring_).memory(); }
  // Of a producer that was killed: the packets that readers can see.
  uint64_t raw_sequence() const { return raw(ring_memory().header().head) / record_words(8); }
  void open() {
    reader_ = std::make_unique<substrata_owl_reader>();
    const uint32_t flags = shape_.watched ? uint32_t{SUBSTRATA_OWL_WATCH} : 0;
    if (reader_->open(ring_.memory().path().c_str(), flags) != 0) wrong_ = "the reader is refused";
  }
  void send() {
    bool near_full = false;
    const uint64_t value = sent_;
    if (ring_.push(&value, sizeof value, 0, &near_full)) ++sent_;
  }
  void take() {
    substrata_owl_packet packet{};
    uint64_t value = 0;
    const int found = reader_->peek(&packet, &value, sizeof value);
    if (found < 0) wrong_ = "the ring is damaged";
    if (found != 1) return;
    if (value != packet.sequence)
      wrong_ = "packet " + std::to_string(packet.sequence) + " has another's payload";
    if (value < after_) wrong_ = "packet " + std::to_string(value) + " is given twice";
    after_ = value + 1;
    last_ = value;
    in_hand_ = true;
    ++given_;
    reader_->consume();
    in_hand_ = false;
  }

  const Shape shape_;
  RingProducer ring_;
  std::unique_ptr<substrata_owl_reader> reader_;
  Side sides_[2];
  bool dead_ = false;
  bool in_hand_ = false;
  uint64_t sent_ = 0;
  uint64_t given_ = 0;
  uint64_t last_ = 0;
  uint64_t after_ = 0;
  std::string wrong_;
};

struct Choice {
  size_t taken;
  size_t of;
};

struct Explored {
  size_t states = 0;
  size_t ends = 0;
  std::string wrong;
};

Explored explore(const Shape& shape) {
  Explored found;
  std::set<std::pair<uint64_t, uint64_t>> met;
  std::vector<Choice> path;
  while (found.wrong.empty()) {
    World world(shape);
    size_t depth = 0;
    for (;; ++depth) {
      const std::vector<int> choices = world.choices();
      if (choices.empty()) {
        ++found.ends;
        found.wrong = world.end();
        break;
      }
      if (depth == path.size()) {
        if (!met.insert(world.state()).second) break;
        if (met.size() > kMostStates) found.wrong = "too many states";
        path.push_back({0, choices.size()});
      }
      world.choose(choices[path[depth].taken]);
    }
    path.resize(std::min(depth, path.size()));
    while (!path.empty() && path.back().taken + 1 == path.back().of) path.pop_back();
    if (path.empty()) break;
    ++path.back().taken;
  }
  found.states = met.size();
  return found;
}

class OwlRingInterleaved : public testing::TestWithParam<Shape> {};

TEST_P(OwlRingInterleaved, EveryPacketIsGivenOrCountedOnceInEveryOrderOfSteps) {  // OW-4
  const Explored found = explore(GetParam());
  EXPECT_EQ(found.wrong, "") << found.states << " states";
  EXPECT_GT(found.states, 100u);
  EXPECT_GT(found.ends, 0u);
  RecordProperty("states", static_cast<int>(found.states));
}

constexpr uint32_t kDrop = SUBSTRATA_OWL_DROP_NEW;
constexpr uint32_t kOverwrite = SUBSTRATA_OWL_OVERWRITE_OLD;

INSTANTIATE_TEST_SUITE_P(, OwlRingInterleaved,
                         testing::Values(Shape{kDrop, 4, 3, 3, Killed::kNobody, false},
                                         Shape{kDrop, 4, 2, 2, Killed::kConsumer, false},
                                         Shape{kDrop, 4, 2, 2, Killed::kProducer, false},
                                         Shape{kOverwrite, 4, 2, 2, Killed::kNobody, false},
                                         Shape{kOverwrite, 5, 1, 1, Killed::kConsumer, false},
                                         Shape{kOverwrite, 4, 2, 2, Killed::kProducer, false},
                                         Shape{kOverwrite, 4, 3, 2, Killed::kNobody, true}));

}  // namespace

void step_before_access() noexcept {
  if (current == nullptr) return;
  Side* const side = current;
  swapcontext(&side->context, &scheduler);
  current = side;
}

void note(uint64_t value) noexcept {
  if (current != nullptr) current->seen = mixed(current->seen + 1, value);
}

}  // namespace substrata::owl::test
