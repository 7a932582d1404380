// The substrate `powercap_ppc`: the power cap of a POWER9 or POWER10 machine, from its OPAL firmware.
#include <substrata/substrate.h>

#include <string>
#include <utility>

#include "base/guard.hpp"
#include "sysfs/number_files.hpp"

namespace {

using namespace substrata;

constexpr const char* kFolder = "/sys/firmware/opal/powercap/system-powercap";

constexpr sysfs::Quantity kQuantities[] = {
    {"MIN_POWER", "powercap-min", "W", "lowest power cap that the machine takes"},
    {"MAX_POWER", "powercap-max", "W", "highest power cap that the machine takes"},
    {"CURRENT_POWER", "powercap-current", "W", "power cap that is set now (not the power that is used)",
     false, true},
};

class Cap : public sysfs::NumberFiles {
 public:
  using NumberFiles::NumberFiles;

  static Status detect(const Host& host) {
    if (!sysfs::list_folder(sysfs::below_root(host, kFolder)).empty()) return kSuccess;
    return {
        Code::kNoSupport, 0,
        "no /sys/firmware/opal/powercap: only POWER9 and POWER10 machines whose Linux runs on OPAL, not in a "
        "partition, have it"};
  }

  Status scan() {
    const std::string folder = sysfs::below_root(host_, kFolder) + "/";
    for (const sysfs::Quantity& quantity : kQuantities) {
      sysfs::CatalogueEntry entry;
      entry.name = quantity.name;
      entry.text = quantity.text;
      entry.unit = quantity.unit;
      entry.flags = kEventScopeNode;
      sysfs::NumberSource source;
      source.path = folder + quantity.file;
      if (quantity.is_written) {
        source.written = source.path;
        sysfs::read_integer(folder + "powercap-min", &source.least);
        sysfs::read_integer(folder + "powercap-max", &source.most);
      }
      add(std::move(entry), std::move(source));
    }
    return kSuccess;
  }
};

constexpr SubstrateTable kTable =
    sysfs::NumberSlots<Cap>::table("powercap_ppc", "The power cap of a POWER machine, from its OPAL firmware",
                                   "MIN_POWER,MAX_POWER,CURRENT_POWER");

}  // namespace

SUBSTRATA_PUBLISH(powercap_ppc, kTable);
