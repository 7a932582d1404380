// Any bytes as a recording: no crash, no endless loop, in the reader and in everything that is made from what it
// read. Half of the inputs become payloads of chunks whose check sums are right.
#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "recording/bytes.hpp"
#include "recording/exports.hpp"
#include "recording/format.hpp"
#include "recording/html_report.hpp"
#include "recording/reader.hpp"
#include "recording/reduction.hpp"
#include "recording/statistics.hpp"
#include "recording/text_report.hpp"
#include "recording/thinning.hpp"

using namespace substrata::recording;

namespace {

// As the reader does with a long recording, but from the fourth row on.
void thin(Recording& recording) {
  const std::size_t rows = recording.rows();
  for (Writer& writer : recording.writers) {
    Thinning thinning;
    for (int i = 0; i < 2; ++i) thinning.halve(writer, 4);
    for (const SampleSet& set : writer.sets)
      for (std::size_t i = 0; i < set.series_count; ++i)
        if (const Series& one = writer.series[set.first_series + i];
            one.values.size() != set.times.size() || one.flags.size() != set.times.size())
          std::abort();
  }
  if (recording.rows() != rows) std::abort();
}

// `what` chooses one of what is made from a record: all of them take a thousand times as long as the reading.
void look_at(const unsigned char* bytes, std::size_t count, unsigned what) {
  Recording recording = parse(bytes, count);
  if (count % 2 == 1) thin(recording);
  const Timeline timeline = lay_out(recording);
  if (recording.writers.empty()) return;
  std::ostringstream out;
  switch (what % 8) {
    case 0:
      return write_text_report(out, timeline, "fuzz");
    case 1:
      return write_html_report(out, timeline, "fuzz");
    case 2:
      return export_csv(out, timeline);
    case 3:
      return export_json(out, timeline);
    case 4:
      return export_perfetto(out, timeline);
    case 5:
      return export_openmetrics(out, timeline);
    case 6:
      cut_out(timeline, timeline.seconds / 3, timeline.seconds / 2);
      break;
    default:
      break;
  }
  Reduction sum, back;
  try {
    sum.add(timeline);
    sum.add(timeline);
  } catch (const std::runtime_error&) {
  }
  const std::vector<unsigned char> encoded = sum.encode().bytes();
  ByteReader in(encoded.data(), encoded.size());
  back.decode(in);
  ByteReader wild(bytes, count);
  back.decode(wild);
  if (timeline.traces.size() < 2) return;
  try {
    correlate(curve_of(timeline.traces[0]), curve_of(timeline.traces[1]));
  } catch (const std::runtime_error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t count) {
  if (count == 0) return 0;
  if (bytes[0] % 2 == 0) {
    look_at(bytes + 1, count - 1, bytes[0] / 2);
    return 0;
  }
  std::vector<unsigned char> file;
  std::uint32_t sequence = 0;
  for (std::size_t at = 1; at + 2 < count;) {
    ChunkHeader header;
    header.type = static_cast<ChunkType>(1 + bytes[at] % 8);
    const std::size_t payload = std::min<std::size_t>(bytes[at + 1], count - at - 2);
    header.writer = bytes[at] / 8 % 2;
    header.sequence = sequence++;
    header.payload_bytes = static_cast<std::uint32_t>(payload);
    header.payload_check = check_sum(bytes + at + 2, payload);
    unsigned char head[kChunkHeaderBytes];
    encode_chunk_header(header, head);
    file.insert(file.end(), head, head + sizeof head);
    file.insert(file.end(), bytes + at + 2, bytes + at + 2 + payload);
    at += 2 + payload;
  }
  look_at(file.data(), file.size(), bytes[0] / 2);
  return 0;
}
