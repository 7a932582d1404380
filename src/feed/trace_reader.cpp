// Reading a trace: header, dictionary, index or scan, and batches.
#include "feed/trace_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>

#include "base/error.hpp"

namespace substrata::feed {

struct TraceReader::Decompressor {
  Decompressor() : context(ZSTD_createDCtx()) {
    if (context == nullptr) throw std::bad_alloc();
  }
  ~Decompressor() { ZSTD_freeDCtx(context); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  ZSTD_DCtx* context;
};

namespace {

constexpr uint64_t kPreambleBytes = 16;
constexpr uint32_t kMostProbes = 65535;
// Of all dictionaries together, uncompressed: some 250 bytes for each probe point there may be.
constexpr uint64_t kMostDictionaryBytes = 1u << 24;

unsigned long long printed(uint64_t value) noexcept { return value; }

}  // namespace

std::unique_ptr<FileBytes> FileBytes::open(const std::string& path, int* code) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    *code =
        fail(Code::kSystem, "the trace file '%s' cannot be opened: %s", path.c_str(), std::strerror(errno));
    return nullptr;
  }
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    *code =
        fail(Code::kInvalid, "'%s' is not a regular file; a trace must be one, because it is read by offset",
             path.c_str());
    return nullptr;
  }
  *code = 0;
  return std::unique_ptr<FileBytes>(new FileBytes(descriptor, static_cast<uint64_t>(status.st_size)));
}

FileBytes::~FileBytes() { ::close(descriptor_); }

bool FileBytes::read(uint64_t offset, unsigned char* out, size_t count) const noexcept {
  while (count > 0) {
    const ssize_t got = ::pread(descriptor_, out, count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got;
    offset += static_cast<uint64_t>(got);
    count -= static_cast<size_t>(got);
  }
  return true;
}

bool MemoryBytes::read(uint64_t offset, unsigned char* out, size_t count) const noexcept {
  if (offset > count_ || count > count_ - offset) return false;
  if (count > 0) std::memcpy(out, bytes_ + offset, count);
  return true;
}

TraceReader::TraceReader(std::string name, std::unique_ptr<ByteSource> bytes)
    : name_(std::move(name)), bytes_(std::move(bytes)), decompressor_(std::make_unique<Decompressor>()) {}

TraceReader::~TraceReader() = default;

int TraceReader::refuse(const char* what) {
  return fail(Code::kInvalid, "trace '%s': at byte offset %llu %s; %llu transactions before it are whole",
              name_.c_str(), printed(readable_bytes_), what, printed(passed_));
}

// Reads and decompresses the chunk at an offset into raw_.
const char* TraceReader::load_chunk(uint64_t offset, ChunkHeader* header) {
  const uint64_t size = bytes_->size();
  unsigned char head[kChunkHeaderBytes];
  if (offset > size || size - offset < kChunkHeaderBytes || !bytes_->read(offset, head, sizeof head)) {
    return "the file ends inside a chunk's header";
  }
  if (!decode_chunk_header(head, header)) return "there is no valid chunk header";
  if (header->stored_bytes > size - offset - kChunkHeaderBytes) return "the file ends inside a chunk";
  stored_.resize(header->stored_bytes);
  if (!bytes_->read(offset + kChunkHeaderBytes, stored_.data(), stored_.size()))
    return "the file cannot be read";
  if (ZSTD_getFrameContentSize(stored_.data(), stored_.size()) != header->raw_bytes) {
    return "a chunk's content does not have the length its header says";
  }
  if (raw_capacity_ < header->raw_bytes) {
    raw_.reset(new unsigned char[header->raw_bytes]);
    raw_capacity_ = header->raw_bytes;
  }
  raw_bytes_ = ZSTD_decompressDCtx(decompressor_->context, raw_.get(), header->raw_bytes, stored_.data(),
                                   stored_.size());
  if (ZSTD_isError(raw_bytes_) != 0 || raw_bytes_ != header->raw_bytes) {
    raw_bytes_ = 0;
    return "a chunk's content does not match its check sum";
  }
  return nullptr;
}

const char* TraceReader::read_dictionary() {
  constexpr const char* kMalformed = "the dictionary is malformed";
  if (raw_bytes_ > kMostDictionaryBytes - dictionary_bytes_) return "the dictionaries are too large";
  dictionary_bytes_ += raw_bytes_;
  ByteReader words(raw_.get(), raw_bytes_);
  uint64_t count = 0;
  if (!words.number(&count) || count > kMostProbes - sources_.size()) return kMalformed;
  for (; count > 0; --count) {
    TraceSource source;
    if (!words.text(&source.name) || !words.text(&source.summary) || !words.number32(&source.kind) ||
        !words.number32(&source.time_base) || !words.number(&source.ticks_per_second)) {
      return kMalformed;
    }
    sources_.push_back(std::move(source));
  }
  if (!words.number(&count) || count > kMostProbes - probes_.size()) return kMalformed;
  for (; count > 0; --count) {
    TraceProbe probe;
    if (!words.text(&probe.name) || !words.text(&probe.text) || !words.number32(&probe.source) ||
        probe.source >= sources_.size()) {
      return kMalformed;
    }
    numbers_.push_back(static_cast<uint32_t>(probes_.size()));
    probes_.push_back(std::move(probe));
  }
  return words.left() == 0 ? nullptr : kMalformed;
}

const char* TraceReader::read_index(uint64_t offset) {
  constexpr const char* kMalformed = "the index is malformed";
  ChunkHeader header;
  if (const char* wrong = load_chunk(offset, &header)) return wrong;
  if (header.type != ChunkType::kIndex) return "there is another chunk where the index should be";
  // The dictionaries are read through the same buffer.
  const std::vector<unsigned char> content(raw_.get(), raw_.get() + raw_bytes_);
  ByteReader index(content.data(), content.size());
  uint64_t count = 0;
  if (!index.number(&count) || count > index.left()) return kMalformed;
  // Each chunk is named once, in the order of the file.
  for (uint64_t before = 0; count > 0; --count) {
    uint64_t at = 0;
    if (!index.number(&at) || at >= offset || at <= before) return kMalformed;
    before = at;
    ChunkHeader dictionary;
    if (const char* wrong = load_chunk(at, &dictionary)) return wrong;
    if (dictionary.type != ChunkType::kDictionary) return kMalformed;
    if (const char* wrong = read_dictionary()) return wrong;
  }
  if (!index.number(&count) || count > index.left()) return kMalformed;
  uint64_t at = 0;
  for (; count > 0; --count) {
    uint64_t step = 0;
    uint32_t transactions = 0;
    if (!index.number(&step) || !index.number32(&transactions) || step < kChunkHeaderBytes ||
        step >= offset - at || transactions == 0 || transactions > kMostBlockTransactions) {
      return kMalformed;
    }
    at += step;
    blocks_.push_back({at, transactions_, transactions});
    transactions_ += transactions;
  }
  if (!index.number(&count) || count != probes_.size()) return kMalformed;
  uint64_t sum = 0;
  for (TraceProbe& probe : probes_) {
    if (!index.number(&probe.transactions) || probe.transactions > transactions_ - sum) return kMalformed;
    sum += probe.transactions;
  }
  return sum == transactions_ && index.left() == 0 ? nullptr : kMalformed;
}

// Checks that the block in raw_ decodes, and adds up its transactions by probe point.
const char* TraceReader::count_block(const ChunkHeader& header) {
  ByteReader segments(raw_.get(), raw_bytes_);
  uint64_t total = 0;
  std::vector<std::pair<uint32_t, uint32_t>> counts;
  while (segments.left() > 0) {
    uint32_t probe = 0;
    uint32_t count = 0;
    if (!decode_segment_head(&segments, &probe, &count) || probe >= probes_.size())
      return "a block is malformed";
    total += count;
    if (total > header.transactions) return "a block is malformed";
    if (batch_capacity_ < count) {
      batch_.reset(new substrata_transaction[count]);
      batch_capacity_ = count;
    }
    if (!decode_segment_body(&segments, probe, count, batch_.get())) return "a block is malformed";
    counts.emplace_back(probe, count);
  }
  if (total != header.transactions || total == 0) return "a block is malformed";
  for (const auto& [probe, count] : counts) probes_[probe].transactions += count;
  return nullptr;
}

// Finds what is whole in a file without a usable index.
void TraceReader::scan(uint64_t offset) {
  const uint64_t size = bytes_->size();
  while (true) {
    readable_bytes_ = offset;
    if (offset == size) {
      damage_ = "the file ends without an index: the recording was not ended";
      return;
    }
    ChunkHeader header;
    const char* wrong = load_chunk(offset, &header);
    if (wrong == nullptr && header.type == ChunkType::kIndex)
      wrong = "the index or what follows it is damaged";
    if (wrong == nullptr && header.type == ChunkType::kHeader) wrong = "there is a second header";
    if (wrong == nullptr && header.type == ChunkType::kDictionary) wrong = read_dictionary();
    if (wrong == nullptr && header.type == ChunkType::kBlock) {
      wrong = header.first_transaction == transactions_ ? count_block(header) : "a block is missing";
      if (wrong == nullptr) {
        blocks_.push_back({offset, transactions_, header.transactions});
        transactions_ += header.transactions;
      }
    }
    if (wrong != nullptr) {
      damage_ = wrong;
      return;
    }
    offset += kChunkHeaderBytes + header.stored_bytes;
  }
}

int TraceReader::open() {
  const uint64_t size = bytes_->size();
  unsigned char preamble[kPreambleBytes];
  if (size < sizeof preamble || !bytes_->read(0, preamble, sizeof preamble) ||
      std::memcmp(preamble, kTraceMagic, sizeof kTraceMagic) != 0) {
    return fail(Code::kInvalid, "'%s' is no trace: at byte offset 0 there is no 'SUBTRACE'", name_.c_str());
  }
  uint32_t version = 0;
  std::memcpy(&version, preamble + 8, sizeof version);
  if (version != kTraceVersion) {
    return fail(Code::kNoSupport,
                "trace '%s' has format version %u (byte offset 8); this library reads version %u",
                name_.c_str(), version, kTraceVersion);
  }
  readable_bytes_ = kPreambleBytes;
  ChunkHeader header;
  if (const char* wrong = load_chunk(kPreambleBytes, &header)) return refuse(wrong);
  ByteReader words(raw_.get(), raw_bytes_);
  uint64_t recorded_at = 0;
  if (header.type != ChunkType::kHeader || !fields_are_ours(&words) || !words.number(&recorded_at) ||
      !words.text(&comment_)) {
    return refuse("the header is malformed");
  }
  recorded_at_s_ = static_cast<int64_t>(recorded_at);
  const uint64_t content = kPreambleBytes + kChunkHeaderBytes + header.stored_bytes;

  unsigned char trailer[kTrailerBytes];
  uint64_t index_offset = 0;
  if (size >= content + kTrailerBytes && bytes_->read(size - kTrailerBytes, trailer, sizeof trailer) &&
      decode_trailer(trailer, &index_offset) && index_offset >= content && index_offset < size) {
    if (read_index(index_offset) == nullptr) {
      complete_ = true;
      readable_bytes_ = size;
      return 0;
    }
    blocks_.clear();
    sources_.clear();
    probes_.clear();
    numbers_.clear();
    dictionary_bytes_ = 0;
    transactions_ = 0;
  }
  scan(content);
  return 0;
}

const char* TraceReader::load_block(size_t index) {
  const Block& block = blocks_[index];
  ChunkHeader header;
  if (const char* wrong = load_chunk(block.offset, &header)) return wrong;
  if (header.type != ChunkType::kBlock || header.first_transaction != block.first_transaction ||
      header.transactions != block.transactions) {
    return "there is another chunk than the index says";
  }
  return nullptr;
}

int TraceReader::next(Batch* batch) {
  *batch = {};
  if (segments_.left() == 0 && block_left_ == 0) {
    if (next_block_ == blocks_.size()) return complete_ ? 0 : refuse(damage_.c_str());
    if (const char* wrong = load_block(next_block_)) {
      readable_bytes_ = blocks_[next_block_].offset;
      return refuse(wrong);
    }
    segments_ = ByteReader(raw_.get(), raw_bytes_);
    block_left_ = blocks_[next_block_].transactions;
    ++next_block_;
  }
  uint32_t probe = 0;
  uint32_t count = 0;
  bool whole =
      decode_segment_head(&segments_, &probe, &count) && probe < probes_.size() && count <= block_left_;
  if (whole) {
    if (batch_capacity_ < count) {
      batch_.reset(new substrata_transaction[count]);
      batch_capacity_ = count;
    }
    whole = decode_segment_body(&segments_, numbers_[probe], count, batch_.get());
  }
  if (!whole) {
    readable_bytes_ = blocks_[next_block_ - 1].offset;
    return refuse("a block is malformed");
  }
  block_left_ -= count;
  passed_ += count - std::min(skip_, count);
  batch->probe = probe;
  batch->transactions = batch_.get() + skip_;
  batch->count = count - skip_;
  skip_ = 0;
  return 0;
}

int TraceReader::seek(uint64_t transaction) {
  if (transaction >= transactions_) {
    return fail(Code::kInvalid, "trace '%s': transaction %llu was asked for; it has %llu, numbered from 0",
                name_.c_str(), printed(transaction), printed(transactions_));
  }
  const auto after =
      std::upper_bound(blocks_.begin(), blocks_.end(), transaction,
                       [](uint64_t wanted, const Block& block) { return wanted < block.first_transaction; });
  next_block_ = static_cast<size_t>(after - blocks_.begin()) - 1;
  segments_ = ByteReader(nullptr, 0);
  block_left_ = 0;
  skip_ = 0;
  uint64_t at = blocks_[next_block_].first_transaction;
  passed_ = at;
  while (at < transaction) {
    // A copy: a batch that holds the transaction is decoded again from its beginning.
    const bool fresh_block = segments_.left() == 0;
    const ByteReader before = segments_;
    const uint32_t left_before = block_left_;
    Batch batch;
    if (const int refused = next(&batch)) return refused;
    if (at + batch.count > transaction) {
      skip_ = static_cast<uint32_t>(transaction - at);
      segments_ = fresh_block ? ByteReader(raw_.get(), raw_bytes_) : before;
      block_left_ = fresh_block ? blocks_[next_block_ - 1].transactions : left_before;
      passed_ = transaction;
      return 0;
    }
    at += batch.count;
  }
  passed_ = transaction;
  return 0;
}

}  // namespace substrata::feed
