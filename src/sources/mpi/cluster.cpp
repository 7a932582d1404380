// Lets each process's model follow its rank, and leaves the messages of all ranks in a file for the run of
// the cluster after the program's end.
#include "cluster.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "gather.hpp"
#include "shim.hpp"

namespace substrata::mpi {
namespace {

constexpr uint32_t kMostPhases = 64;
constexpr uint32_t kMostNodes = 256;

void report(const Shim& self, const std::string& message) {
  if (self.rank == 0) std::fprintf(stderr, "substrata MPI shim: %s\n", message.c_str());
}

using Operations = Pieces<substrata_myrinet_operation>;

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
    for (int i = 0; i < operations.lengths[rank]; ++i, ++one)
      if (one->receives == 0) one->phase = by_rank[rank][one->phase];
  return names;
}

// Rank 0. The file is whole or as it was before; what came of an earlier program's messages goes with them.
void write_messages(const Shim& self, const std::string& folder, const MessageLogHeader& header,
                    const std::vector<substrata_myrinet_operation>& operations) {
  const std::string path = folder + "/" + kMessageLogName;
  const std::string temporary = path + ".part";
  const std::string line = header_line(header);
  errno = 0;
  FILE* const file =
      mkdir(folder.c_str(), 0777) == 0 || errno == EEXIST ? std::fopen(temporary.c_str(), "wb") : nullptr;
  bool written =
      file != nullptr && std::fwrite(line.data(), 1, line.size(), file) == line.size() &&
      std::fwrite(operations.data(), sizeof operations[0], operations.size(), file) == operations.size();
  if (file != nullptr && std::fclose(file) != 0) written = false;
  written = written && std::rename(temporary.c_str(), path.c_str()) == 0;
  const int why = errno;
  if (written) {
    unlink((folder + "/" + kReplayName).c_str());
    return;
  }
  if (file != nullptr) unlink(temporary.c_str());
  report(self, "the messages cannot be written into " + folder + " for the cluster: " + std::strerror(why));
}

}  // namespace

void begin_cluster(Shim& self) {
  const char* const text = std::getenv("SUBSTRATA_MPI_CLUSTER");
  ClusterChoice choice;
  if (self.rank == 0 && text != nullptr && text[0] != '\0')
    if (const std::string wrong = parse_cluster_choice(text, &choice); !wrong.empty())
      report(self, "SUBSTRATA_MPI_CLUSTER: " + wrong);
  if (choice.wanted && static_cast<uint32_t>(self.ranks) > kMostNodes) {
    report(self, "SUBSTRATA_MPI_CLUSTER: the cluster has a node for 256 ranks at most, not for " +
                     std::to_string(self.ranks));
    choice.wanted = false;
  }
  // A rank's own cluster, for readers of counters in this process; also the check of the parameters.
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
  int followed = substrata_follow("myrinet", &options, &self.cluster.following) == 0 ? 1 : 0;
  if (followed == 0) {
    self.cluster.following = nullptr;
    report(self, "SUBSTRATA_MPI_CLUSTER: " + std::string(substrata_feed_error()));
  }
  int all_follow = 0;
  PMPI_Allreduce(&followed, &all_follow, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (all_follow == 0) {
    substrata_unfollow(self.cluster.following);
    self.cluster.following = nullptr;
    return;
  }
  self.cluster.choice = choice;
  self.cluster.choice.wanted = true;
  const char* const folder = std::getenv("SUBSTRATA_MPI_CLUSTER_OUT");
  int kept = self.rank == 0 && folder != nullptr && folder[0] != '\0' ? 1 : 0;
  PMPI_Bcast(&kept, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (kept != 0) self.cluster.log.open(self.rank);
}

void end_cluster(Shim& self) {
  if (self.cluster.following != nullptr) substrata_unfollow(self.cluster.following);
  self.cluster.following = nullptr;
  if (!self.cluster.log.is_open()) return;
  const ClusterLog::Totals& mine = self.cluster.log.totals();
  const unsigned long own[] = {mine.messages,        mine.bytes,    mine.to_itself,
                               mine.to_itself_bytes, mine.left_out, mine.left_out_bytes};
  constexpr int kSums = 6;
  unsigned long sums[kSums] = {};
  PMPI_Reduce(own, sums, kSums, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  std::string names;
  for (const std::string& phase : self.counts.phases()) names += phase + '\0';
  const std::vector<std::string> all_names = gather_texts(self, names);
  const std::vector<substrata_myrinet_operation> own_operations = self.cluster.log.take();
  Operations operations = gather(self, own_operations.data(), own_operations.size());
  if (self.rank != 0) return;
  MessageLogHeader header;
  header.parameters = self.cluster.choice.parameters;
  header.factor = self.network.factor;
  header.totals = {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]};
  header.phases = number_phases(all_names, operations);
  header.operations.assign(operations.lengths.begin(), operations.lengths.end());
  const char* const folder = std::getenv("SUBSTRATA_MPI_CLUSTER_OUT");
  write_messages(self, folder != nullptr ? folder : ".", header, operations.all);
}

}  // namespace substrata::mpi
