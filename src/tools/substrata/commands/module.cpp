// substrata module: the library of Owl modules, and what is added to it.
#include <substrata/owl.h>
#include <substrata/result.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "base/environment.hpp"
#include "base/whole_file.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/substrata/commands.hpp"
#include "tools/substrata/commands/module_places.hpp"

namespace substrata::tool {
namespace {

constexpr unsigned long long whole(std::uint64_t number) { return number; }

void print_refusals() {
  for (std::uint32_t i = 0; const char* refusal = substrata_owl_refusal(i); ++i)
    std::fprintf(stderr, "%s\n", refusal);
}

int list() {
  const std::uint32_t count = substrata_owl_module_count();
  for (std::uint32_t i = 0; i < count; ++i) {
    auto info = client::sized<substrata_owl_module_info>();
    if (substrata_owl_module_at(i, &info) != 0) break;
    std::printf("%-16s %s [%s]\n", info.name, info.summary, info.origin);
  }
  print_refusals();
  return 0;
}

int show(const std::string& name) {
  auto info = client::sized<substrata_owl_module_info>();
  if (substrata_owl_module_find(name.c_str(), &info) != 0) throw std::runtime_error(substrata_owl_error());
  std::printf("%s: %s\nfrom: %s\npackets: %s\n", info.name, info.summary, info.origin, info.packets);
  std::printf("cost: %llu counters, %llu table bits, %llu comparators\n", whole(info.cost.counters),
              whole(info.cost.table_bits), whole(info.cost.comparators));
  for (std::uint32_t i = 0; i < info.register_count; ++i) {
    const substrata_owl_register& r = info.registers[i];
    std::printf("register %-14s %llu [%llu .. %llu]%s %s\n", r.name, whole(r.initial), whole(r.least),
                whole(r.most), r.live != 0 ? " live" : "", r.text);
  }
  for (std::uint32_t i = 0; i < info.metric_count; ++i) {
    std::printf("metric   %-14s %s %s\n", info.metrics[i].name, info.metrics[i].gauge != 0 ? "(level)" : "",
                info.metrics[i].text);
  }
  return 0;
}

// Where modules of this user are: SUBSTRATA_OWL_LIBRARY, where the library looks too.
std::string library_folder() {
  const char* const folder = environment("SUBSTRATA_OWL_LIBRARY");
  if (folder == nullptr || *folder == '\0') {
    throw std::runtime_error(
        "no module library: set SUBSTRATA_OWL_LIBRARY to a folder of yours; programs find the modules "
        "there too");
  }
  return folder;
}

std::string text_of(const std::string& file) {
  std::ifstream input(file, std::ios::binary);
  if (!input) throw std::runtime_error("cannot read '" + file + "': " + std::strerror(errno));
  return {std::istreambuf_iterator<char>(input), {}};
}

// Runs a module of the library, or those of a file that need not be in it, in capsules at five places.
int try_in_capsules(const std::string& subject, const std::string& registers) {
  const std::string extension = std::filesystem::path(subject).extension();
  if (extension == ".owl") {
    const std::string text = text_of(subject);
    char name[64];
    if (substrata_owl_check(text.data(), text.size(), subject.c_str(), name, sizeof name) != 0 ||
        substrata_owl_compose(text.data(), text.size(), subject.c_str()) != 0) {
      throw std::runtime_error(substrata_owl_error());
    }
    return try_module(name, registers);
  }
  if (extension != ".so") return try_module(subject, registers);
  const std::string path = std::filesystem::absolute(subject);
  if (substrata_owl_load(path.c_str()) != 0) throw std::runtime_error(substrata_owl_error());
  int status = 0;
  for (std::uint32_t i = 0; i < substrata_owl_module_count(); ++i) {
    auto info = client::sized<substrata_owl_module_info>();
    if (substrata_owl_module_at(i, &info) != 0 || path != info.origin) continue;
    if (try_module(info.name, registers) != 0) status = 1;
  }
  return status;
}

// Checks a composition or a shared object and puts it into the library.
int build(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string folder = library_folder();
  const std::string content = text_of(file);
  std::string name;
  if (path.extension() == ".so") {
    if (substrata_owl_load(std::filesystem::absolute(path).c_str()) != 0)
      throw std::runtime_error(substrata_owl_error());
    name = path.filename();
  } else {
    char found[64];
    if (substrata_owl_check(content.data(), content.size(), file.c_str(), found, sizeof found) != 0) {
      std::fprintf(stderr, "%s\n", substrata_owl_error());
      return 1;
    }
    name = std::string(found) + ".owl";
  }
  std::filesystem::create_directories(folder);
  const std::filesystem::path target = std::filesystem::path(folder) / name;
  // A new file: running programs have the former one's code in their memory.
  write_whole(target, [&](std::ostream& out) { out << content; });
  std::printf("%s\n", target.c_str());
  return 0;
}

}  // namespace

int module(int argc, char** argv) {
  std::string action, subject, registers;
  Arguments arguments(
      "substrata module",
      "Manages the library of Owl modules. ACTION list; show NAME; build FILE (checks a composition or a "
      "shared object and installs it in SUBSTRATA_OWL_LIBRARY); try NAME or FILE (runs it in capsules "
      "between two caches, before memory, at NUMAchine's bus, at Myrinet's interface and at page faults).\n\n"
      "  substrata module show histogram\n"
      "  substrata module try histogram --registers counters=64");
  arguments.choice("ACTION", action, {"list", "show", "build", "try"}, "list, show, build or try");
  arguments.word("SUBJECT", subject, "name or file of the module", Arguments::Value::kModule);
  arguments.word("--registers", registers, "for try: registers of the module, name=value:...");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  if (action == "list" && subject.empty()) return list();
  if (action == "show" && !subject.empty()) return show(subject);
  if (action == "build" && !subject.empty()) return build(subject);
  if (action == "try" && !subject.empty()) return try_in_capsules(subject, registers);
  std::fprintf(stderr, "substrata module: choose list, show NAME, build FILE or try NAME\n");
  return 2;
}

}  // namespace substrata::tool
