// Lets each process's model follow its rank, and leaves the messages of all ranks in a file for the run of
// the cluster after the program's end.
#include "sources/mpi/cluster.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "base/parse.hpp"
#include "sources/mpi/gather.hpp"
#include "sources/mpi/outputs.hpp"
#include "sources/mpi/shim.hpp"

namespace substrata::mpi {
namespace {

constexpr const char* kFolder = "SUBSTRATA_MPI_CLUSTER_OUT";
using Operation = substrata_myrinet_operation;
static_assert(kPieceBytes % sizeof(Operation) == 0, "no piece ends within an operation");

void report(const Shim& self, const std::string& message) {
  if (self.rank == 0) std::fprintf(stderr, "substrata MPI shim: %s\n", message.c_str());
}

// The ranks number their phases themselves: here by name, in the order of the first rank that has them. What
// is beyond the most phases is of the last one.
class PhaseNumbers {
 public:
  // A rank's names, each with a zero behind it.
  void add(const std::string& text) {
    std::vector<uint16_t>& own = by_rank_.emplace_back();
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\0', begin);
      const std::string name = text.substr(begin, end - begin);
      begin = end + 1;
      const auto [at, is_new] = numbers_.try_emplace(name, uint16_t{0});
      if (is_new) {
        if (names_.size() < SUBSTRATA_MYRINET_MOST_PROGRAMS)
          names_.push_back(name);
        else
          names_.back() = "(further phases)";
        at->second = static_cast<uint16_t>(names_.size() - 1);
      }
      own.push_back(at->second);
    }
  }
  const std::vector<std::string>& names() const { return names_; }
  void apply(int rank, std::span<Operation> operations) const {
    const std::vector<uint16_t>& own = by_rank_[static_cast<size_t>(rank)];
    for (Operation& one : operations)
      if (one.receives == 0) one.phase = own[one.phase];
  }

 private:
  std::vector<std::string> names_;
  std::map<std::string, uint16_t> numbers_;
  std::vector<std::vector<uint16_t>> by_rank_;
};

// Rank 0's file, whole or as it was before; what came of an earlier program's messages goes with them.
class MessageLogFile {
 public:
  MessageLogFile(const std::string& folder, const std::string& line)
      : replay_(folder + "/" + kReplayName),
        path_(folder + "/" + kMessageLogName),
        temporary_(path_ + ".part") {
    if (mkdir(folder.c_str(), 0777) == 0 || errno == EEXIST) file_ = std::fopen(temporary_.c_str(), "wb");
    if (file_ == nullptr) error_ = errno;
    add(line.data(), line.size());
  }
  void add(const void* data, size_t bytes) {
    if (file_ != nullptr && error_ == 0 && std::fwrite(data, 1, bytes, file_) != bytes) error_ = errno;
  }
  // 0, or the system's error.
  int end() {
    if (file_ == nullptr) return error_;
    if (std::fclose(file_) != 0 && error_ == 0) error_ = errno;
    if (error_ == 0 && std::rename(temporary_.c_str(), path_.c_str()) != 0) error_ = errno;
    unlink(error_ == 0 ? replay_.c_str() : temporary_.c_str());
    return error_;
  }

 private:
  const std::string replay_;
  const std::string path_;
  const std::string temporary_;
  FILE* file_ = nullptr;
  int error_ = 0;
};

// Every rank's text at rank 0. Collective; nothing is thrown before it has ended.
std::vector<std::string> gather_texts(const Shim& self, const std::string& mine) {
  std::vector<std::string> out;
  std::exception_ptr failed;
  const auto take = [&](int rank, std::span<std::byte> piece) {
    try {
      out.resize(std::max(out.size(), static_cast<size_t>(rank) + 1));
      out.back().append(reinterpret_cast<const char*>(piece.data()), piece.size());
    } catch (...) {
      failed = std::current_exception();
    }
  };
  gather(
      self, [&](const GivePiece& give) { give(std::as_bytes(std::span(mine))); }, take);
  if (failed) std::rethrow_exception(failed);
  if (self.rank == 0) out.resize(static_cast<size_t>(self.ranks));
  return out;
}

// Of rank 0, for all: is a cluster wanted?
bool wants_cluster(const Shim& self, const char* text) {
  if (text == nullptr || text[0] == '\0') return false;
  ClusterChoice choice;
  if (const std::string wrong = parse_cluster_choice(text, &choice); !wrong.empty())
    report(self, "SUBSTRATA_MPI_CLUSTER: " + wrong);
  if (!choice.wanted || self.ranks <= SUBSTRATA_MYRINET_MOST_NODES) return choice.wanted;
  report(self, "SUBSTRATA_MPI_CLUSTER: the cluster has a node for " +
                   std::to_string(SUBSTRATA_MYRINET_MOST_NODES) + " ranks at most, not for " +
                   std::to_string(self.ranks));
  return false;
}

// A rank's own cluster, for readers of counters in this process; also the check of the parameters.
bool follow_own(Shim& self, const char* text) {
  ClusterChoice choice;
  if (text != nullptr) parse_cluster_choice(text, &choice);
  const std::string parameters = "nodes=" + std::to_string(std::max(2, self.ranks)) +
                                 (choice.parameters.empty() ? "" : ":") + choice.parameters;
  self.cluster.choice = choice;
  if (self.cluster.following.try_begin("myrinet", parameters.c_str()) == 0) return true;
  report(self, "SUBSTRATA_MPI_CLUSTER: " + std::string(substrata_feed_error()));
  return false;
}

}  // namespace

void begin_cluster(Shim& self) {
  const char* const text = environment("SUBSTRATA_MPI_CLUSTER");
  int wanted = self.rank == 0 && unharmed([&] { return wants_cluster(self, text); }, false) ? 1 : 0;
  pmpi().Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (wanted == 0) return;
  if (!all_agree(unharmed([&] { return follow_own(self, text); }, false))) {
    self.cluster.following.end();
    return;
  }
  int kept = unharmed([&] { return output_path(self, kFolder).empty(); }, true) ? 0 : 1;
  pmpi().Bcast(&kept, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (kept != 0) self.cluster.log.open(self.rank);
}

void end_cluster(Shim& self) {
  self.cluster.following.end();
  const ClusterLog& log = self.cluster.log;
  if (!log.is_open()) return;
  const ClusterLog::Totals& mine = log.totals();
  const unsigned long own[] = {mine.messages,        mine.bytes,    mine.to_itself,
                               mine.to_itself_bytes, mine.left_out, mine.left_out_bytes};
  constexpr int kSums = 6;
  unsigned long sums[kSums] = {};
  pmpi().Reduce(own, sums, kSums, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  // In front of the names, how many operations there are. A rank gives up before the others wait for it, or not.
  std::string about;
  PhaseNumbers phases;
  std::optional<MessageLogFile> file;
  const bool able = unharmed(
      [&] {
        about = std::to_string(log.size()) + '\0';
        for (const std::string& phase : self.counts.phases()) about += phase + '\0';
        return true;
      },
      false);
  if (!all_agree(able)) {
    report(self, "the messages cannot be written for the cluster: no memory is left for their phases");
    return;
  }
  unharmed([&] {
    const std::vector<std::string> texts = gather_texts(self, about);
    if (self.rank != 0) return;
    MessageLogHeader header;
    header.parameters = self.cluster.choice.parameters;
    header.factor = self.network.factor;
    header.totals = {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]};
    for (const std::string& text : texts) {
      const size_t end = text.find('\0');
      int64_t count = 0;
      parse_integer(text.substr(0, end), &count);
      header.operations.push_back(static_cast<size_t>(count));
      phases.add(text.substr(end + 1));
    }
    header.phases = phases.names();
    file.emplace(output_path(self, kFolder), header_line(header));
  });
  gather(
      self,
      [&](const GivePiece& give) {
        for (const auto& part : log.parts()) give(std::as_bytes(std::span(part)));
      },
      [&](int rank, std::span<std::byte> piece) {
        if (!file) return;
        phases.apply(rank, {reinterpret_cast<Operation*>(piece.data()), piece.size() / sizeof(Operation)});
        file->add(piece.data(), piece.size());
      });
  if (self.rank != 0) return;
  const int error = file ? file->end() : ENOMEM;
  if (error != 0)
    std::fprintf(stderr, "substrata MPI shim: the messages cannot be written into %s for the cluster: %s\n",
                 environment(kFolder), std::strerror(error));
}

}  // namespace substrata::mpi
