// Any bytes as a trace: no crash, no endless loop; with a valid preamble put before them half of the time.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "feed/trace_format.hpp"
#include "feed/trace_reader.hpp"

using namespace substrata::feed;

namespace {

void read_whole(const unsigned char* bytes, size_t count) {
  TraceReader reader("fuzz", std::make_unique<MemoryBytes>(bytes, count));
  if (reader.open() != 0) return;
  TraceReader::Batch batch;
  uint64_t read = 0;
  while (reader.next(&batch) == 0 && batch.count > 0) read += batch.count;
  if (read > reader.transactions()) __builtin_trap();
  if (reader.transactions() > 0) reader.seek(reader.transactions() / 2);
}

// The innermost decoder, which the check sums would otherwise shield.
void decode(const unsigned char* bytes, size_t count) {
  ByteReader in(bytes, count);
  uint32_t probe = 0;
  uint32_t transactions = 0;
  while (decode_segment_head(&in, &probe, &transactions)) {
    std::vector<substrata_transaction> out(transactions);
    if (!decode_segment_body(&in, probe, transactions, out.data())) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, size_t count) {
  if (count == 0) return 0;
  if (bytes[0] % 3 == 0) {
    decode(bytes + 1, count - 1);
  } else if (bytes[0] % 3 == 1) {
    read_whole(bytes + 1, count - 1);
  } else {
    // Chunk headers with right check sums around the fuzzer's payload.
    std::vector<unsigned char> file(16);
    std::memcpy(file.data(), kTraceMagic, sizeof kTraceMagic);
    std::memcpy(file.data() + 8, &kTraceVersion, sizeof kTraceVersion);
    for (size_t at = 1; at + 4 < count;) {
      ChunkHeader header;
      header.type = static_cast<ChunkType>(1 + bytes[at] % 4);
      header.transactions = bytes[at + 1];
      header.raw_bytes = bytes[at + 2];
      header.stored_bytes = bytes[at + 3];
      at += 4;
      unsigned char head[kChunkHeaderBytes];
      encode_chunk_header(header, head);
      file.insert(file.end(), head, head + sizeof head);
      const size_t payload = std::min<size_t>(header.stored_bytes, count - at);
      file.insert(file.end(), bytes + at, bytes + at + payload);
      at += payload;
    }
    read_whole(file.data(), file.size());
  }
  return 0;
}
