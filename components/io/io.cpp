// The substrate `io`: what the process has read and written since it began, from /proc/self/io.
#include <substrata/substrate.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/guard.hpp"
#include "sysfs/number_files.hpp"

namespace {

using namespace substrata;

constexpr const char* kFile = "/proc/self/io";

// The lines of the file (Documentation/filesystems/proc.rst of the Linux kernel).
struct Line {
  const char* name;
  const char* unit;
  const char* text;
};
constexpr Line kLines[] = {
    {"rchar", "bytes", "bytes that read calls of the process have given, from files, pipes and terminals"},
    {"wchar", "bytes", "bytes that write calls of the process have taken, to files, pipes and terminals"},
    {"syscr", "calls", "read calls of the process"},
    {"syscw", "calls", "write calls of the process"},
    {"read_bytes", "bytes", "bytes fetched from storage for the process"},
    {"write_bytes", "bytes", "bytes that the process has given to be written to storage"},
    {"cancelled_write_bytes", "bytes",
     "bytes given to be written to storage that a truncation made unnecessary"},
};

class Accounts : public sysfs::NumberFiles {
 public:
  using NumberFiles::NumberFiles;

  static Status detect(const Host& host) {
    std::string text;
    const std::string path = sysfs::below_root(host, kFile);
    if (sysfs::read_text(path, &text)) return kSuccess;
    const int error = errno;
    return refuse(
        Code::kNoSupport, error,
        "%s cannot be read (%s): mount /proc; the kernel must be built with CONFIG_TASK_IO_ACCOUNTING",
        path.c_str(), std::strerror(error));
  }

  Status scan() {
    for (const Line& line : kLines) {
      sysfs::CatalogueEntry entry;
      entry.name = line.name;
      entry.text = std::string(line.text) + ", since it began";
      entry.unit = line.unit;
      entry.flags = kEventScopeProcess;
      sysfs::NumberSource source;
      source.path = sysfs::below_root(host_, kFile);
      source.key = std::string(line.name) + ":";
      add(std::move(entry), std::move(source));
    }
    return kSuccess;
  }
};

constexpr SubstrateTable kTable = sysfs::NumberSlots<Accounts>::table({
    .name = "io",
    .summary = "What the process has read and written since it began, from /proc/self/io",
    .default_granularity = kGranularityProcess,
    .granularities = kGranularityProcess,
    .event_names = "rchar,wchar,syscr,syscw,read_bytes,write_bytes,cancelled_write_bytes",
});

}  // namespace

SUBSTRATA_PUBLISH(io, kTable);
