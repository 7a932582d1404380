// Writes and reads the lines of a recorded machine.
#include "tools/recorded_machines/text_form.hpp"
#include "base/parse.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <vector>

namespace substrata::machines {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstLine = "substrata machine 1";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\r') {
      out += "\\r";
    } else if ((byte < 0x20 && c != '\t') || byte == 0x7f) {
      char code[5];
      std::snprintf(code, sizeof code, "\\x%02x", byte);
      out += code;
    } else {
      out += c;
    }
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char what = text[++i];
    if (what == 'x') {
      std::uint8_t byte = 0;
      if (leading_number(std::string_view(text).substr(i + 1, 2), &byte, 16) != 2)
        throw std::runtime_error("two hexadecimal digits are missing after \\x: " + std::string(text));
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += what == 'n' ? '\n' : what == 'r' ? '\r' : what;
    }
  }
  return out;
}

// A file's name or a link's target, so that a line is read as it was written.
std::string escaped_name(const std::string& name) {
  std::string out;
  for (const char c : escaped(name)) out += c == ' ' ? std::string("\\x20") : std::string(1, c);
  if (out.ends_with(':')) out.replace(out.size() - 1, 1, "\\x3a");
  return out;
}

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string file_lines(const std::string& path, const std::string& text) {
  if (text.find('\n') == text.size() - 1 && text.size() > 1)
    return path + " = " + escaped(std::string_view(text).substr(0, text.size() - 1)) + "\n";
  std::string out = path + ":\n";
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = rest.find('\n');
    const bool whole = end != std::string_view::npos;
    out += (whole ? "| " : "|\\") + escaped(rest.substr(0, end)) + "\n";
    rest.remove_prefix(whole ? end + 1 : rest.size());
  }
  return out;
}

// What a line says a path is.
struct Entry {
  enum class Kind { kLink, kLine, kText, kClosed, kFolder } kind;
  std::string path, value;
};

Entry entry_of(const std::string& line) {
  if (const size_t at = line.find(" = "); at != std::string::npos)
    return {Entry::Kind::kLine, unescaped(line.substr(0, at)), line.substr(at + 3)};
  if (const size_t at = line.find(" -> "); at != std::string::npos)
    return {Entry::Kind::kLink, unescaped(line.substr(0, at)), unescaped(line.substr(at + 4))};
  if (line.ends_with(" !")) return {Entry::Kind::kClosed, unescaped(line.substr(0, line.size() - 2)), ""};
  if (line.ends_with(":")) return {Entry::Kind::kText, unescaped(line.substr(0, line.size() - 1)), ""};
  if (line.ends_with("/")) return {Entry::Kind::kFolder, unescaped(line.substr(0, line.size() - 1)), ""};
  throw std::runtime_error("not a line of a recorded machine: " + line);
}

// The text may come from anyone: nothing is written through a link or above the folder, and no link leads out of it.
void stay_inside(const std::string& folder, const Entry& entry, const std::string& line) {
  const auto refuse = [&] { throw std::runtime_error("leads out of the machine's folder: " + line); };
  if (entry.path.empty() || entry.path.front() != '/') refuse();
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::any_of(entry.path.begin(), entry.path.end(), is_control) ||
      (entry.kind == Entry::Kind::kLink && std::any_of(entry.value.begin(), entry.value.end(), is_control)))
    throw std::runtime_error("a control character in the name of a file: " + escaped(line));
  int depth = -1;  // of the entry's folder
  fs::path at = folder;
  for (const fs::path& part : fs::path(entry.path).relative_path()) {
    if (part == ".." || fs::is_symlink(at)) refuse();
    at /= part;
    ++depth;
  }
  if (fs::is_symlink(at)) refuse();
  if (entry.kind != Entry::Kind::kLink) return;
  if (fs::path(entry.value).is_absolute()) refuse();
  bool is_down = false;
  for (const fs::path& part : fs::path(entry.value)) {
    if (part != "..") is_down = true;
    if (part == ".." && (is_down || --depth < 0)) refuse();
  }
}

}  // namespace

std::string as_text(const std::string& folder) {
  std::map<std::string, std::string> lines;  // by path
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = "/" + escaped_name(entry.path().lexically_relative(folder).string());
    if (entry.is_symlink()) {
      lines[path] = path + " -> " + escaped_name(fs::read_symlink(entry.path()).string()) + "\n";
    } else if (entry.is_directory()) {
      if (fs::is_empty(entry.path())) lines[path] = path + "/\n";
    } else if ((entry.status().permissions() & fs::perms::owner_read) == fs::perms::none) {
      lines[path] = path + " !\n";
    } else {
      lines[path] = file_lines(path, contents(entry.path()));
    }
  }
  std::string text = std::string(kFirstLine) + "\n";
  for (const auto& [path, line] : lines) text += line;
  return text;
}

void from_text(std::string_view text, const std::string& folder) {
  std::ofstream open;  // the file whose lines follow
  bool is_first = true;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (is_first && line != kFirstLine)
      throw std::runtime_error("not a recorded machine: it does not begin with \"" + std::string(kFirstLine) +
                               "\"");
    if (is_first || line.empty() || line.front() == '#') {
      is_first = false;
      continue;
    }
    if (line.front() == '|' && open.is_open()) {
      const bool whole = line.size() < 2 || line[1] != '\\';
      open << unescaped(std::string_view(line).substr(std::min<size_t>(line.size(), 2)))
           << (whole ? "\n" : "");
      continue;
    }
    open.close();
    const Entry entry = entry_of(line);
    stay_inside(folder, entry, line);
    const fs::path at = folder + entry.path;
    fs::create_directories(at.parent_path());
    switch (entry.kind) {
      case Entry::Kind::kLink:
        fs::create_symlink(entry.value, at);
        break;
      case Entry::Kind::kFolder:
        fs::create_directories(at);
        break;
      case Entry::Kind::kLine:
        std::ofstream(at, std::ios::binary) << unescaped(entry.value) << "\n";
        break;
      case Entry::Kind::kClosed:
        std::ofstream(at, std::ios::binary).close();
        fs::permissions(at, fs::perms::none);
        break;
      case Entry::Kind::kText:
        open.open(at, std::ios::binary);
        break;
    }
  }
}

}  // namespace substrata::machines
