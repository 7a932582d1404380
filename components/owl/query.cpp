// One-liners: a composition in a capsule of its own, whose rows go into a file as lines of JSON.
#include <dlfcn.h>
#include <substrata/owl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <substrata/result.hpp>
#include <vector>

#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/json.hpp"
#include "owl/composition.hpp"
#include "owl/composition_parts.hpp"
#include "owl/library.hpp"
#include "owl/names.hpp"
#include "owl/objects.hpp"
#include "owl/system_call_names.hpp"

using namespace substrata;
using namespace substrata::owl;

// Thread-safe.
struct substrata_owl_query {
  std::shared_ptr<const Composition> composition;
  substrata_owl_capsule* capsule = nullptr;
  substrata_owl_reader* reader = nullptr;
  int file = -1;
  pid_t process = 0;
  std::mutex mutex;  // around the reader, the buffer and the file
  std::vector<unsigned char> packet;
  int error = 0;
};

namespace {

constexpr uint64_t kRingBytes = 16 << 20;

const char* name_of(Shown shown) noexcept {
  return shown == Shown::kLine ? "line" : shown == Shown::kFunction ? "function" : "value";
}
const char* name_of(Aggregate kind) noexcept {
  constexpr const char* kNames[] = {"count", "sum", "avg", "min", "max", "histogram", "quantiles"};
  return kNames[static_cast<size_t>(kind)];
}

void append(std::string& out, uint64_t number) { out += std::to_string(number); }

std::string in_hexadecimal(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "\"0x%llx\"", static_cast<unsigned long long>(value));
  return text;
}

// An instruction as the file it was loaded from and the address in there.
std::string place_of_code(uint64_t address) {
  constexpr uint64_t kKernel = uint64_t{1} << 63;
  if (address >= kKernel) return "\"[kernel]\"";
  Dl_info info{};
  // A return address may be the first of the next function.
  if (address == 0 || dladdr(reinterpret_cast<const void*>(address - 1), &info) == 0 ||
      info.dli_fname == nullptr)
    return in_hexadecimal(address);
  std::string out = "{\"file\":" + json_quoted(info.dli_fname) + ",\"at\":";
  append(out, address - 1 - reinterpret_cast<uint64_t>(info.dli_fbase));
  out += ",\"symbol\":" + json_quoted(info.dli_sname != nullptr ? info.dli_sname : "") + "}";
  return out;
}

// JSON has no number for what is not finite.
std::string real_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, std::isfinite(value) ? "%.17g" : "\"%g\"", value);
  return text;
}

std::string key_text(Shown shown, uint64_t value) {
  switch (shown) {
    case Shown::kNumber:
      return std::to_string(value);
    case Shown::kAddress:
      return in_hexadecimal(value);
    case Shown::kKind:
    case Shown::kState: {
      const std::string name = constant_name(shown == Shown::kKind ? Field::kKind : Field::kState, value);
      return name.empty() ? std::to_string(value) : json_quoted(name);
    }
    case Shown::kProbe: {
      auto info = client::sized<substrata_probe_info>();
      return substrata_probe_at(static_cast<uint32_t>(value), &info) == 0 ? json_quoted(info.name)
                                                                          : std::to_string(value);
    }
    case Shown::kObject:
      return json_quoted(text_of(value));
    case Shown::kRegion: {
      const char* const name = substrata_region_name(static_cast<uint16_t>(value));
      return json_quoted(name != nullptr ? name : "");
    }
    case Shown::kCall: {
      const std::string_view name = system_call_name(value);
      return name.empty() ? std::to_string(value) : json_quoted(std::string(name));
    }
    case Shown::kReal:
      return real_text(std::bit_cast<double>(value));
    case Shown::kLine:
    case Shown::kFunction:
      return place_of_code(value);
  }
  return "0";
}

void append_words(std::string& out, const ValueColumn& column, const uint64_t* words) {
  const uint32_t count = words_of(column.kind);
  if (column.kind == Aggregate::kMinimum) {
    append(out, ~words[0]);
  } else if (count == 1) {
    append(out, words[0]);
  } else if (count == 2) {
    out += "[" + std::to_string(words[0]) + "," + std::to_string(words[1]) + "]";
  } else {  // those that are not 0, by their place
    const char* separator = "{";
    for (uint32_t i = 0; i < count; ++i) {
      if (words[i] == 0) continue;
      out += separator + ("\"" + std::to_string(i) + "\":" + std::to_string(words[i]));
      separator = ",";
    }
    out += *separator == '{' ? "{}" : "}";
  }
}

void write_line(substrata_owl_query& query, const std::string& line) noexcept {
  for (size_t at = 0; at < line.size();) {
    const ssize_t wrote = ::write(query.file, line.data() + at, line.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      query.error = errno;
      return;
    }
    at += static_cast<size_t>(wrote);
  }
}

// What each table holds.
void describe_tables(substrata_owl_query& query) {
  const std::vector<Stage>& stages = query.composition->stages;
  for (size_t i = 0; i < stages.size(); ++i) {
    const Stage& stage = stages[i];
    if (stage.kind != StageKind::kTable) continue;
    std::string line = "{\"table\":" + std::to_string(i) + ",\"keys\":[";
    const char* separator = "";
    if (stage.every.is_set()) {
      line += "{\"name\":\"period\",\"as\":\"value\"}";
      separator = ",";
    }
    for (const KeyColumn& key : stage.keys) {
      line += separator + ("{\"name\":" + json_quoted(key.text) + ",\"as\":\"" + name_of(key.shown) + "\"}");
      separator = ",";
    }
    line += "],\"values\":[";
    separator = "";
    for (const ValueColumn& value : stage.values) {
      line +=
          separator + ("{\"name\":" + json_quoted(value.text) + ",\"op\":\"" + name_of(value.kind) + "\"}");
      separator = ",";
    }
    write_line(query, line + "]}\n");
  }
}

void write_row(substrata_owl_query& query, const substrata_owl_packet& head) {
  const Stage& stage = query.composition->stages[head.stage];
  std::vector<uint64_t> words(head.bytes / 8);
  std::memcpy(words.data(), query.packet.data(), words.size() * 8);
  const size_t keys = stage.keys.size() + (stage.every.is_set() ? 1 : 0);
  if (stage.kind != StageKind::kTable || words.size() != keys + stage.words) return;
  std::string line = "[" + std::to_string(head.stage) + ",[";
  for (size_t k = 0; k < keys; ++k) {
    const size_t own = stage.every.is_set() ? k - 1 : k;
    if (k != 0) line += ",";
    line +=
        stage.every.is_set() && k == 0 ? std::to_string(words[0]) : key_text(stage.keys[own].shown, words[k]);
  }
  line += "],[";
  const uint64_t* at = words.data() + keys;
  for (const ValueColumn& value : stage.values) {
    if (&value != stage.values.data()) line += ",";
    append_words(line, value, at);
    at += words_of(value.kind);
  }
  write_line(query, line + "]]\n");
}

// Takes what lies in the ring.
void drain(substrata_owl_query& query) {
  const std::lock_guard lock(query.mutex);
  substrata_owl_packet head{};
  while (substrata_owl_reader_peek(query.reader, &head, query.packet.data(), query.packet.size()) == 1) {
    write_row(query, head);
    substrata_owl_reader_consume(query.reader);
  }
}

int start(std::string_view text, const std::string& origin, int file, substrata_owl_query** out) {
  auto query = std::make_unique<substrata_owl_query>();
  if (const int refused = compose_query(text, origin, true, &query->composition)) return refused;
  auto options = client::sized<substrata_owl_capsule_options>();
  options.name = query->composition->name.c_str();
  options.module = options.name;
  options.probes = query->composition->probes.c_str();
  options.ring_bytes = kRingBytes;
  options.near_full_percent = 50;
  options.budget = {1u << 30, uint64_t{1} << 50, 1u << 30};
  const int attached = substrata_owl_attach(&options, &query->capsule);
  static_cast<void>(remove_module(options.module));
  if (attached != 0) return attached;
  query->packet.resize(SUBSTRATA_OWL_MOST_PACKET);
  query->file = file;
  query->process = ::getpid();
  int refused = substrata_owl_reader_open(substrata_owl_ring_path(query->capsule), 0, &query->reader);
  if (refused == 0) {
    describe_tables(*query);
    refused = substrata_owl_on_near_full(
        query->capsule,
        [](void* owner, substrata_owl_capsule*) {
          guarded([&] {
            drain(*static_cast<substrata_owl_query*>(owner));
            return 0;
          });
        },
        query.get());
  }
  if (refused == 0) refused = substrata_owl_start(query->capsule);
  if (refused != 0) {
    substrata_owl_detach(query->capsule);
    substrata_owl_reader_close(query->reader);
    return refused;
  }
  *out = query.release();
  return 0;
}

int write_all(substrata_owl_query& query) {
  if (const int refused = substrata_owl_write_back(query.capsule)) return refused;
  drain(query);
  return query.error == 0 ? 0
                          : fail(Code::kSystem, "the rows cannot be written: %s", std::strerror(query.error));
}

// The last line: how much was seen, and lost on the way.
void write_end(substrata_owl_query& query) {
  auto counted = client::sized<substrata_owl_statistics>();
  if (substrata_owl_read_statistics(query.capsule, &counted) != 0) return;
  const std::lock_guard lock(query.mutex);
  write_line(query, "{\"end\":true,\"process\":" + std::to_string(query.process) +
                        ",\"seen\":" + std::to_string(counted.events_seen) +
                        ",\"dropped\":" + std::to_string(counted.dropped) + "}\n");
}

}  // namespace

extern "C" {

int substrata_owl_query_start(const char* text, size_t bytes, const char* origin, int file,
                              substrata_owl_query** out) {
  return guarded([&] {
    if (text == nullptr || out == nullptr)
      return fail(Code::kInvalid, "there is no text, or no place for the query");
    return start({text, bytes}, origin != nullptr ? origin : "query", file, out);
  });
}

int substrata_owl_query_check(const char* text, size_t bytes, const char* origin, char* probes,
                              size_t capacity) {
  return guarded([&] {
    std::shared_ptr<const Composition> made;
    if (text == nullptr) return fail(Code::kInvalid, "there is no text");
    if (const int refused = compose_query({text, bytes}, origin != nullptr ? origin : "query", false, &made))
      return refused;
    if (probes != nullptr && capacity != 0) {
      const size_t length = std::min(capacity - 1, made->probes.size());
      std::memcpy(probes, made->probes.data(), length);
      probes[length] = '\0';
    }
    return 0;
  });
}

int substrata_owl_query_write(substrata_owl_query* query) {
  return guarded([&] {
    if (query == nullptr) return fail(Code::kInvalid, "there is no query");
    return write_all(*query);
  });
}

int substrata_owl_query_stop(substrata_owl_query* query) {
  return guarded([&] {
    if (query == nullptr) return 0;
    const std::unique_ptr<substrata_owl_query> ended(query);
    static_cast<void>(substrata_owl_stop(query->capsule));
    const int refused = write_all(*query);
    write_end(*query);
    substrata_owl_detach(query->capsule);
    substrata_owl_reader_close(query->reader);
    return refused;
  });
}
}
