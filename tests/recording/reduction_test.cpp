// Many writers brought down to one record: against sums over all of them, in any order and tree.
#include "recording/reduction.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>
#include <sstream>

#include "page_data.hpp"
#include "recording/html_report.hpp"
#include "recording/text_report.hpp"
#include "support/program.hpp"
#include "synthetic.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using testing::HasSubstr;

// Rank w counts 100 (w + 1) a second and is at 40 + w degrees, for ten seconds, in one region half of the
// time.
Recording rank_of_many(std::size_t w, std::size_t rows = 101) {
  Properties properties = machine("node", "boot");
  properties.emplace_back("mpi.rank", std::to_string(w));
  MemorySink sink(properties);
  const double rate = 100.0 * static_cast<double>(w + 1), level = 40.0 + static_cast<double>(w);
  sample_functions(
      sink, rows, 10.0 / static_cast<double>(rows - 1), [&](double t) { return rate * t; },
      [&](double) { return level; });
  sink.mark({MarkKind::kBegin, 2 * kSecond, -1, "solve"});
  sink.mark({MarkKind::kEnd, 7 * kSecond, -1, "solve"});
  sink.end(11 * kSecond, {{"exit", "exit status 0"}});
  return sink.recording();
}

Reduction reduced(std::size_t from, std::size_t to) {
  Reduction sum;
  for (std::size_t w = from; w < to; ++w) {
    const Recording one = rank_of_many(w);
    sum.add(lay_out(one));
  }
  return sum;
}

Recording written(const Reduction& sum) {
  const TemporaryFolder folder;
  sum.write(folder.file("r.sub"));
  return read_file(folder.file("r.sub"));
}

TEST(Tally, TwoAddUpToTheSpreadOfAll) {
  std::mt19937_64 random(3);
  for (int run = 0; run < 200; ++run) {
    std::vector<double> numbers;
    Tally halves[2], all;
    const std::size_t count = 1 + random() % 50;
    for (std::size_t i = 0; i < count; ++i) {
      numbers.push_back(1e6 + static_cast<double>(random() % 1000));
      halves[random() % 2].add(numbers.back());
    }
    all.add(halves[0]);
    all.add(halves[1]);
    const Spread spread = spread_of(numbers);
    ASSERT_EQ(all.count, count);
    EXPECT_EQ(all.least, spread.min);
    EXPECT_EQ(all.most, spread.max);
    EXPECT_NEAR(all.sum / static_cast<double>(count), spread.mean, 1e-6);
    EXPECT_NEAR(all.deviation(), spread.deviation, 1e-6);
  }
}

// CO-7
TEST(Reduction, ReportsMinimumMeanMaximumAndDeviationOfAllWriters) {
  const Recording record = written(reduced(0, 16));
  ASSERT_EQ(record.writers.size(), 1u);
  EXPECT_TRUE(record.complete());
  const Properties& properties = record.writers[0].properties;
  EXPECT_EQ(property(properties, "reduced.writers"), "16");
  EXPECT_EQ(property(properties, "mpi.rank"), "") << "it is not a rank's";
  const std::vector<NamedSpread> spreads = spreads_of(properties);
  ASSERT_EQ(spreads.size(), 3u);
  EXPECT_EQ(spreads[0].name, "work");
  EXPECT_EQ(spreads[0].spread.count, 16u);
  EXPECT_EQ(spreads[0].spread.min, 1000);
  EXPECT_EQ(spreads[0].spread.mean, 8500);
  EXPECT_EQ(spreads[0].spread.max, 16000);
  EXPECT_NEAR(spreads[0].spread.deviation, 1000 * std::sqrt((16.0 * 16 - 1) / 12), 1e-3);
  EXPECT_EQ(spreads[1].name, "heat");
  EXPECT_THAT(spreads[1].what, HasSubstr("modelled"));
  EXPECT_NEAR(spreads[1].spread.mean, 47.5, 1e-9);
  EXPECT_EQ(spreads[2].name, "solve");
  EXPECT_EQ(spreads[2].spread.mean, 5);

  const Timeline timeline = lay_out(record);
  EXPECT_NEAR(timeline.seconds, 10, 0.1);
  ASSERT_EQ(timeline.regions.size(), 1u);
  EXPECT_NEAR(timeline.regions[0].begin, 1, 0.05);
  EXPECT_NEAR(timeline.regions[0].end, 6, 0.05);
  std::map<std::string, const Trace*> traces;
  for (const Trace& trace : timeline.traces) traces[trace.series->name] = &trace;
  EXPECT_EQ(traces.at("work")->values.back(), 136000) << "all of them together";
  EXPECT_NEAR(value_at(*traces.at("work"), 5), 68000, 300);
  EXPECT_TRUE(traces.at("heat")->series->modelled);
  EXPECT_NEAR(value_at(*traces.at("heat"), 5), 47.5, 1e-9);
  EXPECT_NEAR(value_at(*traces.at("heat:most"), 5), 55, 1e-9);
  EXPECT_NEAR(value_at(*traces.at("heat:least"), 5), 40, 1e-9);
  EXPECT_NEAR(value_at(*traces.at("work:least"), 5), 100, 1);
  EXPECT_NEAR(value_at(*traces.at("work:most"), 5), 1600, 16);

  std::ostringstream text, page;
  write_text_report(text, timeline, "reduced");
  EXPECT_THAT(text.str(), testing::ContainsRegex("work +16 +1000 +8500 +16k"));
  EXPECT_THAT(text.str(), HasSubstr("16, reduced to stretches of"));
  write_html_report(page, timeline, "reduced");
  EXPECT_EQ(data_of(page.str()).at("spreads").size(), 3u);
}

TEST(Reduction, IsTheSameForEveryTree) {
  const Reduction chain = reduced(0, 13);
  // As messages would carry them.
  const auto travelled = [](const Reduction& one) {
    const std::vector<unsigned char> bytes = one.encode().bytes();
    ByteReader in(bytes.data(), bytes.size());
    Reduction back;
    EXPECT_TRUE(back.decode(in));
    EXPECT_EQ(back.encode().bytes(), bytes);
    return back;
  };
  Reduction left = reduced(0, 4), right = reduced(4, 9);
  right.add(travelled(reduced(9, 13)));
  left.add(travelled(right));
  const Recording one = written(chain), other = written(left);
  const std::vector<NamedSpread> a = spreads_of(one.writers[0].properties),
                                 b = spreads_of(other.writers[0].properties);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].spread.count, b[i].spread.count);
    EXPECT_NEAR(a[i].spread.deviation, b[i].spread.deviation, 1e-6 * (1 + a[i].spread.deviation));
  }
  ASSERT_EQ(one.writers[0].series.size(), other.writers[0].series.size());
  for (std::size_t i = 0; i < one.writers[0].series.size(); ++i) {
    const Series &x = one.writers[0].series[i], &y = other.writers[0].series[i];
    EXPECT_EQ(x.name, y.name);
    ASSERT_EQ(x.values.size(), y.values.size()) << x.name;
    for (std::size_t row = 0; row < x.values.size(); ++row)
      EXPECT_NEAR(x.value_at(row), y.value_at(row), 1e-6 * (1 + std::abs(x.value_at(row)))) << x.name;
  }
}

// CO-7: 16 to 1024 simulated ranks: neither the sum nor the report of it grows.
TEST(Reduction, ItsSizeDoesNotGrowWithWritersOrSamples) {
  const auto sizes = [](std::size_t writers, std::size_t rows) {
    Reduction sum;
    for (std::size_t w = 0; w < writers; ++w) {
      const Recording one = rank_of_many(w, rows);
      sum.add(lay_out(one));
    }
    const Recording record = written(sum);
    std::ostringstream text, page;
    const Timeline timeline = lay_out(record);
    write_text_report(text, timeline, "r");
    write_html_report(page, timeline, "r");
    return std::vector<std::size_t>{sum.encode().bytes().size(), static_cast<std::size_t>(record.file_bytes),
                                    text.str().size(), data_text_of(page.str()).size()};
  };
  const std::vector<std::size_t> few = sizes(16, 21);
  for (const std::size_t writers : {std::size_t{64}, std::size_t{256}, std::size_t{1024}}) {
    const std::vector<std::size_t> many = sizes(writers, 21);
    for (std::size_t i = 0; i < few.size(); ++i)
      EXPECT_LT(many[i], few[i] * 3 / 2) << writers << " writers, size " << i;
  }
  const std::vector<std::size_t> rows = sizes(16, 2001), more = sizes(16, 20001);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_LT(more[i], rows[i] * 3 / 2) << i;
}

// Nodes whose clocks were measured against each other lie on one time line; others by the time of day.
TEST(Reduction, ClocksOfNodesAreBroughtTogether) {
  const auto node = [](const char* boot, std::int64_t start, std::int64_t real) {
    MemorySink sink(machine(boot, boot, start, real));
    sample_functions(
        sink, 11, 1, [](double t) { return t * 10; }, [](double) { return 5; }, start);
    sink.end(start + 10 * kSecond, {});
    return sink;
  };
  MemorySink measured = node("b", 500 * kSecond, 1);
  measured.clock({500 * kSecond, -499 * kSecond, 700, "a"});
  Reduction sum, wall;
  const Recording a = node("a", kSecond, 1'000 * kSecond).recording(), b = measured.recording();
  const Recording c = node("c", 70 * kSecond, 1'003 * kSecond).recording();
  sum.add(lay_out(a));
  sum.add(lay_out(b));
  EXPECT_NEAR(lay_out(written(sum)).seconds, 10, 0.1);
  EXPECT_EQ(property(written(sum).writers[0].properties, "note.clocks"), "");
  EXPECT_THAT(property(written(sum).writers[0].properties, "note.offsets"), HasSubstr("700 ns"));
  wall.add(lay_out(a));
  wall.add(lay_out(c));
  EXPECT_NEAR(lay_out(written(wall)).seconds, 13, 0.2);
  EXPECT_THAT(property(written(wall).writers[0].properties, "note.clocks"), HasSubstr("1 of the writers"));
}

TEST(Reduction, NonsenseIsRefused) {
  std::mt19937_64 random(11);
  const std::vector<unsigned char> good = reduced(0, 2).encode().bytes();
  for (int run = 0; run < 2000; ++run) {
    std::vector<unsigned char> bytes(good.begin(),
                                     good.begin() + static_cast<std::ptrdiff_t>(random() % good.size()));
    if (!bytes.empty() && run % 2 == 0) bytes[random() % bytes.size()] = static_cast<unsigned char>(random());
    ByteReader in(bytes.data(), bytes.size());
    Reduction sum;
    EXPECT_FALSE(sum.decode(in));
    EXPECT_EQ(sum.writers(), 0u);
  }
  Recording odd = rank_of_many(0);
  odd.writers[0].sets[0].times.back() = INT64_MAX;
  Reduction sum;
  EXPECT_THROW(sum.add(lay_out(odd)), std::runtime_error);
}

#ifdef MPI_REDUCE
// CO-7: the same over messages, oversubscribed.
TEST(Reduction, OverMpiIsThatOfOneProcess) {
  if (shell("command -v mpirun.openmpi").status != 0) GTEST_SKIP() << "mpirun.openmpi is not installed";
  if (shell("ldd " MPI_REDUCE " | grep -q libmpi.so.40").status != 0)
    GTEST_SKIP() << "substrata-mpi-reduce is not built with Open MPI";
  const TemporaryFolder folder;
  Reduction sum;
  for (std::size_t w = 0; w < 5; ++w) {
    Properties properties = machine("node", "boot");
    properties.emplace_back("mpi.rank", std::to_string(w));
    const std::string path = folder.file("in." + std::to_string(w));
    FileWriter file(path, FileWriter::Mode::kReplace, properties);
    sample_functions(
        file, 50, 0.1, [&](double t) { return t * static_cast<double>(w); }, [](double) { return 5; });
    file.end(6 * kSecond, {});
    const Recording one = read_file(path);
    sum.add(lay_out(one));
  }
  const Ran ran = shell(
      "OMPI_MCA_mpi_yield_when_idle=1 mpirun.openmpi --allow-run-as-root --oversubscribe --mca btl "
      "self,vader,tcp -n 5 " MPI_REDUCE " " +
      folder.file("out.sub") + " " + folder.file("in.%r"));
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const Recording over_mpi = read_file(folder.file("out.sub")), alone = written(sum);
  EXPECT_EQ(property(over_mpi.writers.at(0).properties, "reduced.writers"), "5");
  ASSERT_EQ(over_mpi.writers[0].series.size(), alone.writers[0].series.size());
  for (std::size_t i = 0; i < alone.writers[0].series.size(); ++i) {
    const Series &x = over_mpi.writers[0].series[i], &y = alone.writers[0].series[i];
    EXPECT_EQ(x.name, y.name);
    ASSERT_EQ(x.values.size(), y.values.size());
    for (std::size_t row = 0; row < x.values.size(); ++row) EXPECT_NEAR(x.value_at(row), y.value_at(row), 1);
  }
  const Ran none = shell("mpirun.openmpi --allow-run-as-root -n 1 " MPI_REDUCE " " + folder.file("no.sub") +
                         " " + folder.file("missing"));
  EXPECT_NE(none.status, 0);
  EXPECT_THAT(none.errors, HasSubstr("missing"));
}
#endif

}  // namespace
