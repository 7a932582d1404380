// Keeps the library, and loads shared objects after a trial in a child process.
#include "owl/library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/folder.hpp"
#include "base/parse.hpp"
#include "base/shared_library.hpp"
#include "base/trial.hpp"
#include "base/trusted_file.hpp"
#include "owl/composition.hpp"

namespace substrata::owl {
namespace {

constexpr size_t kMostModulesOfAFile = 1024;
constexpr unsigned kTrialSeconds = 20;
constexpr const char* kBuiltIn = "built-in";

struct Library {
  std::mutex mutex;
  std::map<std::string, LibraryEntry, std::less<>> entries;
  // What a newer file replaced or was taken out: capsules and compositions of it stay as they are.
  std::multimap<std::string, LibraryEntry, std::less<>> former;
  std::map<std::string, uint32_t, std::less<>> loads;  // of each path
  std::deque<std::string> refusals;

  Library() {
    for (const Module* module :
         {&kCounterModule, &kSamplerModule, &kHistogramModule, &kMissRateModule, &kBinsModule, &kLogModule,
          &kPatternModule, &kLcsModule, &kGuardModule, &kReuseModule, &kHeavyModule, &kSharingModule,
          &kWorkingSetModule, &kConflictModule}) {
      entries.emplace(module->name, LibraryEntry{module, kBuiltIn});
    }
  }
};

// Kept to the end of the process.
Library& bare_library() {
  static auto* const made = new Library;
  return *made;
}

// With the user's folder added at first use.
Library& library() {
  Library& all = bare_library();
  // Recursive: compositions of the folder look for their sub-modules here.
  static std::recursive_mutex mutex;
  static std::atomic<bool> done{false};
  static bool begun = false;
  if (done.load(std::memory_order_acquire)) return all;
  const std::lock_guard lock(mutex);
  if (begun) return all;
  begun = true;
  const char* const folder = environment("SUBSTRATA_OWL_LIBRARY");
  if (folder != nullptr && *folder != '\0' && load_folder(folder) < 0) keep_refusal(last_refusal());
  done.store(true, std::memory_order_release);
  return all;
}

bool is_name(const char* name, size_t most, bool lower) noexcept {
  if (name == nullptr) return false;
  const size_t length = strnlen(name, most + 1);
  if (length == 0 || length > most) return false;
  for (size_t i = 0; i < length; ++i) {
    const char c = name[i];
    const bool letter = lower ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z';
    if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '_' || (lower && c == '-')))) return false;
  }
  return true;
}

void ignore_emit(void*, const void*, uint32_t) {}
void ignore_emit_from(void*, const void*, uint32_t, uint32_t) {}
void ignore_forward(void*, const Transaction*, size_t) {}
void ignore_signal(void*, const Transaction*, uint32_t) {}

// What a file offers. Empty: done; else what is wrong.
std::string list_modules(void* object, std::vector<const Module*>& out) {
  void* const symbol = dlsym(object, "substrata_owl_modules");
  if (symbol == nullptr) return "it exports no function substrata_owl_modules";
  substrata_owl_modules_function* function = nullptr;
  std::memcpy(&function, &symbol, sizeof function);
  const Module* const* list = function();
  if (list == nullptr) return "its substrata_owl_modules gives no list";
  for (; *list != nullptr; ++list) {
    if ((*list)->abi != SUBSTRATA_OWL_MODULE_ABI) {
      return "a module was built for version " + std::to_string((*list)->abi) +
             " of the interface, which is another version than " + std::to_string(SUBSTRATA_OWL_MODULE_ABI) +
             ", this library's; rebuild it with this library's owl_module.h";
    }
    if (const char* wrong = objection(*list)) return wrong;
    if (out.size() == kMostModulesOfAFile) return "its list of modules has no end";
    out.push_back(*list);
  }
  return out.empty() ? "its list of modules is empty" : "";
}

// Makes and destroys an instance of each module.
const char* try_modules(const std::vector<const Module*>& modules) {
  const substrata_owl_services services{sizeof services,  SUBSTRATA_OWL_MODULE_ABI, nullptr,      ignore_emit,
                                        ignore_emit_from, ignore_forward,           ignore_signal};
  for (const Module* module : modules) {
    uint64_t registers[SUBSTRATA_OWL_MOST_REGISTERS] = {};
    for (uint32_t i = 0; i < module->register_count; ++i) registers[i] = module->registers[i].initial;
    Cost cost{};
    module->cost(module, registers, &cost);
    void* instance = nullptr;
    if (const char* why = module->create(module, registers, &services, &instance)) return why;
    module->destroy(instance);
  }
  return nullptr;
}

// Everything the load will do, and a little more: what is wrong.
std::string trial(const char* path) {
  void* const object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) return dlerror();
  std::vector<const Module*> modules;
  std::string wrong = list_modules(object, modules);
  if (const char* why = wrong.empty() ? try_modules(modules) : nullptr) wrong = why;
  return wrong;
}

// 0, or a negative number with its message.
int try_file(const char* path) {
  const Trial tried = try_in_child(kTrialSeconds, [&] { return trial(path); });
  switch (tried.outcome) {
    case Trial::kPassed:
      return 0;
    case Trial::kNotTried:
      return fail(Code::kSystem, "the modules of '%s' are not loaded: %s", path, tried.reason.c_str());
    case Trial::kRefused:
      return fail(Code::kInvalid, "the modules of '%s' are refused: %s", path, tried.reason.c_str());
    case Trial::kFatal:
      break;
  }
  return fail(Code::kInvalid, "the modules of '%s' are refused: loading them %s", path, tried.reason.c_str());
}

// The loader gives what it has under a path, whatever file is there now, and keeps every path by which it was asked for
// a file: another spelling each time.
std::string unknown_to_loader(const std::string& exact, const char* path) {
  Library& all = bare_library();
  const std::lock_guard lock(all.mutex);
  std::string spelling = exact;
  for (uint32_t times = all.loads[path]++; times > 0; --times) spelling.insert(spelling.rfind('/') + 1, "./");
  return spelling;
}

int load_object(const char* path) {
  if (access(path, R_OK) != 0) {
    return fail(Code::kSystem, "the modules of '%s' are not loaded: %s", path, std::strerror(errno));
  }
  // With a slash, so that the loader does not search its path.
  const std::string exact = std::strchr(path, '/') != nullptr ? path : std::string("./") + path;
  if (const std::string others = who_else_may_write(exact); !others.empty()) {
    return fail(Code::kPermission, "the modules of '%s' are refused, since others could change what runs: %s",
                path, others.c_str());
  }
  if (const char* why = why_nothing_loads())
    return fail(Code::kSystem, "the modules of '%s' are not loaded: %s", path, why);
  if (const int refused = try_file(exact.c_str())) return refused;
  void* const object = dlopen(unknown_to_loader(exact, path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) return fail(Code::kInvalid, "the modules of '%s' are refused: %s", path, dlerror());
  std::vector<const Module*> modules;
  if (const std::string wrong = list_modules(object, modules); !wrong.empty()) {
    dlclose(object);
    return fail(Code::kInvalid, "the modules of '%s' are refused: %s", path, wrong.c_str());
  }
  const int refused = add_modules(modules, path, true);
  if (refused != 0) dlclose(object);
  return refused;
}

}  // namespace

const char* objection(const Module* module) noexcept {
  if (module == nullptr) return "there is no module";
  if (module->abi != SUBSTRATA_OWL_MODULE_ABI) {
    return "a module was built for another version of the interface; rebuild it";
  }
  if (module->struct_size < offsetof(Module, merge))
    return "a module's description is shorter than this version's";
  if (!is_name(module->name, 47, true))
    return "a module's name is invalid: [a-z][a-z0-9_-]*, at most 47 bytes";
  if (module->summary == nullptr || module->packets == nullptr)
    return "a module has no summary or packet text";
  if (module->register_count > SUBSTRATA_OWL_MOST_REGISTERS ||
      module->metric_count > SUBSTRATA_OWL_MOST_METRICS ||
      (module->register_count != 0 && module->registers == nullptr) ||
      (module->metric_count != 0 && module->metrics == nullptr)) {
    return "a module has too many registers or metrics, or none where it says some";
  }
  for (uint32_t i = 0; i < module->register_count; ++i) {
    const Register& r = module->registers[i];
    if (!is_name(r.name, 39, true) || r.text == nullptr || r.initial < r.least || r.initial > r.most) {
      return "a register of a module has no right name or text, or an initial value outside its bounds";
    }
  }
  for (uint32_t i = 0; i < module->metric_count; ++i) {
    const Metric& m = module->metrics[i];
    if (!is_name(m.name, 31, false) || m.text == nullptr || m.unit == nullptr) {
      return "a metric of a module has no right name, text or unit";
    }
  }
  if (module->cost == nullptr || module->create == nullptr || module->destroy == nullptr ||
      module->observe == nullptr || module->read == nullptr) {
    return "a module lacks one of cost, create, destroy, observe, read";
  }
  return nullptr;
}

const LibraryEntry* find_module(std::string_view name) {
  Library& all = library();
  const std::lock_guard lock(all.mutex);
  const auto found = all.entries.find(name);
  return found != all.entries.end() ? &found->second : nullptr;
}

std::vector<const LibraryEntry*> all_modules() {
  Library& all = library();
  const std::lock_guard lock(all.mutex);
  std::vector<const LibraryEntry*> list;
  for (const auto& [name, entry] : all.entries) list.push_back(&entry);
  return list;
}

int add_modules(const std::vector<const Module*>& modules, const std::string& origin, bool replacing) {
  Library& all = bare_library();
  const std::lock_guard lock(all.mutex);
  std::set<std::string_view> names;
  for (const Module* module : modules) {
    const auto taken = all.entries.find(std::string_view(module->name));
    if (taken != all.entries.end() &&
        !(replacing && taken->second.origin == origin && taken->second.module != module)) {
      return fail(Code::kConflict, "the module '%s' of '%s' is refused: the name is taken by %s",
                  module->name, origin.c_str(), taken->second.origin.c_str());
    }
    if (!names.insert(module->name).second) {
      return fail(Code::kConflict, "the modules of '%s' are refused: two of them are called '%s'",
                  origin.c_str(), module->name);
    }
  }
  for (auto each = all.entries.begin(); replacing && each != all.entries.end();) {
    const auto at = each++;
    if (at->second.origin == origin) all.former.insert(all.entries.extract(at));
  }
  for (const Module* module : modules) all.entries.emplace(module->name, LibraryEntry{module, origin});
  return 0;
}

int load_modules(const char* path) {
  const int refused = load_object(path);
  if (refused != 0) keep_refusal(last_refusal());
  return refused;
}

int remove_module(const char* name) {
  Library& all = library();
  const std::lock_guard lock(all.mutex);
  const auto found = all.entries.find(std::string_view(name));
  if (found == all.entries.end()) return fail(Code::kNoEvent, "there is no module '%.80s'", name);
  if (found->second.origin == kBuiltIn)
    return fail(Code::kConflict, "the module '%s' is built in: it stays in the library", name);
  all.former.insert(all.entries.extract(found));
  return 0;
}

int load_folder(const char* folder) {
  const auto names = try_names_in(folder);
  if (!names) {
    return fail(Code::kSystem, "the module library's folder '%s' cannot be read: %s", folder,
                std::strerror(errno));
  }
  int added = 0;
  for (const std::string& name : *names) {
    if (name.size() <= 4 || !(name.ends_with(".owl") || name.ends_with(".so"))) continue;
    const std::string path = std::string(folder) + "/" + name;
    int refused = 0;
    if (name.ends_with(".so")) {
      refused = load_object(path.c_str());
    } else {
      std::ifstream file(path, std::ios::binary);
      std::ostringstream text;
      text << file.rdbuf();
      refused = file ? compose_and_add(text.str(), path)
                     : fail(Code::kSystem, "the composition '%s' cannot be read", path.c_str());
    }
    if (refused != 0) {
      keep_refusal(last_refusal());
    } else {
      ++added;
    }
  }
  return added;
}

void keep_refusal(std::string message) {
  Library& all = bare_library();
  const std::lock_guard lock(all.mutex);
  all.refusals.push_back(std::move(message));
}

const char* refusal_at(uint32_t index) noexcept {
  Library& all = bare_library();
  const std::lock_guard lock(all.mutex);
  return index < all.refusals.size() ? all.refusals[index].c_str() : nullptr;
}

int parse_registers(const Module& module, const char* text, uint64_t* values) {
  for (uint32_t i = 0; i < module.register_count; ++i) values[i] = module.registers[i].initial;
  if (text == nullptr || *text == '\0') return 0;
  for (const std::string& item : split(text, ':')) {
    const size_t equals = item.find('=');
    const std::string_view name = trimmed(std::string_view(item).substr(0, equals));
    uint32_t at = 0;
    while (at < module.register_count && name != module.registers[at].name) ++at;
    if (at == module.register_count) {
      std::string known;
      for (uint32_t i = 0; i < module.register_count; ++i) {
        known += (i == 0 ? "" : ", ") + std::string(module.registers[i].name);
      }
      return fail(Code::kInvalid, "module '%s' has no register '%.*s'; it has: %s", module.name,
                  static_cast<int>(std::min<size_t>(name.size(), 80)), name.data(),
                  known.empty() ? "none" : known.c_str());
    }
    const Register& r = module.registers[at];
    uint64_t value = 0;
    if (equals == std::string::npos ||
        !parse_size(trimmed(std::string_view(item).substr(equals + 1)), &value) || value < r.least ||
        value > r.most) {
      return fail(Code::kInvalid,
                  "register '%s' of module '%s' takes a number from %llu to %llu, not '%.80s'", r.name,
                  module.name, static_cast<unsigned long long>(r.least),
                  static_cast<unsigned long long>(r.most), item.c_str());
    }
    values[at] = value;
  }
  return 0;
}

}  // namespace substrata::owl
