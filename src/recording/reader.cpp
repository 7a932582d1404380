// Chunk by chunk, and after a damaged one from the next that is whole.
#include "recording/reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "recording/bytes.hpp"
#include "recording/format.hpp"
#include "recording/thinning.hpp"

namespace substrata::recording {
namespace {

bool read_properties(ByteReader& in, Properties* out) {
  std::uint64_t count = 0;
  if (!in.number(&count, in.left())) return false;
  Properties read;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string name, value;
    if (!in.text(&name) || !in.text(&value)) return false;
    read.emplace_back(std::move(name), std::move(value));
  }
  // A later value replaces an earlier one, in its place.
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < out->size(); ++i) places.emplace((*out)[i].first, i);
  for (auto& fresh : read) {
    const auto [place, is_new] = places.try_emplace(fresh.first, out->size());
    if (is_new)
      out->push_back(std::move(fresh));
    else
      (*out)[place->second].second = std::move(fresh.second);
  }
  return true;
}

// The bytes of a file or in memory. A file is read piece by piece and not mapped: a mapped file that another process
// cuts short meanwhile ends the reader with SIGBUS.
class Bytes {
 public:
  Bytes(const unsigned char* bytes, std::size_t count) : at_(bytes), held_(count), count_(count) {}
  Bytes(int descriptor, std::size_t count, std::string path)
      : descriptor_(descriptor), path_(std::move(path)), count_(count) {}

  std::size_t count() const noexcept { return count_; }
  // `count` bytes from `offset` on, good until the next call; null where there are fewer, as of a file that was cut
  // short: count() is then what there is.
  const unsigned char* at(std::size_t offset, std::size_t count) {
    if (offset > count_ || count > count_ - offset) return nullptr;
    if (offset >= begin_ && offset + count <= begin_ + held_) return at_ + (offset - begin_);
    fetch(offset, std::min(std::max(count, kPiece), count_ - offset));
    return held_ >= count ? at_ : nullptr;
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 20;

  void fetch(std::size_t offset, std::size_t count) {
    if (piece_.size() < count) piece_.resize(count);
    at_ = piece_.data();
    begin_ = offset;
    held_ = 0;
    while (held_ < count) {
      const ssize_t got =
          pread(descriptor_, piece_.data() + held_, count - held_, static_cast<off_t>(offset + held_));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw std::system_error(errno, std::generic_category(), "'" + path_ + "' cannot be read");
      if (got == 0) break;
      held_ += static_cast<std::size_t>(got);
    }
    if (held_ < count) count_ = offset + held_;
  }

  int descriptor_ = -1;
  std::string path_;
  std::vector<unsigned char> piece_;
  const unsigned char* at_ = nullptr;
  std::size_t begin_ = 0, held_ = 0;  // what `at_` has
  std::size_t count_;
};

// What is known of a writer's sets while it is read.
struct Sets {
  std::unordered_map<std::uint64_t, std::size_t> places;  // in the writer's list, by their numbers
  Thinning thinning;
};

bool read_series(ByteReader& in, Writer& writer, Sets& sets) {
  std::uint64_t number = 0, count = 0;
  if (!in.number(&number, kMostSets) ||
      !in.number(&count, std::min<std::uint64_t>(in.left(), kMostSeriesOfSet)))
    return false;
  if (sets.places.count(number) != 0) return false;
  std::vector<Series> series;
  for (std::uint64_t i = 0; i < count; ++i) {
    Series one;
    std::uint8_t kind = 0, type = 0, origin = 0;
    if (!in.text(&one.name) || !in.text(&one.unit) || !in.text(&one.text) || !in.text(&one.component) ||
        !in.text(&one.scope) || !in.byte(&kind) || !in.byte(&type) || !in.byte(&origin) || kind > 2 ||
        type > 2)
      return false;
    one.kind = static_cast<Kind>(kind);
    one.type = static_cast<Type>(type);
    one.set_origin(origin);
    one.set = writer.sets.size();
    series.push_back(std::move(one));
  }
  SampleSet set;
  set.number = static_cast<std::uint32_t>(number);
  set.first_series = writer.series.size();
  set.series_count = series.size();
  sets.places.emplace(number, writer.sets.size());
  writer.sets.push_back(std::move(set));
  for (Series& one : series) writer.series.push_back(std::move(one));
  return true;
}

bool read_samples(ByteReader& in, Writer& writer, Sets& sets) {
  std::uint64_t number = 0, rows = 0;
  if (!in.number(&number, kMostSets) || !in.number(&rows, in.left())) return false;
  const auto place = sets.places.find(number);
  if (place == sets.places.end()) return false;
  SampleSet* const set = &writer.sets[place->second];
  std::int64_t time = 0;
  std::vector<std::int64_t> last(set->series_count);
  const std::size_t rows_before = set->times.size();
  const auto undo = [&] {  // a chunk counts whole or not at all
    set->times.resize(rows_before);
    set->skews.resize(rows_before);
    for (std::size_t i = 0; i < set->series_count; ++i) {
      writer.series[set->first_series + i].values.resize(rows_before);
      writer.series[set->first_series + i].flags.resize(rows_before);
    }
    return false;
  };
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::uint8_t state = 0;
    std::int64_t step = 0;
    std::uint64_t skew = 0;
    if (!in.byte(&state) || state > kRowHasFlags || !in.signed_number(&step) || !in.number(&skew, INT64_MAX))
      return undo();
    time = wrapping_sum(time, step);
    for (std::size_t i = 0; i < set->series_count; ++i) {
      Series& series = writer.series[set->first_series + i];
      std::uint8_t flags = 0;
      std::int64_t difference = 0;
      if (state == kRowHasFlags && !in.byte(&flags)) return undo();
      if ((flags & kAbsent) == 0) {
        if (!in.signed_number(&difference)) return undo();
        last[i] = wrapping_sum(last[i], difference);
      }
      series.values.push_back((flags & kAbsent) == 0 ? last[i] : 0);
      series.flags.push_back(flags);
    }
    set->times.push_back(time);
    set->skews.push_back(static_cast<std::int64_t>(skew));
  }
  sets.thinning.settle(writer, place->second);
  return true;
}

std::size_t samples_of(const Writer& writer) {
  std::size_t sum = 0;
  for (const SampleSet& set : writer.sets) sum += set.times.size() * set.series_count;
  return sum;
}

bool read_marks(ByteReader& in, Writer& writer) {
  std::uint64_t count = 0;
  if (!in.number(&count, in.left())) return false;
  std::vector<Mark> read;
  std::int64_t time = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    Mark one;
    std::uint8_t kind = 0;
    std::int64_t step = 0, rank = 0;
    if (!in.byte(&kind) || kind > 2 || !in.signed_number(&step) || !in.signed_number(&rank) ||
        rank < INT32_MIN || rank > INT32_MAX || !in.text(&one.name))
      return false;
    time = wrapping_sum(time, step);
    one.kind = static_cast<MarkKind>(kind);
    one.time = time;
    one.rank = static_cast<std::int32_t>(rank);
    read.push_back(std::move(one));
  }
  for (Mark& one : read) writer.marks.push_back(std::move(one));
  return true;
}

bool read_clock(ByteReader& in, Writer& writer) {
  ClockReading one;
  std::uint64_t uncertainty = 0;
  if (!in.signed_number(&one.time) || !in.signed_number(&one.offset) || !in.number(&uncertainty, INT64_MAX) ||
      !in.text(&one.reference))
    return false;
  one.uncertainty = static_cast<std::int64_t>(uncertainty);
  writer.clocks.push_back(std::move(one));
  return true;
}

bool read_attachment(ByteReader& in, Writer& writer) {
  Attachment one;
  if (!in.text(&one.name) || !in.text(&one.media_type) || !in.text(&one.content)) return false;
  writer.attachments.push_back(std::move(one));
  return true;
}

bool read_end(ByteReader& in, Writer& writer) {
  std::int64_t time = 0;
  Properties properties;
  if (!in.signed_number(&time) || !read_properties(in, &properties)) return false;
  writer.ended = true;
  writer.end_time = time;
  writer.end_properties = std::move(properties);
  return true;
}

class Parser {
 public:
  Parser(Bytes bytes, std::size_t most_samples) : bytes_(std::move(bytes)), most_samples_(most_samples) {}

  Recording run() {
    std::size_t at = 0;
    while (at < bytes_.count()) {
      const std::size_t next = chunk_at(at);
      at = next != at ? next : skip(at);
    }
    out_.file_bytes = bytes_.count();
    return std::move(out_);
  }

 private:
  bool header_at(std::size_t at, ChunkHeader* out) {
    const unsigned char* const bytes = bytes_.at(at, kChunkHeaderBytes);
    return bytes != nullptr && decode_chunk_header(bytes, out);
  }

  // The place after the chunk at `at`; `at` itself when there is none.
  std::size_t chunk_at(std::size_t at) {
    ChunkHeader header;
    if (!header_at(at, &header)) return at;
    const unsigned char* payload = bytes_.at(at + kChunkHeaderBytes, header.payload_bytes);
    if (payload == nullptr) return at;
    const std::size_t next = at + kChunkHeaderBytes + header.payload_bytes;
    if (check_sum(payload, header.payload_bytes) != header.payload_check) {
      // What a broken chunk holds may be the chunks of another writer, so they are looked for inside it. Headers
      // nested on purpose would make that quadratic: past some times the file's size it is passed over whole.
      wrongly_summed_ += header.payload_bytes;
      if (wrongly_summed_ <= kMostSearches * bytes_.count()) return at;
      damage(at, next - at, "a chunk whose check sum is wrong");
      return next;
    }
    const std::size_t place = writer_of(header);
    Writer& writer = out_.writers[place];
    if (header.sequence != writer.next_sequence)
      damage(at, 0,
             "chunks of a writer are missing: number " + std::to_string(header.sequence) + " follows where " +
                 std::to_string(writer.next_sequence) + " should");
    writer.next_sequence = header.sequence + 1;
    ++out_.chunks;
    if (header.version != kFormatVersion) {
      damage(at, next - at,
             "a chunk of version " + std::to_string(header.version) + " of the format; this reader knows " +
                 std::to_string(kFormatVersion));
      return next;
    }
    ByteReader in(payload, header.payload_bytes);
    const std::size_t before = samples_of(writer);
    if (!take(header.type, in, writer, sets_[place]))
      damage(at, next - at, "a chunk whose content contradicts itself");
    samples_ += samples_of(writer) - before;
    if (samples_ > most_samples_) thin();
    return next;
  }

  // Half of the samples, of all sets alike, until there are no more than asked for.
  void thin() {
    for (std::size_t before = samples_ + 1; samples_ > most_samples_ && samples_ < before;) {
      before = samples_;
      samples_ = 0;
      for (std::size_t i = 0; i < out_.writers.size(); ++i) {
        sets_[i].thinning.halve(out_.writers[i]);
        samples_ += samples_of(out_.writers[i]);
      }
    }
    // Where they cannot be made fewer this is not tried again for every chunk.
    most_samples_ = std::max(most_samples_, samples_ + samples_ / 2);
  }

  bool take(ChunkType type, ByteReader& in, Writer& writer, Sets& sets) {
    switch (type) {
      case ChunkType::kWriter:
        return read_properties(in, &writer.properties);
      case ChunkType::kSeries:
        return read_series(in, writer, sets);
      case ChunkType::kSamples:
        return read_samples(in, writer, sets);
      case ChunkType::kMarks:
        return read_marks(in, writer);
      case ChunkType::kClock:
        return read_clock(in, writer);
      case ChunkType::kAttachment:
        return read_attachment(in, writer);
      case ChunkType::kEnd:
        return read_end(in, writer);
    }
    ++out_.unknown_chunks;
    return true;
  }

  // After bytes that are not a chunk: the next place where a header is whole, or the end.
  std::size_t skip(std::size_t at) {
    ChunkHeader header;
    const bool has_header = header_at(at, &header);
    std::size_t next = at + 1;
    while (next < bytes_.count()) {
      const std::size_t piece = std::min(kSearched, bytes_.count() - next);
      const unsigned char* const bytes = bytes_.at(next, piece);
      if (bytes == nullptr) continue;  // cut short: count() is less now
      const void* const found = memchr(bytes, kMagic[0], piece);
      if (found == nullptr) {
        next += piece;
        continue;
      }
      next += static_cast<std::size_t>(static_cast<const unsigned char*>(found) - bytes);
      ChunkHeader other;
      if (header_at(next, &other)) break;
      ++next;
    }
    const bool last = next >= bytes_.count();
    damage(at, next - at,
           last && has_header ? "the file ends within a chunk: it was cut off while it was written"
           : last             ? "the file ends with bytes that are not a chunk: it was cut off or overwritten"
           : has_header       ? "a chunk whose check sum is wrong"
                              : "bytes that are not a chunk");
    return next;
  }

  // Its place in the list.
  std::size_t writer_of(const ChunkHeader& header) {
    const auto [at, is_new] = index_.try_emplace(header.writer, out_.writers.size());
    if (is_new) {
      out_.writers.emplace_back();
      out_.writers.back().id = header.writer;
      out_.writers.back().version = header.version;
      sets_.emplace_back();
    }
    return at->second;
  }

  void damage(std::size_t offset, std::size_t bytes, std::string reason) {
    out_.damages.push_back({offset, bytes, std::move(reason)});
  }

  Bytes bytes_;
  std::size_t most_samples_;
  std::size_t samples_ = 0;  // kept so far
  static constexpr std::size_t kSearched = std::size_t{1} << 16;
  static constexpr std::uint64_t kMostSearches = 8;
  std::uint64_t wrongly_summed_ = 0;  // bytes of payloads whose check sum is wrong
  std::unordered_map<std::uint64_t, std::size_t> index_;
  std::vector<Sets> sets_;  // of each writer
  Recording out_;
};

}  // namespace

Recording parse(const unsigned char* bytes, std::size_t count, std::size_t most_samples) {
  return Parser({bytes, count}, most_samples).run();
}

Recording read_file(const std::string& path, std::size_t most_samples) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    throw std::system_error(errno, std::generic_category(), "'" + path + "' cannot be read");
  const std::unique_ptr<const int, void (*)(const int*)> closing(&descriptor,
                                                                 [](const int* it) { close(*it); });
  struct stat about {};
  if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode))
    throw std::runtime_error("'" + path + "' is not a recording: it is not a regular file");
  Recording read = Parser({descriptor, static_cast<std::size_t>(about.st_size), path}, most_samples).run();
  if (read.writers.empty())
    throw std::runtime_error("'" + path +
                             "' is not a recording of `substrata record`, or was cut off at its begin");
  const auto newer = [](const Writer& writer) { return writer.version > kFormatVersion; };
  if (std::all_of(read.writers.begin(), read.writers.end(), newer))
    throw std::runtime_error("'" + path + "' is of version " + std::to_string(read.writers.front().version) +
                             " of the format, and this program reads version " +
                             std::to_string(kFormatVersion) + "; read it with the substrata that wrote it");
  return read;
}

Recording read_files(const std::vector<std::string>& paths, std::size_t most_samples) {
  Recording all;
  std::unordered_set<std::uint64_t> known;
  for (const std::string& path : paths) {
    Recording one = read_file(path, most_samples == kAllSamples ? most_samples : most_samples / paths.size());
    all.file_bytes += one.file_bytes;
    all.chunks += one.chunks;
    all.unknown_chunks += one.unknown_chunks;
    for (Damage& damage : one.damages) {
      if (paths.size() > 1) damage.reason = path + ": " + damage.reason;
      all.damages.push_back(std::move(damage));
    }
    for (Writer& writer : one.writers)
      if (known.insert(writer.id).second) all.writers.push_back(std::move(writer));
  }
  return all;
}

}  // namespace substrata::recording
