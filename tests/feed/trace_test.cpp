// Traces: what was recorded is what is replayed; a file cut off or damaged anywhere says where and what was
// read.
#include <substrata/result.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "feed/trace_format.hpp"
#include "feed/trace_reader.hpp"
#include "feed_fixture.hpp"
#include "support/temporary_folder.hpp"

namespace substrata::feed::test {
namespace {

namespace fs = std::filesystem;

std::vector<unsigned char> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_bytes(const std::string& path, const std::vector<unsigned char>& bytes, size_t count) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(count));
}

// By name of the probe point: what passed there, with the probe field 0.
using Streams = std::map<std::string, std::vector<substrata_transaction>>;

void collect(void* owner, const substrata_transaction* batch, size_t count) {
  auto& stream = (*static_cast<Streams*>(owner))[probe_info(batch[0].probe).name];
  for (size_t i = 0; i < count; ++i) {
    stream.push_back(batch[i]);
    stream.back().probe = 0;
  }
}

void expect_equal(const Streams& got, const Streams& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (const auto& [name, stream] : wanted) {
    const auto found = got.find(name);
    ASSERT_NE(found, got.end()) << name;
    ASSERT_EQ(found->second.size(), stream.size()) << name;
    for (size_t i = 0; i < stream.size(); ++i)
      ASSERT_TRUE(equal(found->second[i], stream[i])) << name << " " << i;
  }
}

// Records `count` seeded random transactions at three probe points, one of which appears in the middle.
substrata_record_summary record_random(const std::string& path, uint64_t count, uint32_t block,
                                       Streams* live) {
  std::mt19937_64 random(42);
  Publishing one(probe("rec.one"), 64);
  Publishing two(probe("rec.two"), 16);
  substrata_observer* observer = nullptr;
  EXPECT_EQ(substrata_observer_create(collect, live, 0, &observer), 0);
  EXPECT_EQ(substrata_subscribe(observer, "rec.*"), 0);
  auto options = client::sized<substrata_record_options>();
  options.block_transactions = block;
  options.comment = "random";
  substrata_recorder* recorder = nullptr;
  EXPECT_EQ(substrata_record_start(path.c_str(), "rec.*", &options, &recorder), 0) << substrata_feed_error();
  for (uint64_t i = 0; i < count / 2; ++i) {
    const substrata_transaction t = random_transaction(random, i);
    substrata_publish(random() % 3 == 0 ? two.get() : one.get(), &t);
  }
  {
    Publishing three(probe("rec.three", "second-source"), 32);
    for (uint64_t i = count / 2; i < count; ++i) {
      const substrata_transaction t = random_transaction(random, i);
      substrata_publish(random() % 3 == 0 ? three.get() : one.get(), &t);
    }
  }
  auto summary = client::sized<substrata_record_summary>();
  EXPECT_EQ(substrata_record_stop(recorder, &summary), 0) << substrata_feed_error();
  substrata_observer_destroy(observer);
  return summary;
}

// FE-8
TEST(Trace, ReplayGivesTheSameTransactionsAndBatchesAsTheLiveRun) {
  const substrata::tests::TemporaryFolder folder;
  const std::string path = folder / "random.trace";
  Streams live;
  const substrata_record_summary summary = record_random(path, 20000, 1000, &live);
  EXPECT_EQ(summary.transactions, 20000u);
  EXPECT_EQ(summary.probes, 3u);
  EXPECT_GE(summary.blocks, 18u);
  EXPECT_EQ(summary.file_bytes, fs::file_size(path));
  EXPECT_LT(summary.file_bytes, 20000u * 64u / 2);

  Streams replayed;
  substrata_observer* observer = nullptr;
  ASSERT_EQ(substrata_observer_create(collect, &replayed, 0, &observer), 0);
  ASSERT_EQ(substrata_subscribe(observer, "rec.*"), 0);
  Collector sizes("rec.*");
  auto reported = client::sized<substrata_replay_summary>();
  ASSERT_EQ(substrata_replay(path.c_str(), nullptr, &reported), 0) << substrata_feed_error();
  EXPECT_EQ(reported.transactions, 20000u);
  EXPECT_EQ(reported.complete, 1u);
  EXPECT_EQ(reported.skipped, 0u);
  EXPECT_EQ(reported.batches, sizes.batches.size());
  EXPECT_EQ(*std::max_element(sizes.batches.begin(), sizes.batches.end()), 64u);
  expect_equal(replayed, live);

  replayed.clear();
  ASSERT_EQ(substrata_replay(path.c_str(), "rec.two", &reported), 0);
  EXPECT_EQ(reported.probes, 1u);
  EXPECT_EQ(reported.skipped + reported.transactions, 20000u);
  ASSERT_EQ(replayed.size(), 1u);
  expect_equal(replayed, Streams{{"rec.two", live["rec.two"]}});
  substrata_observer_destroy(observer);
}

// A recorded trace, open.
struct RandomTrace {
  RandomTrace(uint64_t transactions, uint64_t in_block) {
    const std::string path = folder / "random.trace";
    record_random(path, transactions, in_block, &live);
    EXPECT_EQ(substrata_trace_open(path.c_str(), &trace), 0) << substrata_feed_error();
  }
  ~RandomTrace() { substrata_trace_close(trace); }
  const substrata::tests::TemporaryFolder folder;
  Streams live;
  substrata_trace* trace = nullptr;
};

// FE-8
TEST(Trace, DescribesItself) {
  RandomTrace recorded(1000, 100);
  substrata_trace* const trace = recorded.trace;
  auto info = client::sized<substrata_trace_info>();
  ASSERT_EQ(substrata_trace_describe(trace, &info), 0);
  EXPECT_EQ(info.complete, 1u);
  EXPECT_EQ(info.transactions, 1000u);
  EXPECT_EQ(info.readable_bytes, info.file_bytes);
  EXPECT_EQ(info.damage, nullptr);
  EXPECT_STREQ(info.comment, "random");
  ASSERT_EQ(info.probes, 3u);
  for (uint32_t i = 0; i < info.probes; ++i) {
    auto point = client::sized<substrata_probe_info>();
    ASSERT_EQ(substrata_trace_probe(trace, i, &point), 0);
    EXPECT_EQ(point.delivered, recorded.live[point.name].size());
    EXPECT_STREQ(point.source, std::string(point.name) == "rec.three" ? "second-source" : "test");
  }
  auto source = client::sized<substrata_source_info>();
  ASSERT_EQ(substrata_trace_source(trace, 0, &source), 0);
  EXPECT_EQ(source.ticks_per_second, 1000000u);
  EXPECT_EQ(source.time_base, static_cast<uint32_t>(SUBSTRATA_TIME_SIMULATED));
  EXPECT_EQ(substrata_trace_source(trace, 2, &source), -1);
}

std::vector<substrata_transaction> read_from(substrata_trace* trace, uint64_t first, uint64_t count) {
  EXPECT_EQ(substrata_trace_seek(trace, first), 0) << substrata_feed_error();
  std::vector<substrata_transaction> all;
  while (all.size() < count) {
    const substrata_transaction* batch = nullptr;
    size_t length = 0;
    if (substrata_trace_next(trace, &batch, &length) != 0 || length == 0) break;
    all.insert(all.end(), batch, batch + std::min<uint64_t>(length, count - all.size()));
  }
  return all;
}

// FE-8
TEST(Trace, IsReadFromAnyTransactionOn) {
  const RandomTrace recorded(3000, 200);
  substrata_trace* const trace = recorded.trace;
  const std::vector<substrata_transaction> all = read_from(trace, 0, 3000);
  ASSERT_EQ(all.size(), 3000u);
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    const uint64_t first = random() % 3000;
    const uint64_t count = std::min<uint64_t>(1 + random() % 400, 3000 - first);
    const std::vector<substrata_transaction> part = read_from(trace, first, count);
    ASSERT_EQ(part.size(), count);
    for (size_t k = 0; k < count; ++k) ASSERT_TRUE(equal(part[k], all[first + k])) << first << " " << k;
  }
  EXPECT_EQ(substrata_trace_seek(trace, 3000), -1);
}

std::vector<unsigned char> recorded_bytes(const std::string& path) {
  Streams live;
  record_random(path, 2000, 250, &live);
  return bytes_of(path);
}

// FE-8
TEST(Trace, CutOffAnywhereReadsUpToItsLastWholeBlockAndReportsTheOffset) {
  const substrata::tests::TemporaryFolder folder;
  const std::string path = folder / "whole.trace";
  const std::string cut = folder / "cut.trace";
  const std::vector<unsigned char> bytes = recorded_bytes(path);
  substrata_trace* trace = nullptr;
  ASSERT_EQ(substrata_trace_open(path.c_str(), &trace), 0);
  const std::vector<substrata_transaction> all = read_from(trace, 0, 2000);
  substrata_trace_close(trace);
  uint64_t most = 0;
  for (size_t length = 0; length < bytes.size(); length += length < 400 ? 1 : 97) {
    write_bytes(cut, bytes, length);
    if (substrata_trace_open(cut.c_str(), &trace) != 0) {
      EXPECT_NE(std::string(substrata_feed_error()).find("offset"), std::string::npos);
      EXPECT_LT(length, 400u) << "the header is whole, so the file must open";
      continue;
    }
    auto info = client::sized<substrata_trace_info>();
    ASSERT_EQ(substrata_trace_describe(trace, &info), 0);
    EXPECT_EQ(info.complete, 0u);
    EXPECT_LE(info.readable_bytes, length);
    ASSERT_NE(info.damage, nullptr);
    EXPECT_GE(info.transactions, most) << "more of the file never gives less";
    most = std::max(most, info.transactions);
    std::vector<substrata_transaction> part;
    const substrata_transaction* batch = nullptr;
    size_t count = 0;
    int code = 0;
    while ((code = substrata_trace_next(trace, &batch, &count)) == 0)
      part.insert(part.end(), batch, batch + count);
    EXPECT_EQ(code, -1);
    EXPECT_NE(std::string(substrata_feed_error()).find("offset " + std::to_string(info.readable_bytes)),
              std::string::npos)
        << substrata_feed_error();
    EXPECT_NE(std::string(substrata_feed_error()).find(std::to_string(part.size()) + " transactions"),
              std::string::npos);
    ASSERT_EQ(part.size(), info.transactions);
    for (size_t i = 0; i < part.size(); ++i) ASSERT_TRUE(equal(part[i], all[i]));
    substrata_trace_close(trace);
  }
  EXPECT_EQ(most, 2000u) << "only the index was missing";
}

// FE-8
TEST(Trace, DamagedInABlockIsReadUpToItAndRefusedThere) {
  const substrata::tests::TemporaryFolder folder;
  const std::string path = folder / "whole.trace";
  const std::string damaged = folder / "damaged.trace";
  std::vector<unsigned char> bytes = recorded_bytes(path);
  TraceReader reader(path, std::make_unique<MemoryBytes>(bytes.data(), bytes.size()));
  ASSERT_EQ(reader.open(), 0);
  const TraceReader::Block block = reader.blocks()[3];
  bytes[block.offset + kChunkHeaderBytes + 100] ^= 0x10;
  write_bytes(damaged, bytes, bytes.size());
  Collector to("rec.*");
  auto reported = client::sized<substrata_replay_summary>();
  EXPECT_EQ(substrata_replay(damaged.c_str(), nullptr, &reported), -1);
  EXPECT_NE(std::string(substrata_feed_error()).find("offset " + std::to_string(block.offset)),
            std::string::npos)
      << substrata_feed_error();
  EXPECT_EQ(reported.transactions, block.first_transaction);
  EXPECT_EQ(to.seen.size(), block.first_transaction);
}

// FE-8
TEST(Trace, WithAnyByteChangedIsRefusedOrReadButNeverWrong) {
  const substrata::tests::TemporaryFolder folder;
  const std::string path = folder / "whole.trace";
  Streams live;
  record_random(path, 300, 100, &live);
  const std::vector<unsigned char> good = bytes_of(path);
  const auto read_all = [](const std::vector<unsigned char>& bytes, std::vector<substrata_transaction>* all) {
    TraceReader reader("memory", std::make_unique<MemoryBytes>(bytes.data(), bytes.size()));
    if (reader.open() != 0) return false;
    TraceReader::Batch batch;
    int code = 0;
    while ((code = reader.next(&batch)) == 0 && batch.count > 0) {
      all->insert(all->end(), batch.transactions, batch.transactions + batch.count);
    }
    return code == 0;
  };
  std::vector<substrata_transaction> wanted;
  ASSERT_TRUE(read_all(good, &wanted));
  ASSERT_EQ(wanted.size(), 300u);
  for (size_t at = 0; at < good.size(); at += 3) {
    std::vector<unsigned char> bytes = good;
    bytes[at] ^= static_cast<unsigned char>(1u << at % 8);
    std::vector<substrata_transaction> got;
    read_all(bytes, &got);
    ASSERT_LE(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) ASSERT_TRUE(equal(got[i], wanted[i])) << "byte " << at;
  }
}

// FE-8
TEST(Trace, OfAnEmptyRecordingIsCompleteAndReplaysNothing) {
  const substrata::tests::TemporaryFolder folder;
  const std::string path = folder / "empty.trace";
  substrata_recorder* recorder = nullptr;
  ASSERT_EQ(substrata_record_start(path.c_str(), "nothing.*", nullptr, &recorder), 0);
  ASSERT_EQ(substrata_record_stop(recorder, nullptr), 0);
  auto reported = client::sized<substrata_replay_summary>();
  EXPECT_EQ(substrata_replay(path.c_str(), nullptr, &reported), 0) << substrata_feed_error();
  EXPECT_EQ(reported.transactions, 0u);
  EXPECT_EQ(reported.complete, 1u);
}

// FE-8
TEST(Trace, RefusesWhatItCannotRecordOrRead) {
  const substrata::tests::TemporaryFolder folder;
  substrata_recorder* recorder = nullptr;
  EXPECT_EQ(substrata_record_start((folder / "no/such/folder").c_str(), "rec.*", nullptr, &recorder), -3);
  EXPECT_EQ(substrata_record_start((folder / "a").c_str(), "no.such.probe.point", nullptr, &recorder), -7);
  EXPECT_FALSE(fs::exists(folder / "a"));
  auto options = client::sized<substrata_record_options>();
  options.compression_level = 99;
  EXPECT_EQ(substrata_record_start((folder / "a").c_str(), "rec.*", &options, &recorder), -1);
  EXPECT_EQ(substrata_replay((folder / "none").c_str(), nullptr, nullptr), -3);
  EXPECT_EQ(substrata_replay((folder / "").c_str(), nullptr, nullptr), -1) << "a folder";
  write_bytes(folder / "text", {'h', 'e', 'l', 'l', 'o'}, 5);
  EXPECT_EQ(substrata_replay((folder / "text").c_str(), nullptr, nullptr), -1);
  EXPECT_NE(std::string(substrata_feed_error()).find("offset 0"), std::string::npos);
}

// FE-8
TEST(Trace, ReportsADiskThatIsFull) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full to write to";
  substrata_recorder* recorder = nullptr;
  EXPECT_EQ(substrata_record_start("/dev/full", "rec.*", nullptr, &recorder), -3);
  EXPECT_NE(std::string(substrata_feed_error()).find("No space left"), std::string::npos)
      << substrata_feed_error();
}

// FE-8
TEST(Trace, OfAKilledProcessReplaysWhatWasFlushed) {
  const substrata::tests::TemporaryFolder folder;
  const std::string path = folder / "killed.trace";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  constexpr uint64_t kFlushed = 700;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // No gtest here: the parent judges.
    Publishing from(probe("killed.here"), 64);
    auto options = client::sized<substrata_record_options>();
    options.block_transactions = 300;
    substrata_recorder* recorder = nullptr;
    if (substrata_record_start(path.c_str(), "killed.*", &options, &recorder) != 0) ::_exit(1);
    for (uint64_t i = 0; i < kFlushed; ++i) from.send(i, i * i);
    if (substrata_record_flush(recorder) != 0) ::_exit(2);
    for (uint64_t i = 0; i < 100; ++i) from.send(kFlushed + i);  // in the ring and in an unfinished block
    if (::write(ready[1], "x", 1) != 1) ::_exit(3);
    while (true) ::pause();
  }
  ::close(ready[1]);
  char byte = 0;
  const ssize_t got = ::read(ready[0], &byte, 1);
  ::close(ready[0]);
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(got, 1) << "the child ended early";
  ASSERT_TRUE(WIFSIGNALED(status));

  Collector to("killed.*");
  auto reported = client::sized<substrata_replay_summary>();
  EXPECT_EQ(substrata_replay(path.c_str(), nullptr, &reported), -1);
  EXPECT_NE(std::string(substrata_feed_error()).find("was not ended"), std::string::npos)
      << substrata_feed_error();
  EXPECT_EQ(reported.complete, 0u);
  ASSERT_EQ(to.seen.size(), kFlushed);
  for (uint64_t i = 0; i < kFlushed; ++i) {
    EXPECT_EQ(to.seen[i].time, i);
    EXPECT_EQ(to.seen[i].address, i * i);
  }
}

// FE-8
TEST(TraceFormat, EncodesEveryColumnShapeWithoutLoss) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<substrata_transaction> batch(1 + random() % 200);
    const uint64_t shape = random() % 6;
    for (size_t i = 0; i < batch.size(); ++i) {
      substrata_transaction& t = batch[i];
      t = random_transaction(random, i);
      t.address = shape == 0   ? 0
                  : shape == 1 ? ~uint64_t{0} - i * 8
                  : shape == 2 ? random()
                  : shape == 3 ? random() % 256
                  : shape == 4 ? 1000000 + random() % 65536
                               : i * i * i;
      t.probe = 5;
    }
    ByteWriter out;
    encode_segment(5, batch.data(), batch.size(), &out);
    ByteReader in(out.bytes().data(), out.bytes().size());
    uint32_t number = 0;
    uint32_t count = 0;
    ASSERT_TRUE(decode_segment_head(&in, &number, &count));
    ASSERT_EQ(number, 5u);
    ASSERT_EQ(count, batch.size());
    std::vector<substrata_transaction> back(count);
    ASSERT_TRUE(decode_segment_body(&in, 5, count, back.data()));
    EXPECT_EQ(in.left(), 0u);
    for (size_t i = 0; i < count; ++i) ASSERT_TRUE(equal(back[i], batch[i])) << round << " " << i;
  }
}

// FE-8
TEST(TraceFormat, DecodesDifferencesOfEveryLengthInLastAndInnerFields) {
  // Lengths of 1 to 10 bytes in no order, in a first field (time) and in the last one that can be long
  // (detail).
  std::mt19937_64 random(11);
  std::vector<substrata_transaction> batch(500);
  for (size_t i = 0; i < batch.size(); ++i) {
    batch[i].time = i == 0 ? 0 : batch[i - 1].time + (random() >> (random() % 64));
    batch[i].detail = i % 7 == 0   ? ~uint64_t{0} - i
                      : i % 7 == 1 ? uint64_t{1} << 63
                                   : random() >> (random() % 64);
    batch[i].probe = 3;
  }
  ByteWriter out;
  encode_segment(3, batch.data(), batch.size(), &out);
  // Exactly the payload's bytes, so that a read behind its end is seen by the address sanitizer.
  const std::vector<unsigned char> bytes(out.bytes().begin(), out.bytes().end());
  ByteReader in(bytes.data(), bytes.size());
  uint32_t number = 0;
  uint32_t count = 0;
  ASSERT_TRUE(decode_segment_head(&in, &number, &count));
  std::vector<substrata_transaction> back(count);
  ASSERT_TRUE(decode_segment_body(&in, 3, count, back.data()));
  for (size_t i = 0; i < count; ++i) ASSERT_TRUE(equal(back[i], batch[i])) << i;
}

// FE-8
TEST(TraceFormat, RefusesADifferenceOfMoreThanTenBytes) {
  ByteWriter out;
  out.number(3);  // probe
  out.number(2);  // rows
  out.byte(2);    // time: differences
  out.number(0);
  for (int i = 0; i < 10; ++i) out.byte(0x80);
  out.byte(0);
  for (int field = 1; field < 13; ++field) {
    out.byte(0);  // one value
    out.number(0);
  }
  ByteReader in(out.bytes().data(), out.bytes().size());
  uint32_t number = 0;
  uint32_t count = 0;
  ASSERT_TRUE(decode_segment_head(&in, &number, &count));
  std::vector<substrata_transaction> back(count);
  EXPECT_FALSE(decode_segment_body(&in, 3, count, back.data()));
}

}  // namespace
}  // namespace substrata::feed::test
