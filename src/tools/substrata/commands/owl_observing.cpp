// Prepares a command for a query, and reads the files of its processes.
#include "tools/substrata/commands/owl_observing.hpp"

#include <substrata/owl.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include "base/nearest.hpp"
#include "recording/sampler/mpi_launching.hpp"

namespace substrata::tool {
namespace {

namespace fs = std::filesystem;

bool names(const std::string& probes, const std::string& begin) {
  return probes.starts_with(begin) || probes.find("," + begin) != std::string::npos;
}

bool has_any(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return text.find(word) != std::string::npos; });
}
// Accesses come with their code and their values only where these are needed, since that takes longer.
bool wants_sites(const std::string& text) { return has_any(text, {"line", "function", "site"}); }
bool wants_values(const std::string& text) { return has_any(text, {"value", "real"}); }

// A word that is neither a stream nor like a probe point's name.
std::string meant_stream(const std::string& probes) {
  constexpr std::string_view kStreams[] = {"mem.accesses",   "mem.l1-l2",    "mem.l2-memory", "mpi.send",
                                           "mpi.receive",    "mpi.contents", "page-faults",   "samples",
                                           "memory-samples", "switches",     "syscalls",      "io",
                                           "counters"};
  const std::string_view meant = nearest(probes, kStreams);
  return meant.empty() ? "" : "; did you mean '" + std::string(meant) + "'?";
}

}  // namespace

std::string probes_of_query(const OwlRequest& request) {
  char probes[4096];
  if (substrata_owl_query_check(request.text.data(), request.text.size(), request.origin.c_str(), probes,
                                sizeof probes) != 0)
    throw std::runtime_error(substrata_owl_error());
  return probes;
}

std::string cure_of_nothing(const std::string& probes) {
  if (names(probes, "mem."))
    return ": compile it with substrata-cc, substrata-c++ or substrata-fc (docs/guide/memory_accesses.md)";
  if (names(probes, "mpi-contents"))
    return ": these are point-to-point messages of an MPI program; 'mpi.send' also has those of collective "
           "calls";
  if (names(probes, "mpi")) return ": is it an MPI program, started by its launcher?";
  if (names(probes, "io."))
    return ": what the C library or a static program transfers by itself is not seen; 'syscalls' sees all";
  if (names(probes, "counter.")) return ": `substrata owl --counters EVENTS` says which are read";
  return names(probes, "os.") ? "" : meant_stream(probes);
}

OwlObserving::OwlObserving(const OwlRequest& request)
    : probes_(probes_of_query(request)),
      environment_{
          {"SUBSTRATA_OWL_QUERY", request.text},
          {"SUBSTRATA_OWL_OUT", folder_.path().string()},
          {"SUBSTRATA_OWL_FOLLOW", request.follow},
          {"SUBSTRATA_OWL_COUNTERS", request.counters},
          {"SUBSTRATA_OWL_INTERVAL", request.interval != 0 ? std::to_string(request.interval) : ""},
          {"SUBSTRATA_MEMORY_SITES", wants_sites(request.text) ? "1" : ""},
          {"SUBSTRATA_MEMORY_OBJECTS", has_any(request.text, {"object"}) ? "1" : ""},
          {"SUBSTRATA_MEMORY_VALUES", wants_values(request.text) ? "1" : ""},
          {"SUBSTRATA_OWL_PROGRESS", request.progress_ms != 0 ? std::to_string(request.progress_ms) : ""}} {
  const fs::path library = sampler::library_beside("libsubstrata_owl.so");
  if (library.empty()) throw std::runtime_error("there is no libsubstrata_owl.so beside this program");
  preload_ = library.string();
  if (!observes("io.")) return;
  const fs::path calls = sampler::library_beside("libsubstrata_appio.so");
  if (!calls.empty()) preload_ += ":" + calls.string();
}

bool OwlObserving::observes(const std::string& stream) const { return names(probes_, stream); }

void OwlObserving::take(OwlTables* tables) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path())) {
    std::streamoff& at = taken_[entry.path()];
    std::ifstream file(entry.path(), std::ios::binary);
    file.seekg(at);
    std::string lines((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    lines.resize(lines.rfind('\n') == std::string::npos ? 0 : lines.rfind('\n') + 1);
    at += static_cast<std::streamoff>(lines.size());
    tables->take(lines);
  }
}

}  // namespace substrata::tool
