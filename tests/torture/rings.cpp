// torture_rings rings [--iterations N] [--seed S]: records through rings whose consumers are killed, come late, come as
// a second one, and scribble over everything that they may write. Prints what came of it as one line of JSON; ends with
// 1 if anything went wrong. See torture.cpp.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "owl/ring.hpp"

namespace {

using namespace substrata::owl;

constexpr std::uint64_t kRingBytes = 1 << 16;
constexpr std::uint64_t kRecordsOfATurn = 500'000;  // between two changes of the consumer

// What consumers have been given, in memory that they share with the producer. Of the two entries the one that `valid`
// names is whole, whenever the consumer is killed.
struct Progress {
  struct Entry {
    std::uint64_t after, given;
  };
  Entry entries[2];
  std::atomic<std::uint32_t> valid;
  std::atomic<std::uint32_t> begun;    // consumers that have the ring, or had it
  std::atomic<std::uint64_t> wrong;    // packets with other contents than were sent
  std::atomic<std::uint64_t> refused;  // second consumers that were refused
  std::atomic<std::uint64_t> taken;    // second consumers that were not
  std::atomic<bool> ends;
};

Progress& shared_progress() {
  void* const at = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) std::exit(2);
  return *new (at) Progress{};
}

// Consumes until the producer has ended and nothing is left.
void consume(const std::string& path, Progress& progress) {
  substrata_owl_reader reader;
  if (reader.open(path.c_str(), 0) != 0) return;
  ++progress.begun;
  unsigned char data[256];
  substrata_owl_packet packet{};
  Progress::Entry at = progress.entries[progress.valid];
  for (bool last = false;;) {
    const int got = reader.peek(&packet, data, sizeof data);
    if (got != 1) {
      if (got < 0) ++progress.wrong;
      if (last || got < 0) return;
      last = progress.ends;
      if (!last) usleep(100);
      continue;
    }
    std::uint64_t value = 0;
    std::memcpy(&value, data, sizeof value);
    if (value != packet.sequence) ++progress.wrong;
    if (packet.sequence >= at.after) {
      at = {packet.sequence + 1, at.given + 1};
      const std::uint32_t other = 1 - progress.valid;
      progress.entries[other] = at;
      progress.valid = other;
    }
    reader.consume();
  }
}

// Stores what it likes wherever a consumer may.
void scribble(const std::string& path, std::uint64_t seed) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  constexpr std::size_t kBytes = kRingOffset + kRingBytes;
  void* const at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) _exit(2);
  auto* const words = static_cast<std::atomic<std::uint64_t>*>(at);
  auto* const header = static_cast<RingHeader*>(at);
  for (std::mt19937_64 random(seed);;) {
    words[random() % (kBytes / 8)] = random() >> (random() % 64);
    header->tail = random() >> (random() % 64);
    header->next = random() >> (random() % 64);
  }
}

template <typename Body>
pid_t in_child(const Body& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  body();
  _exit(0);
}

void kill_child(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

struct Run {
  std::vector<std::string> failures;
  std::uint64_t written = 0, dropped = 0, given = 0, lost = 0, killed = 0, late = 0, refused = 0;

  void expect(bool right, const std::string& what) {
    if (!right) failures.push_back(what);
  }
};

class Producer {
 public:
  explicit Producer(std::uint32_t policy) {
    if (ring_.create(nullptr, kRingBytes, policy, 75) != 0) std::exit(2);
    ring_.publish();
  }
  // Records of 8 to 71 bytes, each with its number.
  void put(std::uint64_t records, std::mt19937_64& random) {
    unsigned char packet[72] = {};
    for (std::uint64_t i = 0; i < records; ++i) {
      std::memcpy(packet, &written_, sizeof written_);
      bool near_full = false;
      if (ring_.push(packet, 8 + static_cast<std::uint32_t>(random() % 64), 0, &near_full))
        ++written_;
      else
        ++dropped_;
    }
  }
  std::string path() { return ring_.memory().path(); }
  std::uint64_t written() const { return written_; }
  std::uint64_t dropped() const { return dropped_; }
  std::uint64_t lost() const { return ring_.lost(); }

 private:
  RingProducer ring_;
  std::uint64_t written_ = 0, dropped_ = 0;
};

void consumers_come_and_go(std::uint64_t records, std::uint32_t policy, std::mt19937_64& random, Run& run) {
  Producer producer(policy);
  const std::string path = producer.path();
  Progress& progress = shared_progress();
  std::uint64_t killed = 0;
  // Has the ring when this returns, so that another one at the same time is the second.
  const auto begin = [&] {
    const std::uint32_t before = progress.begun;
    const pid_t child = in_child([&] { consume(path, progress); });
    bool ended = false;
    while (progress.begun == before && !ended) {
      ended = waitpid(child, nullptr, WNOHANG) != 0;
      usleep(100);
    }
    run.expect(!ended, "a ring without a consumer refused one");
    return child;
  };
  pid_t consumer = begin();
  for (std::uint64_t left = records; left > 0;) {
    const std::uint64_t turn = std::min(left, kRecordsOfATurn / 2 + random() % kRecordsOfATurn);
    left -= turn;
    producer.put(turn, random);
    const pid_t second = in_child([&] {
      substrata_owl_reader other;
      ++(other.open(path.c_str(), 0) == 0 ? progress.taken : progress.refused);
    });
    waitpid(second, nullptr, 0);
    if (random() % 2 != 0 || left == 0) continue;
    kill_child(consumer);
    ++killed;
    if (random() % 2 == 0) {  // nobody consumes for a while
      const std::uint64_t alone = std::min(left, random() % kRecordsOfATurn);
      producer.put(alone, random);
      left -= alone;
      ++run.late;
    }
    consumer = begin();
  }
  progress.ends = true;
  waitpid(consumer, nullptr, 0);
  const std::uint64_t given = progress.entries[progress.valid].given, lost = producer.lost();
  const std::uint64_t known = given + lost;
  const std::string figures = std::to_string(producer.written()) + " written, " + std::to_string(given) +
                              " given, " + std::to_string(lost) + " lost, " + std::to_string(killed) +
                              " consumers killed";
  run.expect(producer.written() + producer.dropped() == records,
             "records neither written nor dropped: " + figures);
  // One that is killed between being given a packet and saying so leaves that one out.
  run.expect(known <= producer.written() && known + killed >= producer.written(),
             "packets are missing or twice: " + figures);
  run.expect(progress.taken == 0,
             std::to_string(progress.taken) + " second consumers were let in: " + figures);
  run.expect(progress.wrong == 0,
             std::to_string(progress.wrong) + " packets are not what was sent: " + figures);
  run.written += producer.written();
  run.dropped += producer.dropped();
  run.given += given;
  run.lost += lost;
  run.killed += killed;
  run.refused += progress.refused;
}

void hostile_consumer(std::uint64_t records, std::uint32_t policy, std::mt19937_64& random, Run& run) {
  Producer producer(policy);
  const std::string path = producer.path();
  const std::uint64_t seed = random();
  const pid_t hostile = in_child([&] { scribble(path, seed); });
  const pid_t reader = in_child([&] {  // what it reads may be anything; it must not end by a signal
    Progress& ignored = shared_progress();
    for (;;) consume(path, ignored);
  });
  std::uint64_t lost = 0;
  for (std::uint64_t done = 0; done < records; done += 1000) {
    producer.put(std::min<std::uint64_t>(1000, records - done), random);
    run.expect(producer.lost() >= lost && producer.lost() <= producer.written(),
               "the count of lost packets is wrong");
    lost = producer.lost();
  }
  int status = 0;
  run.expect(waitpid(reader, &status, WNOHANG) == 0, "the reader of a hostile ring ended");
  kill_child(reader);
  kill_child(hostile);
  run.expect(producer.written() + producer.dropped() == records, "records neither written nor dropped");
  run.written += producer.written();
  run.dropped += producer.dropped();
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t records = 20'000'000, seed = 1;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--iterations") records = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
  }
  timespec begin{}, end{};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  std::mt19937_64 random(seed);
  Run run;
  for (const std::uint32_t policy : {SUBSTRATA_OWL_DROP_NEW, SUBSTRATA_OWL_OVERWRITE_OLD}) {
    consumers_come_and_go(records * 9 / 20, policy, random, run);
    hostile_consumer(records / 20, policy, random, run);
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  for (const std::string& failure : run.failures) std::fprintf(stderr, "rings: %s\n", failure.c_str());
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf(
      "{\"experiment\": \"rings\", \"seed\": %llu, \"tried\": %llu, \"failures\": %zu, \"seconds\": %ld, "
      "\"packets "
      "given\": %llu, \"counted as lost\": %llu, \"dropped\": %llu, \"consumers killed\": %llu, \"late\": "
      "%llu, "
      "\"second ones refused\": %llu}\n",
      number(seed), number(run.written + run.dropped), run.failures.size(),
      static_cast<long>(end.tv_sec - begin.tv_sec), number(run.given), number(run.lost), number(run.dropped),
      number(run.killed), number(run.late), number(run.refused));
  return run.failures.empty() ? 0 : 1;
}
