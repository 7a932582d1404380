// The kernel's samples of tracepoints, as it writes them, become transactions.
#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <vector>

#include "sources/observation/raw_samples.hpp"

namespace substrata::pages {
namespace {

constexpr size_t kWhole = sizeof(RawSample);

// The first word of a tracepoint's data is the kernel's own.
RawSample sample(uint64_t time, uint32_t thread, std::initializer_list<uint64_t> words) {
  RawSample out{};
  out.head = {.header = {PERF_RECORD_SAMPLE, 0, sizeof out},
              .process = 0,
              .thread = thread,
              .time = time,
              .processor = 0,
              .reserved = 0};
  out.raw_bytes = static_cast<uint32_t>(8 + 8 * words.size());
  std::memcpy(out.raw + 8, words.begin(), 8 * words.size());
  return out;
}

std::vector<substrata_transaction> calls_of(const std::vector<std::pair<bool, RawSample>>& begins_and_ends) {
  SystemCalls calls;
  std::vector<substrata_transaction> out;
  for (const auto& [begins, each] : begins_and_ends) {
    const size_t bytes = each.bytes(kWhole);
    if (begins)
      calls.begin(each, bytes);
    else
      calls.end(each, bytes, [&](const substrata_transaction& call) { out.push_back(call); });
  }
  return out;
}

TEST(SystemCallSamples, JoinTheBeginAndTheEndOfAThreadsCall) {
  const auto calls = calls_of({{true, sample(10, 1, {0, 5})},  // read(5)
                               {true, sample(12, 2, {1, 6})},  // write(6), another thread
                               {false, sample(20, 1, {0, 300})},
                               {false, sample(31, 2, {1, 40})}});
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].kind, SUBSTRATA_SYSTEM_CALL);
  EXPECT_EQ(calls[0].detail, 0u);
  EXPECT_EQ(calls[0].address, 5u);
  EXPECT_EQ(calls[0].size, 300u);
  EXPECT_EQ(calls[0].target, 0u);
  EXPECT_EQ(calls[0].initiator, 1u);
  EXPECT_EQ(calls[0].time - calls[0].start, 10u);
  EXPECT_EQ(calls[1].time - calls[1].start, 19u);
}

TEST(SystemCallSamples, KeepAnErrorApartFromASize) {
  const auto failed = static_cast<uint64_t>(-2);         // ENOENT
  const auto address = uint64_t{0xffff'8000'0000'0000};  // what mmap may return is no error
  const auto calls = calls_of({{true, sample(1, 1, {257, 0})},
                               {false, sample(2, 1, {257, failed})},
                               {true, sample(3, 1, {9, 0})},
                               {false, sample(4, 1, {9, address})}});
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].target, 2u);
  EXPECT_EQ(calls[0].size, 0u);
  EXPECT_EQ(calls[1].target, 0u);
}

TEST(SystemCallSamples, LeaveOutAnEndWithoutItsBegin) {
  EXPECT_TRUE(calls_of({{false, sample(1, 1, {0, 0})}}).empty());
}

// As /sys/kernel/tracing/events/block/block_rq_issue/format has it, shortened.
constexpr const char* kFormat = R"(name: block_rq_issue
ID: 1200
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:dev_t dev;	offset:8;	size:4;	signed:0;
	field:sector_t sector;	offset:16;	size:8;	signed:0;
	field:unsigned int nr_sector;	offset:24;	size:4;	signed:0;
	field:unsigned int bytes;	offset:28;	size:4;	signed:0;
	field:char rwbs[10];	offset:34;	size:10;	signed:0;
	field:__data_loc char[] cmd;	offset:60;	size:4;	signed:0;

print fmt: "%d"
)";

TEST(TracepointFields, AreTheFirstIntegersAndTheSize) {
  const RawFields fields = RawFields::of(kFormat);
  EXPECT_EQ(fields.detail.offset, 8u);
  EXPECT_EQ(fields.address.offset, 16u);
  EXPECT_EQ(fields.size.offset, 28u);
  const RawSample one = sample(1, 1, {259, 4096, uint64_t{512} << 32 | 1});
  EXPECT_EQ(fields.detail.of(one, one.bytes(kWhole)), 259u);
  EXPECT_EQ(fields.address.of(one, one.bytes(kWhole)), 4096u);
  EXPECT_EQ(fields.size.of(one, one.bytes(kWhole)), 512u);
}

TEST(TracepointFields, OfARecordThatIsCutShortAreZero) {
  const RawFields fields = RawFields::of(kFormat);
  const RawSample one = sample(1, 1, {259, 4096, 7});
  EXPECT_EQ(fields.address.of(one, one.bytes(offsetof(RawSample, raw) + 20)), 0u);
  EXPECT_EQ(one.bytes(10), 0u);
  EXPECT_EQ(RawFields::of("").detail.bytes, 0u);
}

TEST(TracepointFields, WhoseOffsetWrapsAreNotRead) {
  const RawFields fields = RawFields::of("\tfield:int x;\toffset:4294967295;\tsize:4;\tsigned:1;\n");
  const RawSample one = sample(1, 1, {~uint64_t{0}});
  EXPECT_EQ(fields.detail.offset, 0xffff'ffffu);
  EXPECT_EQ(fields.detail.of(one, one.bytes(kWhole)), 0u);
}

TEST(TracepointFields, KeepTheirSign) {
  const RawFields fields = RawFields::of("\tfield:int ret;\toffset:8;\tsize:4;\tsigned:1;\n");
  const RawSample one = sample(1, 1, {0xffff'fffe});
  EXPECT_EQ(static_cast<int64_t>(fields.detail.of(one, one.bytes(kWhole))), -2);
}

}  // namespace
}  // namespace substrata::pages
