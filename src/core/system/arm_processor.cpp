// The main identification register (MIDR_EL1) has numbers only, which /proc/cpuinfo repeats.
#include "core/system/arm_processor.hpp"

#include "base/parse.hpp"

namespace substrata {
namespace {

constexpr int kArm = 7;  // PAPI_VENDOR_ARM, of whom PAPI does not know

struct Implementer {
  int number;  // PAPI's vendor, too, where it knows it
  const char* vendor_name;
};
constexpr Implementer kImplementers[] = {{0x41, "ARM_ARM"},     {0x42, "ARM_BROADCOM"},  {0x43, "ARM_CAVIUM"},
                                         {0x46, "ARM_FUJITSU"}, {0x48, "ARM_HISILICON"}, {0x50, "ARM_APM"},
                                         {0x51, "ARM_QUALCOMM"}};

// Linux, arch/arm64/include/asm/cputype.h.
struct Part {
  int implementer, number;
  const char* name;
};
constexpr Part kParts[] = {
    {0x41, 0xd03, "Cortex-A53"},  {0x41, 0xd05, "Cortex-A55"},  {0x41, 0xd07, "Cortex-A57"},
    {0x41, 0xd08, "Cortex-A72"},  {0x41, 0xd09, "Cortex-A73"},  {0x41, 0xd0a, "Cortex-A75"},
    {0x41, 0xd0b, "Cortex-A76"},  {0x41, 0xd0c, "Neoverse-N1"}, {0x41, 0xd40, "Neoverse-V1"},
    {0x41, 0xd49, "Neoverse-N2"}, {0x41, 0xd4f, "Neoverse-V2"}, {0x41, 0xd84, "Neoverse-V3"},
    {0x42, 0x516, "Vulcan"},      {0x43, 0x0af, "ThunderX2"},   {0x46, 0x001, "A64FX"},
    {0x48, 0xd01, "TSV110"},      {0xc0, 0xac3, "Ampere-1"}};

}  // namespace

void add_arm_processor(std::string_view cpuinfo, HardwareInfo* info) {
  int implementer = 0;
  if (!parse_number(value_of_key(cpuinfo, "CPU implementer"), &implementer)) return;
  info->vendor = kArm;
  info->vendor_name = "ARM_UNKNOWN";
  for (const Implementer& one : kImplementers) {
    if (one.number != implementer) continue;
    info->vendor = implementer;
    info->vendor_name = one.vendor_name;
  }
  parse_number(value_of_key(cpuinfo, "CPU architecture"), &info->family);
  parse_number(value_of_key(cpuinfo, "CPU part"), &info->family_model);
  parse_number(value_of_key(cpuinfo, "CPU variant"), &info->stepping);
  int revision = 0;
  parse_number(value_of_key(cpuinfo, "CPU revision"), &revision);
  info->model = revision;
  info->revision = static_cast<float>(revision);
  for (const Part& part : kParts)
    if (part.implementer == implementer && part.number == info->family_model && info->own_name.empty())
      info->own_name = part.name;
  if (info->model_name.empty()) info->model_name = info->own_name;
}

}  // namespace substrata
