// Parses preset tables and turns a preset's line into a recipe of catalogue indices.
#include "perf_events/presets.hpp"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>

#include "base/parse.hpp"
#include "perf_events/device_files.hpp"
#include "perf_events/note.hpp"

namespace substrata::perf {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// Fields of one line, and where each begins, from 1; a field in single or double quotes may hold commas.
std::vector<std::string> split_fields(std::string_view line, std::vector<size_t>* columns) {
  std::vector<std::string> fields;
  std::string field;
  char quote = 0;
  columns->assign(1, 1);
  for (size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        field += c;
    } else if ((c == '"' || c == '\'') && trimmed(field).empty()) {
      quote = c;
      field.clear();
    } else if (c == ',') {
      fields.emplace_back(trimmed(field));
      field.clear();
      columns->push_back(std::min(line.find_first_not_of(" \t", at + 1), line.size()) + 1);
    } else {
      field += c;
    }
  }
  fields.emplace_back(trimmed(field));
  while (!fields.empty() && fields.back().empty()) fields.pop_back();
  return fields;
}

bool is_word(std::string_view field, const char* word) { return same_name(field, word); }

// A trailing '*' stands for any end: kernels number and name their PMUs differently.
bool names_cpu(std::string_view pattern, std::string_view cpu) {
  if (!pattern.ends_with('*')) return same_name(pattern, cpu);
  pattern.remove_suffix(1);
  return cpu.size() >= pattern.size() && same_name(cpu.substr(0, pattern.size()), pattern);
}

template <size_t size>
void copy_text(char (&to)[size], const std::string& from) {
  const size_t length = std::min(from.size(), size - 1);
  std::memcpy(to, from.data(), length);
  to[length] = '\0';
}

std::vector<std::string> csv_files(const std::string& folder) {
  std::vector<std::string> files;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()),
                                                 [](DIR* d) { return ::closedir(d); });
  if (!open) return files;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name.front() != '.' && name.ends_with(".csv")) files.push_back(folder + "/" + std::string(name));
  }
  std::sort(files.begin(), files.end());
  return files;
}

// papi_events.csv of the newest PAPI below `folder`, or "". Versions compare by their numbers.
std::string newest_papi_table(const std::string& folder) {
  std::string best;
  std::vector<uint32_t> best_version;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()),
                                                 [](DIR* d) { return ::closedir(d); });
  if (!open) return best;
  while (const dirent* entry = ::readdir(open.get())) {
    std::vector<uint32_t> version;
    uint32_t number = 0;
    std::string_view rest = entry->d_name;
    while (const size_t length = leading_number(rest, &number)) {
      version.push_back(number);
      rest.remove_prefix(std::min(length + 1, rest.size()));
    }
    if (version.empty() || version < best_version) continue;
    best_version = version;
    best = folder + "/" + entry->d_name + "/papi_events.csv";
  }
  return best;
}

}  // namespace

bool postfix_is_sound(std::string_view postfix, size_t terms) {
  size_t depth = 0, at = 0;
  while (at < postfix.size()) {
    const size_t bar = postfix.find('|', at);
    const std::string_view token =
        trimmed(postfix.substr(at, bar == std::string_view::npos ? bar : bar - at));
    at = bar == std::string_view::npos ? postfix.size() : bar + 1;
    if (token.empty()) continue;
    if (token.size() == 1 && std::strchr("+-*/", token[0]) != nullptr) {
      if (depth < 2) return false;
      --depth;
      continue;
    }
    if (token == "#") {  // PAPI: clock rate
      ++depth;
      continue;
    }
    const bool is_term = token[0] == 'N';
    const std::string_view digits = is_term ? token.substr(1) : token;
    uint32_t integer = 0;
    double real = 0;
    if (is_term ? !parse_number(digits, &integer) || integer >= terms : !parse_number(digits, &real))
      return false;
    ++depth;
  }
  return depth == 1;
}

bool infix_is_sound(std::string_view infix, size_t terms) {
  size_t depth = 0;
  bool operand_next = true;
  for (size_t at = 0; at < infix.size();) {
    const char c = infix[at];
    if (c == ' ' || c == '\t') {
      ++at;
      continue;
    }
    const bool opens = c == '(', closes = c == ')', joins = std::strchr("+-*/", c) != nullptr;
    if (!operand_next && (closes || joins)) {
      if (closes && depth-- == 0) return false;
      operand_next = joins;
      ++at;
    } else if (operand_next && (opens || c == '#')) {
      depth += opens ? 1 : 0;
      operand_next = opens;
      ++at;
    } else if (operand_next) {
      if (c == 'N') ++at;
      uint32_t term = 0;
      double number = 0;
      const std::string_view rest = infix.substr(at);
      const size_t length = c == 'N' ? leading_number(rest, &term) : leading_number(rest, &number);
      if (length == 0 || (c == 'N' && term >= terms)) return false;
      at += length;
      operand_next = false;
    } else {
      return false;
    }
  }
  return depth == 0 && !operand_next;
}

uint32_t parse_presets(std::string_view text, const std::vector<std::string>& cpus, const std::string& source,
                       PresetTable* table, std::vector<PresetFault>* faults) {
  uint32_t malformed = 0, number = 0;
  size_t indent = 0;
  std::vector<size_t> columns;
  std::vector<std::string> fields;
  const auto leave_out = [&](size_t field, const char* reason) {
    ++malformed;
    if (faults == nullptr) return;
    const bool of_a_preset = fields.size() > 1 && is_word(fields[0], "PRESET");
    const size_t column = indent + (field < columns.size() ? columns[field] : columns.back());
    faults->push_back({of_a_preset ? fields[1] : "",
                       source + ":" + std::to_string(number) + ":" + std::to_string(column) + ": " + reason});
  };
  bool applies = false, in_header = false;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    indent = line.empty() ? 0 : static_cast<size_t>(line.data() - text.data());
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    if (line.empty() || line.front() == '#') continue;
    fields = split_fields(line, &columns);
    if (fields.empty()) continue;
    if (is_word(fields[0], "CPU")) {
      if (fields.size() < 2) {
        leave_out(0, "no processor is named");
        continue;
      }
      if (!in_header) applies = false;  // consecutive CPU lines name one block
      in_header = true;
      applies = applies || std::any_of(cpus.begin(), cpus.end(),
                                       [&](const std::string& cpu) { return names_cpu(fields[1], cpu); });
      applies = applies || fields[1] == "*";
      continue;
    }
    in_header = false;
    if (!is_word(fields[0], "PRESET")) {
      leave_out(0, "a line begins with CPU or PRESET");
      continue;
    }
    if (!applies) continue;
    if (fields.size() < 4 || fields[1].empty()) {
      leave_out(fields.size(), "a preset needs a name, how it is derived, and events");
      continue;
    }
    PresetLine preset;
    preset.derived = fields[2];
    preset.source = source + ":" + std::to_string(number);
    size_t at = 3;
    const bool postfix = is_word(preset.derived, "DERIVED_POSTFIX");
    const bool infix = is_word(preset.derived, "DERIVED_INFIX");
    if (postfix || infix) preset.postfix = fields[at++];
    for (; at < fields.size(); ++at) {
      if (is_word(fields[at], "NOTE") || is_word(fields[at], "LDESC") || is_word(fields[at], "SDESC")) {
        if (is_word(fields[at], "NOTE") && at + 1 < fields.size()) preset.note = fields[at + 1];
        ++at;
      } else if (!fields[at].empty()) {
        preset.events.push_back(fields[at]);
      }
    }
    const bool known = is_word(preset.derived, "NOT_DERIVED") || is_word(preset.derived, "DERIVED_ADD") ||
                       is_word(preset.derived, "DERIVED_SUB") || is_word(preset.derived, "DERIVED_PS") ||
                       is_word(preset.derived, "DERIVED_ADD_PS") || is_word(preset.derived, "DERIVED_CMPD") ||
                       postfix || infix;
    if (!known)
      leave_out(2, "no such way to derive a preset");
    else if (preset.events.empty() || preset.events.size() > kMaxRecipeTerms)
      leave_out(fields.size(), preset.events.empty() ? "no events" : "too many events");
    else if (preset.postfix.size() >= sizeof(Recipe::postfix) ||
             (postfix && !postfix_is_sound(preset.postfix, preset.events.size())) ||
             (infix && !infix_is_sound(preset.postfix, preset.events.size())))
      leave_out(3, "the formula is not one of these events");
    else
      (*table)[fields[1]].push_back(std::move(preset));
  }
  return malformed;
}

void Presets::load() {
  if (loaded_) return;
  sources_.clear();  // of a load for which there was no memory
  faults_.clear();
  load_sources();
  loaded_ = true;
}

void Presets::load_sources() {
  const std::vector<std::string> cpus = catalogue_.preset_sections();
  const std::string root = host_.root == nullptr ? "" : host_.root;
  const auto setting = [this](const char* name) -> std::string {
    const char* const value = host_.setting == nullptr ? nullptr : host_.setting(host_.context, name);
    return value == nullptr ? "" : value;
  };
  const auto read_source = [&](const std::vector<std::string>& files) {
    PresetTable table;
    bool read = true;
    for (const std::string& file : files) {
      const auto text = read_file(file, size_t{16} << 20);
      if (text) parse_presets(*text, cpus, file, &table, &faults_);
      read = read && text;
    }
    if (!table.empty()) sources_.push_back(std::move(table));
    return read;
  };
  if (const std::string file = setting("PAPI_CSV_EVENT_FILE"); !file.empty()) {
    if (!read_source({file})) why_empty_ = "PAPI_CSV_EVENT_FILE=" + file + ": the file cannot be read";
    return;
  }
  if (const std::string folder = setting("SUBSTRATA_PRESET_DIR"); !folder.empty()) {
    read_source(csv_files(folder));
  } else {
    std::string config = setting("XDG_CONFIG_HOME");
    if (config.empty() && !setting("HOME").empty()) config = setting("HOME") + "/.config";
    if (!config.empty()) read_source(csv_files(config + "/substrata/presets.d"));
  }
  for (const char* folder : {"/usr/share/papi", "/usr/local/share/papi"})
    if (const std::string file = newest_papi_table(root + folder); !file.empty()) read_source({file});
  PresetTable own;
  for (const BuiltInPresets* built_in = built_in_presets(); built_in->name != nullptr; ++built_in)
    parse_presets(built_in->text, cpus, built_in->name, &own);
  sources_.push_back(std::move(own));
}

Status Presets::recipe(const std::string& preset, Recipe* out) {
  const std::lock_guard guard(lock_);
  load();
  std::string reason;
  for (const PresetTable& source : sources_) {
    const auto found = source.find(preset);
    if (found == source.end()) continue;
    for (auto line = found->second.rbegin(); line != found->second.rend(); ++line) {
      Recipe recipe;
      std::string refused;
      for (const std::string& name : line->events) {
        uint32_t index = 0;
        Event event;
        Status status = catalogue_.find(name, &index);
        if (status.ok()) status = catalogue_.at(index, &event);
        if (!status.ok())
          refused = status.note == nullptr ? "event '" + name + "' is unknown" : status.note;
        else if ((event.flags & kEventUnavailable) != 0)
          refused = "event '" + name + "' does not open here: " + (event.why == nullptr ? "" : event.why);
        if (!refused.empty()) break;
        recipe.terms[recipe.term_count++] = index;
      }
      if (!refused.empty()) {
        if (reason.empty()) reason = preset + " (" + line->source + "): " + refused;
        continue;
      }
      copy_text(recipe.derived, line->derived);
      copy_text(recipe.postfix, line->postfix);
      copy_text(recipe.note, line->note);
      *out = recipe;
      return kSuccess;
    }
  }
  for (const PresetFault& fault : faults_)
    if (reason.empty() && same_name(fault.preset, preset))
      reason = preset + ": its line was left out: " + fault.what;
  if (reason.empty() && !why_empty_.empty()) reason = preset + ": " + why_empty_;
  for (const PresetFault& fault : faults_)
    if (reason.empty() && fault.preset.empty()) reason = preset + ": no table defines it; " + fault.what;
  const bool recorded = host_.root != nullptr && *host_.root != '\0';
  if (reason.empty() && !recorded && !catalogue_.has_core_pmu())
    reason = preset + ": " + catalogue_.explain(ENODEV);
  if (reason.empty())
    reason = preset +
             ": no table defines it for this processor; add a line to ~/.config/substrata/presets.d/*.csv";
  return refuse(Code::kNoEvent, 0, reason);
}

}  // namespace substrata::perf
