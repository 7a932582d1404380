// Encoding and decoding of the trace file's parts.
#include "feed/trace_format.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

namespace substrata::feed {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "the trace format is written in the machine's byte order, which must be little-endian");

constexpr uint32_t kChunkMagic = 0x4b4e4843;  // "CHNK"

enum Mode : uint8_t {
  kAllEqual = 0,     // value
  kSeries = 1,       // first value, zigzag step
  kDifferences = 2,  // first value, then count-1 zigzag differences
  kOffset8 = 3,      // smallest value, then count offsets of 1, 2, 4, 8 bytes
  kOffset16 = 4,
  kOffset32 = 5,
  kOffset64 = 6,
};

struct Field {
  const char* name;
  uint8_t offset;
  uint8_t bytes;
};

#define SUBSTRATA_FIELD(name) \
  Field { #name, offsetof(substrata_transaction, name), sizeof(substrata_transaction::name) }
constexpr Field kFields[] = {
    SUBSTRATA_FIELD(time),   SUBSTRATA_FIELD(start),     SUBSTRATA_FIELD(address), SUBSTRATA_FIELD(site),
    SUBSTRATA_FIELD(detail), SUBSTRATA_FIELD(initiator), SUBSTRATA_FIELD(target),  SUBSTRATA_FIELD(size),
    SUBSTRATA_FIELD(kind),   SUBSTRATA_FIELD(state),     SUBSTRATA_FIELD(program), SUBSTRATA_FIELD(phase),
    SUBSTRATA_FIELD(flags),
};
#undef SUBSTRATA_FIELD

template <typename Value>
void put(unsigned char* at, Value value) noexcept {
  std::memcpy(at, &value, sizeof value);
}

template <typename Value>
Value get(const unsigned char* at) noexcept {
  Value value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

constexpr uint64_t zigzag(uint64_t difference) noexcept {
  return (difference << 1) ^ (0 - (difference >> 63));
}
constexpr uint64_t unzigzag(uint64_t value) noexcept { return (value >> 1) ^ (0 - (value & 1)); }

constexpr size_t varint_bytes(uint64_t value) noexcept {
  return (static_cast<size_t>(63 - __builtin_clzll(value | 1)) / 7) + 1;
}

unsigned char* put_varint(unsigned char* at, uint64_t value) noexcept {
  while (value >= 0x80) {
    *at++ = static_cast<unsigned char>(value | 0x80);
    value >>= 7;
  }
  *at++ = static_cast<unsigned char>(value);
  return at;
}

// One field of a batch, seen as a column.
template <typename Value>
class Column {
 public:
  Column(const substrata_transaction* batch, size_t offset) noexcept
      : base_(reinterpret_cast<const unsigned char*>(batch) + offset) {}
  uint64_t operator[](size_t row) const noexcept {
    return get<Value>(base_ + row * sizeof(substrata_transaction));
  }

 private:
  const unsigned char* base_;
};

template <typename Offset, typename Value>
void put_offsets(const Column<Value>& column, size_t count, uint64_t smallest,
                 std::vector<unsigned char>& out) {
  const size_t begin = out.size();
  out.resize(begin + count * sizeof(Offset));
  unsigned char* at = out.data() + begin;
  for (size_t row = 0; row < count; ++row, at += sizeof(Offset))
    put(at, static_cast<Offset>(column[row] - smallest));
}

template <typename Value>
void encode_column(const substrata_transaction* batch, size_t offset, size_t count, ByteWriter* out) {
  const Column<Value> column(batch, offset);
  const uint64_t first = column[0];
  const uint64_t step = count > 1 ? column[1] - first : 0;
  uint64_t smallest = first;
  uint64_t largest = first;
  uint64_t previous = first;
  size_t difference_bytes = 0;
  bool series = true;
  for (size_t row = 1; row < count; ++row) {
    const uint64_t value = column[row];
    const uint64_t difference = value - previous;
    series = series && difference == step;
    smallest = std::min(smallest, value);
    largest = std::max(largest, value);
    difference_bytes += varint_bytes(zigzag(difference));
    previous = value;
  }
  if (smallest == largest) {
    out->byte(kAllEqual);
    out->number(first);
    return;
  }
  if (series) {
    out->byte(kSeries);
    out->number(first);
    out->number(zigzag(step));
    return;
  }
  const uint64_t span = largest - smallest;
  const size_t width = span <= 0xff ? 1 : span <= 0xffff ? 2 : span <= 0xffffffff ? 4 : 8;
  if (width * count <= difference_bytes) {
    out->byte(width == 1 ? kOffset8 : width == 2 ? kOffset16 : width == 4 ? kOffset32 : kOffset64);
    out->number(smallest);
    switch (width) {
      case 1:
        put_offsets<uint8_t>(column, count, smallest, out->bytes());
        break;
      case 2:
        put_offsets<uint16_t>(column, count, smallest, out->bytes());
        break;
      case 4:
        put_offsets<uint32_t>(column, count, smallest, out->bytes());
        break;
      default:
        put_offsets<uint64_t>(column, count, smallest, out->bytes());
        break;
    }
    return;
  }
  out->byte(kDifferences);
  out->number(first);
  std::vector<unsigned char>& bytes = out->bytes();
  const size_t begin = bytes.size();
  bytes.resize(begin + difference_bytes);
  unsigned char* at = bytes.data() + begin;
  previous = first;
  for (size_t row = 1; row < count; ++row) {
    const uint64_t value = column[row];
    at = put_varint(at, zigzag(value - previous));
    previous = value;
  }
}

// The bit of a varint's byte that says that another byte follows.
constexpr uint64_t kContinues = 0x8080808080808080u;

// The end of so many varints, or nullptr: they do not end before `end`.
const unsigned char* skip_varints(const unsigned char* at, const unsigned char* end, size_t count) noexcept {
  while (count >= 8 && end - at >= 8) {  // so many that none of the eight bytes can belong to what follows
    // The bytes without that bit, added up in the highest byte.
    count -= static_cast<size_t>((((~get<uint64_t>(at) & kContinues) >> 7) * 0x0101010101010101u) >> 56);
    at += 8;
  }
  while (count > 0) {
    if (at == end) return nullptr;
    if ((*at++ & 0x80u) == 0) --count;
  }
  return at;
}

// The varint at `at`, whose last byte is known to be there; 0 in *bytes: it is longer than ten. Without a
// branch on its length where eight bytes can be read: lengths change from row to row and are not foreseen.
uint64_t get_varint(const unsigned char* at, const unsigned char* end, size_t* bytes) noexcept {
  if (end - at >= 8) {
    uint64_t word = get<uint64_t>(at);
    const uint64_t ends = ~word & kContinues;
    if (ends != 0) {
      *bytes = (static_cast<size_t>(__builtin_ctzll(ends)) >> 3) + 1;
      word &= (ends ^ (ends - 1)) & ~kContinues;
      word = ((word & 0x7f007f007f007f00u) >> 1) | (word & 0x007f007f007f007fu);
      word = ((word & 0x3fff00003fff0000u) >> 2) | (word & 0x00003fff00003fffu);
      return ((word & 0x0fffffff00000000u) >> 4) | (word & 0x000000000fffffffu);
    }
  }
  uint64_t value = 0;
  for (unsigned i = 0; i < 10; ++i) {
    value |= static_cast<uint64_t>(at[i] & 0x7fu) << (7 * i);
    if ((at[i] & 0x80u) == 0) {
      *bytes = i + 1;
      return value;
    }
  }
  *bytes = 0;
  return 0;
}

// A field whose values differ within a segment: where its next row comes from.
struct VaryingField {
  const Field* field = nullptr;
  uint8_t mode = 0;
  uint64_t value = 0;  // the next row's of a series; the last one's of differences; the smallest
  uint64_t step = 0;   // of a series
  const unsigned char* bytes = nullptr;  // of the next row
  const unsigned char* end = nullptr;    // of all columns: what may be read
};

template <typename Offset, typename Value>
void fill_offsets(VaryingField* from, unsigned char* out, size_t rows) noexcept {
  for (size_t row = 0; row < rows; ++row) {
    put(out + row * sizeof(substrata_transaction),
        static_cast<Value>(from->value + get<Offset>(from->bytes + row * sizeof(Offset))));
  }
  from->bytes += rows * sizeof(Offset);
}

// Writes the next rows of a field. False: a varint has too many bytes.
template <typename Value>
bool fill_rows(VaryingField* from, bool first_row, unsigned char* out, size_t rows) noexcept {
  switch (from->mode) {
    case kSeries:
      for (size_t row = 0; row < rows; ++row, from->value += from->step)
        put(out + row * sizeof(substrata_transaction), static_cast<Value>(from->value));
      return true;
    case kDifferences: {
      const unsigned char* at = from->bytes;  // whole varints: skip_varints found their end
      uint64_t value = from->value;
      size_t row = 0;
      if (first_row) put(out + row++ * sizeof(substrata_transaction), static_cast<Value>(value));
      for (; row < rows; ++row) {
        size_t bytes = 0;
        const uint64_t difference = get_varint(at, from->end, &bytes);
        if (bytes == 0) return false;
        at += bytes;
        value += unzigzag(difference);
        put(out + row * sizeof(substrata_transaction), static_cast<Value>(value));
      }
      from->value = value;
      from->bytes = at;
      return true;
    }
    case kOffset8:
      fill_offsets<uint8_t, Value>(from, out, rows);
      return true;
    case kOffset16:
      fill_offsets<uint16_t, Value>(from, out, rows);
      return true;
    case kOffset32:
      fill_offsets<uint32_t, Value>(from, out, rows);
      return true;
    default:
      fill_offsets<uint64_t, Value>(from, out, rows);
      return true;
  }
}

// Reads a column's head and finds its end; a column of one value goes into the pattern of all rows.
bool open_column(ByteReader* in, const Field& field, uint32_t count, unsigned char* pattern,
                 VaryingField* out) noexcept {
  *out = {};
  if (!in->byte(&out->mode) || !in->number(&out->value)) return false;
  switch (out->mode) {
    case kAllEqual:
      std::memcpy(pattern + field.offset, &out->value, field.bytes);
      return true;
    case kSeries:
      out->field = &field;
      if (!in->number(&out->step)) return false;
      out->step = unzigzag(out->step);
      return true;
    case kDifferences: {
      out->field = &field;
      out->bytes = in->position();
      out->end = out->bytes + in->left();
      const unsigned char* const end = skip_varints(out->bytes, out->end, count - 1);
      if (end == nullptr) return false;
      in->move_to(end);
      return true;
    }
    case kOffset8:
    case kOffset16:
    case kOffset32:
    case kOffset64:
      out->field = &field;
      return in->take(static_cast<size_t>(count) << (out->mode - kOffset8), &out->bytes);
    default:
      return false;
  }
}

}  // namespace

uint64_t check_sum(const unsigned char* bytes, size_t count) noexcept {
  uint64_t sum = 0xcbf29ce484222325u;
  for (size_t i = 0; i < count; ++i) sum = (sum ^ bytes[i]) * 0x100000001b3u;
  return sum;
}

void encode_chunk_header(const ChunkHeader& header, unsigned char* out) noexcept {
  put(out, kChunkMagic);
  put(out + 4, static_cast<uint32_t>(header.type));
  put(out + 8, header.stored_bytes);
  put(out + 12, header.raw_bytes);
  put(out + 16, header.transactions);
  put(out + 20, uint32_t{0});
  put(out + 24, header.first_transaction);
  put(out + 32, check_sum(out, 32));
}

bool decode_chunk_header(const unsigned char* bytes, ChunkHeader* out) noexcept {
  if (get<uint32_t>(bytes) != kChunkMagic || get<uint64_t>(bytes + 32) != check_sum(bytes, 32)) return false;
  const uint32_t type = get<uint32_t>(bytes + 4);
  if (type < 1 || type > 4) return false;
  out->type = static_cast<ChunkType>(type);
  out->stored_bytes = get<uint32_t>(bytes + 8);
  out->raw_bytes = get<uint32_t>(bytes + 12);
  out->transactions = get<uint32_t>(bytes + 16);
  out->first_transaction = get<uint64_t>(bytes + 24);
  return out->raw_bytes <= kMostRawBytes && out->stored_bytes <= kMostRawBytes &&
         out->transactions <= kMostBlockTransactions &&
         out->first_transaction <= std::numeric_limits<uint64_t>::max() - kMostBlockTransactions;
}

void encode_trailer(uint64_t index_offset, unsigned char* out) noexcept {
  put(out, index_offset);
  put(out + 8, check_sum(out, 8));
  std::memcpy(out + 16, kTrailerMagic, sizeof kTrailerMagic);
}

bool decode_trailer(const unsigned char* bytes, uint64_t* index_offset) noexcept {
  if (std::memcmp(bytes + 16, kTrailerMagic, sizeof kTrailerMagic) != 0) return false;
  if (get<uint64_t>(bytes + 8) != check_sum(bytes, 8)) return false;
  *index_offset = get<uint64_t>(bytes);
  return true;
}

void ByteWriter::number(uint64_t value) {
  unsigned char bytes[10];
  const unsigned char* const end = put_varint(bytes, value);
  bytes_.insert(bytes_.end(), static_cast<const unsigned char*>(bytes), end);
}

void ByteWriter::text(const std::string& value) {
  number(value.size());
  bytes_.insert(bytes_.end(), value.begin(), value.end());
}

bool ByteReader::byte(uint8_t* out) noexcept {
  if (at_ == end_) return false;
  *out = *at_++;
  return true;
}

bool ByteReader::number(uint64_t* out) noexcept {
  uint64_t value = 0;
  for (unsigned shift = 0; shift <= 63; shift += 7) {
    if (at_ == end_) return false;
    const unsigned char byte = *at_++;
    value |= static_cast<uint64_t>(byte & 0x7fu) << shift;
    if ((byte & 0x80u) == 0) {
      *out = value;
      return true;
    }
  }
  at_ = end_;
  return false;
}

bool ByteReader::number32(uint32_t* out) noexcept {
  uint64_t value = 0;
  if (!number(&value) || value > std::numeric_limits<uint32_t>::max()) return false;
  *out = static_cast<uint32_t>(value);
  return true;
}

bool ByteReader::text(std::string* out) {
  uint64_t length = 0;
  const unsigned char* bytes = nullptr;
  if (!number(&length) || length > left() || !take(static_cast<size_t>(length), &bytes)) return false;
  out->assign(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
  return true;
}

bool ByteReader::take(size_t count, const unsigned char** out) noexcept {
  if (count > left()) return false;
  *out = at_;
  at_ += count;
  return true;
}

void encode_segment(uint32_t probe, const substrata_transaction* batch, size_t count, ByteWriter* out) {
  out->number(probe);
  out->number(count);
  for (const Field& field : kFields) {
    switch (field.bytes) {
      case 8:
        encode_column<uint64_t>(batch, field.offset, count, out);
        break;
      case 4:
        encode_column<uint32_t>(batch, field.offset, count, out);
        break;
      default:
        encode_column<uint16_t>(batch, field.offset, count, out);
        break;
    }
  }
}

bool decode_segment_head(ByteReader* in, uint32_t* probe, uint32_t* count) noexcept {
  return in->number32(probe) && in->number32(count) && *count >= 1 && *count <= kMostSegmentTransactions;
}

bool decode_segment_body(ByteReader* in, uint32_t probe, uint32_t count,
                         substrata_transaction* out) noexcept {
  substrata_transaction pattern{};
  pattern.probe = static_cast<uint16_t>(probe);
  VaryingField varying[std::size(kFields)];
  size_t columns = 0;
  for (const Field& field : kFields) {
    VaryingField& next = varying[columns];
    if (!open_column(in, field, count, reinterpret_cast<unsigned char*>(&pattern), &next)) return false;
    if (next.field != nullptr) ++columns;
  }
  // By groups of rows that stay in the first cache while column after column is written into them.
  constexpr size_t kGroup = 128;
  for (size_t begin = 0; begin < count; begin += kGroup) {
    const size_t rows = std::min(kGroup, count - begin);
    std::fill_n(out + begin, rows, pattern);
    for (size_t column = 0; column < columns; ++column) {
      VaryingField& from = varying[column];
      unsigned char* const at = reinterpret_cast<unsigned char*>(out + begin) + from.field->offset;
      const bool whole = from.field->bytes == 8   ? fill_rows<uint64_t>(&from, begin == 0, at, rows)
                         : from.field->bytes == 4 ? fill_rows<uint32_t>(&from, begin == 0, at, rows)
                                                  : fill_rows<uint16_t>(&from, begin == 0, at, rows);
      if (!whole) return false;
    }
  }
  return true;
}

void describe_fields(ByteWriter* out) {
  out->number(std::size(kFields));
  for (const Field& field : kFields) {
    out->text(field.name);
    out->number(field.bytes);
  }
}

bool fields_are_ours(ByteReader* in) {
  uint64_t count = 0;
  if (!in->number(&count) || count != std::size(kFields)) return false;
  for (const Field& field : kFields) {
    std::string name;
    uint64_t bytes = 0;
    if (!in->text(&name) || !in->number(&bytes) || name != field.name || bytes != field.bytes) return false;
  }
  return true;
}

}  // namespace substrata::feed
