// The shared output and walks of the utilities, over papi.h alone.
#include "tools/papi_utilities/listing.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tools/arguments/failing.hpp"

namespace substrata::utilities {

void start_library() {
  fail_loudly();
  const int version = PAPI_library_init(PAPI_VER_CURRENT);
  if (version == PAPI_VER_CURRENT) return;
  std::fprintf(stderr, "the library does not start: %s\n", message(version).c_str());
  std::exit(1);
}

std::string message(int code) {
  const char* text = PAPI_strerror(code);
  return text != nullptr ? text : "error " + std::to_string(code);
}

bool describe(const char* utility, const std::string& name, PAPI_event_info_t* info) {
  int code = 0;
  int status = PAPI_event_name_to_code(name.c_str(), &code);
  if (status == PAPI_OK) status = PAPI_get_event_info(code, info);
  if (status == PAPI_OK) return true;
  std::fprintf(stderr, "%s: %s: %s\n", utility, name.c_str(), message(status).c_str());
  return false;
}

void print_rule(int width, char of) {
  for (int i = 0; i < width; ++i) std::putchar(of);
  std::putchar('\n');
}

void print_machine(const char* title) {
  std::printf("%s\n", title);
  print_rule(80);
  const int version = PAPI_get_opt(PAPI_LIB_VERSION, nullptr);
  std::printf("%-25s: %d.%d.%d.%d\n", "PAPI version", PAPI_VERSION_MAJOR(version),
              PAPI_VERSION_MINOR(version), PAPI_VERSION_REVISION(version), PAPI_VERSION_INCREMENT(version));
  utsname system{};
  if (uname(&system) == 0) std::printf("%-25s: %s %s\n", "Operating system", system.sysname, system.release);
  if (const PAPI_hw_info_t* hardware = PAPI_get_hardware_info(); hardware != nullptr) {
    std::printf("%-25s: %s (%d, 0x%x)\n", "Vendor string and code", hardware->vendor_string, hardware->vendor,
                static_cast<unsigned>(hardware->vendor));
    std::printf("%-25s: %s (%d, 0x%x)\n", "Model string and code", hardware->model_string, hardware->model,
                static_cast<unsigned>(hardware->model));
    std::printf("%-25s: %f\n", "CPU revision", static_cast<double>(hardware->revision));
    if (hardware->cpuid_family > 0)
      std::printf("%-25s: Family/Model/Stepping %d/%d/%d, 0x%02x/0x%02x/0x%02x\n", "CPUID",
                  hardware->cpuid_family, hardware->cpuid_model, hardware->cpuid_stepping,
                  static_cast<unsigned>(hardware->cpuid_family), static_cast<unsigned>(hardware->cpuid_model),
                  static_cast<unsigned>(hardware->cpuid_stepping));
    std::printf("%-25s: %d\n", "CPU Max MHz", hardware->cpu_max_mhz);
    std::printf("%-25s: %d\n", "CPU Min MHz", hardware->cpu_min_mhz);
    std::printf("%-25s: %d\n", "Total cores", hardware->totalcpus);
    std::printf("%-25s: %d\n", "SMT threads per core", hardware->threads);
    std::printf("%-25s: %d\n", "Cores per socket", hardware->cores);
    std::printf("%-25s: %d\n", "Sockets", hardware->sockets);
    std::printf("%-25s: %d\n", "Cores per NUMA region", hardware->ncpu);
    std::printf("%-25s: %d\n", "NUMA regions", hardware->nnodes);
    std::printf("%-25s: %s\n", "Running in a VM", hardware->virtualized != 0 ? "yes" : "no");
    if (hardware->virtualized != 0) std::printf("%-25s: %s\n", "VM Vendor", hardware->virtual_vendor_string);
  } else {
    std::printf("%-25s: unknown, it cannot be read now\n", "Processor");
  }
  std::printf("%-25s: %d\n", "Number Hardware Counters", PAPI_get_opt(PAPI_MAX_HWCTRS, nullptr));
  std::printf("%-25s: %d\n", "Max Multiplex Counters", PAPI_get_opt(PAPI_MAX_MPX_CTRS, nullptr));
  if (const PAPI_component_info_t* processor = PAPI_get_component_info(0); processor != nullptr)
    std::printf("%-25s: %s\n", "Fast counter read (rdpmc)", processor->fast_counter_read != 0 ? "yes" : "no");
  print_rule(80);
  std::printf("\n");
}

namespace {

std::vector<int> walk(int first, int component, int modifier) {
  std::vector<int> codes;
  int code = first;
  const auto next = [&](int how) {
    return component < 0 ? PAPI_enum_event(&code, how) : PAPI_enum_cmp_event(&code, how, component);
  };
  if (next(PAPI_ENUM_FIRST) != PAPI_OK) return codes;
  do codes.push_back(code);
  while (next(modifier) == PAPI_OK);
  return codes;
}

}  // namespace

std::vector<int> native_events(int component) { return walk(PAPI_NATIVE_MASK, component, PAPI_ENUM_EVENTS); }
std::vector<int> presets() { return walk(PAPI_PRESET_MASK, -1, PAPI_ENUM_EVENTS); }
std::vector<int> user_events() { return walk(PAPI_UE_MASK, -1, PAPI_ENUM_EVENTS); }

std::vector<int> qualifiers(int native, int component) {
  std::vector<int> codes;
  int code = native;
  while (PAPI_enum_cmp_event(&code, PAPI_NTV_ENUM_UMASKS, component) == PAPI_OK) codes.push_back(code);
  return codes;
}

Qualifier own_part(const PAPI_event_info_t& info, const std::string& event) {
  Qualifier own{info.symbol, info.long_descr};
  if (own.name.rfind(event, 0) == 0) own.name.erase(0, event.size());
  // PAPI writes the event's text, this mark, and then the qualifier's.
  constexpr const char* kMark = ", masks:";
  if (const std::size_t at = own.text.find(kMark); at != std::string::npos)
    own.text.erase(0, at + std::strlen(kMark));
  return own;
}

void print_qualifiers(const PAPI_event_info_t& event, const char* before) {
  const int code = static_cast<int>(event.event_code);
  const std::vector<int> codes = qualifiers(code, PAPI_get_event_component(code));
  if (!codes.empty()) std::printf("%sQualifiers:         Name -- Description\n", before);
  for (const int qualifier : codes) {
    PAPI_event_info_t info;
    if (PAPI_get_event_info(qualifier, &info) != PAPI_OK) continue;
    const Qualifier own = own_part(info, event.symbol);
    std::printf("      Info: %12s -- %s\n", own.name.c_str(), own.text.c_str());
  }
}

namespace {

constexpr std::size_t kBoxWidth = 78;  // between the bars

// Text in the box, broken at spaces where it can be.
void print_boxed(std::size_t indent, const std::string& text) {
  const std::size_t width = kBoxWidth - indent;
  std::size_t at = 0;
  do {
    std::size_t length = std::min(width, text.size() - at);
    if (at + length < text.size())
      if (const std::size_t space = text.rfind(' ', at + length); space != std::string::npos && space > at)
        length = space - at;
    std::printf("|%*s%-*s|\n", static_cast<int>(indent), "", static_cast<int>(width),
                text.substr(at, length).c_str());
    at += length;
    while (at < text.size() && text[at] == ' ') ++at;
  } while (at < text.size());
}

}  // namespace

unsigned print_native_events(const std::vector<int>& codes, const NativeChoice& choice) {
  unsigned printed = 0;
  PAPI_event_info_t info;
  for (const int code : codes) {
    if (PAPI_get_event_info(code, &info) != PAPI_OK) continue;
    const std::string name = info.symbol;
    if (!choice.include.empty() && name.find(choice.include) == std::string::npos) continue;
    if (!choice.exclude.empty() && name.find(choice.exclude) != std::string::npos) continue;
    if (choice.check && !can_add(code)) continue;
    ++printed;
    print_boxed(1, name);
    print_boxed(12, info.long_descr);
    if (choice.qualifiers)
      for (const int qualifier : qualifiers(code, PAPI_get_event_component(code)))
        if (PAPI_get_event_info(qualifier, &info) == PAPI_OK) {
          const Qualifier own = own_part(info, name);
          print_boxed(5, own.name);
          print_boxed(12, own.text);
        }
    print_rule(80);
  }
  return printed;
}

void print_native_details(const PAPI_event_info_t& info) {
  std::printf("%-20s%s\n%-20s0x%x\n%-20s%s\n", "Event name:", info.symbol, "Event Code:", info.event_code,
              "Description:", info.long_descr);
  if (info.units[0] != '\0') std::printf("%-20s%s\n", "Units:", info.units);
  print_qualifiers(info, "\n");
}

bool is_derived(const PAPI_event_info_t& info) {
  return info.derived[0] != '\0' && std::strcmp(info.derived, "NOT_DERIVED") != 0 &&
         std::strcmp(info.derived, "DERIVED_CMPD") != 0;
}

void print_preset_header(bool with_availability) {
  std::printf("    Name        Code    %sDeriv Description (Note)\n", with_availability ? "Avail " : "");
}

void print_preset(const PAPI_event_info_t& info, bool with_availability) {
  std::printf("%-12s 0x%08x  ", info.symbol, info.event_code);
  if (with_availability) std::printf("%-6s", info.count != 0 ? "Yes" : "No");
  std::printf("%-5s %s%s%s%s\n", is_derived(info) ? "Yes" : "No", info.long_descr,
              info.note[0] != '\0' ? " (" : "", info.note, info.note[0] != '\0' ? ")" : "");
}

bool can_add(int code) {
  int set = PAPI_NULL;
  if (PAPI_create_eventset(&set) != PAPI_OK) return false;
  const bool added = PAPI_add_event(set, code) == PAPI_OK;
  PAPI_cleanup_eventset(set);
  PAPI_destroy_eventset(&set);
  return added;
}

Sets::~Sets() {
  for (Set& set : sets_) {
    PAPI_stop(set.handle, nullptr);
    PAPI_cleanup_eventset(set.handle);
    PAPI_destroy_eventset(&set.handle);
  }
}

int Sets::add(const std::string& name) {
  int code = 0;
  if (const int status = PAPI_event_name_to_code(name.c_str(), &code); status != PAPI_OK) return status;
  const int component = PAPI_get_event_component(code);
  if (component < 0) return component;
  Set* set = nullptr;
  for (Set& candidate : sets_)
    if (candidate.component == component) set = &candidate;
  if (set == nullptr) {
    Set fresh{component, PAPI_NULL, {}};
    if (const int status = PAPI_create_eventset(&fresh.handle); status != PAPI_OK) return status;
    if (const int status = PAPI_add_event(fresh.handle, code); status != PAPI_OK) {
      PAPI_destroy_eventset(&fresh.handle);
      return status;
    }
    sets_.push_back(fresh);
    set = &sets_.back();
  } else if (const int status = PAPI_add_event(set->handle, code); status != PAPI_OK) {
    return status;
  }
  set->positions.push_back(names_.size());
  names_.push_back(name);
  return PAPI_OK;
}

int Sets::start() {
  for (std::size_t i = 0; i < sets_.size(); ++i)
    if (const int status = PAPI_start(sets_[i].handle); status != PAPI_OK) {
      while (i-- > 0) PAPI_stop(sets_[i].handle, nullptr);
      return status;
    }
  return PAPI_OK;
}

int Sets::stop(std::vector<long long>& values) {
  values.assign(names_.size(), 0);
  int result = PAPI_OK;
  for (const Set& set : sets_) {
    std::vector<long long> own(set.positions.size());
    if (const int status = PAPI_stop(set.handle, own.data()); status != PAPI_OK) result = status;
    for (std::size_t i = 0; i < own.size(); ++i) values[set.positions[i]] = own[i];
  }
  return result;
}

std::vector<std::string> countable_events(unsigned wanted) {
  // An event that starts alone may still not start beside the others, so the whole list is tried each time.
  const auto count_together = [](const std::vector<std::string>& names) {
    Sets sets;
    for (const std::string& name : names)
      if (sets.add(name) != PAPI_OK) return false;
    std::vector<long long> values;
    return sets.start() == PAPI_OK && sets.stop(values) == PAPI_OK;
  };
  std::vector<std::string> chosen;
  const auto consider = [&](const std::string& name) {
    if (chosen.size() == wanted || name.empty()) return;
    for (const std::string& other : chosen)
      if (other == name) return;
    std::vector<std::string> longer = chosen;
    longer.push_back(name);
    if (count_together(longer)) chosen = longer;
  };
  for (const char* name : {"PAPI_TOT_CYC", "PAPI_TOT_INS"}) consider(name);
  for (const char* name : {"perf::TASK-CLOCK", "perf::PAGE-FAULTS", "perf::CONTEXT-SWITCHES",
                           "perf::CPU-MIGRATIONS", "perf::MINOR-FAULTS", "perf::MAJOR-FAULTS"})
    consider(name);
  for (int component = 0; component < PAPI_num_components() && chosen.size() < wanted; ++component) {
    const PAPI_component_info_t* info = PAPI_get_component_info(component);
    if (info == nullptr || info->disabled != 0) continue;
    int taken = 0;
    if (!chosen.empty() && PAPI_event_name_to_code(chosen.front().c_str(), &taken) == PAPI_OK &&
        PAPI_get_event_component(taken) != component)
      continue;
    for (const int code : native_events(component)) {
      PAPI_event_info_t event;
      if (PAPI_get_event_info(code, &event) == PAPI_OK) consider(event.symbol);
      if (chosen.size() == wanted) break;
    }
  }
  return chosen;
}

}  // namespace substrata::utilities
