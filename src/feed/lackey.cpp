// Turns the text of valgrind's lackey into a trace.
#include "feed/lackey.hpp"

#include <substrata/result.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/callers_size.hpp"
#include "base/guard.hpp"
#include "feed/trace_writer.hpp"

namespace substrata::feed {
namespace {

constexpr size_t kLongestLine = 4096;
constexpr size_t kBatch = 512;

struct CloseFile {
  void operator()(std::FILE* file) const noexcept {
    if (file != stdin) std::fclose(file);
  }
};

int digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 16;
}

// Collects transactions of two probe points so that each keeps its order and batches stay long.
class Output {
 public:
  explicit Output(TraceWriter& writer) : writer_(writer) {}
  void add(uint32_t probe, const substrata_transaction& transaction) {
    if (probe != probe_ || batch_.size() == kBatch) write();
    probe_ = probe;
    batch_.push_back(transaction);
  }
  void write() {
    if (!batch_.empty()) writer_.append(probe_, batch_.data(), batch_.size());
    batch_.clear();
  }

 private:
  TraceWriter& writer_;
  uint32_t probe_ = 0;
  std::vector<substrata_transaction> batch_;
};

}  // namespace

LackeyLine parse_lackey_line(std::string_view line, substrata_transaction* out) noexcept {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.empty() || line.substr(0, 2) == "==" || line.substr(0, 2) == "--" || line.substr(0, 2) == "**") {
    return LackeyLine::kIgnored;
  }
  uint16_t kind = 0;
  if (line.size() < 3 || line[2] != ' ') {
    return LackeyLine::kMalformed;
  } else if (line[0] == 'I' && line[1] == ' ') {
    kind = SUBSTRATA_FETCH;
  } else if (line[0] == ' ' && line[1] == 'L') {
    kind = SUBSTRATA_READ;
  } else if (line[0] == ' ' && line[1] == 'S') {
    kind = SUBSTRATA_WRITE;
  } else if (line[0] == ' ' && line[1] == 'M') {
    kind = SUBSTRATA_ATOMIC;
  } else {
    return LackeyLine::kMalformed;
  }
  size_t at = 3;
  uint64_t address = 0;
  size_t digits = 0;
  for (; at < line.size() && digit(line[at]) < 16; ++at, ++digits) {
    address = address << 4 | static_cast<uint64_t>(digit(line[at]));
  }
  if (digits == 0 || digits > 16 || at == line.size() || line[at] != ',') return LackeyLine::kMalformed;
  uint64_t size = 0;
  digits = 0;
  for (++at; at < line.size() && digit(line[at]) < 10; ++at, ++digits) {
    size = size * 10 + static_cast<uint64_t>(digit(line[at]));
    if (size > std::numeric_limits<uint32_t>::max()) return LackeyLine::kMalformed;
  }
  if (digits == 0 || at != line.size()) return LackeyLine::kMalformed;
  *out = {};
  out->kind = kind;
  out->address = address;
  out->size = static_cast<uint32_t>(size);
  return LackeyLine::kTransaction;
}

}  // namespace substrata::feed

using namespace substrata;
using namespace substrata::feed;

extern "C" int substrata_import_lackey(const char* text_path, const char* trace_path,
                                       substrata_import_summary* summary) {
  return guarded([&] {
    if (text_path == nullptr || trace_path == nullptr) {
      return fail(Code::kInvalid, "substrata_import_lackey needs a text file and a trace file");
    }
    const bool standard_input = std::strcmp(text_path, "-") == 0;
    const std::unique_ptr<std::FILE, CloseFile> text(standard_input ? stdin : std::fopen(text_path, "re"));
    if (text == nullptr)
      return fail(Code::kSystem, "the text '%s' cannot be opened: %s", text_path, std::strerror(errno));
    TraceWriter writer(trace_path, 16384, 3);
    if (const int refused = writer.open(std::string("valgrind lackey, from ") + text_path)) return refused;
    const uint32_t source =
        writer.add_source({"lackey", "memory accesses of one program under valgrind's lackey",
                           SUBSTRATA_SOURCE_LIVE, SUBSTRATA_TIME_NONE, 0});
    const uint32_t accesses =
        writer.add_probe({"mem.cpu0.accesses", "loads, stores and modifies of the program", source, 0});
    const uint32_t fetches =
        writer.add_probe({"mem.cpu0.fetches", "instruction fetches of the program", source, 0});
    auto imported = substrata::client::sized<substrata_import_summary>();
    Output output(writer);
    char line[kLongestLine];
    uint64_t offset = 0;
    bool malformed = false;
    while (!malformed && std::fgets(line, sizeof line, text.get()) != nullptr) {
      ++imported.lines;
      const uint64_t line_bytes = std::strlen(line);
      size_t length = line_bytes;
      if (length > 0 && line[length - 1] == '\n') {
        --length;
      } else if (std::feof(text.get()) ==
                 0) {  // longer than any of lackey's lines, or with a zero byte in it
        malformed = true;
        continue;
      }
      substrata_transaction transaction;
      switch (parse_lackey_line({line, length}, &transaction)) {
        case LackeyLine::kIgnored:
          ++imported.ignored_lines;
          break;
        case LackeyLine::kMalformed:
          malformed = true;
          continue;
        case LackeyLine::kTransaction:
          transaction.time = imported.transactions++;
          output.add(transaction.kind == SUBSTRATA_FETCH ? fetches : accesses, transaction);
          break;
      }
      offset += line_bytes;
    }
    const bool unreadable = std::ferror(text.get()) != 0;
    output.write();
    int code = writer.finish();
    if (malformed) {
      code = fail(Code::kInvalid,
                  "'%s' line %llu, byte offset %llu, is not of valgrind lackey's --trace-mem=yes; the %llu "
                  "transactions "
                  "before it are in '%s'",
                  text_path, static_cast<unsigned long long>(imported.lines),
                  static_cast<unsigned long long>(offset),
                  static_cast<unsigned long long>(imported.transactions), trace_path);
    } else if (unreadable) {
      code = fail(Code::kSystem, "the text '%s' cannot be read beyond byte offset %llu", text_path,
                  static_cast<unsigned long long>(offset));
    }
    if (summary != nullptr) hand_out(imported, summary);
    return code;
  });
}
