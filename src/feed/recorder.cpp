// The recorder: an observer that writes what it sees into a trace file.
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <substrata/feed.h>
#include <substrata/result.hpp>

#include "base/callers_size.hpp"
#include "base/glob.hpp"
#include "base/guard.hpp"
#include "feed/registry.hpp"
#include "feed/trace_writer.hpp"

using namespace substrata;
using namespace substrata::feed;

struct substrata_recorder {
  std::mutex mutex;  // a flush by one thread, a batch in another
  std::unique_ptr<TraceWriter> writer;
  substrata_observer* observer = nullptr;
  std::vector<uint32_t> indices;  // by process probe number: index in the file + 1
  bool out_of_memory = false;
};

namespace {

uint32_t index_of_probe(substrata_recorder& recorder, uint16_t number) {
  if (recorder.indices.size() <= number) recorder.indices.resize(number + 1u);
  uint32_t& index = recorder.indices[number];
  if (index != 0) return index - 1;
  auto probe = substrata::client::sized<substrata_probe_info>();
  substrata_probe_at(number, &probe);
  uint32_t source_index = 0;
  const std::vector<TraceSource>& known = recorder.writer->sources();
  while (source_index < known.size() && known[source_index].name != probe.source) ++source_index;
  if (source_index == known.size()) {
    auto source = substrata::client::sized<substrata_source_info>();
    for (uint32_t i = 0; substrata_source_at(i, &source) == 0; ++i) {
      if (std::string_view(source.name) == probe.source) break;
      source.struct_size = sizeof source;
    }
    recorder.writer->add_source(
        {source.name, source.summary, source.kind, source.time_base, source.ticks_per_second});
  }
  index = recorder.writer->add_probe({probe.name, probe.text, source_index, 0}) + 1;
  return index - 1;
}

void record(void* owner, const substrata_transaction* batch, size_t count) {
  auto& recorder = *static_cast<substrata_recorder*>(owner);
  const std::lock_guard lock(recorder.mutex);
  if (recorder.out_of_memory) return;
  try {
    recorder.writer->append(index_of_probe(recorder, batch[0].probe), batch, count);
  } catch (...) {
    recorder.out_of_memory = true;
  }
}

}  // namespace

extern "C" {

int substrata_record_start(const char* path, const char* patterns, const substrata_record_options* options,
                           substrata_recorder** out) {
  return guarded([&] {
    if (path == nullptr || patterns == nullptr || *patterns == '\0' || out == nullptr) {
      return fail(
          Code::kInvalid,
          "substrata_record_start needs a file, a pattern of probe points and a place for the recorder");
    }
    substrata_record_options wanted = taken_in(options);
    if (wanted.block_transactions == 0) wanted.block_transactions = 16384;
    if (wanted.compression_level == 0) wanted.compression_level = 3;
    if (wanted.block_transactions > kMostSegmentTransactions || wanted.compression_level < 1 ||
        wanted.compression_level > 19) {
      return fail(Code::kInvalid,
                  "a recording with blocks of %u transactions at level %d was asked for; at most %u, 1 to 19",
                  wanted.block_transactions, wanted.compression_level, kMostSegmentTransactions);
    }
    if (!has_wildcard(patterns)) {  // so that a wrong name does not replace a file
      bool any = false;
      Registry& all = registry();
      const std::lock_guard lock(all.mutex);
      for (const Probe& probe : all.probes) any = any || any_glob(patterns, probe.name);
      if (!any)
        return fail(Code::kNoEvent, "there is no probe point '%s'; `substrata probes` lists them", patterns);
    }
    auto recorder = std::make_unique<substrata_recorder>();
    recorder->writer =
        std::make_unique<TraceWriter>(path, wanted.block_transactions, wanted.compression_level);
    if (const int refused = recorder->writer->open(wanted.comment != nullptr ? wanted.comment : ""))
      return refused;
    if (const int refused = substrata_observer_create(record, recorder.get(), 0, &recorder->observer))
      return refused;
    if (const int refused = substrata_subscribe(recorder->observer, patterns)) {
      substrata_observer_destroy(recorder->observer);
      return refused;
    }
    *out = recorder.release();
    return 0;
  });
}

int substrata_record_flush(substrata_recorder* recorder) {
  return guarded([&] {
    if (recorder == nullptr) return fail(Code::kInvalid, "substrata_record_flush needs a recorder");
    substrata_flush();
    const std::lock_guard lock(recorder->mutex);
    recorder->writer->write_block();
    return 0;
  });
}

int substrata_record_stop(substrata_recorder* recorder, substrata_record_summary* summary) {
  if (recorder == nullptr) return fail(Code::kInvalid, "substrata_record_stop needs a recorder");
  const std::unique_ptr<substrata_recorder> ending(recorder);
  substrata_flush();
  substrata_observer_destroy(ending->observer);
  return guarded([&] {
    const int code = ending->writer->finish();
    if (summary != nullptr) {
      auto written = substrata::client::sized<substrata_record_summary>();
      written.probes = static_cast<uint32_t>(ending->writer->probes().size());
      written.transactions = ending->writer->transactions();
      written.blocks = ending->writer->blocks();
      written.file_bytes = ending->writer->file_bytes();
      hand_out(written, summary);
    }
    if (ending->out_of_memory)
      return fail(Code::kNoMemory,
                  "the recording ended early for want of memory; the file reads up to there");
    return code;
  });
}

}  // extern "C"
