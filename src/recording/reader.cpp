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

// The place of each set in its writer's list, by its number.
using Sets = std::unordered_map<std::uint64_t, std::size_t>;

bool read_series(ByteReader& in, Writer& writer, Sets& sets) {
  std::uint64_t number = 0, count = 0;
  if (!in.number(&number, kMostSets) ||
      !in.number(&count, std::min<std::uint64_t>(in.left(), kMostSeriesOfSet)))
    return false;
  if (sets.count(number) != 0) return false;
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
  sets.emplace(number, writer.sets.size());
  writer.sets.push_back(std::move(set));
  for (Series& one : series) writer.series.push_back(std::move(one));
  return true;
}

bool read_samples(ByteReader& in, Writer& writer, const Sets& sets) {
  std::uint64_t number = 0, rows = 0;
  if (!in.number(&number, kMostSets) || !in.number(&rows, in.left())) return false;
  const auto place = sets.find(number);
  if (place == sets.end()) return false;
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
  return true;
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
  Parser(const unsigned char* bytes, std::size_t count) : bytes_(bytes), count_(count) {}

  Recording run() {
    out_.file_bytes = count_;
    std::size_t at = 0;
    while (at < count_) {
      const std::size_t next = chunk_at(at);
      at = next != at ? next : skip(at);
    }
    return std::move(out_);
  }

 private:
  // The place after the chunk at `at`; `at` itself when there is none.
  std::size_t chunk_at(std::size_t at) {
    ChunkHeader header;
    if (count_ - at < kChunkHeaderBytes || !decode_chunk_header(bytes_ + at, &header)) return at;
    const unsigned char* payload = bytes_ + at + kChunkHeaderBytes;
    if (header.payload_bytes > count_ - at - kChunkHeaderBytes) return at;
    const std::size_t next = at + kChunkHeaderBytes + header.payload_bytes;
    if (check_sum(payload, header.payload_bytes) != header.payload_check) {
      // What a broken chunk holds may be the chunks of another writer, so they are looked for inside it. Headers
      // nested on purpose would make that quadratic: past some times the file's size it is passed over whole.
      wrongly_summed_ += header.payload_bytes;
      if (wrongly_summed_ <= kMostSearches * count_) return at;
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
    if (!take(header.type, in, writer, sets_[place]))
      damage(at, next - at, "a chunk whose content contradicts itself");
    return next;
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
    const bool has_header = count_ - at >= kChunkHeaderBytes && decode_chunk_header(bytes_ + at, &header);
    std::size_t next = at + 1;
    for (; next < count_; ++next) {
      const void* found = memchr(bytes_ + next, kMagic[0], count_ - next);
      if (found == nullptr) {
        next = count_;
        break;
      }
      next = static_cast<std::size_t>(static_cast<const unsigned char*>(found) - bytes_);
      ChunkHeader other;
      if (count_ - next >= kChunkHeaderBytes && decode_chunk_header(bytes_ + next, &other)) break;
    }
    const bool last = next >= count_;
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

  const unsigned char* bytes_;
  std::size_t count_;
  static constexpr std::uint64_t kMostSearches = 8;
  std::uint64_t wrongly_summed_ = 0;  // bytes of payloads whose check sum is wrong
  std::unordered_map<std::uint64_t, std::size_t> index_;
  std::vector<Sets> sets_;  // of each writer
  Recording out_;
};

// The whole of a file. It is read and not mapped: a mapped file that another process cuts short meanwhile ends the
// reader with SIGBUS.
std::vector<unsigned char> bytes_of(const std::string& path) {
  const auto refused = [&](int error) {
    return std::system_error(error, std::generic_category(), "'" + path + "' cannot be read");
  };
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) throw refused(errno);
  const std::unique_ptr<const int, void (*)(const int*)> closing(&descriptor,
                                                                 [](const int* it) { close(*it); });
  struct stat about {};
  if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode))
    throw std::runtime_error("'" + path + "' is not a recording: it is not a regular file");
  std::vector<unsigned char> bytes(static_cast<std::size_t>(about.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = read(descriptor, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw refused(errno);
    if (got == 0) break;  // it was cut short
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace

Recording parse(const unsigned char* bytes, std::size_t count) { return Parser(bytes, count).run(); }

Recording read_file(const std::string& path) {
  const std::vector<unsigned char> bytes = bytes_of(path);
  Recording read = parse(bytes.data(), bytes.size());
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

Recording read_files(const std::vector<std::string>& paths) {
  Recording all;
  std::unordered_set<std::uint64_t> known;
  for (const std::string& path : paths) {
    Recording one = read_file(path);
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
