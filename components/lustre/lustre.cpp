// The substrate `lustre`: what this node reads from and writes to each mounted Lustre file system, from the client's
// llite statistics.
#include <substrata/substrate.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/guard.hpp"
#include "sysfs/number_files.hpp"

namespace {

using namespace substrata;
using sysfs::list_folder;

// Where the statistics are: until Lustre 2.11, and since.
constexpr const char* kOldPlace = "/proc/fs/lustre/llite";
constexpr const char* kPlace = "/sys/kernel/debug/lustre/llite";
// Readable for everyone where a file system is mounted, but without statistics.
constexpr const char* kMounted = "/sys/fs/lustre/llite";

// "read_bytes N samples [bytes] least most sum": what PAPI counts is the sum. "read but discarded N" pages.
struct Line {
  const char* name;  // PAPI's, behind the file system's
  const char* file;
  const char* key;
  const char* other_key;
  uint32_t word;
  const char* unit;
  const char* text;
};
constexpr Line kLines[] = {
    {"llread", "stats", "read_bytes ", "", 5, "bytes", "bytes read from"},
    {"llwrite", "stats", "write_bytes ", "", 5, "bytes", "bytes written to"},
    {"wrong_readahead", "read_ahead_stats", "read but discarded ", "read_but_discarded ", 0, "pages",
     "pages read ahead and discarded before use, of"},
};

// The folder of each mounted file system, "<place>/<name>-<address>".
struct FileSystem {
  std::string name;
  std::string folder;
};

std::vector<FileSystem> mounted(const Host& host) {
  std::vector<FileSystem> all;
  for (const char* place : {kOldPlace, kPlace}) {
    const std::string folder = sysfs::below_root(host, place);
    for (const std::string& name : list_folder(folder))
      if (sysfs::KeptFile stats; stats.open(folder + "/" + name + "/stats") != ENOENT)
        all.push_back({name, folder + "/" + name});
    if (!all.empty()) break;
  }
  return all;
}

class FileSystems : public sysfs::NumberFiles {
 public:
  using NumberFiles::NumberFiles;

  static Status detect(const Host& host) {
    if (!mounted(host).empty()) return kSuccess;
    if (!list_folder(sysfs::below_root(host, kMounted)).empty()) {
      return {Code::kPermission, 0,
              "a Lustre file system is mounted, but its statistics below /sys/kernel/debug/lustre cannot be "
              "seen: "
              "debugfs is readable by root only; run as root, or let the administrator open it (chmod a+rx "
              "/sys/kernel/debug; mount -t debugfs none /sys/kernel/debug where it is not mounted)"};
    }
    return {Code::kNoSupport, 0, "no Lustre file system is mounted on this node (mount -t lustre)"};
  }

  Status scan() {
    for (const FileSystem& one : mounted(host_)) {
      for (const Line& line : kLines) {
        sysfs::CatalogueEntry entry;
        entry.name = one.name + "/stats_" + line.name;  // as PAPI's component spells it
        entry.aliases.push_back(one.name + "_" + line.name);
        entry.text = std::string(line.text) + " Lustre file system " + one.name + " by this node";
        entry.unit = line.unit;
        entry.kind = ValueKind::kCount;
        entry.flags = kEventScopeNode;
        sysfs::NumberSource source;
        source.path = one.folder + "/" + line.file;
        source.key = line.key;
        source.other_key = line.other_key;
        source.word = line.word;
        source.zero_without_line = true;
        source.permission =
            " may be read by root only: run as root, or let the administrator open debugfs (chmod a+rx "
            "/sys/kernel/debug)";
        add(std::move(entry), std::move(source));
      }
    }
    catalogue_.index_aliases();
    return kSuccess;
  }
};

constexpr SubstrateTable kTable = sysfs::NumberSlots<FileSystems>::table(
    "lustre", "What this node reads from and writes to Lustre file systems, from llite statistics",
    "*_llread,*_llwrite,*_wrong_readahead");

}  // namespace

SUBSTRATA_PUBLISH(lustre, kTable);
