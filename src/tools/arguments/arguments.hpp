// The command line of a program: options, positional arguments and --help, the same way in every tool.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace substrata {

// What a program takes. Names are as CLI11 writes them: "-a,--avail" an option, "FILE" a positional argument.
// The variables must live until parse has returned. Thread-compatible.
class Arguments {
 public:
  Arguments(const std::string& program, const std::string& purpose);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // What a value stands for: shown in --help in the place of the value, and what a shell completes it with.
  enum class Value {
    kText,
    kFile,
    kFolder,
    kEvents,
    kMachine,
    kWorkload,
    kReproduction,
    kProcess,
    kDuration,
    kModule,
    kGroup,  // of metrics
    kSeries  // of the recording that is named before it
  };

  void flag(const std::string& names, bool& value, const std::string& text);
  void word(const std::string& names, std::string& value, const std::string& text, Value what = Value::kText);
  void required(const std::string& names, std::string& value, const std::string& text,
                Value what = Value::kText);
  void number(const std::string& names, std::uint64_t& value, const std::string& text);
  void words(const std::string& names, std::vector<std::string>& values, const std::string& text,
             Value what = Value::kText);
  // A word that is one of these; no other is taken.
  void choice(const std::string& names, std::string& value, const std::vector<std::string>& choices,
              const std::string& text);

  // An option or a positional argument, as it was declared.
  struct Declared {
    std::vector<std::string> names = {};  // "-e", "--events"; of a positional argument none
    bool takes_value = true;
    bool repeated = false;  // takes any number of values
    Value what = Value::kText;
    std::vector<std::string> choices = {};
  };
  // From now on parse() of any object parses nothing, puts what its program takes there, and gives 0; until
  // this is called with nullptr. Not thread-safe.
  static void describe_to(std::vector<Declared>* what) noexcept;
  // The same for a program that reads its command line itself. False: no description was requested.
  static bool describe(const std::vector<Declared>& what);

  // How many of the words, the program's name first, come before a command: options with their values, of which
  // each takes one word, up to "--" or to the first other word.
  int words_before_command(int argc, char** argv) const;

  // Nothing: go on. Else the status to exit with: 0 after --help, 2 after a wrong command line, whose error
  // was printed to stderr.
  std::optional<int> parse(int argc, char** argv);

 private:
  struct Kept;
  std::string fault(const CLI::ParseError& error) const;
  void keep(CLI::Option* option, Value what, const std::vector<std::string>& choices);
  std::unique_ptr<CLI::App> app_;
  std::vector<Kept> kept_;
};

}  // namespace substrata
