// The substrate `stealtime`: the time for which a hypervisor let others run on this machine's processors, from
// /proc/stat.
#include <substrata/substrate.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/guard.hpp"
#include "base/parse.hpp"
#include "sysfs/number_files.hpp"

namespace {

using namespace substrata;

constexpr const char* kFile = "/proc/stat";
constexpr uint32_t kSteal = 7;  // user nice system idle iowait irq softirq steal

class Processors : public sysfs::NumberFiles {
 public:
  using NumberFiles::NumberFiles;

  static Status detect(const Host& host) {
    const std::string path = sysfs::below_root(host, kFile);
    if (sysfs::KeptFile file; file.open(path) == 0) return kSuccess;
    return {Code::kNoSupport, 0, "/proc/stat cannot be read: mount /proc"};
  }

  Status scan() {
    std::string text;
    if (!sysfs::read_text(sysfs::below_root(host_, kFile), &text)) {
      const int error = errno;
      return refuse_system(error, "%s cannot be read: %s", kFile, std::strerror(error));
    }
    add("TOTAL", "all processors together", "cpu ");
    for (const std::string& line : split(text, '\n')) {
      const std::string_view word = std::string_view(line).substr(0, line.find(' '));
      int64_t number = 0;
      if (!word.starts_with("cpu") || !parse_integer(word.substr(3), &number)) continue;
      // PAPI counts processors from 1.
      add("CPU" + std::to_string(number + 1), "the kernel's processor " + std::to_string(number),
          std::string(word) + " ");
    }
    return kSuccess;
  }

 private:
  void add(std::string name, const std::string& whose, std::string key) {
    sysfs::CatalogueEntry entry;
    entry.name = std::move(name);
    entry.text = "time for which the hypervisor ran others although " + whose + " had work; 0 on bare metal";
    entry.unit = "us";
    entry.kind = ValueKind::kCount;
    entry.flags = kEventScopeNode;
    sysfs::NumberSource source;
    source.path = sysfs::below_root(host_, kFile);
    source.key = std::move(key);
    source.word = kSteal;
    source.times = 1'000'000;
    source.by = ::sysconf(_SC_CLK_TCK);
    NumberFiles::add(std::move(entry), std::move(source));
  }
};

constexpr SubstrateTable kTable = sysfs::NumberSlots<Processors>::table(
    "stealtime", "Time that a hypervisor took from this machine's processors, from /proc/stat", "TOTAL,CPU*");

}  // namespace

SUBSTRATA_PUBLISH(stealtime, kTable);
