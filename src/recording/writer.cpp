// Encoding rows and marks, and appending chunks.
#include "recording/writer.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace substrata::recording {

std::uint64_t new_writer_id() {
  std::uint64_t id = 0;
  if (getrandom(&id, sizeof id, 0) != static_cast<ssize_t>(sizeof id)) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    id = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'007u ^
         static_cast<std::uint64_t>(now.tv_nsec) << 20 ^ static_cast<std::uint64_t>(getpid());
  }
  return id;
}

std::vector<unsigned char> ChunkEncoder::chunk(ChunkType type, const ByteWriter& payload) {
  const std::vector<unsigned char>& body = payload.bytes();
  if (body.size() > kMostPayloadBytes)
    throw std::length_error("a part of the recording has " + std::to_string(body.size()) +
                            " bytes; a chunk holds " + std::to_string(kMostPayloadBytes) + " at most");
  ChunkHeader header;
  header.type = type;
  header.payload_bytes = static_cast<std::uint32_t>(body.size());
  header.writer = writer_;
  header.sequence = sequence_++;
  header.payload_check = check_sum(body.data(), body.size());
  std::vector<unsigned char> out(kChunkHeaderBytes);
  encode_chunk_header(header, out.data());
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

ByteWriter encode_properties(const Properties& properties) {
  ByteWriter out;
  out.number(properties.size());
  for (const auto& [name, value] : properties) {
    out.text(name);
    out.text(value);
  }
  return out;
}

ByteWriter encode_series(std::uint32_t set, const std::vector<SeriesInfo>& series) {
  ByteWriter out;
  out.number(set);
  out.number(series.size());
  for (const SeriesInfo& one : series) {
    out.text(one.name);
    out.text(one.unit);
    out.text(one.text);
    out.text(one.component);
    out.text(one.scope);
    out.byte(static_cast<std::uint8_t>(one.kind));
    out.byte(static_cast<std::uint8_t>(one.type));
    out.byte(one.origin());
  }
  return out;
}

bool names_open_file(const std::string& path, int descriptor) noexcept {
  struct stat named {
  }, opened{};
  return stat(path.c_str(), &named) == 0 && fstat(descriptor, &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

void lock_recording(const std::string& path, int descriptor) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw std::runtime_error("cannot write '" + path +
                             "': another recorder is writing it; name another file with -o");
}

// Opened without O_TRUNC: until it is locked, the file may be another recorder's.
void FileWriter::open_alone() {
  for (;;) {
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    struct stat about {};
    if (descriptor_ < 0 || fstat(descriptor_, &about) != 0 || !S_ISREG(about.st_mode)) return;
    lock_recording(path_, descriptor_);
    if (names_open_file(path_, descriptor_)) break;
    // Renamed or removed between the two calls.
    close(std::exchange(descriptor_, -1));
  }
  if (ftruncate(descriptor_, 0) != 0)
    throw std::system_error(errno, std::generic_category(),
                            "the recording '" + path_ + "' cannot be emptied");
}

FileWriter::FileWriter(const std::string& path, Mode mode, const Properties& properties)
    : path_(path), id_(new_writer_id()), encoder_(id_) {
  try {
    if (mode == Mode::kReplace)
      open_alone();
    else
      descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor_ < 0)
      throw std::system_error(errno, std::generic_category(),
                              "the recording '" + path + "' cannot be opened");
    append(encoder_.chunk(ChunkType::kWriter, encode_properties(properties)));
  } catch (...) {
    if (descriptor_ >= 0) close(descriptor_);
    throw;
  }
}

FileWriter::~FileWriter() {
  if (descriptor_ >= 0) close(descriptor_);
}

void FileWriter::append(const std::vector<unsigned char>& bytes) {
  struct stat before {};
  const bool is_file = fstat(descriptor_, &before) == 0 && S_ISREG(before.st_mode);
  std::size_t done = 0;
  int error = 0;
  // Beyond its limit the kernel sends a signal that ends the program; a pipe has none.
  rlimit limit{};
  if (is_file && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
      limit.rlim_cur < static_cast<rlim_t>(before.st_size) + bytes.size())
    error = EFBIG;
  while (done < bytes.size() && error == 0) {
    const ssize_t wrote = write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (wrote > 0)
      done += static_cast<std::size_t>(wrote);
    else if (wrote == 0 || errno != EINTR)
      error = wrote < 0 ? errno : EIO;
  }
  if (error != 0) {
    // Take back what is there of it, unless another process has appended meanwhile: then the reader finds the broken
    // chunk and reports it.
    struct stat after {};
    const bool alone = is_file && fstat(descriptor_, &after) == 0 &&
                       after.st_size == before.st_size + static_cast<off_t>(done);
    [[maybe_unused]] const bool undone = done > 0 && alone && ftruncate(descriptor_, before.st_size) == 0;
    throw std::system_error(error, std::generic_category(),
                            "the recording '" + path_ + "' cannot be written");
  }
  written_ += bytes.size();
}

std::uint32_t FileWriter::declare(const std::vector<SeriesInfo>& series) {
  const std::uint32_t number = static_cast<std::uint32_t>(pending_.size());
  append(encoder_.chunk(ChunkType::kSeries, encode_series(number, series)));
  Pending fresh;
  fresh.series = series.size();
  fresh.last_values.resize(series.size());
  pending_.push_back(std::move(fresh));
  return number;
}

void FileWriter::sample(std::uint32_t set, std::int64_t time, std::int64_t skew, const std::int64_t* values,
                        const std::uint8_t* flags) {
  Pending& rows = pending_.at(set);
  const bool flagged = std::any_of(flags, flags + rows.series, [](std::uint8_t f) { return f != 0; });
  rows.body.byte(flagged ? kRowHasFlags : kRowPlain);
  rows.body.signed_number(wrapping_difference(time, rows.last_time));
  rows.last_time = time;
  rows.body.number(static_cast<std::uint64_t>(std::max<std::int64_t>(skew, 0)));
  for (std::size_t i = 0; i < rows.series; ++i) {
    if (flagged) rows.body.byte(flags[i]);
    if ((flags[i] & kAbsent) != 0) continue;
    rows.body.signed_number(wrapping_difference(values[i], rows.last_values[i]));
    rows.last_values[i] = values[i];
  }
  ++rows.rows;
  if (rows.body.bytes().size() >= kFlushBytes) flush();
}

void FileWriter::mark(const Mark& mark) {
  marks_.push_back(mark);
  mark_bytes_ += mark.name.size() + sizeof mark;
  if (mark_bytes_ >= kFlushBytes) flush();
}

void FileWriter::properties(const Properties& properties) {
  append(encoder_.chunk(ChunkType::kWriter, encode_properties(properties)));
}

void FileWriter::clock(const ClockReading& reading) {
  ByteWriter out;
  out.signed_number(reading.time);
  out.signed_number(reading.offset);
  out.number(static_cast<std::uint64_t>(std::max<std::int64_t>(reading.uncertainty, 0)));
  out.text(reading.reference);
  append(encoder_.chunk(ChunkType::kClock, out));
}

void FileWriter::attach(const Attachment& attachment) {
  ByteWriter out;
  out.text(attachment.name);
  out.text(attachment.media_type);
  out.text(attachment.content);
  append(encoder_.chunk(ChunkType::kAttachment, out));
}

void FileWriter::flush() {
  std::vector<unsigned char> all;
  const auto add = [&](ChunkType type, const ByteWriter& payload) {
    const std::vector<unsigned char> bytes = encoder_.chunk(type, payload);
    all.insert(all.end(), bytes.begin(), bytes.end());
  };
  for (std::size_t set = 0; set < pending_.size(); ++set) {
    Pending& rows = pending_[set];
    if (rows.rows == 0) continue;
    ByteWriter out;
    out.number(set);
    out.number(rows.rows);
    for (const unsigned char byte : rows.body.bytes()) out.byte(byte);
    add(ChunkType::kSamples, out);
    // Every chunk stands alone: its first row is a difference from 0.
    rows.body.clear();
    rows.rows = 0;
    rows.last_time = 0;
    std::fill(rows.last_values.begin(), rows.last_values.end(), 0);
  }
  if (!marks_.empty()) {
    ByteWriter out;
    out.number(marks_.size());
    std::int64_t last = 0;
    for (const Mark& one : marks_) {
      out.byte(static_cast<std::uint8_t>(one.kind));
      out.signed_number(wrapping_difference(one.time, last));
      last = one.time;
      out.signed_number(one.rank);
      out.text(one.name);
    }
    add(ChunkType::kMarks, out);
    marks_.clear();
    mark_bytes_ = 0;
  }
  if (!all.empty()) append(all);
}

void FileWriter::end(std::int64_t time, const Properties& properties) {
  flush();
  ByteWriter out;
  out.signed_number(time);
  const ByteWriter texts = encode_properties(properties);
  for (const unsigned char byte : texts.bytes()) out.byte(byte);
  append(encoder_.chunk(ChunkType::kEnd, out));
  struct stat about {};
  if (fstat(descriptor_, &about) != 0 || !S_ISREG(about.st_mode) || names_open_file(path_, descriptor_))
    return;
  throw std::runtime_error("cannot keep '" + path_ + "': the file was " +
                           (about.st_nlink == 0
                                ? "removed or replaced while it was written; its data are lost"
                                : "renamed while it was written; its data are under the new name"));
}

}  // namespace substrata::recording
