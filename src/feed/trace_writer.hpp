// Writes a trace file, chunk by chunk, each with one write, so that a killed process leaves whole chunks
// behind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "feed/trace_format.hpp"

namespace substrata::feed {

// Thread-compatible. The first failure of the operating system is kept; what follows it is dropped, so that
// the file ends with whole chunks.
class TraceWriter {
 public:
  // block_transactions: 1 to 2^18; level: zstd's.
  TraceWriter(std::string path, uint32_t block_transactions, int level);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // Creates or replaces the file and writes its header. 0, or a code with the message set.
  int open(const std::string& comment);

  // Names a source or probe point; gives its index in the file.
  uint32_t add_source(TraceSource source);
  uint32_t add_probe(TraceProbe probe);

  // Appends one batch of the probe point with that index; writes a block when it is full.
  void append(uint32_t probe, const substrata_transaction* batch, size_t count);
  // Writes what was appended as a block, even a short one.
  void write_block();
  // Writes the last block, the index and the trailer, and closes. The first failure's code with the message
  // set, or 0.
  int finish();

  uint64_t transactions() const noexcept { return transactions_; }
  uint64_t blocks() const noexcept { return blocks_.size(); }
  uint64_t file_bytes() const noexcept { return offset_; }
  const std::vector<TraceSource>& sources() const noexcept { return sources_; }
  const std::vector<TraceProbe>& probes() const noexcept { return probes_; }

 private:
  struct Compressor;
  struct Block {
    uint64_t offset;
    uint32_t transactions;
  };

  void write_dictionary();
  void write_chunk(ChunkType type, const std::vector<unsigned char>& raw, uint32_t transactions,
                   uint64_t first);
  void write_bytes(const unsigned char* bytes, size_t count);

  const std::string path_;
  const uint32_t block_transactions_;
  int descriptor_ = -1;
  int os_error_ = 0;
  uint64_t offset_ = 0;        // of the file's end
  uint64_t transactions_ = 0;  // in the blocks written and the one being filled
  uint32_t in_block_ = 0;
  ByteWriter block_;
  std::unique_ptr<Compressor> compressor_;
  std::vector<unsigned char> stored_;
  std::vector<Block> blocks_;
  std::vector<uint64_t> dictionaries_;  // offsets
  std::vector<TraceSource> sources_;
  std::vector<TraceProbe> probes_;
  size_t described_sources_ = 0;
  size_t described_probes_ = 0;
};

}  // namespace substrata::feed
