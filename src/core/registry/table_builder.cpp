// Checks a published table and fills its optional slots.
#include "core/registry/table_builder.hpp"

#include <cstddef>
#include <cstring>

namespace substrata {
namespace {

Status default_detect(const Host*) noexcept { return kSuccess; }
Status default_open(const Host*, Device** out) noexcept {
  *out = nullptr;
  return kSuccess;
}
void default_close(Device*) noexcept {}
Status default_attach(Device*, Thread** out) noexcept {
  *out = nullptr;
  return kSuccess;
}
void default_detach(Device*, Thread*) noexcept {}
// kNoSupport, not kComponent: what PAPI's perf_event answers to PAPI_write on a running set.
Status default_write(Set*, const int64_t*) noexcept {
  return Status{Code::kNoSupport, 0, "the counters of this component cannot be written while they run"};
}
bool default_fast_reads(Device*) noexcept { return true; }
const char* default_units(Device*) noexcept { return ""; }

bool good_name(const char* name) {
  const size_t length = std::strlen(name);
  if (length == 0 || length > 63) return false;
  for (size_t i = 0; i < length; ++i) {
    const char c = name[i];
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
  }
  return true;
}

}  // namespace

Result<SubstrateTable> build_table(EntryPoint* entry, const Host& host, const char* origin) {
  if (entry == nullptr) return refuse(Code::kInvalid, "%s: no entry point", origin);
  SubstrateTable table{};
  const int32_t answer = entry(&host, &table);
  if (answer != 0) {
    return refuse(Code::kInvalid,
                  "%s: built for version %d of the substrate interface, this library has %u; rebuild it",
                  origin, static_cast<int>(-answer), static_cast<unsigned>(kSubstrateAbi));
  }
  if (table.abi != kSubstrateAbi) {
    return refuse(Code::kInvalid, "%s: its table says interface version %u, this library has %u; rebuild it",
                  origin, static_cast<unsigned>(table.abi), static_cast<unsigned>(kSubstrateAbi));
  }
  // The required slots end with reset; a table cut before it is not one.
  if (table.struct_size < offsetof(SubstrateTable, write)) {
    return refuse(Code::kInvalid, "%s: its table has %u bytes, too few to hold the required slots", origin,
                  static_cast<unsigned>(table.struct_size));
  }
  if (table.name == nullptr || !good_name(table.name)) {
    return refuse(Code::kInvalid,
                  "%s: the name of a substrate is 1 to 63 characters of a-z, 0-9 and '_', not \"%.80s\"",
                  origin, table.name == nullptr ? "" : table.name);
  }
  struct Required {
    bool present;
    const char* slot;
  };
  const Required required[] = {{table.event_count != nullptr, "event_count"},
                               {table.event_at != nullptr, "event_at"},
                               {table.create_set != nullptr, "create_set"},
                               {table.destroy_set != nullptr, "destroy_set"},
                               {table.program != nullptr, "program"},
                               {table.start != nullptr, "start"},
                               {table.stop != nullptr, "stop"},
                               {table.read != nullptr, "read"},
                               {table.reset != nullptr, "reset"}};
  for (const Required& slot : required) {
    if (!slot.present)
      return refuse(Code::kInvalid, "%s: the required slot %s of substrate %s is empty", origin, slot.slot,
                    table.name);
  }
  if (table.open == nullptr && table.close != nullptr) {
    return refuse(Code::kInvalid, "%s: substrate %s has close without open", origin, table.name);
  }
  if ((table.arm == nullptr) != (table.disarm == nullptr)) {
    return refuse(Code::kInvalid, "%s: substrate %s has only one of arm and disarm", origin, table.name);
  }
  if ((table.traits & kReadBlocks) != 0 && table.read_bound_ns <= 0) {
    return refuse(Code::kInvalid, "%s: reads of substrate %s may block, but it does not say how long", origin,
                  table.name);
  }
  if ((table.default_domain & ~table.domains) != 0 ||
      (table.default_granularity & ~table.granularities) != 0) {
    return refuse(Code::kInvalid,
                  "%s: the default domain or granularity of substrate %s is not one of its own", origin,
                  table.name);
  }
  if (table.short_name == nullptr) table.short_name = table.name;
  if (table.summary == nullptr) table.summary = "";
  if (table.version == nullptr) table.version = "";
  if (table.detect == nullptr) table.detect = default_detect;
  if (table.open == nullptr) table.open = default_open;
  if (table.close == nullptr) table.close = default_close;
  if (table.attach == nullptr) table.attach = default_attach;
  if (table.detach == nullptr) table.detach = default_detach;
  if (table.write == nullptr) table.write = default_write;
  if (table.fast_reads == nullptr) table.fast_reads = default_fast_reads;
  if (table.units == nullptr) table.units = default_units;
  return table;
}

}  // namespace substrata
