// Reads a trace file that may be cut off or damaged anywhere, without believing any length in it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "feed/trace_format.hpp"

namespace substrata::feed {

// Where the bytes come from: a file, or memory in tests.
class ByteSource {
 public:
  ByteSource() = default;
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual uint64_t size() const noexcept = 0;
  // Reads exactly count bytes; false: they are not there.
  virtual bool read(uint64_t offset, unsigned char* out, size_t count) const noexcept = 0;
};

class FileBytes final : public ByteSource {
 public:
  // Null with the message set and *code negative when the file does not open.
  static std::unique_ptr<FileBytes> open(const std::string& path, int* code);
  ~FileBytes() override;
  uint64_t size() const noexcept override { return size_; }
  bool read(uint64_t offset, unsigned char* out, size_t count) const noexcept override;

 private:
  FileBytes(int descriptor, uint64_t size) noexcept : descriptor_(descriptor), size_(size) {}
  int descriptor_;
  uint64_t size_;
};

class MemoryBytes final : public ByteSource {
 public:
  MemoryBytes(const unsigned char* bytes, size_t count) noexcept : bytes_(bytes), count_(count) {}
  uint64_t size() const noexcept override { return count_; }
  bool read(uint64_t offset, unsigned char* out, size_t count) const noexcept override;

 private:
  const unsigned char* bytes_;
  size_t count_;
};

// Thread-compatible.
class TraceReader {
 public:
  struct Block {
    uint64_t offset;
    uint64_t first_transaction;
    uint32_t transactions;
  };
  struct Batch {
    uint32_t probe = 0;  // index in the file
    substrata_transaction* transactions = nullptr;
    size_t count = 0;  // 0: the end
  };

  // name: for messages.
  TraceReader(std::string name, std::unique_ptr<ByteSource> bytes);
  ~TraceReader();

  // Reads header, dictionary and index; of a file without an index every block, to know how far it is whole.
  // 0, or a code with the message set: then it is not a trace.
  int open();

  // The next batch; its transactions stay until the next call. 0, or a code with the message set.
  int next(Batch* batch);
  int seek(uint64_t transaction);

  // What the probe field of the transactions of probe point `index` is to hold (at first: the index).
  void number_probe(uint32_t index, uint32_t number) { numbers_[index] = number; }

  bool complete() const noexcept { return complete_; }
  uint64_t transactions() const noexcept { return transactions_; }
  uint64_t readable_bytes() const noexcept { return readable_bytes_; }
  uint64_t file_bytes() const noexcept { return bytes_->size(); }
  int64_t recorded_at_s() const noexcept { return recorded_at_s_; }
  const std::string& comment() const noexcept { return comment_; }
  const std::string& damage() const noexcept { return damage_; }
  const std::vector<Block>& blocks() const noexcept { return blocks_; }
  const std::vector<TraceSource>& sources() const noexcept { return sources_; }
  const std::vector<TraceProbe>& probes() const noexcept { return probes_; }

 private:
  struct Decompressor;

  // Each gives null, or a message that says what is wrong.
  const char* load_chunk(uint64_t offset, ChunkHeader* header);
  const char* read_dictionary();
  const char* read_index(uint64_t offset);
  void scan(uint64_t offset);
  const char* count_block(const ChunkHeader& header);
  const char* load_block(size_t index);
  int refuse(const char* what);

  const std::string name_;
  const std::unique_ptr<ByteSource> bytes_;
  std::unique_ptr<Decompressor> decompressor_;
  std::vector<unsigned char> stored_;
  std::unique_ptr<unsigned char[]> raw_;
  size_t raw_capacity_ = 0;
  size_t raw_bytes_ = 0;
  std::unique_ptr<substrata_transaction[]> batch_;
  size_t batch_capacity_ = 0;

  bool complete_ = false;
  uint64_t transactions_ = 0;
  uint64_t readable_bytes_ = 0;
  int64_t recorded_at_s_ = 0;
  std::string comment_;
  std::string damage_;
  std::vector<Block> blocks_;
  std::vector<TraceSource> sources_;
  uint64_t dictionary_bytes_ = 0;  // of the dictionaries read
  std::vector<TraceProbe> probes_;
  std::vector<uint32_t> numbers_;

  // Where next() is.
  size_t next_block_ = 0;
  ByteReader segments_{nullptr, 0};  // what is left of the block before next_block_
  uint32_t block_left_ = 0;          // transactions in it
  uint64_t passed_ = 0;              // transactions read so far
  uint32_t skip_ = 0;                // of the next batch, after a seek
};

}  // namespace substrata::feed
