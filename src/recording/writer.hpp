// Writes a recording: chunks appended whole, so that what was flushed stays readable whatever happens to the
// process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "recording/bytes.hpp"
#include "recording/format.hpp"
#include "recording/recording.hpp"

namespace substrata::recording {

// Where samples and regions go. Thread-compatible.
class Sink {
 public:
  virtual ~Sink() = default;
  // A set of series that are sampled together; gives the set's number.
  virtual std::uint32_t declare(const std::vector<SeriesInfo>& series) = 0;
  // A row of a set: one value and one byte of ValueFlags for each of its series.
  virtual void sample(std::uint32_t set, std::int64_t time, std::int64_t skew, const std::int64_t* values,
                      const std::uint8_t* flags) = 0;
  virtual void mark(const Mark& mark) = 0;
  // Sinks that show one machine have no use for it.
  virtual void clock(const ClockReading&) {}
};

// Encodes chunks of one writer; what becomes of them is the caller's. Thread-compatible.
class ChunkEncoder {
 public:
  explicit ChunkEncoder(std::uint64_t writer) : writer_(writer) {}
  // The chunk around a payload: header and payload, ready to append.
  std::vector<unsigned char> chunk(ChunkType type, const ByteWriter& payload);

 private:
  std::uint64_t writer_;
  std::uint32_t sequence_ = 0;
};

ByteWriter encode_properties(const Properties& properties);
ByteWriter encode_series(std::uint32_t set, const std::vector<SeriesInfo>& series);

// Whether `path` names the file that `descriptor` refers to.
bool names_open_file(const std::string& path, int descriptor) noexcept;
// Takes the lock that a recorder holds on its recording while it writes it, without waiting. Throws std::runtime_error
// if another recorder holds it. A file system without locks is not an error. Closing the descriptor releases it.
void lock_recording(const std::string& path, int descriptor);

// Appends a writer's part to a file. Each flush is one write to the end of the file: several processes may
// append to the same one. Every failure to write throws std::system_error, once; the recording is then as long
// as it was. What one call adds and no chunk can hold (256 MiB) throws std::length_error, with no effect.
class FileWriter : public Sink {
 public:
  // kReplace: the only writer of the file, which holds its lock.
  enum class Mode { kReplace, kAppend };
  // Opens the file and writes the first chunk. Throws std::system_error, and std::runtime_error if another recorder
  // holds the lock of a file to be replaced.
  FileWriter(const std::string& path, Mode mode, const Properties& properties);
  ~FileWriter() override;
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  std::uint32_t declare(const std::vector<SeriesInfo>& series) override;
  void sample(std::uint32_t set, std::int64_t time, std::int64_t skew, const std::int64_t* values,
              const std::uint8_t* flags) override;
  void mark(const Mark& mark) override;
  void properties(const Properties& properties);
  void clock(const ClockReading& reading) override;
  void attach(const Attachment& attachment);
  // Everything so far into the file.
  void flush();
  // Flushes and closes the writer's part. Nothing may follow. Throws std::runtime_error if the path no longer names
  // the file.
  void end(std::int64_t time, const Properties& properties);

  std::uint64_t id() const noexcept { return id_; }
  std::uint64_t bytes_written() const noexcept { return written_; }

 private:
  struct Pending {
    std::size_t series = 0;
    std::uint64_t rows = 0;
    ByteWriter body;
    std::int64_t last_time = 0;
    std::vector<std::int64_t> last_values;
  };
  void open_alone();
  void append(const std::vector<unsigned char>& bytes);

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t id_;
  ChunkEncoder encoder_;
  std::vector<Pending> pending_;
  std::vector<Mark> marks_;
  std::size_t mark_bytes_ = 0;
  // So much of one set is flushed at once, however rarely the caller does: a reader's bound is far above.
  static constexpr std::size_t kFlushBytes = std::size_t{1} << 24;
  std::uint64_t written_ = 0;
};

// A number unlike that of any other writer.
std::uint64_t new_writer_id();

}  // namespace substrata::recording
