// myrinet-fft, myrinet-radix, myrinet-gauss, myrinet-multiprogram: performance signatures of programs (Liao,
// Martonosi, Clark, figures 6 and 11 to 14).
#include <substrata/result.hpp>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "papers/claims.hpp"
#include "papers/myrinet_packets.hpp"
#include "papers/myrinet_runs.hpp"
#include "papers/plot.hpp"
#include "tools/model_runs/workload_run.hpp"

namespace substrata::papers {
using namespace model_runs;
namespace {

constexpr Lengths kAll{0, 4096};
constexpr Lengths kShort{0, 127};
constexpr Lengths kShortAlike{0, 127, true};
constexpr char kAlone[] = "contention=no";

std::string fft(std::uint64_t points) { return "fft:points=" + std::to_string(points); }
std::string radix(std::uint64_t points) { return "radix:keys=" + std::to_string(8 * points); }

struct Latencies {
  double source = 0, lanai = 0, net_only = 0, dest = 0;
};
Latencies latencies_of(const std::string& workload, const Case& one, const Lengths& lengths,
                       const std::string& parameters) {
  PacketLatencies seen;
  myrinet_run(workload, one.size.nodes, parameters, one.seed);
  return {seen.average(SUBSTRATA_MYRINET_SOURCE, lengths), seen.average(SUBSTRATA_MYRINET_LANAI, lengths),
          seen.net_only(lengths), seen.average(SUBSTRATA_MYRINET_DEST, lengths)};
}

// The same packets each alone; every setting of a program compares with them.
Latencies alone_of(const std::string& workload, const Case& one, const Lengths& lengths) {
  static std::map<std::tuple<std::string, unsigned, std::uint64_t>, Latencies> known;
  const auto [found, added] = known.try_emplace({workload, one.size.nodes, one.seed});
  if (added) found->second = latencies_of(workload, one, lengths, kAlone);
  return found->second;
}

// A word behind a packet of 4 KB waits for that packet's DMA with nothing else under way.
std::string word_alone(const Case& one) {
  PacketLatencies seen;
  myrinet_run("ping-pong:bytes=4100:rounds=1", 2, "", one.seed);
  return "the word behind a page waits " + microseconds(seen.average(SUBSTRATA_MYRINET_SOURCE, {4, 4})) +
         " in an idle cluster";
}

Readings measure_fft(const Case& one) {
  PacketLatencies seen;
  myrinet_run(fft(one.size.amount), one.size.nodes, one.setting, one.seed);
  Readings found{{"net", {seen.net_only(kAll), microseconds(seen.net_only(kShort)) + " below 128 bytes"}},
                 {"source", {seen.average(SUBSTRATA_MYRINET_SOURCE, kShortAlike)}},
                 {"dest", {seen.average(SUBSTRATA_MYRINET_DEST, kShortAlike)}}};
  if (one.seed == 1 && one.setting.empty()) {
    found["source"].shown = "all packets below 128 bytes, words behind pages included: " +
                            microseconds(seen.average(SUBSTRATA_MYRINET_SOURCE, kShort)) + "; " +
                            word_alone(one);
    found["dest"].shown = "words included: " + microseconds(seen.average(SUBSTRATA_MYRINET_DEST, kShort));
  }
  return found;
}

Readings measure_radix(const Case& one) {
  const Latencies of_radix = latencies_of(radix(one.size.amount), one, kShortAlike, one.setting);
  const Latencies alone = alone_of(radix(one.size.amount), one, kShortAlike);
  Readings found{
      {"source",
       {of_radix.source / alone.source,
        microseconds(of_radix.source) + ", the same packets each alone " + microseconds(alone.source)}}};
  if (one.wants("fft")) {
    const Latencies of_fft = latencies_of(fft(one.size.amount), one, kShortAlike, one.setting);
    found["fft"] = {of_radix.source / of_fft.source, "FFT " + microseconds(of_fft.source)};
  }
  return found;
}

// Of broadcasts: shorter than the whole rows that are gathered at the end, and than the packets of those.
Lengths lines_of(const Size& size) {
  return {1024, static_cast<unsigned>(std::min<std::uint64_t>(4064, 8 * size.amount))};
}

bool of_program(const std::string& setting) {
  return setting.starts_with("pivoting") || setting.starts_with("ahead") || setting.starts_with("broadcast");
}

Readings measure_gauss(const Case& one) {
  const bool program = of_program(one.setting);
  const std::string workload =
      "gauss:n=" + std::to_string(one.size.amount) + (program ? ":" + one.setting : "");
  PacketLatencies seen;
  myrinet_recorded(workload, one.size.nodes, program ? "" : one.setting, one.seed);
  substrata_myrinet_operation_point broadcasts{};
  for (const substrata_myrinet_operation_point& point : myrinet_operations())
    if (point.kind == SUBSTRATA_MYRINET_BROADCAST) broadcasts = point;
  // Line k has n + 1 - k numbers of 8 bytes.
  std::uint64_t wanted = 0;
  for (std::uint64_t k = 0; k < one.size.amount; ++k)
    wanted += (one.size.nodes - 1) * (((one.size.amount + 1 - k) * 8 + 4095) / 4096);
  const double source = seen.average(SUBSTRATA_MYRINET_SOURCE, lines_of(one.size));
  const double lanai = seen.average(SUBSTRATA_MYRINET_LANAI, lines_of(one.size));
  const Latencies alone = alone_of(workload, one, lines_of(one.size));
  return {
      {"sends",
       {static_cast<double>(broadcasts.packets) / static_cast<double>(wanted),
        std::to_string(broadcasts.packets) + " packets in " + std::to_string(broadcasts.count) +
            " broadcasts"}},
      {"source",
       {source / alone.source, microseconds(source) + ", each alone " + microseconds(alone.source)}},
      {"lanai", {lanai / alone.lanai, microseconds(lanai) + ", each alone " + microseconds(alone.lanai)}}};
}

constexpr std::uint64_t kPaperPoints = 262144;
constexpr std::uint64_t kSliceMs = 200;  // Linux 2.0's; in shorter runs in proportion

double apart(double with, double alone) { return with / alone - 1; }

Readings measure_multiprogram(const Case& one) {
  const std::string first = fft(one.size.amount);
  const std::string second = radix(one.size.amount);
  struct Alone {
    double seconds, net_only, source;
  };
  const auto alone = [&](const std::string& workload) {
    PacketLatencies seen;
    const double seconds = myrinet_run(workload, one.size.nodes, "", one.seed);
    return Alone{seconds, seen.net_only(kAll), seen.average(SUBSTRATA_MYRINET_SOURCE, kAll)};
  };
  const Alone fft_alone = alone(first);
  const Alone radix_alone = alone(second);
  PacketLatencies seen;
  auto options = client::sized<substrata_run_options>();
  options.processes = one.size.nodes;
  options.seed = one.seed;
  const std::string parameters = one.setting.empty()
                                     ? "slice_ms=" + std::to_string(std::max<std::uint64_t>(
                                                         1, kSliceMs * one.size.amount / kPaperPoints))
                                     : one.setting;
  options.parameters = parameters.c_str();
  auto fft_result = client::sized<substrata_run_result>();
  auto radix_result = client::sized<substrata_run_result>();
  if (substrata_myrinet_run_together(first.c_str(), second.c_str(), &options, &fft_result, &radix_result) !=
      0)
    throw std::runtime_error(substrata_myrinet_error());
  if (fft_result.correct == 0 || radix_result.correct == 0)
    throw std::runtime_error(std::string(fft_result.message) + "; " + radix_result.message);
  const double fft_net = seen.net_only(kAll, 0);
  const double radix_net = seen.net_only(kAll, 1);
  const double radix_source = seen.average(SUBSTRATA_MYRINET_SOURCE, kAll, 1);
  const double fft_time = seconds_of(fft_result);
  const double radix_time = seconds_of(radix_result);
  const auto both = [](const std::string& with, const std::string& before) {
    return with + ", alone " + before;
  };
  return {
      {"fft-net",
       {apart(fft_net, fft_alone.net_only), both(microseconds(fft_net), microseconds(fft_alone.net_only))}},
      {"radix-net",
       {apart(radix_net, radix_alone.net_only),
        both(microseconds(radix_net), microseconds(radix_alone.net_only))}},
      {"radix-source",
       {apart(radix_source, radix_alone.source),
        both(microseconds(radix_source), microseconds(radix_alone.source))}},
      {"fft-time",
       {fft_time / fft_alone.seconds, both(digits(fft_time, 3) + " s", digits(fft_alone.seconds, 3) + " s")}},
      {"radix-time",
       {radix_time / radix_alone.seconds,
        both(digits(radix_time, 3) + " s", digits(radix_alone.seconds, 3) + " s")}}};
}

// The signature of a program, for the folder.
void draw(const Setting& setting, const char* name, const std::string& title, const std::string& workload,
          const std::vector<std::string>& paper) {
  myrinet_recorded(workload, 8);
  write_signature(setting, name, title, myrinet_signature(SUBSTRATA_MYRINET_BY_SIZE), paper);
}
std::uint64_t drawn_points(const Setting& setting) { return setting.paper_size ? kPaperPoints : 16384; }

// How often packets of each size had each SourceLatency.
void draw_histogram(const Setting& setting, std::uint64_t points) {
  constexpr std::uint32_t kBins = 64, kLengths = 128;
  Field field{
      .x = {"packet size (bytes)"}, .y = {"SourceLatency (us)"}, .count = "packets", .at = {}, .x_step = 128};
  // Four bins of the lengths are one here.
  for (std::uint32_t length = 0; length < kLengths; length += 4) {
    std::vector<std::uint64_t>& row = field.at.emplace_back(kBins);
    for (std::uint32_t part = length; part < length + 4; ++part) {
      std::vector<std::uint64_t> counts(kBins);
      if (substrata_myrinet_histogram(SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_SOURCE,
                                      SUBSTRATA_MYRINET_BY_SIZE, part, counts.data(), kBins) != 0)
        throw std::runtime_error(substrata_myrinet_error());
      for (std::uint32_t bin = 0; bin < kBins; ++bin) row[bin] += counts[bin];
    }
  }
  const std::string title = "Figure 2: message sizes by SourceLatency, FFT, " + std::to_string(points) +
                            " points, 8 nodes (modelled)";
  setting.write("myrinet-fig2.svg", [&](std::ostream& file) { write_blocks(file, title, field); });
  setting.write("myrinet-fig2-map.svg", [&](std::ostream& file) { write_map(file, title, field); });
}

void draw_fft(const Setting& setting) {
  const std::uint64_t points = drawn_points(setting);
  draw(setting, "myrinet-fft", "Figure 6: FFT, " + std::to_string(points) + " points", fft(points),
       {"Section 4.2: NetLatency less LANaiLatency about 9 us; below 128 bytes",
        "SourceLatency over 20 us and DestLatency about 16 us. Section 2.4: tens of",
        "thousands of packets of 128 bytes, several hundred of 640."});
  draw_histogram(setting, points);
}
void draw_radix(const Setting& setting) {
  const std::uint64_t points = drawn_points(setting);
  draw(setting, "myrinet-radix", "Figure 11: RADIX, " + std::to_string(8 * points) + " keys", radix(points),
       {"Section 4.2: SourceLatency is very high."});
}
void draw_gauss(const Setting& setting) {
  const std::string n = setting.paper_size ? "1024" : "256";
  draw(setting, "myrinet-gauss", "Figure 14: Gaussian elimination, " + n + " x " + n, "gauss:n=" + n,
       {"Section 4.3: SourceLatency and LANaiLatency are very high."});
}
void draw_both(const Setting& setting) {
  const std::uint64_t points = drawn_points(setting);
  myrinet_begin(2);
  auto options = client::sized<substrata_run_options>();
  options.processes = 8;
  options.seed = 1;
  const std::string slice = "slice_ms=" + std::to_string(kSliceMs * points / kPaperPoints);
  options.parameters = slice.c_str();
  auto first = client::sized<substrata_run_result>();
  auto second = client::sized<substrata_run_result>();
  if (substrata_myrinet_run_together(fft(points).c_str(), radix(points).c_str(), &options, &first, &second) !=
      0)
    throw std::runtime_error(substrata_myrinet_error());
  myrinet_end();
  const std::vector<std::string> paper = {
      "Section 4.2: contention is alleviated; each program takes much longer."};
  write_signature(setting, "myrinet-fft-with-radix",
                  "Figure 12: FFT, " + std::to_string(points) + " points, when run with RADIX",
                  myrinet_signature(SUBSTRATA_MYRINET_BY_SIZE, 0), paper);
  write_signature(setting, "myrinet-radix-with-fft",
                  "Figure 13: RADIX, " + std::to_string(8 * points) + " keys, when run with FFT",
                  myrinet_signature(SUBSTRATA_MYRINET_BY_SIZE, 1), paper);
}

}  // namespace

extern const Reproduction myrinet_fft =
    stated("myrinet-fft", "Myrinet monitor, figure 6: signature of FFT", measure_fft, draw_fft);
extern const Reproduction myrinet_radix =
    stated("myrinet-radix", "Myrinet monitor, figure 11: signature of RADIX", measure_radix, draw_radix);
extern const Reproduction myrinet_gauss =
    stated("myrinet-gauss", "Myrinet monitor, figure 14: Gaussian elimination by messages", measure_gauss,
           draw_gauss);
extern const Reproduction myrinet_multiprogram =
    stated("myrinet-multiprogram", "Myrinet monitor, figures 12 and 13: FFT and RADIX at once",
           measure_multiprogram, draw_both);

}  // namespace substrata::papers
