// Sums over the entries of the shared status page.
#include "recording/sampler/mpi_sampler.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/shared_file.hpp"

namespace substrata::sampler {
namespace {

constexpr std::uint64_t kMostRanks = 256;  // with series of their own

std::uint64_t load(const std::uint64_t& number) { return __atomic_load_n(&number, __ATOMIC_ACQUIRE); }

// Any process of the user may write the page, so that its numbers may be any.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace

MpiSampler::MpiSampler(bool single) : single_(single) {
  std::string path = "/dev/shm/substrata-live-XXXXXX";
  const int file = make_shared_file(path.data(), sizeof(substrata_live_board));
  void* memory = MAP_FAILED;
  if (file >= 0)
    memory = mmap(nullptr, sizeof(substrata_live_board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int error = errno;
  if (file >= 0) close(file);
  if (memory == MAP_FAILED) {
    if (file >= 0) unlink(path.c_str());
    throw std::system_error(error, std::generic_category(), "no shared memory for the messages of the ranks");
  }
  path_ = path;
  status_ = static_cast<substrata_live_board*>(memory);
  __atomic_store_n(&status_->magic, SUBSTRATA_LIVE_MAGIC, __ATOMIC_RELEASE);
}

MpiSampler::~MpiSampler() {
  munmap(status_, sizeof(substrata_live_board));
  unlink(path_.c_str());
}

void MpiSampler::take_sections(recording::Sink& sink) {
  const std::uint64_t used = std::min<std::uint64_t>(load(status_->sections_used), SUBSTRATA_LIVE_SECTIONS);
  for (; sections_taken_ < used; ++sections_taken_) {
    const substrata_live_section& entry = status_->sections[sections_taken_];
    if (load(entry.ready) == 0) return;
    recording::Mark mark;
    mark.time = entry.time_ns;
    // A section begins where the last one ends.
    mark.kind = recording::MarkKind::kEnd;
    if (inside_) sink.mark(mark);
    mark.name.assign(entry.name, strnlen(entry.name, SUBSTRATA_LIVE_NAME));
    inside_ = !mark.name.empty();
    mark.kind = recording::MarkKind::kBegin;
    if (inside_) sink.mark(mark);
  }
}

void MpiSampler::take_clocks(recording::Sink& sink) {
  const std::uint64_t used = std::min<std::uint64_t>(load(status_->clocks_used), SUBSTRATA_LIVE_CLOCKS);
  for (; clocks_taken_ < used; ++clocks_taken_) {
    const substrata_live_clock& entry = status_->clocks[clocks_taken_];
    if (load(entry.ready) == 0) return;
    sink.clock({entry.time_ns, entry.offset_ns, entry.uncertainty_ns,
                std::string(entry.reference, strnlen(entry.reference, sizeof entry.reference))});
  }
}

void MpiSampler::sample(recording::Sink& sink, std::int64_t now) {
  take_clocks(sink);
  const std::uint64_t used = std::min<std::uint64_t>(load(status_->ranks_used), SUBSTRATA_LIVE_RANKS);
  // Read once, so that the sums are those of what is shown of single ranks.
  seen_.assign(static_cast<std::size_t>(used), {});
  Seen all;
  std::int64_t ranks = 0;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const substrata_live_rank& rank = status_->ranks[i];
    Seen& one = seen_[i];
    one.number = load(rank.rank_plus_1);
    if (one.number > std::numeric_limits<int>::max()) one.number = 0;  // no rank of MPI's
    if (one.number == 0) continue;
    one.messages = static_cast<std::int64_t>(load(rank.messages));
    one.bytes = static_cast<std::int64_t>(load(rank.bytes));
    one.modelled = load(rank.modelled) != 0;
    all.messages = sum(all.messages, one.messages);
    all.bytes = sum(all.bytes, one.bytes);
    all.modelled = all.modelled || one.modelled;
    ++ranks;
  }
  if (ranks == 0) return;
  if (!single_) sample_sums(sink, now, all, ranks);
  sample_ranks(sink, now);
  take_sections(sink);
}

void MpiSampler::sample_sums(recording::Sink& sink, std::int64_t now, const Seen& all, std::int64_t ranks) {
  if (!declared_) {
    const char* how =
        all.modelled ? "; those inside of collectives by a model" : "; those inside of collectives too";
    std::vector<recording::SeriesInfo> series;
    const auto add = [&](const char* name, const char* unit, const std::string& text, recording::Kind kind) {
      recording::SeriesInfo one;
      one.name = name;
      one.unit = unit;
      one.text = text;
      one.component = "mpi";
      one.scope = "ranks of the node";
      one.kind = kind;
      one.modelled = all.modelled && kind == recording::Kind::kCount;
      series.push_back(std::move(one));
    };
    add("mpi:::messages", "messages", std::string("messages that all ranks of the node sent") + how,
        recording::Kind::kCount);
    add("mpi:::bytes", "bytes", std::string("bytes that all ranks of the node sent") + how,
        recording::Kind::kCount);
    add("mpi:::ranks", "ranks", "ranks of the node that have passed MPI_Init", recording::Kind::kGauge);
    set_ = sink.declare(series);
    declared_ = true;
  }
  const std::int64_t values[] = {all.messages, all.bytes, ranks};
  const std::uint8_t flag = all.modelled ? std::uint8_t{recording::kModelled} : std::uint8_t{0};
  const std::uint8_t flags[] = {flag, flag, 0};
  sink.sample(set_, now, 0, values, flags);
}

void MpiSampler::sample_ranks(recording::Sink& sink, std::int64_t now) {
  sets_.resize(std::min<std::size_t>(seen_.size(), kMostRanks));
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    const Seen& rank = seen_[i];
    if (rank.number == 0) continue;
    if (!sets_[i]) {
      const auto one = [&](const char* name, const char* unit, const char* text) {
        recording::SeriesInfo info;
        info.name = name;
        info.unit = unit;
        info.text = text;
        info.component = "mpi";
        info.scope = recording::rank_scope(static_cast<std::int64_t>(rank.number) - 1);
        info.modelled = rank.modelled;
        return info;
      };
      sets_[i] = sink.declare({one("mpi:::rank:messages", "messages", "messages that the rank sent"),
                               one("mpi:::rank:bytes", "bytes", "bytes that the rank sent")});
    }
    const std::int64_t values[] = {rank.messages, rank.bytes};
    const std::uint8_t flag = rank.modelled ? std::uint8_t{recording::kModelled} : std::uint8_t{0};
    const std::uint8_t flags[] = {flag, flag};
    sink.sample(*sets_[i], now, 0, values, flags);
  }
}

}  // namespace substrata::sampler
