// Finds addresses by their shape and names as whole words.
#include "tools/recorded_machines/scrubbing.hpp"
#include "base/environment.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace substrata::machines {
namespace {

constexpr size_t kShortestName = 3;
// Machines are called so, but so are things in the kernel's files.
constexpr std::string_view kWordsOfTheKernel[] = {"cpu", "node", "core", "host", "user", "package", "memory"};

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

std::string without_name(std::string line, const std::string& name, const char* by) {
  for (size_t at = line.find(name); at != std::string::npos; at = line.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at > 0 && is_of_word(line[at - 1])) || (end < line.size() && is_of_word(line[end]))) continue;
    line.replace(at, name.size(), by);
  }
  return line;
}

}  // namespace

Scrubber::Scrubber(const std::vector<std::string>& hosts, const std::vector<std::string>& users) {
  // The longer shapes first; a place on the PCI bus, 0000:01:00.0, fits none.
  const auto add = [&](const char* expression, const char* shape) {
    forms_.push_back({std::regex(expression, std::regex::icase | std::regex::optimize), shape});
  };
  add(R"(\b[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\b)", "00000000-0000-0000-0000-%012x");
  add(R"(\b([0-9a-f]{4}:){3,7}[0-9a-f]{4}\b)", "0000:0000:0000:%04x");
  add(R"(\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b)", "00:00:00:00:00:%02x");
  add(R"(\benx[0-9a-f]{12}\b)", "enx%012x");
  const auto names = [&](const std::vector<std::string>& of, const char* by) {
    for (const std::string& name : of)
      if (name.size() >= kShortestName && std::ranges::count(kWordsOfTheKernel, name) == 0)
        names_.emplace_back(name, by);
  };
  names(hosts, "host");
  names(users, "user");
  // "node1.site.org" before "node1".
  std::stable_sort(names_.begin(), names_.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
}

Scrubber Scrubber::of_this_machine() {
  std::vector<std::string> hosts, users;
  if (char name[HOST_NAME_MAX + 1] = ""; gethostname(name, sizeof name - 1) == 0) {
    hosts.emplace_back(name);
    hosts.push_back(hosts[0].substr(0, hosts[0].find('.')));
  }
  if (const passwd* user = getpwuid(getuid()); user != nullptr) users.emplace_back(user->pw_name);
  for (const char* variable : {"USER", "LOGNAME", "SUDO_USER"})
    if (const char* user = environment(variable); user != nullptr) users.emplace_back(user);
  std::erase(users, "root");
  return {hosts, users};
}

std::string Scrubber::numbered(const std::string& line, const Form& form) {
  std::string out;
  size_t done = 0;
  for (std::sregex_iterator found(line.begin(), line.end(), form.expression), end; found != end; ++found) {
    const auto at = static_cast<size_t>(found->position());
    // One address may stand with colons and without, in large letters and small.
    std::string digits;
    for (const char c : found->str())
      if (std::isxdigit(static_cast<unsigned char>(c)) != 0)
        digits += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (digits.size() == 13) digits.erase(0, 1);  // the e of "enx"
    const unsigned number = known_.emplace(digits, static_cast<unsigned>(known_.size() + 1)).first->second;
    char by[64];
    std::snprintf(by, sizeof by, form.shape, number);
    out.append(line, done, at - done);
    out += by;
    done = at + static_cast<size_t>(found->length());
  }
  return out + line.substr(done);
}

std::string Scrubber::scrub_path(std::string path) {
  for (const Form& form : forms_) path = numbered(path, form);
  return path;
}

std::string Scrubber::scrub(std::string_view text) {
  std::string out;
  for (bool more = true; more;) {
    const size_t end = text.find('\n');
    more = end != std::string_view::npos;
    std::string line = scrub_path(std::string(text.substr(0, end)));
    for (const auto& [name, by] : names_) line = without_name(std::move(line), name, by);
    out += line;
    if (more) out += '\n';
    text.remove_prefix(more ? end + 1 : 0);
  }
  return out;
}

bool Scrubber::identifies(std::string_view file_name) {
  for (const char* const name : {"serial", "serial_number", "unique_id", "uuid", "wwid", "node_guid",
                                 "sys_image_guid", "address", "uevent", "asset_tag", "board_id"})
    if (file_name == name) return true;
  return file_name.find("serial") != std::string_view::npos;
}

}  // namespace substrata::machines
