// The ranks as nodes of a modelled cluster: followed in each process for who reads counters there, and as a
// whole when the program ends.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>

#include "shim.hpp"

namespace substrata::mpi_shim {
namespace {

constexpr uint32_t kMostPhases = 64;
constexpr uint32_t kMostNodes = 256;

struct FreeCarried {
  void operator()(substrata_myrinet_carried* carried) const { substrata_myrinet_carried_free(carried); }
};
using Carried = std::unique_ptr<substrata_myrinet_carried, FreeCarried>;

void tell(const Shim& self, const std::string& sentence) {
  if (self.rank == 0) std::fprintf(stderr, "substrata MPI shim: %s\n", sentence.c_str());
}

// Every rank's operations at rank 0, in the order of the ranks. Collective.
struct Operations {
  std::vector<substrata_myrinet_operation> all;
  std::vector<int> counts;
};
Operations gather_operations(Shim& self) {
  const std::vector<substrata_myrinet_operation> mine = self.log.take();
  MPI_Datatype operation;
  PMPI_Type_contiguous(static_cast<int>(sizeof(substrata_myrinet_operation)), MPI_BYTE, &operation);
  PMPI_Type_commit(&operation);
  Operations out;
  out.counts.resize(static_cast<size_t>(self.ranks));
  int count = static_cast<int>(mine.size());
  PMPI_Gather(&count, 1, MPI_INT, out.counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::vector<int> places(out.counts.size());
  int total = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    places[i] = total;
    total += out.counts[i];
  }
  if (self.rank == 0) out.all.resize(static_cast<size_t>(total));
  PMPI_Gatherv(mine.data(), count, operation, out.all.data(), out.counts.data(), places.data(), operation, 0,
               MPI_COMM_WORLD);
  PMPI_Type_free(&operation);
  return out;
}

// The ranks number their phases themselves: here by name, in the order of the first rank that has them. What
// is beyond the most phases is of the last one.
std::vector<std::string> number_phases(const std::vector<std::string>& of_ranks, Operations& operations) {
  std::vector<std::string> names;
  std::map<std::string, uint16_t> numbers;
  std::vector<std::vector<uint16_t>> by_rank;
  for (const std::string& text : of_ranks) {
    std::vector<uint16_t>& own = by_rank.emplace_back();
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\0', begin);
      const std::string name = text.substr(begin, end - begin);
      begin = end + 1;
      const auto [at, is_new] = numbers.try_emplace(name, uint16_t{0});
      if (is_new) {
        if (names.size() < kMostPhases)
          names.push_back(name);
        else
          names.back() = "(further phases)";
        at->second = static_cast<uint16_t>(names.size() - 1);
      }
      own.push_back(at->second);
    }
  }
  auto one = operations.all.begin();
  for (size_t rank = 0; rank < by_rank.size(); ++rank)
    for (int i = 0; i < operations.counts[rank]; ++i, ++one)
      if (one->receives == 0) one->phase = by_rank[rank][one->phase];
  return names;
}

CarriedPart part_of(const substrata_myrinet_carried* carried, int rank, uint32_t phase,
                    const std::string& name) {
  CarriedPart part;
  part.name = name;
  part.counts.struct_size = sizeof part.counts;
  const auto node = static_cast<uint32_t>(rank);
  uint32_t count = 0;
  substrata_myrinet_carried_counts(carried, node, phase, &part.counts);
  substrata_myrinet_carried_signature(carried, node, phase, SUBSTRATA_MYRINET_BY_SIZE, nullptr, 0, &count);
  part.points.resize(count);
  substrata_myrinet_carried_signature(carried, node, phase, SUBSTRATA_MYRINET_BY_SIZE, part.points.data(),
                                      count, &count);
  return part;
}

bool write_file(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".part";
  FILE* const file = std::fopen(temporary.c_str(), "w");
  if (file == nullptr) return false;
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return (std::fclose(file) == 0) && whole && std::rename(temporary.c_str(), path.c_str()) == 0;
}

// Rank 0: one cluster carries all messages, and the files tell what its interfaces saw.
void write_cluster(const Shim& self, const std::string& folder, const ClusterLog::Totals& totals,
                   Operations& operations, std::vector<std::string> phases) {
  substrata_myrinet_carry_options options{};
  options.struct_size = sizeof options;
  options.nodes = static_cast<uint32_t>(std::max(2, self.ranks));
  options.phases = static_cast<uint32_t>(std::max<size_t>(1, phases.size()));
  options.parameters = self.cluster.parameters.c_str();
  std::vector<const substrata_myrinet_operation*> begins(options.nodes);
  std::vector<size_t> counts(options.nodes);
  size_t before = 0;
  for (size_t rank = 0; rank < operations.counts.size(); ++rank) {
    begins[rank] = operations.all.data() + before;
    counts[rank] = static_cast<size_t>(operations.counts[rank]);
    before += counts[rank];
  }
  const int64_t begin = real_ns();
  substrata_myrinet_carried* raw = nullptr;
  int refused = substrata_myrinet_carry(begins.data(), counts.data(), &options, &raw);
  if (refused == -2) {
    // No room for so many copies of the statistics: all phases in one.
    for (substrata_myrinet_operation& one : operations.all) one.phase = 0;
    phases.clear();
    options.phases = 1;
    refused = substrata_myrinet_carry(begins.data(), counts.data(), &options, &raw);
  }
  if (refused != 0)
    return tell(self, "the cluster does not carry the messages: " + std::string(substrata_myrinet_error()));
  const Carried carried(raw);
  constexpr double kNanosecondsPerSecond = 1e9;
  char took[32];
  std::snprintf(took, sizeof took, "%.3f", static_cast<double>(real_ns() - begin) / kNanosecondsPerSecond);
  substrata_myrinet_counts whole{};
  whole.struct_size = sizeof whole;
  substrata_myrinet_carried_counts(carried.get(), SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_ALL, &whole);
  struct substrata_myrinet_outcome summary {};
  summary.struct_size = sizeof summary;
  substrata_myrinet_carried_outcome(carried.get(), &summary);
  char factor[32];
  std::snprintf(factor, sizeof factor, "%g", self.network.factor);
  std::string json =
      "{\"machine\":\"myrinet\",\"modelled\":true,\"parameters\":" + quoted(self.cluster.parameters) +
      ",\"nodes\":" + std::to_string(options.nodes) + ",\"factor\":" + factor +
      ",\"simulated_ns\":" + std::to_string(summary.simulated_ns) + ",\"run_s\":" + took +
      ",\n\"messages\":{\"all\":" + std::to_string(totals.messages) +
      ",\"bytes\":" + std::to_string(totals.bytes) + ",\"to_itself\":" + std::to_string(totals.to_itself) +
      ",\"to_itself_bytes\":" + std::to_string(totals.to_itself_bytes) +
      ",\"left_out\":" + std::to_string(totals.left_out) +
      ",\"left_out_bytes\":" + std::to_string(totals.left_out_bytes) +
      ",\"carried\":" + std::to_string(summary.messages) +
      ",\"unmatched_receives\":" + std::to_string(summary.unmatched) + "},\n\"carried\":{" +
      counts_as_json(whole) + "},\n\"ranks\":[\n";
  bool written = mkdir(folder.c_str(), 0777) == 0 || errno == EEXIST;
  for (int rank = 0; rank < self.ranks; ++rank) {
    std::vector<CarriedPart> parts = {part_of(carried.get(), rank, SUBSTRATA_MYRINET_ALL, "")};
    for (size_t i = 0; i < phases.size(); ++i)
      parts.push_back(part_of(carried.get(), rank, static_cast<uint32_t>(i), phases[i]));
    json += (rank == 0 ? "" : ",\n") + carried_as_json(rank, parts);
    const std::string base = folder + "/signature.rank" + std::to_string(rank);
    written = written && write_file(base + ".dat", carried_as_table(parts)) &&
              write_file(base + ".gp", carried_as_plot(rank, parts));
  }
  json += "\n]}\n";
  if (!written || !write_file(folder + "/cluster.json", json))
    tell(self, "what the cluster carried cannot be written into " + folder + ": " + std::strerror(errno));
}

// Until rank 0 has come here, too. The other ranks sleep: an MPI library's own waiting would take the
// processor from rank 0, or from whoever else computes. Collective.
void await_rank_0(const Shim& self) {
  constexpr timespec kBetween{0, 1'000'000};
  MPI_Request all_here;
  PMPI_Ibarrier(MPI_COMM_WORLD, &all_here);
  int done = 0;
  for (PMPI_Test(&all_here, &done, MPI_STATUS_IGNORE); done == 0;
       PMPI_Test(&all_here, &done, MPI_STATUS_IGNORE)) {
    if (self.rank != 0) nanosleep(&kBetween, nullptr);
  }
}

}  // namespace

void begin_cluster(Shim& self) {
  const char* const text = std::getenv("SUBSTRATA_MPI_CLUSTER");
  ClusterChoice choice;
  if (self.rank == 0 && text != nullptr && text[0] != '\0')
    if (const std::string wrong = parse_cluster_choice(text, &choice); !wrong.empty())
      tell(self, "SUBSTRATA_MPI_CLUSTER: " + wrong);
  if (choice.wanted && static_cast<uint32_t>(self.ranks) > kMostNodes) {
    tell(self, "SUBSTRATA_MPI_CLUSTER: the cluster has a node for 256 ranks at most, not for " +
                   std::to_string(self.ranks));
    choice.wanted = false;
  }
  // A rank's own cluster, for who reads counters in this process; also the check of the parameters.
  int wanted = choice.wanted ? 1 : 0;
  PMPI_Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (wanted == 0) return;
  if (self.rank != 0 && (text == nullptr || !parse_cluster_choice(text, &choice).empty()))
    choice.parameters.clear();
  const std::string parameters = "nodes=" + std::to_string(std::max(2, self.ranks)) +
                                 (choice.parameters.empty() ? "" : ":") + choice.parameters;
  substrata_run_options options{};
  options.struct_size = sizeof options;
  options.parameters = parameters.c_str();
  int followed = substrata_follow("myrinet", &options, &self.following) == 0 ? 1 : 0;
  if (followed == 0) {
    self.following = nullptr;
    tell(self, "SUBSTRATA_MPI_CLUSTER: " + std::string(substrata_feed_error()));
  }
  int all_follow = 0;
  PMPI_Allreduce(&followed, &all_follow, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (all_follow == 0) {
    substrata_unfollow(self.following);
    self.following = nullptr;
    return;
  }
  self.cluster = choice;
  self.cluster.wanted = true;
  const char* const folder = std::getenv("SUBSTRATA_MPI_CLUSTER_OUT");
  int kept = self.rank == 0 && folder != nullptr && folder[0] != '\0' ? 1 : 0;
  PMPI_Bcast(&kept, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (kept != 0) self.log.open(self.rank);
}

void end_cluster(Shim& self) {
  if (self.following != nullptr) substrata_unfollow(self.following);
  self.following = nullptr;
  if (!self.log.is_open()) return;
  const ClusterLog::Totals& mine = self.log.totals();
  const unsigned long own[] = {mine.messages,        mine.bytes,    mine.to_itself,
                               mine.to_itself_bytes, mine.left_out, mine.left_out_bytes};
  constexpr int kSums = 6;
  unsigned long sums[kSums] = {};
  PMPI_Reduce(own, sums, kSums, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  std::string names;
  for (const std::string& phase : self.ledger.phases()) names += phase + '\0';
  const std::vector<std::string> all_names = gather_texts(self, names);
  Operations operations = gather_operations(self);
  if (self.rank == 0) {
    const std::vector<std::string> phases = number_phases(all_names, operations);
    const char* const folder = std::getenv("SUBSTRATA_MPI_CLUSTER_OUT");
    write_cluster(self, folder != nullptr ? folder : ".",
                  {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]}, operations, phases);
  }
  await_rank_0(self);
}

}  // namespace substrata::mpi_shim
