// Writing a trace: blocks of encoded batches, the dictionary as it grows, the index at the end.
#include "feed/trace_writer.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/error.hpp"

namespace substrata::feed {

struct TraceWriter::Compressor {
  explicit Compressor(int level) : context(ZSTD_createCCtx()) {
    if (context == nullptr) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  }
  ~Compressor() { ZSTD_freeCCtx(context); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  ZSTD_CCtx* context;
};

TraceWriter::TraceWriter(std::string path, uint32_t block_transactions, int level)
    : path_(std::move(path)),
      block_transactions_(std::clamp<uint32_t>(block_transactions, 1, kMostSegmentTransactions)),
      compressor_(std::make_unique<Compressor>(level)) {}

TraceWriter::~TraceWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int TraceWriter::open(const std::string& comment) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    return fail(Code::kSystem, "the trace file '%s' cannot be created: %s", path_.c_str(),
                std::strerror(errno));
  }
  unsigned char preamble[16] = {};
  std::memcpy(preamble, kTraceMagic, sizeof kTraceMagic);
  std::memcpy(preamble + 8, &kTraceVersion, sizeof kTraceVersion);
  write_bytes(preamble, sizeof preamble);
  ByteWriter header;
  describe_fields(&header);
  header.number(static_cast<uint64_t>(std::time(nullptr)));
  header.text(comment);
  write_chunk(ChunkType::kHeader, header.bytes(), 0, 0);
  if (os_error_ == 0) return 0;
  return fail(Code::kSystem, "the trace file '%s' cannot be written: %s", path_.c_str(),
              std::strerror(os_error_));
}

uint32_t TraceWriter::add_source(TraceSource source) {
  sources_.push_back(std::move(source));
  return static_cast<uint32_t>(sources_.size() - 1);
}

uint32_t TraceWriter::add_probe(TraceProbe probe) {
  probes_.push_back(std::move(probe));
  return static_cast<uint32_t>(probes_.size() - 1);
}

void TraceWriter::append(uint32_t probe, const substrata_transaction* batch, size_t count) {
  while (count > 0) {
    const size_t part = std::min<size_t>(count, kMostSegmentTransactions);
    encode_segment(probe, batch, part, &block_);
    probes_[probe].transactions += part;
    transactions_ += part;
    in_block_ += static_cast<uint32_t>(part);
    if (in_block_ >= block_transactions_) write_block();
    batch += part;
    count -= part;
  }
}

void TraceWriter::write_dictionary() {
  if (described_sources_ == sources_.size() && described_probes_ == probes_.size()) return;
  ByteWriter words;
  words.number(sources_.size() - described_sources_);
  for (; described_sources_ < sources_.size(); ++described_sources_) {
    const TraceSource& source = sources_[described_sources_];
    words.text(source.name);
    words.text(source.summary);
    words.number(source.kind);
    words.number(source.time_base);
    words.number(source.ticks_per_second);
  }
  words.number(probes_.size() - described_probes_);
  for (; described_probes_ < probes_.size(); ++described_probes_) {
    const TraceProbe& probe = probes_[described_probes_];
    words.text(probe.name);
    words.text(probe.text);
    words.number(probe.source);
  }
  dictionaries_.push_back(offset_);
  write_chunk(ChunkType::kDictionary, words.bytes(), 0, 0);
}

void TraceWriter::write_block() {
  if (in_block_ == 0) return;
  write_dictionary();
  blocks_.push_back({offset_, in_block_});
  write_chunk(ChunkType::kBlock, block_.bytes(), in_block_, transactions_ - in_block_);
  if (os_error_ != 0) blocks_.pop_back();
  block_.bytes().clear();
  in_block_ = 0;
}

void TraceWriter::write_chunk(ChunkType type, const std::vector<unsigned char>& raw, uint32_t transactions,
                              uint64_t first) {
  stored_.resize(kChunkHeaderBytes + ZSTD_compressBound(raw.size()));
  const size_t stored = ZSTD_compress2(compressor_->context, stored_.data() + kChunkHeaderBytes,
                                       stored_.size() - kChunkHeaderBytes, raw.data(), raw.size());
  if (ZSTD_isError(stored) != 0)
    throw std::bad_alloc();  // with a buffer of compressBound nothing else can fail
  ChunkHeader header;
  header.type = type;
  header.stored_bytes = static_cast<uint32_t>(stored);
  header.raw_bytes = static_cast<uint32_t>(raw.size());
  header.transactions = transactions;
  header.first_transaction = first;
  encode_chunk_header(header, stored_.data());
  write_bytes(stored_.data(), kChunkHeaderBytes + stored);
}

void TraceWriter::write_bytes(const unsigned char* bytes, size_t count) {
  while (count > 0 && os_error_ == 0) {
    const ssize_t written = ::write(descriptor_, bytes, count);
    if (written < 0) {
      if (errno != EINTR) os_error_ = errno;
      continue;
    }
    bytes += written;
    count -= static_cast<size_t>(written);
    offset_ += static_cast<uint64_t>(written);
  }
}

int TraceWriter::finish() {
  write_block();
  write_dictionary();
  ByteWriter index;
  index.number(dictionaries_.size());
  for (const uint64_t offset : dictionaries_) index.number(offset);
  index.number(blocks_.size());
  uint64_t previous = 0;
  for (const Block& block : blocks_) {
    index.number(block.offset - previous);
    index.number(block.transactions);
    previous = block.offset;
  }
  index.number(probes_.size());
  for (const TraceProbe& probe : probes_) index.number(probe.transactions);
  unsigned char trailer[kTrailerBytes];
  encode_trailer(offset_, trailer);
  write_chunk(ChunkType::kIndex, index.bytes(), 0, transactions_);
  write_bytes(trailer, sizeof trailer);
  if (::close(descriptor_) != 0 && os_error_ == 0) os_error_ = errno;
  descriptor_ = -1;
  if (os_error_ == 0) return 0;
  return fail(
      Code::kSystem,
      "the trace file '%s' could not be written beyond byte %llu: %s; it reads up to its last whole block",
      path_.c_str(), static_cast<unsigned long long>(offset_), std::strerror(os_error_));
}

}  // namespace substrata::feed
