// The language's tables, states, packets and actions, in modules and in one-liners.
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "feeding.hpp"

namespace substrata::owl::test {
namespace {

// A query in this process; its lines.
class Query {
 public:
  explicit Query(const std::string& text) : file_(std::tmpfile()) {
    EXPECT_EQ(substrata_owl_query_start(text.data(), text.size(), "q", fileno(file_), &query_), 0)
        << substrata_owl_error();
  }
  ~Query() {
    if (file_ != nullptr) {
      substrata_owl_query_stop(query_);
      std::fclose(file_);
    }
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  // Ends it.
  std::vector<std::string> lines() {
    EXPECT_EQ(substrata_owl_query_stop(query_), 0) << substrata_owl_error();
    std::rewind(file_);
    std::vector<std::string> out;
    char line[65536];
    while (std::fgets(line, sizeof line, file_) != nullptr) {
      out.emplace_back(line);
      out.back().pop_back();
    }
    std::fclose(file_);
    file_ = nullptr;
    return out;
  }
  // What stands behind "[TABLE," of each row, sorted.
  std::vector<std::string> rows() {
    std::vector<std::string> out;
    for (const std::string& line : lines())
      if (line[0] == '[') out.push_back(line.substr(line.find(',') + 1, line.size() - line.find(',') - 2));
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  std::FILE* file_;
  substrata_owl_query* query_ = nullptr;
};

using Rows = std::vector<std::string>;

std::string refusal(const std::string& text) {
  EXPECT_LT(substrata_owl_query_check(text.data(), text.size(), "q", nullptr, 0), 0) << text;
  return substrata_owl_error();
}

TEST(OwlLanguage, CountsSumsAndExtremesByKey) {
  Feed feed("language.by-key", 4);
  Query query("language.by-key: count, sum(size), avg(size), min(size), max(size) by kind, address");
  feed.access(16, SUBSTRATA_READ, 0, 4);
  feed.access(16, SUBSTRATA_READ, 0, 8);
  feed.access(32, SUBSTRATA_WRITE, 0, 2);
  EXPECT_EQ(query.rows(),
            (Rows{R"(["read","0x10"],[2,12,[12,2],4,8])", R"(["write","0x20"],[1,2,[2,1],2,2])"}));
}

TEST(OwlLanguage, OneLinersAreNoModulesOfTheLibrary) {
  Feed feed("language.library");
  const uint32_t modules = substrata_owl_module_count();
  Query query("language.library: count");
  EXPECT_EQ(substrata_owl_module_count(), modules);
  feed.access(1);
  EXPECT_EQ(query.rows(), (Rows{"[],[1]"}));
}

TEST(OwlLanguage, AFilterThatLeavesEverySecondCountsTheSame) {
  Feed feed("language.every-second", 512);
  Query query("language.every-second: filter(write && size >= 4) -> count");
  for (int i = 0; i < 1000; ++i)
    feed.access(1, i % 2 == 0 ? SUBSTRATA_WRITE : SUBSTRATA_READ, 0, i % 4 == 0 ? 8 : 2);
  EXPECT_EQ(query.rows(), (Rows{"[],[250]"}));
}

TEST(OwlLanguage, FiltersBehindFiltersSeeWhatPassed) {
  Feed feed("language.filters", 512);
  Query query(
      "language.filters: filter(address % 2 == 0) -> filter(address % 3 == 0) -> map(size = address / 6) -> "
      "sum(size)");
  uint64_t expected = 0;
  for (uint64_t i = 0; i < 500; ++i) {
    feed.access(i);
    if (i % 6 == 0) expected += i / 6;
  }
  EXPECT_EQ(query.rows(), (Rows{"[],[" + std::to_string(expected) + "]"}));
}

TEST(OwlLanguage, AFullTableWritesItsRowsAndLosesNone) {
  Feed feed("language.many", 512);
  Query query("language.many: count by address");
  constexpr uint64_t kKeys = 100'000;  // more than a table holds
  for (uint64_t i = 0; i < 2 * kKeys; ++i) feed.access(i % kKeys);
  std::map<std::string, uint64_t> counts;
  for (const std::string& row : query.rows())
    counts[row.substr(0, row.find(']'))] += std::strtoull(row.c_str() + row.rfind('[') + 1, nullptr, 10);
  ASSERT_EQ(counts.size(), kKeys);
  for (const auto& [key, count] : counts) ASSERT_EQ(count, 2u) << key;
}

TEST(OwlLanguage, AStreamIsJoinedWithTheLastValueOfAnother) {
  Feed sends("language.join.send", 1);
  Feed receives("language.join.receive", 1);
  Query query(
      "language.join.send: set(sent[address] = time); "
      "language.join.receive: filter(sent[address] != 0) -> sum(time - sent[address]) by address");
  sends.access(1);     // at 1
  sends.access(2);     // at 2
  sends.access(1);     // at 3: the last one counts
  receives.access(9);  // at 1, never sent
  for (int i = 0; i < 9; ++i) receives.access(7);
  receives.access(1);  // at 11
  EXPECT_EQ(query.rows(), (Rows{R"(["0x1"],[8])"}));
}

TEST(OwlLanguage, AStateCountsWithinOneBatch) {
  Feed feed("language.state", 512);
  Query query(
      "language.state: set(seen[address] = seen[address] + 1) -> filter(seen[address] == 3) -> count by "
      "address");
  for (int i = 0; i < 5; ++i) feed.access(8);
  feed.access(9);
  EXPECT_EQ(query.rows(), (Rows{R"(["0x8"],[1])"}));
}

TEST(OwlLanguage, PeriodsOfTransactionsAreTheFirstKey) {
  Feed feed("language.periods", 16);
  Query query("language.periods: count by kind every 4");
  for (int i = 0; i < 10; ++i) feed.access(1);
  EXPECT_EQ(query.rows(), (Rows{R"([0,"read"],[4])", R"([1,"read"],[4])", R"([2,"read"],[2])"}));
}

TEST(OwlLanguage, PeriodsOfTimeFollowTheStampsOfTheSource) {
  client::feed::Publisher publisher;
  client::feed::Source source = client::feed::Source::simulated("language-simulated", "of a test");
  ASSERT_EQ(source.try_publisher("language.simulated", "of a test", 4, &publisher), 0);
  Query query("language.simulated: count every 2ns");  // 2000 picoseconds
  for (const uint64_t time : {10'000u, 11'999u, 12'000u, 17'000u}) {
    substrata_transaction t{};
    t.time = time;
    publisher.publish(t);
  }
  EXPECT_EQ(query.rows(), (Rows{"[0],[2]", "[1],[1]", "[3],[1]"}));
}

TEST(OwlLanguage, HistogramsAndQuantilesKeepTheirBuckets) {
  Feed feed("language.buckets", 16);
  Query query("language.buckets: hist(size), quantiles(size)");
  for (const uint32_t size : {0u, 1u, 3u, 100u, 100u}) feed.access(1, SUBSTRATA_READ, 0, size);
  // 100 lies in [64, 128), in the fifth of its eight parts.
  EXPECT_EQ(query.rows(), (Rows{R"([],[{"0":1,"1":1,"2":1,"7":2},{"0":1,"1":1,"3":1,"36":2}])"}));
}

TEST(OwlLanguage, ObjectsAreKeysByName) {
  ASSERT_EQ(substrata_owl_object_add("left", 0x1000, 64), 0);
  ASSERT_EQ(substrata_owl_object_add("right", 0x2000, 64), 0);
  Feed feed("language.objects", 16);
  Query query("language.objects: filter(object != \"right\") -> count by object");
  for (const uint64_t address : {0x1000u, 0x103fu, 0x2000u}) feed.access(address);
  EXPECT_EQ(query.rows(), (Rows{R"(["left"],[2])"}));
  substrata_owl_objects_clear();
}

TEST(OwlLanguage, RegionsAreComparedByName) {
  Feed feed("language.regions", 16);
  Query query("language.regions: filter(region == \"solve here\") -> count by region");
  for (const char* name : {"solve here", "elsewhere"}) {
    substrata_transaction t{};
    t.phase = substrata_region(name);
    feed.publish(t);
  }
  EXPECT_EQ(query.rows(), (Rows{R"(["solve here"],[1])"}));
}

TEST(OwlLanguage, RowsOfAModuleFeedALaterStage) {
  Feed feed("language.packets", 16);
  Query query(
      "language.packets: histogram(counters = 64, block = 64) -> packets(address = key, size = count) -> "
      "sum(size), max(size) by page");
  for (uint64_t i = 0; i < 6; ++i) feed.access(i < 4 ? 64 : 128);
  EXPECT_EQ(query.rows(), (Rows{R"(["0x0"],[6,4])"}));
}

TEST(OwlLanguage, RowsOfATableFeedALaterTable) {
  Feed feed("language.tables", 16);
  Query query("language.tables: count by address -> packets(size = count) -> count by size");
  for (const uint64_t address : {1u, 1u, 2u, 2u, 3u}) feed.access(address);
  EXPECT_EQ(query.rows(), (Rows{"[1],[1]", "[2],[2]"}));
}

TEST(OwlLanguage, AGateIsArmedAndDisarmedByTransactions) {
  const std::string text =
      "module armed_counter { let g = gate; let a = filter(address == 1); let d = filter(address == 2);"
      " input -> a -> arm(g); input -> d -> disarm(g); input -> g -> counter; }";
  ASSERT_EQ(substrata_owl_compose(text.data(), text.size(), "x"), 0) << substrata_owl_error();
  Feed feed("language.gate", 64);
  TestCapsule capsule(feed.name(), "armed_counter");
  for (const uint64_t address : {5u, 1u, 5u, 5u, 2u, 5u}) feed.access(address);
  // The one that arms passes, the one that disarms does not.
  EXPECT_EQ(capsule.metric("COUNTER_TRANSACTIONS"), 3u);
}

volatile sig_atomic_t signals = 0;

TEST(OwlLanguage, AProcessIsSentASignalForEachTransactionThatPasses) {
  struct sigaction action {};
  struct sigaction former {};
  action.sa_handler = [](int) { signals = signals + 1; };
  ASSERT_EQ(sigaction(SIGUSR2, &action, &former), 0);
  {
    Feed feed("language.signal", 1);
    Query query("language.signal: filter(size > 64) -> kill(SIGUSR2, thread)");
    for (uint32_t size = 0; size < 80; size += 8) feed.access(1, SUBSTRATA_READ, 0, size);
  }
  sigaction(SIGUSR2, &former, nullptr);
  EXPECT_EQ(signals, 1);
}

TEST(OwlLanguage, InputsOfAModuleTakeTheirProbePoints) {
  const std::string text =
      "module two_inputs { input(\"language.in.a*\") -> counter; input(\"language.in.b*\") -> count by size; "
      "input -> "
      "sum(size); }";
  ASSERT_EQ(substrata_owl_compose(text.data(), text.size(), "x"), 0) << substrata_owl_error();
  Feed a("language.in.a1", 1);
  Feed b("language.in.b1", 1);
  TestCapsule capsule("language.in.*", "two_inputs");
  a.access(1);
  a.access(1);
  b.access(1);
  EXPECT_EQ(capsule.metric("COUNTER_TRANSACTIONS"), 2u);
  EXPECT_EQ(capsule.metric("COUNT_SEEN"), 1u);
  EXPECT_EQ(capsule.metric("SUM_SEEN"), 3u);
}

TEST(OwlLanguage, TheRowsOfATableSayHowTheyRead) {
  const std::string text = "module declared_rows { input -> count, avg(size) by address every 8; }";
  ASSERT_EQ(substrata_owl_compose(text.data(), text.size(), "x"), 0) << substrata_owl_error();
  auto info = client::sized<substrata_owl_module_info>();
  ASSERT_EQ(substrata_owl_module_find("declared_rows", &info), 0);
  EXPECT_STREQ(info.packets,
               "stage 0 (count): u64 period, u64 address, u64 count, u64 sum, u64 count of avg(size)");
}

TEST(OwlLanguage, TheLastLineHasWhatWasSeenAndLost) {
  Feed feed("language.end", 4);
  Query query("language.end: count");
  for (int i = 0; i < 5; ++i) feed.access(1);
  const auto lines = query.lines();
  EXPECT_NE(lines.back().find("\"seen\":5,\"dropped\":0}"), std::string::npos) << lines.back();
}

TEST(OwlLanguage, AMisspeltFieldIsAnsweredWithTheNearestAndItsPlace) {
  EXPECT_EQ(refusal("mem.*:\n filter(adress > 1) -> count"),
            "q:2:9: 'adress' is not a field, register, kind, state or function; did you mean 'address'?");
}

TEST(OwlLanguage, AMisspeltStageIsAnsweredWithTheNearest) {
  EXPECT_NE(refusal("mem.*: filtre(1) -> count").find("did you mean 'filter'?"), std::string::npos);
}

TEST(OwlLanguage, AMisspeltRegisterIsAnsweredWithTheNearest) {
  EXPECT_NE(refusal("mem.*: histogram(counter = 4)").find("did you mean 'counters'?"), std::string::npos);
}

TEST(OwlLanguage, AStateThatIsNeverSetIsRefusedWhereItIsRead) {
  EXPECT_EQ(refusal("mem.*: filter(last[address] == 1) -> count"),
            "q:1:15: 'last' is never set: set(last[...] = ...)");
}

TEST(OwlLanguage, AStateWithOtherKeysIsRefused) {
  EXPECT_NE(refusal("mem.*: set(a[address] = 1) -> filter(a[address, size]) -> count")
                .find("has 1 keys elsewhere, and 2"),
            std::string::npos);
}

TEST(OwlLanguage, ATableFeedsOnlyPackets) {
  EXPECT_NE(refusal("mem.*: count by size -> counter").find("put 'packets(...)' here"), std::string::npos);
}

TEST(OwlLanguage, PacketsOfAModuleWithoutDeclaredFieldsAreRefused) {
  EXPECT_NE(refusal("mem.*: guard -> packets(size = 1) -> count").find("declared fields"), std::string::npos);
}

// An '@' stands where the error is.
struct Mistake {
  const char* text;
  const char* answer;
};
class OwlMistake : public testing::TestWithParam<Mistake> {};

TEST_P(OwlMistake, IsAnsweredAtItsPlace) {
  std::string text = GetParam().text;
  const size_t at = text.find('@');
  text.erase(at, 1);
  const std::string said = refusal(text);
  EXPECT_EQ(said.rfind("q:1:" + std::to_string(at + 1) + ": ", 0), 0u) << said;
  EXPECT_NE(said.find(GetParam().answer), std::string::npos) << said;
}

INSTANTIATE_TEST_SUITE_P(
    EachKind, OwlMistake,
    testing::Values(
        Mistake{"@", "nothing is asked"}, Mistake{"@: count", "probe points are missing before ':'"},
        Mistake{"mem.* @count", "':' is missing behind the probe points"},
        Mistake{"mem.*: count @count", "'->' or ';' is missing before 'c'"},
        Mistake{"mem.*: @", "a sub-module is missing before the end of the text"},
        Mistake{"mem.*: @cuont", "did you mean 'count'?"},
        Mistake{"mem.*: @nothing(1)", "there are filter, map, trigger"},
        Mistake{"mem.*: @Filter(1)", "written in small letters"},
        Mistake{"mem.*: filter @count", "'(' is missing before 'c'"},
        Mistake{"mem.*: filter(size > @) -> count", "a value is missing before ')'"},
        Mistake{"mem.*: filter(size > 1 @-> count", "')' is missing before '-'"},
        Mistake{"mem.*: filter(@adress) -> count", "did you mean 'address'?"},
        Mistake{"mem.*: filter(object == @\"x) -> count", "has no closing"},
        Mistake{"mem.*: filter(size == @\"x\") -> count", "compared with object, region or call"},
        Mistake{"mem.*: filter(@line == 3) -> count", "use it behind 'by'"},
        Mistake{"mem.*: filter(size > @99999999999999999999) -> count", "is not a number of 64 bits"},
        Mistake{"mem.*: filter(min(1@) > 0) -> count", "',' is missing before ')'"},
        Mistake{"mem.*: filter(@a[1] == 2) -> count", "'a' is never set: set(a[...] = ...)"},
        Mistake{"mem.*: set(last[1] = 1); mem.*: filter(@lats[1]) -> count", "did you mean 'last'?"},
        Mistake{"mem.*: set(a[1] = 1) -> filter(@a[1, 2]) -> count", "keys elsewhere, and 2 here"},
        Mistake{"mem.*: filter(@size[1]) -> count", "which has no keys"},
        Mistake{"mem.*: set(@a[1,1,1,1,1,1,1,1,1] = 1)", "at most 8 keys"},
        Mistake{"mem.*: map(@adress = 1) -> count", "did you mean 'address'?"},
        Mistake{"mem.*: map(size @1) -> count", "'=' is missing before '1'"},
        Mistake{"mem.*: count, @summ(size)", "did you mean 'sum'?"},
        Mistake{"mem.*: sum @size", "'(' is missing before 's'"},
        Mistake{"mem.*: count by size every @0", "a period is a number"},
        Mistake{"mem.*: count every @10weeks", "ns, us, ms or s"},
        Mistake{"mem.*: count by 1,1,1,1,1,1,1,@1", "at most 7 keys"},
        Mistake{"mem.*: count by size -> @counter", "put 'packets(...)' here"},
        Mistake{"mem.*: @packets(size = 1) -> count", "stands behind a table"},
        Mistake{"mem.*: filter(kind @= 1) -> count", "'=' compares nothing: write '=='"},
        Mistake{"mem.*: histogram -> @counter", "hands no transactions on"},
        Mistake{"mem.*: histogram(@counter = 4)", "did you mean 'counters'?"},
        Mistake{"mem.*: histogram(counters = @0)", "'counters' takes 1 to"},
        Mistake{"mem.*: histogram(counters = @many)", "neither a register"},
        Mistake{"mem.*: @output", "put a sub-module between"},
        Mistake{"mem.*: counter -> output @-> log", "nothing comes behind output"},
        Mistake{"mem.*: kill(@SIGKIL)", "not a signal that can be sent"},
        Mistake{"mem.*: kill(SIGUSR1, @tread)", "'thread' is missing before 't'"},
        Mistake{"mem.*: mark(@text)", "'\"' is missing before 't'"},
        Mistake{"mem.*: arm(@gate)", "a gate's name belongs here"},
        Mistake{"mem.*: trigger(1, @before = 2)", "'after' is missing before 'b'"},
        Mistake{"mem.*: set(a[1] = 1@, b[1] = 2)", "')' is missing before ','"}),
    [](const testing::TestParamInfo<Mistake>& each) { return std::to_string(each.index); });

TEST(OwlLanguage, StatesThatTakeMoreThanAGibibyteAreRefused) {
  std::string text = "mem.*: set(s[size] = 1)";
  for (int i = 0; i < 14; ++i) text += " -> set(s" + std::to_string(i) + "[1, 2, 3, 4, 5, 6, 7, 8] = 1)";
  EXPECT_NE(refusal(text).find("more than 1 GiB"), std::string::npos) << substrata_owl_error();
}

TEST(OwlLanguage, QueriesOfAnyBytesAreReadOrRefused) {
  std::mt19937 random(7);
  const std::string words[] = {
      "mem.*: ", "count",    " by ", "filter(", ")",    " -> ",         "set(a[", "] = ",  "object", ",", ";",
      "every 3", "packets(", "sum(", "\"x\"",   "size", "kill(SIGUSR1", "gate",   "input", "{",      "1"};
  for (int i = 0; i < 5000; ++i) {
    std::string text = "mem.*: ";
    for (unsigned n = random() % 12; n > 0; --n) text += words[random() % std::size(words)];
    if (substrata_owl_query_check(text.data(), text.size(), "q", nullptr, 0) != 0) {
      EXPECT_EQ(std::string(substrata_owl_error()).substr(0, 2), "q:") << text;
    }
  }
}

TEST(OwlLanguage, KnowsTheValueOfWhatCarriesOne) {
  Feed feed("language.values", 4);
  Query query(
      "language.values: filter(write && valued && value >= 3) -> count, sum(value), hist(value) by address");
  feed.value(16, 3);
  feed.value(16, 9);
  feed.value(16, 2);
  feed.value(16, 9, SUBSTRATA_READ);
  feed.access(16, SUBSTRATA_WRITE);  // without
  EXPECT_EQ(query.rows(), (Rows{R"(["0x10"],[2,12,{"2":1,"4":1}])"}));
}

TEST(OwlLanguage, AValueThatIsNotKnownIsNotZero) {
  Feed feed("language.unknown-values", 4);
  Query query("language.unknown-values: count by valued, value");
  feed.value(16, 0);
  feed.access(16, SUBSTRATA_WRITE);
  EXPECT_EQ(query.rows(), (Rows{"[0,0],[1]", "[1,0],[1]"}));
}

TEST(OwlLanguage, ShowsValuesAsFloatingPointNumbers) {
  Feed feed("language.real", 8);
  Query query("language.real: count by real");
  for (const double value : {0.25, 0.25, -1e300, HUGE_VAL}) feed.value(16, std::bit_cast<uint64_t>(value));
  feed.value(16, std::bit_cast<uint32_t>(1.5F), SUBSTRATA_WRITE, 0, sizeof(float));
  feed.value(16, 7, SUBSTRATA_WRITE, 0, 2);  // too short for one
  EXPECT_EQ(query.rows(), (Rows{R"(["inf"],[1])", R"(["nan"],[1])", "[-1.0000000000000001e+300],[1]",
                                "[0.25],[2]", "[1.5],[1]"}));
  EXPECT_EQ(refusal("x: filter(real == 1) -> count"),
            "q:1:11: 'real' shows a value as a floating-point number: use it behind 'by'");
}

TEST(OwlLanguage, NamesSystemCalls) {
  Feed feed("language.calls", 4);
  Query query("language.calls: filter(call == \"write\" || call == \"exit_group\") -> count by call");
  substrata_transaction t{};
  t.kind = SUBSTRATA_SYSTEM_CALL;
  for (const long number : {SYS_write, SYS_exit_group, SYS_read, SYS_write}) {
    t.detail = static_cast<uint64_t>(number);
    feed.publish(t);
  }
  EXPECT_EQ(query.rows(), (Rows{R"(["exit_group"],[1])", R"(["write"],[2])"}));
  EXPECT_EQ(refusal("x: filter(call == \"opennat\") -> count"),
            "q:1:19: there is no system call 'opennat'; did you mean 'openat'?");
}

}  // namespace
}  // namespace substrata::owl::test
