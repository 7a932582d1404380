// Where numbers stand in the kernel's text files, how counts are followed across their wrap, and how limits are set
// and given back.
#include "sysfs/number_files.hpp"

#include <unistd.h>

#include <bit>
#include <string>

#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;
using sysfs::find_number;
using sysfs::NumberSource;

NumberSource keyed(const std::string& key, uint32_t word = 0) {
  NumberSource source;
  source.key = key;
  source.word = word;
  return source;
}

TEST(FindNumber, TakesTheFirstWordOfTheFirstLineWithoutAKey) {
  NumberSource source;
  EXPECT_EQ(find_number("1234567\n99\n", source), "1234567");
  EXPECT_EQ(find_number("1234567 J 1700000000000000 us\n99\n", source), "") << "more than a number";
  source.more_follows = true;
  EXPECT_EQ(find_number("1234567 J 1700000000000000 us\n99\n", source), "1234567");
  EXPECT_EQ(find_number("\n7\n", {}), "");
}

TEST(FindNumber, TakesTheWordBehindTheKeyOfItsLineOnly) {
  const std::string text =
      "hybrid_read_bytes 5 samples [bytes] 1 2 3\nread_bytes 4 samples [bytes] 10 20 60 70\n";
  EXPECT_EQ(find_number(text, keyed("read_bytes", 5)), "60");
  EXPECT_EQ(find_number(text, keyed("write_bytes", 5)), "");
  EXPECT_EQ(find_number(text, keyed("read_bytes", 9)), "");
}

TEST(FindNumber, UnderstandsHowOtherKernelsWriteTheKey) {
  NumberSource source = keyed("read but discarded");
  source.other_key = "read_but_discarded";
  EXPECT_EQ(find_number("hits 3\nread but discarded   12\n", source), "12");
  EXPECT_EQ(find_number("read_but_discarded 13 samples [pages]\n", source), "13");
}

TEST(FindNumber, TakesTheLineWithTheStar) {
  NumberSource source;
  source.starred = true;
  source.word = 1;
  EXPECT_EQ(find_number("0: 500Mhz\n1: 1725Mhz *\n2: 2100Mhz\n", source), "1725Mhz");
  EXPECT_EQ(find_number("0: 500Mhz\n", source), "");
}

TEST(NumberAtFront, EndsAtAUnitAndRefusesPartsOfOtherNumbers) {
  uint64_t number = 0;
  EXPECT_TRUE(sysfs::number_at_front("1725Mhz", &number));
  EXPECT_EQ(number, 1725u);
  EXPECT_TRUE(sysfs::number_at_front("12@1700000000.5", &number));
  EXPECT_EQ(number, 12u);
  EXPECT_TRUE(sysfs::number_at_front("18446744073709551615", &number));
  EXPECT_EQ(number, UINT64_MAX);
  EXPECT_TRUE(sysfs::number_at_front("-3", &number));
  EXPECT_EQ(static_cast<int64_t>(number), -3);
  for (const char* bad : {"", "-", "N/A", "1.5", "0x10", "99999999999999999999"})
    EXPECT_FALSE(sysfs::number_at_front(bad, &number)) << bad;
}

// A substrate of three files: a count of a device, a level that can be set, and a double.
class Three : public sysfs::NumberFiles {
 public:
  using NumberFiles::NumberFiles;
  static inline NumberSource count;  // a test's own

  static Status detect(const Host&) { return kSuccess; }
  Status scan() {
    sysfs::CatalogueEntry entry;
    entry.name = "count";
    entry.kind = ValueKind::kCount;
    NumberSource source = count;
    source.path = sysfs::below_root(host_, "/sys/count");
    add(entry, source);
    entry.name = "limit";
    entry.kind = ValueKind::kGauge;
    source = {};
    source.path = source.written = sysfs::below_root(host_, "/sys/limit");
    source.most = 1000;
    add(entry, source);
    entry.name = "other_limit";
    source.path = source.written = sysfs::below_root(host_, "/sys/other_limit");
    add(entry, source);
    entry.name = "watts";
    source = {};
    source.path = sysfs::below_root(host_, "/sys/microwatts");
    source.unit = 1e-6;
    add(entry, source);
    return kSuccess;
  }
};

constexpr SubstrateTable kThree = sysfs::NumberSlots<Three>::table({.name = "three"});
int32_t three(const Host* host, SubstrateTable* out) noexcept { return publish(kThree, host, out); }

class NumberFilesTest : public SubstrateOnTree<three> {
 protected:
  void SetUp() override {
    Three::count = {};
    tree.write("/sys/count", 100);
    tree.write("/sys/limit", 500);
    tree.write("/sys/other_limit", 600);
    tree.write("/sys/microwatts", 2'500'000);
  }
  // How far a count went that stands at `from`, then at `to`; -1 for an error.
  int64_t growth(const std::string& from, const std::string& to) {
    tree.write("/sys/count", from + "\n");
    EXPECT_TRUE(substrate.open().ok());
    EventSet set(substrate);
    EXPECT_TRUE(set.program({"count"}).ok());
    EXPECT_TRUE(set.start().ok());
    tree.write("/sys/count", to + "\n");
    Status status;
    const int64_t value = set.read(&status)[0];
    substrate.close();
    return status.ok() ? value : status.code == Code::kCountersLost ? -1 : -2;
  }
  int64_t number(const std::string& path) {
    int64_t value = -1;
    sysfs::read_integer(tree.root() + path, &value);
    return value;
  }
};

TEST_F(NumberFilesTest, CountThatFallsIsAnErrorWhereItCannotWrap) {
  EXPECT_EQ(growth("100", "130"), 30);
  EXPECT_EQ(growth("100", "99"), -1);
}

TEST_F(NumberFilesTest, BinaryCountIsFollowedAcross32And64Bits) {
  Three::count.wrap = sysfs::Wrap::kBinary;
  EXPECT_EQ(growth("4294967290", "4"), 10);
  EXPECT_EQ(growth("100", "90"), -1) << "nearly a whole round: it was reset";
  EXPECT_EQ(growth("18446744073709551610", "4"), 10);
  EXPECT_EQ(growth("9223372036854775800", "9223372036854775900"), 100);
  EXPECT_EQ(growth("5000000000", "0"), -1);
}

TEST_F(NumberFilesTest, CountWithARangeStartsAgainThere) {
  Three::count.wrap = sysfs::Wrap::kRange;
  Three::count.range = 1000;
  EXPECT_EQ(growth("990", "15"), 25);
  EXPECT_EQ(growth("1990", "15"), -1);
}

TEST_F(NumberFilesTest, DoubleStandsAsItsBitsInTheValue) {
  open();
  EXPECT_EQ(substrate.event("watts").type, ValueType::kDouble);
  EventSet set(substrate);
  ASSERT_TRUE(set.program({"watts"}).ok());
  EXPECT_DOUBLE_EQ(std::bit_cast<double>(set.read()[0]), 2.5);
}

TEST_F(NumberFilesTest, FileWithoutANumberMakesItsEventUnavailableAndARunningReadFail) {
  tree.write("/sys/microwatts", "N/A (no PMA)\n");
  open();
  EXPECT_NE(substrate.event("watts").flags & kEventUnavailable, 0u);
  RunningSet set(substrate, {"count", "limit"});
  tree.write("/sys/limit", "");
  const Status status = set.refused_read();
  EXPECT_EQ(status.code, Code::kSystem);
  EXPECT_THAT(note_of(status), HasSubstr("limit"));
}

TEST_F(NumberFilesTest, WrittenLimitsAreAsBeforeOnceTheSubstrateIsClosed) {
  open();
  {
    RunningSet set(substrate, {"limit", "count", "other_limit"});
    const int64_t first[] = {400, -7, 450};
    ASSERT_TRUE(substrate.table.write(set.handle(), first).ok());
    const int64_t second[] = {300, 0, 350};
    ASSERT_TRUE(substrate.table.write(set.handle(), second).ok());
    EXPECT_THAT(set.read(), ElementsAre(300, 0, 350));
    EXPECT_EQ(number("/sys/count"), 100) << "what cannot be written stays as it is";
  }
  tree.write("/sys/other_limit", 777);  // someone else's since
  substrate.close();
  EXPECT_EQ(number("/sys/limit"), 500);
  EXPECT_EQ(number("/sys/other_limit"), 777);
}

TEST_F(NumberFilesTest, WriteThatOneLimitRefusesChangesNone) {
  open();
  RunningSet set(substrate, {"limit", "other_limit"});
  const int64_t too_much[] = {400, 0};
  EXPECT_EQ(substrate.table.write(set.handle(), too_much).code, Code::kInvalid);
  EXPECT_EQ(number("/sys/limit"), 500);
  tree.remove("/sys/other_limit");
  const int64_t good[] = {400, 450};
  EXPECT_EQ(substrate.table.write(set.handle(), good).code, Code::kSystem);
  EXPECT_EQ(number("/sys/limit"), 500) << "the first limit was given back when the second failed";
}

TEST_F(NumberFilesTest, SetWithoutALimitRefusesToBeWritten) {
  open();
  EventSet set(substrate);
  ASSERT_TRUE(set.program({"count"}).ok());
  const int64_t value = 1;
  EXPECT_EQ(substrate.table.write(set.handle(), &value).code, Code::kNoSupport);
}

}  // namespace
