// Builds the list of substrates from the built-in entry points and the plug-in path.
#include "core/registry/registry.hpp"

#include <dirent.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/clock.hpp"
#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/parse.hpp"
#include "base/trusted_file.hpp"
#include "core/registry/table_builder.hpp"

namespace substrata {
namespace {

int64_t host_now_ns(void*) noexcept { return clock_now_ns(); }
const char* host_setting(void*, const char* name) noexcept { return environment(name); }
void host_log(void*, const char* line) noexcept { log_line(kLogSubstrate, "%s", line); }

constexpr std::string_view kPlugInStart = "substrata-";
constexpr std::string_view kPlugInEnd = ".so";

}  // namespace

Registry::Registry() : built_in_(built_in_substrates()) {
  host_.now_ns = host_now_ns;
  host_.setting = host_setting;
  host_.log = host_log;
  root_ = machine_root();
  host_.root = root_.c_str();
}

Registry::~Registry() { close_all(); }

void Registry::set_built_in(const BuiltIn* list) noexcept {
  built_in_ = list != nullptr ? list : built_in_substrates();
}

void Registry::load() {
  if (loaded_.load(std::memory_order_acquire) != 0) return;
  const std::lock_guard guard(lock_);
  if (loaded_.load(std::memory_order_relaxed) != 0) return;
  load_built_in();
  load_plug_ins();
  if (const char* list = environment("PAPI_DISABLE_COMPONENTS"); list != nullptr) {
    for (const std::string& name : split_list(list, ",:")) {
      if (Component* component = known(name); component != nullptr)
        component->disable("disabled by PAPI_DISABLE_COMPONENTS; take it out of that list to use it");
    }
  }
  for (size_t i = 0; i < std::min(kQuick, components_.size()); ++i)
    quick_[i].store(components_[i].get(), std::memory_order_relaxed);
  // Only now: where memory was too short for all of it, the next call goes on.
  loaded_.store(static_cast<int>(components_.size()) + 1, std::memory_order_release);
}

void Registry::load_built_in() {
  for (; built_in_->name != nullptr; ++built_in_) {
    const std::string origin = std::string("built-in ") + built_in_->name;
    const Result<SubstrateTable> table = build_table(built_in_->entry, host_, origin.c_str());
    if (!table)
      refusals_.emplace_back(table.error().note);
    else if (known(table->name) != nullptr)
      refusals_.push_back(origin + ": a substrate named " + table->name + " is there already");
    else
      components_.push_back(std::make_unique<Component>(static_cast<int>(components_.size()), *table, &host_,
                                                        SharedLibrary(), "built-in"));
  }
}

void Registry::load_plug_ins() {
  const char* path = environment("SUBSTRATA_PLUGIN_PATH");
  if (path == nullptr) return;
  for (const std::string& folder : split_list(path, ":")) {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(folder.c_str()), closedir);
    if (directory == nullptr) {
      refusals_.push_back(folder + ": cannot be opened as a folder; check SUBSTRATA_PLUGIN_PATH");
      continue;
    }
    std::vector<std::string> names;
    while (const dirent* entry = readdir(directory.get())) {
      const std::string_view file = entry->d_name;
      if (file.size() > kPlugInStart.size() + kPlugInEnd.size() && file.starts_with(kPlugInStart) &&
          file.ends_with(kPlugInEnd))
        names.emplace_back(
            file.substr(kPlugInStart.size(), file.size() - kPlugInStart.size() - kPlugInEnd.size()));
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      std::string file = folder;
      file += '/';
      file += kPlugInStart;
      file += name;
      file += kPlugInEnd;
      load_plug_in(file, name);
    }
  }
}

void Registry::load_plug_in(const std::string& path, const std::string& name) {
  for (const auto& component : components_) {
    if (path == component->origin()) return;  // from an earlier load()
  }
  if (const std::string others = who_else_may_write(path); !others.empty()) {
    refusals_.push_back("plug-in " + path + ": not loaded, since others could change what runs: " + others);
    return;
  }
  Result<SharedLibrary> library = SharedLibrary::load(path);
  if (!library) {
    refusals_.push_back("plug-in " + path + ": cannot be loaded: " + library.error().note);
    return;
  }
  const std::string symbol = "substrata_entry_" + name;
  void* address = library->symbol(symbol.c_str());
  if (address == nullptr) {
    refusals_.push_back("plug-in " + path + ": has no function " + symbol +
                        "; the file and its entry point must bear the substrate's name");
    return;
  }
  const std::string origin = "plug-in " + path;
  const Result<SubstrateTable> table =
      build_table(reinterpret_cast<EntryPoint*>(address), host_, origin.c_str());
  if (!table) {
    refusals_.emplace_back(table.error().note);
    return;
  }
  if (name != table->name) {
    refusals_.push_back(origin + ": publishes the name " + table->name + ", not that of its file");
    return;
  }
  if (const Component* other = known(name); other != nullptr) {
    refusals_.push_back(origin + ": a substrate named " + name + " is there already (" + other->origin() +
                        ")");
    return;
  }
  components_.push_back(std::make_unique<Component>(static_cast<int>(components_.size()), *table, &host_,
                                                    std::move(*library), path));
}

void Registry::close_all() {
  // Last opened first: a later substrate may stand on what an earlier one offers the process.
  std::vector<Component*> order;
  {
    const std::lock_guard guard(lock_);
    for (const auto& component : components_) order.push_back(component.get());
  }
  std::sort(order.begin(), order.end(),
            [](const Component* a, const Component* b) { return a->opened() > b->opened(); });
  // Without this lock: a component that opens in another thread holds its own, and may ask for others here.
  for (Component* component : order) component->close();
  const std::lock_guard guard(lock_);
  refusals_.clear();
  loaded_.store(0, std::memory_order_release);
}

int Registry::count() {
  if (const int loaded = loaded_.load(std::memory_order_acquire); loaded != 0) return loaded - 1;
  const std::lock_guard guard(lock_);
  load();
  return static_cast<int>(components_.size());
}

Component* Registry::at(int index) {
  if (index >= 0 && index < loaded_.load(std::memory_order_acquire) - 1 &&
      static_cast<size_t>(index) < kQuick)
    return quick_[static_cast<size_t>(index)].load(std::memory_order_relaxed);
  const std::lock_guard guard(lock_);
  load();
  if (index < 0 || static_cast<size_t>(index) >= components_.size()) return nullptr;
  return components_[static_cast<size_t>(index)].get();
}

Component* Registry::known(std::string_view name) const noexcept {
  // Every substrate is looked for while the list is built, so most names are set apart by their first letter.
  const auto is = [name](const char* other) { return other[0] == *name.begin() && name == other; };
  if (name.empty()) return nullptr;
  for (const auto& component : components_) {
    if (is(component->name())) return component.get();
  }
  for (const auto& component : components_) {
    if (is(component->short_name())) return component.get();
  }
  return nullptr;
}

Component* Registry::find(std::string_view name) {
  const std::lock_guard guard(lock_);
  load();
  return known(name);
}

int Registry::index_of(std::string_view name) {
  const Component* const component = find(name);
  return component != nullptr ? component->index() : -1;
}

Status Registry::disable(int index) {
  Component* component = at(index);
  if (component == nullptr) return refuse(Code::kNoComponent, "there is no component number %d", index);
  component->disable("disabled by the program before initialisation");
  return kSuccess;
}

Status Registry::disable(std::string_view name) {
  Component* component = find(name);
  if (component == nullptr)
    return refuse(Code::kNoComponent, "there is no component named \"%.*s\"", static_cast<int>(name.size()),
                  name.data());
  return disable(component->index());
}

std::vector<std::string> Registry::refusals() {
  const std::lock_guard guard(lock_);
  load();
  return refusals_;
}

}  // namespace substrata
