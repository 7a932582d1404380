// substrata machine: takes a machine into a folder, runs commands on it, writes and reads it as one text.
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "recording/sampler/child.hpp"
#include "recording/sampler/measuring.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/recorded_machines/saving.hpp"
#include "tools/recorded_machines/text_form.hpp"
#include "tools/substrata/commands.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

namespace fs = std::filesystem;

// "300", or what refused. What a vendor's library answers is kept in this form: its events and a value of each.
std::string value_now(const std::string& name) {
  Measurement measurement;
  const std::string refused = measurement.try_add(name);
  if (!refused.empty()) return "refused: " + refused;
  try {
    measurement.start();
    return std::to_string(measurement.stop().at(0).value.value);
  } catch (const std::runtime_error& error) {
    return std::string("refused: ") + error.what();
  }
}

void write_events(std::ostream& out) {
  for (int i = 0; i < PAPI_num_components(); ++i) {
    const PAPI_component_info_t* info = PAPI_get_component_info(i);
    if (info == nullptr) continue;
    out << "component " << info->name;
    if (info->disabled != 0) out << " not available: " << info->disabled_reason;
    out << "\n";
    if (info->disabled != 0 || std::strcmp(info->name, "process") == 0) continue;
    for (const int code : native_events(i)) {
      const substrata_event event = describe(code);
      if (std::strcmp(origin_name(event), "modelled") == 0) break;  // of no machine
      const std::string name = event_name(code);
      out << name << " " << (event.unit[0] != '\0' ? event.unit : "-") << " "
          << (event.available != 0 ? value_now(name) : std::string("refused: ") + event.why) << "\n";
    }
  }
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw std::runtime_error(path + ": " + std::strerror(errno));
}

int save(const std::string& folder) {
  if (fs::exists(folder) && !fs::is_empty(folder))
    throw std::runtime_error(folder + " is there already; name a new folder");
  machines::Scrubber scrubber = machines::Scrubber::of_this_machine();
  const machines::Saved saved = machines::save(machine_root(), folder, &scrubber);
  utsname kernel{};
  uname(&kernel);
  const std::time_t now = std::time(nullptr);
  char day[16] = "";
  if (std::tm utc{}; gmtime_r(&now, &utc) != nullptr) std::strftime(day, sizeof day, "%Y-%m-%d", &utc);
  std::string manifest = std::string("origin: recorded by substrata machine save\nday: ") + day +
                         "\nsubstrata: " + SUBSTRATA_VERSION + "\nkernel: " + kernel.sysname + " " +
                         kernel.release + " " + kernel.machine + "\n";
  for (const std::string& path : saved.closed) manifest += "closed to this user: " + path + "\n";
  write_text(folder + "/machine.txt", scrubber.scrub(manifest));
  // Where hwloc looks for what is in no file.
  if (const std::string info = folder + "/proc/hwloc-nofile-info"; !fs::exists(info)) {
    fs::create_directories(folder + "/proc");
    write_text(info, "OSName: Linux\nArchitecture: " + std::string(kernel.machine) + "\n");
  }
  start_library();
  std::ostringstream events;
  write_events(events);
  write_text(folder + "/events.txt", scrubber.scrub(events.str()));
  std::printf("%zu files in %s, %zu more that this user may not read\n", saved.files - saved.closed.size(),
              folder.c_str(), saved.closed.size());
  return 0;
}

int run_on(const std::string& folder, const std::vector<std::string>& command) {
  if (command.empty())
    throw std::runtime_error("name the command to run: substrata machine run DIR -- COMMAND");
  const std::string whole = fs::canonical(folder).string();
  setenv("SUBSTRATA_ROOT", whole.c_str(), 1);
  // For hwloc, which describes the processors: its own setting of this kind.
  setenv("HWLOC_FSROOT", whole.c_str(), 1);
  setenv("HWLOC_COMPONENTS", "linux,stop", 1);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  throw CommandError(command[0], errno);
}

int from_text(const std::string& folder, const std::string& file) {
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw std::runtime_error(file + ": cannot be read");
  machines::from_text(text, folder);
  return 0;
}

}  // namespace

int machine(int argc, char** argv) {
  std::string action, folder;
  std::vector<std::string> rest;
  Arguments arguments(
      "substrata machine",
      "Records a machine: the files that substrates read of it, and every event with a value. Serial "
      "numbers, "
      "hardware addresses and the names of the machine and its user are left out.\n\n"
      "  substrata machine save DIR                    take this machine into a new folder\n"
      "  substrata machine text DIR > machine.txt      the folder as one text, to look through and send\n"
      "  substrata machine unfold DIR machine.txt      the folder again\n"
      "  substrata machine run DIR -- substrata list   run a command on the recorded machine");
  arguments.choice("ACTION", action, {"save", "text", "unfold", "run"}, "what to do");
  arguments.required("DIR", folder, "folder of the machine", Arguments::Value::kFolder);
  arguments.words("WORD", rest, "text to unfold, or command to run", Arguments::Value::kFile);
  if (const auto status = arguments.parse(argc, argv)) return *status;
  if (action == "save") return save(folder);
  if (action == "run") return run_on(folder, rest);
  if (action == "unfold") {
    if (rest.size() != 1) throw std::runtime_error("name the text: substrata machine unfold DIR FILE");
    return from_text(folder, rest[0]);
  }
  std::fputs(machines::as_text(folder).c_str(), stdout);
  return 0;
}

}  // namespace substrata::tool
