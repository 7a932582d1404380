// Reading traces through the C interface, and replaying them at their probe points.
#include <memory>
#include <string>
#include <vector>

#include <substrata/feed.h>
#include <substrata/result.hpp>

#include "base/callers_size.hpp"
#include "base/glob.hpp"
#include "base/guard.hpp"
#include "feed/registry.hpp"
#include "feed/trace_reader.hpp"

using namespace substrata;
using namespace substrata::feed;

struct substrata_trace {
  explicit substrata_trace(std::unique_ptr<TraceReader> opened) : reader(std::move(opened)) {}
  std::unique_ptr<TraceReader> reader;
};

namespace {

std::unique_ptr<TraceReader> open_reader(const char* path, int* code) {
  std::unique_ptr<FileBytes> bytes = FileBytes::open(path, code);
  if (bytes == nullptr) return nullptr;
  auto reader = std::make_unique<TraceReader>(path, std::move(bytes));
  *code = reader->open();
  return *code == 0 ? std::move(reader) : nullptr;
}

// The publishers of one replay, closed when it ends.
struct Publishers {
  std::vector<substrata_publisher*> all;
  ~Publishers() {
    for (substrata_publisher* publisher : all) substrata_publisher_close(publisher);
  }
};

// What a trace says of a source.
substrata_source_info info_of(const TraceSource& source) {
  auto info = substrata::client::sized<substrata_source_info>();
  info.kind = source.kind;
  info.name = source.name.c_str();
  info.summary = source.summary.c_str();
  info.time_base = source.time_base;
  info.ticks_per_second = source.ticks_per_second;
  return info;
}

// Refuses where there is no such one, or no place for it.
template <typename Item>
int need(const char* what, const std::vector<Item>* listed, uint32_t index, const void* out) {
  const size_t count = listed != nullptr ? listed->size() : 0;
  if (out != nullptr && index < count) return 0;
  return fail(Code::kInvalid, "%s %u of a trace was asked for; it has %zu", what, index, count);
}

int open_publisher(const TraceReader& reader, const TraceProbe& probe, uint32_t* number,
                   substrata_publisher** out) {
  const TraceSource& source = reader.sources()[probe.source];
  auto known = substrata::client::sized<substrata_source_info>();
  bool registered = false;
  for (uint32_t i = 0; !registered && substrata_source_at(i, &known) == 0; ++i) {
    registered = source.name == known.name;
    known.struct_size = sizeof known;
  }
  if (!registered) {
    substrata_source_info info = info_of(source);
    info.kind = SUBSTRATA_SOURCE_TRACE;
    if (const int refused = substrata_source_add(&info)) return refused;
  }
  auto info = substrata::client::sized<substrata_probe_info>();
  info.name = probe.name.c_str();
  info.text = probe.text.c_str();
  info.source = source.name.c_str();
  if (const int refused = substrata_probe_add(&info, number)) return refused;
  return substrata_publisher_open(*number, 1, out);
}

}  // namespace

extern "C" {

int substrata_trace_open(const char* path, substrata_trace** out) {
  return guarded([&] {
    if (path == nullptr || out == nullptr)
      return fail(Code::kInvalid, "substrata_trace_open needs a file and a place for the trace");
    int code = 0;
    std::unique_ptr<TraceReader> reader = open_reader(path, &code);
    if (reader == nullptr) return code;
    *out = std::make_unique<substrata_trace>(std::move(reader)).release();
    return 0;
  });
}

void substrata_trace_close(substrata_trace* trace) { delete trace; }

int substrata_trace_describe(const substrata_trace* trace, substrata_trace_info* out) {
  if (trace == nullptr || out == nullptr)
    return fail(Code::kInvalid, "substrata_trace_describe needs a trace and a place for the info");
  const TraceReader& reader = *trace->reader;
  auto info = substrata::client::sized<substrata_trace_info>();
  info.format_version = kTraceVersion;
  info.probes = static_cast<uint32_t>(reader.probes().size());
  info.complete = reader.complete() ? 1 : 0;
  info.transactions = reader.transactions();
  info.blocks = reader.blocks().size();
  info.file_bytes = reader.file_bytes();
  info.readable_bytes = reader.readable_bytes();
  info.recorded_at_s = reader.recorded_at_s();
  info.comment = reader.comment().c_str();
  info.damage = reader.damage().empty() ? nullptr : reader.damage().c_str();
  hand_out(info, out);
  return 0;
}

int substrata_trace_probe(const substrata_trace* trace, uint32_t index, substrata_probe_info* out) {
  const auto* const all = trace != nullptr ? &trace->reader->probes() : nullptr;
  if (const int refused = need("probe point", all, index, out)) return refused;
  const TraceProbe& probe = (*all)[index];
  auto info = substrata::client::sized<substrata_probe_info>();
  info.number = index;
  info.name = probe.name.c_str();
  info.text = probe.text.c_str();
  info.source = trace->reader->sources()[probe.source].name.c_str();
  info.delivered = probe.transactions;
  hand_out(info, out);
  return 0;
}

int substrata_trace_source(const substrata_trace* trace, uint32_t index, substrata_source_info* out) {
  const auto* const all = trace != nullptr ? &trace->reader->sources() : nullptr;
  if (const int refused = need("source", all, index, out)) return refused;
  substrata_source_info info = info_of((*all)[index]);
  for (const TraceProbe& probe : trace->reader->probes()) info.probe_count += probe.source == index ? 1 : 0;
  hand_out(info, out);
  return 0;
}

int substrata_trace_next(substrata_trace* trace, const substrata_transaction** batch, size_t* count) {
  return guarded([&] {
    if (trace == nullptr || batch == nullptr || count == nullptr) {
      return fail(Code::kInvalid, "substrata_trace_next needs a trace and a place for the batch");
    }
    TraceReader::Batch next;
    const int code = trace->reader->next(&next);
    *batch = next.transactions;
    *count = next.count;
    return code;
  });
}

int substrata_trace_seek(substrata_trace* trace, uint64_t transaction) {
  return guarded([&] {
    if (trace == nullptr) return fail(Code::kInvalid, "substrata_trace_seek needs a trace");
    return trace->reader->seek(transaction);
  });
}

int substrata_replay(const char* path, const char* patterns, substrata_replay_summary* summary) {
  return guarded([&] {
    if (path == nullptr) return fail(Code::kInvalid, "substrata_replay needs a file");
    auto replayed = substrata::client::sized<substrata_replay_summary>();
    int code = 0;
    if (const std::unique_ptr<TraceReader> reader = open_reader(path, &code)) {
      Publishers publishers;
      publishers.all.resize(reader->probes().size());
      for (uint32_t i = 0; i < publishers.all.size() && code == 0; ++i) {
        const TraceProbe& probe = reader->probes()[i];
        if (patterns != nullptr && !any_glob(patterns, probe.name)) continue;
        uint32_t number = 0;
        code = open_publisher(*reader, probe, &number, &publishers.all[i]);
        reader->number_probe(i, number);
        ++replayed.probes;
      }
      while (code == 0) {
        TraceReader::Batch batch;
        code = reader->next(&batch);
        if (code != 0 || batch.count == 0) break;
        substrata_publisher* const publisher = publishers.all[batch.probe];
        if (publisher == nullptr) {
          replayed.skipped += batch.count;
          continue;
        }
        substrata_publish_all(publisher, batch.transactions, batch.count);
        replayed.transactions += batch.count;
        ++replayed.batches;
      }
      replayed.complete = reader->complete() ? 1 : 0;
      substrata_flush();
    }
    if (summary != nullptr) hand_out(replayed, summary);
    return code;
  });
}

}  // extern "C"
