// substrata completion: what shells need to complete a command line; the candidates come from what each
// command declares, at the time when the key is pressed.
#include <dirent.h>
#include <substrata/feed.h>
#include <substrata/owl.h>
#include <substrata/result.hpp>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "recording/reader.hpp"
#include "recording/sampler/measuring.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/substrata/commands.hpp"
#include "tools/substrata/commands/reproduce.hpp"
#include "tools/substrata/stat/metrics.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

using Declared = Arguments::Declared;

// Bash breaks words at ':' and '=', which names of events have: the words are put together again, and what
// stands before the last break is taken off the candidates.
constexpr const char* kBash =
    R"script(# Completion of substrata's command lines for bash, made by `substrata completion bash`.
_substrata() {
  local rest=${COMP_LINE:0:COMP_POINT} word blank at=0 line cur head
  local -a words=()
  while :; do
    word=${COMP_WORDS[at]}
    blank=${rest%%[![:blank:]]*}
    rest=${rest#"$blank"}
    [ "$at" -ge "$COMP_CWORD" ] && word=$rest
    if [ "$at" -eq 0 ] || [ -n "$blank" ]; then words+=("$word"); else words[${#words[@]}-1]+=$word; fi
    [ "$at" -ge "$COMP_CWORD" ] && break
    rest=${rest#"$word"}
    at=$((at + 1))
  done
  cur=${words[${#words[@]}-1]}
  head=
  case $cur in *[:=]*) head=${cur%"${cur##*[:=]}"} ;; esac
  case $COMP_WORDBREAKS in *:*) ;; *) case $head in *=*) head=${cur%%=*}= ;; *) head= ;; esac ;; esac
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files | :folders)
        compopt -o filenames 2> /dev/null
        while IFS= read -r word; do COMPREPLY+=("$word"); done < <(
          if [ "$line" = :files ]; then compgen -f -- "${cur#"$head"}"; else compgen -d -- "${cur#"$head"}"; fi)
        ;;
      :command)
        compopt -o filenames 2> /dev/null
        while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -c -- "$cur"; compgen -f -- "$cur")
        ;;
      *) COMPREPLY+=("${line#"$head"}") ;;
    esac
  done < <("${words[0]}" completion words "${words[@]:1}" 2> /dev/null)
}
complete -F _substrata substrata
)script";

constexpr const char* kZsh = R"script(#compdef substrata
# Completion of substrata's command lines for zsh, made by `substrata completion zsh`.
_substrata() {
  local line
  local -a found
  for line in "${(@f)$("${(Q)words[1]}" completion words "${(@Q)words[2,CURRENT]}" 2> /dev/null)}"; do
    case $line in
      '') ;;
      :files) _files ;;
      :folders) _files -/ ;;
      :command) _alternative 'commands:command:_command_names -e' 'files:file:_files' ;;
      *) found+=("$line") ;;
    esac
  done
  (( $#found )) && compadd -- "${found[@]}"
}
if [ "${funcstack[1]}" = _substrata ]; then _substrata "$@"; else compdef _substrata substrata; fi
)script";

std::vector<Declared> declared_by(const Command& command) {
  std::vector<Declared> declared;
  std::string name = command.name, help = "--help";
  char* words[] = {name.data(), help.data(), nullptr};
  Arguments::describe_to(&declared);
  command.run(2, words);
  Arguments::describe_to(nullptr);
  return declared;
}

std::vector<std::string> processes() {
  std::vector<std::string> out;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return out;
  while (const dirent* entry = readdir(folder))
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) != 0) out.emplace_back(entry->d_name);
  closedir(folder);
  return out;
}

// Of the first of the words that is a recording.
std::vector<std::string> series_names(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& word : words) try {
      const recording::Recording recording = recording::read_file(word);
      for (const recording::Writer& writer : recording.writers)
        for (const recording::Series& series : writer.series) out.push_back(series.name);
      return out;
    } catch (const std::runtime_error&) {
      // Another word.
    }
  return out;
}

std::vector<std::string> module_names() {
  std::vector<std::string> out;
  for (std::uint32_t i = 0; i < substrata_owl_module_count(); ++i)
    if (auto info = client::sized<substrata_owl_module_info>(); substrata_owl_module_at(i, &info) == 0)
      out.emplace_back(info.name);
  return out;
}

// What stands before the last of several names, with its comma.
std::string before_last(const std::string& current) {
  const std::size_t comma = current.rfind(',');
  return comma == std::string::npos ? "" : current.substr(0, comma + 1);
}

std::vector<std::string> in_list(std::vector<std::string> names, const std::string& current) {
  for (std::string& name : names) name = before_last(current) + name;
  return names;
}

// What can stand in place of the last of the words, of which `current` has been typed: whole words, or a line with ':'
// that names a list of the shell's own.
std::vector<std::string> values(const Declared& of, const std::string& current,
                                const std::vector<std::string>& words) {
  std::vector<std::string> out = of.choices;
  switch (of.what) {
    case Arguments::Value::kFile:
      return {":files"};
    case Arguments::Value::kFolder:
      return {":folders"};
    case Arguments::Value::kEvents: {
      // The last of several, separated by commas.
      const std::string head = before_last(current);
      start_library();
      for (const int code : presets())
        if (describe(code).available != 0) out.push_back(head + event_name(code));
      for (int component = 0; component < PAPI_num_components(); ++component)
        for (const int code : native_events(component)) out.push_back(head + event_name(code));
      break;
    }
    case Arguments::Value::kGroup:
      out = Metrics().names();
      out.emplace_back("list");
      return in_list(std::move(out), current);
    case Arguments::Value::kMachine:
      for (std::uint32_t i = 0; const substrata_machine* machine = substrata_machine_at(i); ++i)
        out.emplace_back(machine->name);
      break;
    case Arguments::Value::kWorkload:
      for (std::uint32_t i = 0; const substrata_workload* workload = substrata_workload_at(i); ++i)
        out.emplace_back(workload->name);
      break;
    case Arguments::Value::kReproduction:
      return reproduction_ids();
    case Arguments::Value::kProcess:
      return processes();
    case Arguments::Value::kModule:
      if (std::find(words.begin(), words.end(), "build") != words.end()) return {":files"};
      return module_names();
    case Arguments::Value::kSeries:
      return series_names(words);
    default:
      break;
  }
  return out;
}

// Of the words after the program's name, the candidates for the last.
std::vector<std::string> candidates(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  const std::string& current = words.back();
  if (words.size() == 1) {
    for (const Command& command : commands()) out.emplace_back(command.name);
    out.emplace_back("--help");
    return out;
  }
  const auto command = std::find_if(commands().begin(), commands().end(),
                                    [&](const Command& one) { return words[0] == one.name; });
  if (command == commands().end()) return out;
  const std::vector<Declared> declared = declared_by(*command);
  const auto named = [&](const std::string& name) {
    return std::find_if(declared.begin(), declared.end(), [&](const Declared& one) {
      return std::find(one.names.begin(), one.names.end(), name) != one.names.end();
    });
  };
  std::size_t positional = 0;
  auto waiting = declared.end();  // the option whose value comes next
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    if (waiting != declared.end()) {
      waiting = declared.end();
    } else if (words[i] == "--") {
      return {":command"};
    } else if (words[i].size() > 1 && words[i][0] == '-') {
      waiting = named(words[i]);
      if (waiting != declared.end() && !waiting->takes_value) waiting = declared.end();
    } else {
      ++positional;
    }
  }
  if (waiting != declared.end()) return values(*waiting, current, words);
  if (const std::size_t equals = current.find('=');
      current.starts_with("--") && equals != std::string::npos) {
    const auto option = named(current.substr(0, equals));
    if (option == declared.end() || !option->takes_value) return out;
    out = values(*option, current.substr(equals + 1), words);
    for (std::string& one : out)
      if (one[0] != ':') one.insert(0, current, 0, equals + 1);
    return out;
  }
  std::vector<const Declared*> places;
  for (const Declared& one : declared)
    if (one.names.empty()) places.push_back(&one);
  if (!current.starts_with("-") && !places.empty() && (positional < places.size() || places.back()->repeated))
    return values(*places[std::min(positional, places.size() - 1)], current, words);
  for (const Declared& one : declared)
    for (const std::string& name : one.names)
      if (current.starts_with("--") ? name.starts_with("--") : true) out.push_back(name);
  // A program with arguments of its own may follow.
  if (std::strcmp(command->name, "mpirun") == 0 && !current.starts_with("-")) out = {":command"};
  return out;
}

}  // namespace

int completion(int argc, char** argv) {
  // The words to complete are not arguments of this command.
  if (argc >= 3 && std::strcmp(argv[1], "words") == 0) {
    const std::vector<std::string> words(argv + 2, argv + argc);
    std::set<std::string> found;
    for (const std::string& one : candidates(words))
      if (one[0] == ':' || one.starts_with(words.back())) found.insert(one);
    for (const std::string& one : found) std::printf("%s\n", one.c_str());
    return 0;
  }
  std::string shell;
  Arguments arguments("substrata completion",
                      "Prints completion code for a shell: commands, options, names of events, "
                      "machines, workloads, reproductions, files.\n\n"
                      "  source <(substrata completion bash)         in ~/.bashrc\n"
                      "  source <(substrata completion zsh)          in ~/.zshrc, after compinit\n"
                      "  substrata completion words stat -e perf::T  candidates for the last word\n");
  arguments.choice("SHELL", shell, {"bash", "zsh", "words"}, "bash, zsh, or words WORD...");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  if (shell != "bash" && shell != "zsh") {
    std::fprintf(stderr, "substrata completion: choose bash, zsh or words WORD...\n");
    return 2;
  }
  std::printf("%s", shell == "bash" ? kBash : kZsh);
  return 0;
}

}  // namespace substrata::tool
