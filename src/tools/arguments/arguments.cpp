// Arguments over CLI11, whose header is thereby compiled once.
#include "tools/arguments/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/nearest.hpp"
#include "tools/arguments/failing.hpp"

namespace substrata {
namespace {

// CLI11's words where a text is not of the wanted type: of ours only numbers are converted.
const std::string kNoNumber = "Could not convert: ";

std::vector<Arguments::Declared>* described = nullptr;

const char* label(Arguments::Value what) {
  // In the order of Arguments::Value.
  constexpr const char* kLabels[] = {"TEXT", "FILE", "FOLDER", "EVENTS", "MACHINE", "WORKLOAD",
                                     "ID",   "PID",  "TIME",   "MODULE", "GROUP",   "SERIES"};
  return kLabels[static_cast<std::size_t>(what)];
}

}  // namespace

// What CLI11 does not keep of an option.
struct Arguments::Kept {
  CLI::Option* option;
  Value what;
  std::vector<std::string> choices;
};

Arguments::Arguments(const std::string& program, const std::string& purpose)
    : app_((fail_loudly(), std::make_unique<CLI::App>(purpose, program))) {}
Arguments::~Arguments() = default;

void Arguments::keep(CLI::Option* option, Value what, const std::vector<std::string>& choices) {
  // The name of a positional argument says already what it stands for.
  if (option->get_positional())
    option->type_name("");
  else if (what != Value::kText)
    option->type_name(label(what));
  kept_.push_back({option, what, choices});
}

void Arguments::flag(const std::string& names, bool& value, const std::string& text) {
  app_->add_flag(names, value, text);
}

void Arguments::word(const std::string& names, std::string& value, const std::string& text, Value what) {
  keep(app_->add_option(names, value, text), what, {});
}

void Arguments::required(const std::string& names, std::string& value, const std::string& text, Value what) {
  keep(app_->add_option(names, value, text)->required(), what, {});
}

void Arguments::number(const std::string& names, std::uint64_t& value, const std::string& text) {
  // CLI11 takes -3 for a very large number.
  app_->add_option(names, value, text)
      ->check([name = names.substr(names.rfind(',') + 1)](const std::string& word) {
        return word.find('-') == std::string::npos ? std::string() : kNoNumber + name + " = " + word;
      });
}

void Arguments::words(const std::string& names, std::vector<std::string>& values, const std::string& text,
                      Value what) {
  keep(app_->add_option(names, values, text), what, {});
}

void Arguments::choice(const std::string& names, std::string& value, const std::vector<std::string>& choices,
                       const std::string& text) {
  CLI::Option* const option = app_->add_option(names, value, text);
  option->check(CLI::IsMember(choices));
  keep(option, Value::kText, choices);
}

void Arguments::describe_to(std::vector<Declared>* what) noexcept { described = what; }

bool Arguments::describe(const std::vector<Declared>& what) {
  if (described == nullptr) return false;
  *described = what;
  return true;
}

int Arguments::words_before_command(int argc, char** argv) const {
  int at = 1;
  for (; at < argc; ++at) {
    const std::string word = argv[at];
    if (word.size() < 2 || word[0] != '-' || word == "--") break;
    const CLI::Option* const option = std::as_const(*app_).get_option_no_throw(word);
    if (option != nullptr && option->get_items_expected_max() > 0) ++at;
  }
  return std::min(at, argc);
}

std::optional<int> Arguments::parse(int argc, char** argv) {
  if (described != nullptr) {
    std::vector<Declared> all;
    for (const CLI::Option* option : std::as_const(*app_).get_options()) {
      Declared one;
      for (const std::string& name : option->get_snames()) one.names.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) one.names.push_back("--" + name);
      one.takes_value = option->get_items_expected_max() > 0;
      one.repeated = option->get_items_expected_max() > 1;
      for (const Kept& kept : kept_)
        if (kept.option == option) {
          one.what = kept.what;
          one.choices = kept.choices;
        }
      all.push_back(std::move(one));
    }
    describe(all);
    return 0;
  }
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app_->exit(error);
    std::fprintf(stderr, "%s: %s; `%s --help` lists the options\n", app_->get_name().c_str(),
                 fault(error).c_str(), app_->get_name().c_str());
    return 2;
  }
  return std::nullopt;
}

// What is wrong with a command line, in a line.
std::string Arguments::fault(const CLI::ParseError& error) const {
  const std::vector<std::string> left = app_->remaining();
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) && !left.empty()) {
    const std::string& word = left.front();
    if (word.size() < 2 || word[0] != '-') return "'" + word + "' is a word too many";
    std::vector<std::string> names;
    for (const CLI::Option* option : std::as_const(*app_).get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    const std::string near(nearest(word.substr(0, word.find('=')), names));
    return "there is no option '" + word + "'" + (near.empty() ? "" : "; did you mean " + near + "?");
  }
  const std::string text = error.what();
  if (const std::size_t at = text.find(kNoNumber); at != std::string::npos)
    return text.substr(at + kNoNumber.size()) + " is no whole number of 0 or more";
  return text;
}

}  // namespace substrata
