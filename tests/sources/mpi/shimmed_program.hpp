// An MPI program under the shim: built, started by its launcher, and what the shim wrote of it beside what the program
// printed itself.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <substrata/feed.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <substrata/result.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "support/program.hpp"

namespace substrata::tests {

using Json = nlohmann::json;

inline bool is_there(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

// Of the build, which the test program knows: its source defines them.
extern const std::string kLib, kSources;
inline constexpr int kRanks = 4;

struct Mpi {
  const char* name;
  std::string run;  // up to the environment
  std::string set;  // NAME=VALUE is put behind it
  int ranks = kRanks;
};
inline Mpi open_mpi(int ranks = kRanks) {
  return {"openmpi",
          "timeout 200 mpirun.openmpi --allow-run-as-root --oversubscribe --mca btl self,vader,tcp -n " +
              std::to_string(ranks),
          " -x ", ranks};
}
inline Mpi mpich() { return {"mpich", "timeout 200 mpiexec.mpich -n " + std::to_string(kRanks), " -env "}; }

class MpiShim : public testing::Test {
 protected:
  using Settings = std::vector<std::pair<std::string, std::string>>;

  // Builds the program and runs it under the shim; skips where that MPI is not installed.
  void start(const Mpi& mpi, const std::string& source, const Settings& settings, Ran* ran) {
    const bool is_mpich = mpi.name == std::string("mpich");
    const std::string compiler = std::string(source.ends_with(".c") ? "mpicc." : "mpifort.") + mpi.name;
    const std::string launcher = is_mpich ? "mpiexec.mpich" : "mpirun.openmpi";
    if (!is_there(compiler) || !is_there(launcher))
      GTEST_SKIP() << compiler << " or " << launcher << " is not installed";
    const Ran built = run(compiler + " -O1 -o " + (folder_ / "program") + " " + kSources + source + link_);
    if (built.status != 0 && !source.ends_with(".c"))
      GTEST_SKIP() << "the Fortran binding is not usable with this compiler: " << built.out.substr(0, 300);
    ASSERT_EQ(built.status, 0) << built.out;
    std::string variables;
    const auto set = [&](const std::string& name, const std::string& value) {
      variables += mpi.set + name + (is_mpich ? " " : "=") + value;
    };
    set("LD_PRELOAD", kLib + "libsubstrata_mpi_" + mpi.name + ".so");
    set("SUBSTRATA_MPI_SUMMARY", folder_ / "summary.json");
    for (const auto& [name, value] : settings) set(name, value);
    const Ran plain = run("OMPI_MCA_mpi_yield_when_idle=1 " + mpi.run + " " + (folder_ / "program"));
    if (plain.status != 0)
      GTEST_SKIP() << mpi.name << " cannot start a program here: " << plain.out.substr(0, 300);
    *ran = run("OMPI_MCA_mpi_yield_when_idle=1 " + mpi.run + variables + " " + (folder_ / "program"));
  }
  // The same for a program that ends well and leaves a summary.
  void launch(const Mpi& mpi, const std::string& source, const Settings& settings = {}) {
    Ran ran;
    start(mpi, source, settings, &ran);
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_EQ(ran.status, 0) << ran.out;
    output_ = ran.out;
    std::ifstream stream(folder_ / "summary.json");
    summary_ = Json::parse(stream, nullptr, false);
    ASSERT_TRUE(summary_.is_object()) << "no summary";
    ASSERT_EQ(summary_["ranks"].size(), static_cast<size_t>(mpi.ranks));
  }
  // messages.c, with its own count.
  void measure(const Mpi& mpi, const Settings& settings = {}) {
    launch(mpi, "messages.c", settings);
    if (IsSkipped() || HasFatalFailure()) return;
    std::istringstream lines(output_);
    for (std::string line; std::getline(lines, line);) {
      long messages = 0;
      long bytes = 0;
      if (std::sscanf(line.c_str(), "sent %ld %ld", &messages, &bytes) == 2)
        own_.push_back({messages, bytes});
    }
    ASSERT_EQ(own_.size(), static_cast<size_t>(kRanks)) << output_;
  }
  // All transactions of a rank's trace, with the name of their probe point and the source's time base.
  struct Traced {
    std::vector<std::pair<std::string, substrata_transaction>> all;
    uint32_t time_base = 0;
  };
  Traced trace_of(int rank) {
    Traced out;
    substrata_trace* trace = nullptr;
    const std::string file = folder_ / ("trace." + std::to_string(rank));
    EXPECT_EQ(substrata_trace_open(file.c_str(), &trace), 0) << substrata_feed_error();
    if (trace == nullptr) return out;
    auto source = substrata::client::sized<substrata_source_info>();
    EXPECT_EQ(substrata_trace_source(trace, 0, &source), 0);
    out.time_base = source.time_base;
    const substrata_transaction* batch = nullptr;
    size_t count = 0;
    while (substrata_trace_next(trace, &batch, &count) == 0 && count != 0) {
      for (size_t i = 0; i < count; ++i) {
        auto probe = substrata::client::sized<substrata_probe_info>();
        substrata_trace_probe(trace, batch[i].probe, &probe);
        out.all.emplace_back(probe.name, batch[i]);
      }
    }
    substrata_trace_close(trace);
    return out;
  }
  // Every message has both ends, with one number, one size, and the sender's stamp at the receiver; the
  // program's own receives are the ones it printed, in their order. So many messages the program gave up.
  void expect_both_ends(uint32_t time_base, size_t given_up = 0) {
    std::map<std::tuple<uint32_t, uint32_t, uint64_t>, substrata_transaction> sent;  // from, to, number
    std::vector<Traced> traces;
    for (int rank = 0; rank < kRanks; ++rank) {
      traces.push_back(trace_of(rank));
      EXPECT_EQ(traces.back().time_base, time_base);
      for (const auto& [probe, t] : traces.back().all) {
        if (t.kind != SUBSTRATA_SEND) continue;
        EXPECT_EQ(probe, "mpi.rank" + std::to_string(rank) + ".send");
        EXPECT_TRUE(sent.emplace(std::tuple(t.initiator, t.target, t.detail), t).second);
      }
    }
    size_t received = 0;
    std::vector<std::string> published(kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      for (const auto& [probe, t] : traces[static_cast<size_t>(rank)].all) {
        if (t.kind != SUBSTRATA_RECEIVE) continue;
        ++received;
        EXPECT_EQ(probe, "mpi.rank" + std::to_string(rank) + ".receive");
        EXPECT_EQ(t.target, static_cast<uint32_t>(rank));
        const auto found = sent.find({t.initiator, t.target, t.detail});
        ASSERT_NE(found, sent.end()) << t.initiator << " to " << rank << " number " << t.detail;
        EXPECT_EQ(t.start, found->second.time);
        EXPECT_EQ(t.size, found->second.size);
        EXPECT_EQ(t.flags, found->second.flags);
        EXPECT_GE(t.time, t.start);
        if ((t.flags & SUBSTRATA_FLAG_COLLECTIVE) == 0)
          published[static_cast<size_t>(rank)] += "got " + std::to_string(rank) + " " +
                                                  std::to_string(t.initiator) + " " + std::to_string(t.size) +
                                                  "\n";
      }
    }
    EXPECT_EQ(received + given_up, sent.size());
    std::vector<std::string> printed(kRanks);
    std::istringstream lines(output_);
    for (std::string line; std::getline(lines, line);) {
      int rank = 0;
      if (std::sscanf(line.c_str(), "got %d", &rank) == 1 && rank < kRanks)
        printed[static_cast<size_t>(rank)] += line + "\n";
    }
    EXPECT_EQ(published, printed);
  }
  void expect_own_counts_of_blocks(const Mpi& mpi, const Settings& settings = {}) {
    launch(mpi, "blocks.c", settings);
    if (IsSkipped() || HasFatalFailure()) return;
    std::istringstream lines(output_);
    int compared = 0;
    for (std::string line; std::getline(lines, line);) {
      int rank = 0;
      long messages = 0;
      long bytes = 0;
      if (std::sscanf(line.c_str(), "sent %d %ld %ld", &rank, &messages, &bytes) != 3) continue;
      const Json& counted = summary_["ranks"][static_cast<size_t>(rank)];
      EXPECT_EQ(counted["level"], 1);
      EXPECT_EQ(counted["messages_sent"], messages) << rank;
      EXPECT_EQ(counted["bytes_sent"], bytes) << rank;
      ++compared;
    }
    EXPECT_EQ(compared, kRanks) << output_;
    expect_conservation();
  }
  void expect_ring_of(const Mpi& mpi, const std::string& source, const Settings& settings = {}) {
    launch(mpi, source, settings);
    if (IsSkipped() || HasFatalFailure()) return;
    for (const Json& rank : summary_["ranks"]) {
      const Json& sizes = rank["phases"][0]["sizes_sent"];
      EXPECT_EQ(sizes["80"], 5) << rank.dump();
      EXPECT_GE(sizes["8"], 1) << rank.dump();
      EXPECT_EQ(rank["latencies"]["unknown"], 0);
      EXPECT_EQ(rank["latencies"]["virtual"]["messages"], rank["messages_received"]);
    }
    expect_conservation();
  }
  const Json* phase(int rank, const std::string& name) {
    for (const Json& item : summary_["ranks"][static_cast<size_t>(rank)]["phases"])
      if (item["name"] == name) return &item;
    return nullptr;
  }
  // Messages of the sizes the program's own point-to-point messages have, in its phase of them.
  std::pair<long, long> of_the_ring(int rank) {
    long messages = 0;
    long bytes = 0;
    if (const Json* ring = phase(rank, "Ring"))
      for (const auto& [size, count] : (*ring)["sizes_sent"].items()) {
        if (size != "40" && size != "800" && size != "1600" && size != "2400") continue;
        messages += count.get<long>();
        bytes += count.get<long>() * std::stol(size);
      }
    return {messages, bytes};
  }
  void expect_conservation() {
    long sent = 0;
    long received = 0;
    long bytes_sent = 0;
    long bytes_received = 0;
    for (const Json& rank : summary_["ranks"]) {
      sent += rank["messages_sent"].get<long>();
      received += rank["messages_received"].get<long>();
      bytes_sent += rank["bytes_sent"].get<long>();
      bytes_received += rank["bytes_received"].get<long>();
    }
    EXPECT_EQ(sent, received);
    EXPECT_EQ(bytes_sent, bytes_received);
  }

  // BLAS of our own, in a library as programs have it.
  void link_own_blas() {
    const std::string library = folder_ / "libown.so";
    const Ran built = run("cc -DLIBRARY -O1 -shared -fPIC -o " + library + " " + kSources + "blas.c");
    ASSERT_EQ(built.status, 0) << built.out;
    link_ = " " + library + " -Wl,-rpath," + folder_.path();
  }
  std::string link_;  // behind the program's source
  TemporaryFolder folder_;
  std::string output_;
  std::vector<std::pair<long, long>> own_;
  Json summary_;
};

}  // namespace substrata::tests
